"""How a ledger is kept on disk: one JSON file that people can read, replaced whole, one writer at a time.

    {"format": "microtome-ledger", "version": 1,
     "budgets": {"people": {"epsilon": 5.0, "delta": 1e-06}},
     "entries": [{"id": …, "dataset": …, "time": …, "purpose": …, "neighbours": …, "accountant": …,
                  "events": […], "status": "pending" | "released", "artefact": … | null}]}

Writers hold an exclusive lock on a file beside it (``NAME.lock``), write a temporary file, flush it to the
disk and rename it over the old one, so that a crash leaves the old book or the new one and never half of one.
A file that cannot be understood in full is an error: an unread entry would be spent twice.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from microtome.accounting.accountant import Accountant
from microtome.accounting.events import Event, event_from_dict
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.ranges import require_positive, require_probability
from microtome.errors import BudgetError, OutputError, ParameterError

FORMAT = "microtome-ledger"
VERSION = 1
PENDING, RELEASED = "pending", "released"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The most that may ever be spent on a data set."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        require_positive("epsilon", self.epsilon)
        require_probability("delta", self.delta)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One touch of a data set.

    Attributes:
        id: unique name of the entry.
        dataset: name of the data set.
        time: when it was debited, UTC, ISO 8601.
        purpose: what for, in words.
        neighbours: the relation that the events are counted under.
        accountant: the accountant by which the touch was planned.
        events: what was done.
        status: "pending" from the debit on, "released" once the result was written. Both count.
        artefact: checksum of the result, if written.
    """

    id: str
    dataset: str
    time: str
    purpose: str
    neighbours: Neighbours
    accountant: Accountant
    events: tuple[Event, ...]
    status: str = PENDING
    artefact: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The entry as a JSON object."""
        return {
            "id": self.id,
            "dataset": self.dataset,
            "time": self.time,
            "purpose": self.purpose,
            "neighbours": self.neighbours.value,
            "accountant": self.accountant.value,
            "events": [event.to_dict() for event in self.events],
            "status": self.status,
            "artefact": self.artefact,
        }


@dataclass(frozen=True, kw_only=True)
class Book:
    """Everything a ledger knows: budgets by data set, and entries in the order they were debited."""

    budgets: Mapping[str, Budget] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()


def read_book(path: Path) -> Book:
    """The book at ``path``; an empty one if there is no such file.

    Raises:
        BudgetError: the file is damaged, foreign, or of a version that this Microtome does not know.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Book()
    except OSError as error:
        raise BudgetError(f"cannot read the ledger {path}: {error.strerror}") from error
    except ValueError as error:
        raise BudgetError(f"the ledger {path} is damaged ({error}); restore it from a backup") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BudgetError(f"{path} is not a ledger of Microtome; give another path")
    if content.get("version") != VERSION:
        raise BudgetError(
            f"the ledger {path} has version {content.get('version')!r} and this Microtome knows "
            f"version {VERSION}; use the Microtome that wrote it, or a newer one"
        )
    try:
        return _book(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BudgetError(f"the ledger {path} is damaged ({error!r}); restore it from a backup") from error


def _book(content: Mapping[str, object]) -> Book:
    budgets, entries = content["budgets"], content["entries"]
    if not isinstance(budgets, dict) or not isinstance(entries, list):
        raise ParameterError("budgets must be an object and entries a list")
    parsed = tuple(_entry(entry) for entry in entries)
    if len({entry.id for entry in parsed}) != len(parsed):
        raise ParameterError("two entries have the same id")
    return Book(
        budgets={
            name: Budget(epsilon=float(budget["epsilon"]), delta=float(budget["delta"]))
            for name, budget in budgets.items()
        },
        entries=parsed,
    )


def _entry(record: Mapping[str, object]) -> Entry:
    events = record["events"]
    status, artefact = record["status"], record["artefact"]
    if not isinstance(events, list) or status not in (PENDING, RELEASED):
        raise ParameterError(f"an entry has events {events!r} and status {status!r}")
    if artefact is not None and not isinstance(artefact, str):
        raise ParameterError(f"an entry has the artefact {artefact!r}")
    texts = {name: record[name] for name in ("id", "dataset", "time", "purpose")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ParameterError(f"an entry has fields that are no text: {texts!r}")
    return Entry(
        **{name: str(text) for name, text in texts.items()},
        neighbours=Neighbours(str(record["neighbours"])),
        accountant=Accountant(str(record["accountant"])),
        events=tuple(event_from_dict(event) for event in events),
        status=str(status),
        artefact=artefact,
    )


def write_book(path: Path, book: Book) -> None:
    """Replace the file at ``path`` by ``book``; it is on the disk when this returns."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "budgets": {name: {"epsilon": budget.epsilon, "delta": budget.delta} for name, budget in book.budgets.items()},
        "entries": [entry.to_dict() for entry in book.entries],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        _replace(path, text)
    except OSError as error:
        raise OutputError(f"cannot write the ledger {path}: {error.strerror}") from error


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep all other writers of the ledger at ``path`` out, in this process and in others."""
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(f"cannot lock the ledger {path} by {lock}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
