"""Frozen records as JSON objects, and back: one way for events, promises and what a manifest says of a mechanism.

A field is read by its declared type. What is missing, unknown or of another type is refused and never guessed. A record
of several that may stand in one place has a ``kind``, which decides how the rest is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

from microtome.errors import ParameterError

Json = dict[str, Any]


class JsonRecord:
    """Base of frozen dataclasses that are written as JSON objects."""

    def to_dict(self) -> Json:
        """The record as a JSON object."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of ``to_dict``; missing, unknown or ill-typed fields are refused."""
        if not isinstance(given, Mapping):
            raise ParameterError(f"{cls.__name__} must be a JSON object, got {given!r}")
        return cls.from_fields(given)

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """The record of these fields."""
        known, hints = {field.name: field for field in fields(cls)}, _hints(cls)  # type: ignore[arg-type]
        unknown = sorted(given.keys() - known.keys())
        missing = sorted(name for name in known.keys() - given.keys() if known[name].default is MISSING)
        if unknown or missing:
            raise ParameterError(f"{cls.__name__} has unknown fields {unknown}, and lacks {missing}")
        return cls(**{name: _read(hints[name], given[name], name) for name in known if name in given})


class TaggedRecord(JsonRecord):
    """One of several records that may stand in the same place, told apart by their ``kind``."""

    kind: ClassVar[str]

    def to_dict(self) -> Json:
        """The record as a JSON object, its kind first."""
        return {"kind": self.kind, **super().to_dict()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of ``to_dict``; another kind is refused like a field that is wrong."""
        if not isinstance(given, Mapping) or given.get("kind") != cls.kind:
            raise ParameterError(f"a record of kind {cls.kind!r} is needed, got {given!r}")
        return cls.from_fields({name: value for name, value in given.items() if name != "kind"})


Tagged = TypeVar("Tagged", bound=TaggedRecord)


def record_of_kind(choices: Sequence[type[Tagged]], given: Mapping[str, Any], what: str) -> Tagged:
    """The record that ``to_dict`` wrote, one of several classes by its kind; any other kind is refused."""
    kind = given.get("kind") if isinstance(given, Mapping) else None
    for choice in choices:
        if choice.kind == kind:
            return choice.from_dict(given)
    raise ParameterError(f"unknown kind of {what} {kind!r}; a newer Microtome may know it")


@lru_cache
def _hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


def _plain(value: Any) -> Any:
    match value:
        case StrEnum():
            return value.value
        case JsonRecord():
            return value.to_dict()
        case tuple():
            return [_plain(one) for one in value]
        case float():
            return float(value)  # numpy's are of a type of their own
        case _:
            return value


def _read(wanted: Any, value: Any, name: str) -> Any:
    """A value of the wanted type: a plain one, a name of an enumeration, a record, a tuple or a choice of these."""
    origin, choices = get_origin(wanted), get_args(wanted)
    if origin is UnionType:
        return _read_choice(choices, value, name)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read(choices[0], one, name) for one in value)
    if is_dataclass(wanted):
        return wanted.from_dict(value)  # type: ignore[union-attr]
    if origin is None and issubclass(wanted, StrEnum) and value in list(wanted):
        return wanted(value)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is wanted:
        return value
    raise ParameterError(f"{name} is {value!r}; it must be {_in_words(wanted)}")


def _in_words(wanted: Any) -> str:
    names = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
    if wanted in names:
        return names[wanted]
    return "a list" if get_origin(wanted) is tuple else f"one of {', '.join(wanted)}"


def _read_choice(choices: Sequence[Any], value: Any, name: str) -> Any:
    """A value of one of several types, of which at most one is plain."""
    if NoneType in choices and value is None:
        return None
    left = [choice for choice in choices if choice is not NoneType]
    return _read(left[0], value, name) if len(left) == 1 else record_of_kind(left, value, name)
