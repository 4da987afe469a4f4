"""Every error that Microtome raises on purpose, in one tree.

    MicrotomeError
    ├── ParameterError        an argument or option is out of its range
    ├── SchemaError           what was declared about the table is wrong or incomplete
    ├── TableError            the private table cannot be read, or breaks its schema
    ├── BudgetError           the privacy budget does not allow what was asked
    │   └── CalibrationError  no amount of noise gives the wanted promise
    ├── ReleaseError          a release file is damaged, foreign or of another version
    ├── ModelError            a generator, model file or condition that cannot be used
    ├── ForecastError         a release would be worth next to nothing
    ├── AuditError            an audit refutes a promise
    ├── MissingPackageError   a package that is not part of every install
    └── OutputError           the result cannot be written

A message says what was wrong, where (file, column, value) and what to do about it. ``PoorReleaseWarning`` is for what
is worth knowing and no error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class MicrotomeError(Exception):
    """Base of all errors raised on purpose; the command line prints it and exits with 1."""


class ParameterError(MicrotomeError, ValueError):
    """An argument or option is out of its range."""


class SchemaError(MicrotomeError):
    """What was declared about the table is wrong or incomplete."""


class TableError(MicrotomeError):
    """The private table cannot be read, or breaks its schema."""


class BudgetError(MicrotomeError):
    """The privacy budget does not allow what was asked."""


class CalibrationError(BudgetError):
    """No amount of noise gives the wanted promise."""


class ReleaseError(MicrotomeError):
    """A release file is damaged, foreign or of another version."""


class ModelError(MicrotomeError):
    """A generator, model file or condition that cannot be used."""


class ForecastError(MicrotomeError):
    """A release would be worth next to nothing."""


class MissingPackageError(MicrotomeError, ImportError):
    """A package is missing that is not part of every install."""


class PoorReleaseWarning(UserWarning):
    """Some of a release will be worth little: columns that will not be learnt, an unusual ε."""


class AuditError(MicrotomeError):
    """An audit refutes a promise."""


class OutputError(MicrotomeError):
    """The result cannot be written."""


@contextmanager
def noted(note: str) -> Iterator[None]:
    """Add a note to whatever stops the work in here: what stands by now, and will not be undone."""
    try:
        yield
    except BaseException as error:
        error.add_note(note)
        raise


class Attempts:
    """Work of which each part may fail by itself: ``with attempts:`` remembers the error and goes on."""

    most_told = 20

    def __init__(self) -> None:
        self.errors: list[MicrotomeError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, MicrotomeError):
            self.errors.append(error)
            return True
        return False


@contextmanager
def together() -> Iterator[Attempts]:
    """Tell of everything that is wrong at once, and not only of the first."""
    attempts = Attempts()
    yield attempts
    told = list(dict.fromkeys(map(str, attempts.errors)))
    if len(told) == 1:
        raise attempts.errors[0]
    if told:
        more = len(told) - attempts.most_told
        rest = [f"… and {more} more"] if more > 0 else []
        raise type(attempts.errors[0])("\n".join([*told[: attempts.most_told], *rest])) from attempts.errors[0]


def require(holds: bool, name: str, value: object, wanted: str) -> None:
    """Refuse the value of a parameter unless something holds of it."""
    if not holds:
        raise ParameterError(f"{name} is {value}; it must be {wanted}")


def require_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least this."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
    require(whole, name, repr(value), f"a whole number, at least {least}")
