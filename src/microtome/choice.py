"""An option that is one of an enumeration: given by member or by name, held as the member."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar

from microtome.errors import ParameterError

Member = TypeVar("Member", bound=StrEnum)


def _refused(_: Any, what: str) -> Exception:
    return ParameterError(what)


class Choice(Generic[Member]):
    """A field of a dataclass that takes a member of an enumeration or its name.

    It is converted once, when it is set, and refused where it is neither. Type checkers let a name be given, and know
    that a member is held.

    Args:
        options: The enumeration.
        default: What the field is unless it is given; without one it must be given.
        error: Makes the error, from the object and what is wrong with it.

    Example:
        >>> from dataclasses import dataclass
        >>> from enum import StrEnum
        >>> from microtome.choice import Choice
        >>> class Colour(StrEnum):
        ...     RED = "red"
        ...     BLUE = "blue"
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Pen:
        ...     colour: Choice[Colour] = Choice(Colour, Colour.RED)
        >>> Pen(colour="blue").colour
        <Colour.BLUE: 'blue'>
        >>> Pen(colour="bleu")
        Traceback (most recent call last):
            ...
        microtome.errors.ParameterError: colour is 'bleu'; it must be one of red, blue
    """

    def __init__(
        self,
        options: type[Member],
        default: Member | None = None,
        *,
        error: Callable[[Any, str], Exception] = _refused,
    ) -> None:
        self._options, self._default, self._error = options, default, error

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Member:
        if instance is not None:
            member: Member = instance.__dict__[self._name]
            return member
        if self._default is None:
            raise AttributeError(f"{self._name} has no default")  # so dataclasses know that it must be given
        return self._default

    def __set__(self, instance: object, value: Member | str) -> None:
        try:
            instance.__dict__[self._name] = self._options(value)
        except ValueError:
            known = ", ".join(self._options)
            raise self._error(instance, f"{self._name} is {value!r}; it must be one of {known}") from None
