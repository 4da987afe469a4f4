"""How a ledger is kept on disk: one JSON file that people can read, replaced whole.

    {"format": "microtome-ledger", "version": 2,
     "records": [{"kind": "budget", …, "previous": …}, {"kind": "reserve", …, "previous": …}, …],
     "head": …}

Every record names the SHA-256 of the one before, and the head is that of the last, so a record that was changed,
removed, doubled or moved is noticed. A file that cannot be understood in full is an error: an unread entry would be
spent twice.

Version 1, which had budgets and entries side by side and no digests, is read too. It becomes version 2 when it is next
written; what it did not say (when a budget was set, when an entry was completed) stays unknown.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from microtome.accounting.ledger_place import require_one_name
from microtome.accounting.ledger_records import (
    RESERVED,
    Book,
    Budget,
    Entry,
    Record,
    Reserve,
    SetBudget,
    Settle,
    record_from_dict,
)
from microtome.errors import BudgetError, OutputError, ParameterError
from microtome.json_record import Json
from microtome.whole_file import write_text

FORMAT = "microtome-ledger"
VERSION = 2
_FIELDS = {"format", "version", "records", "head"}
_FIELDS_OF_VERSION_1 = {"format", "version", "budgets", "entries"}
_LARGEST_FILE = 1 << 28
_OWN_FILE = 0o660
_NOTHING = hashlib.sha256(f"{FORMAT} {VERSION}".encode()).hexdigest()
"""What the first record names as the one before."""


def read_book(path: Path) -> Book:
    """The book at ``path``; an empty one if there is no such file.

    Raises:
        BudgetError: the file is damaged, altered, foreign, or of a version that this Microtome does not know.
    """
    try:
        require_one_name(path)
        if path.stat().st_size > _LARGEST_FILE:
            raise BudgetError(f"{path} is larger than any ledger of Microtome; give another path")
        content = path.read_bytes()
    except FileNotFoundError:
        return Book()
    except OSError as error:
        raise BudgetError(f"cannot read the ledger {path}: {error.strerror}") from error
    try:
        return _book(_parsed(content), path)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise BudgetError(
            f"the ledger {path} is damaged or was edited ({error}); restore it from a backup that has all its releases"
        ) from error


def _parsed(content: bytes) -> object:
    return json.loads(content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number)


def _object(pairs: list[tuple[str, object]]) -> Json:
    """An object whose keys are all different: of two values for one key, one would go unread."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ParameterError(f"a key occurs twice in the object with {sorted(result)}")
    return result


def _no_number(name: str) -> object:
    raise ParameterError(f"{name} is no number")


def _book(content: object, path: Path) -> Book:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BudgetError(f"{path} is not a ledger of Microtome; give another path")
    version = content.get("version")
    if type(version) is int and version == VERSION:
        return _chained(content)
    if type(version) is int and version == 1:
        return _version_1(content)
    raise BudgetError(
        f"the ledger {path} has version {version!r} and this Microtome knows versions 1 and {VERSION}; use the "
        "Microtome that wrote it, or a newer one"
    )


def _chained(content: Json) -> Book:
    _require_fields(content, _FIELDS, "a ledger")
    lines = content["records"]
    if not isinstance(lines, list):
        raise ParameterError("records must be a list")
    records: list[Record] = []
    head = _NOTHING
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, dict) or line.get("previous") != head:
            raise ParameterError(f"record {number} does not follow from the one before")
        record = record_from_dict({name: value for name, value in line.items() if name != "previous"})
        if _canonical(_linked(record, head)) != _canonical(line):
            raise ParameterError(f"record {number} is not as it was written")
        head = _digest(line)
        records.append(record)
    if content["head"] != head:
        raise ParameterError("the last records are missing or were changed: the head is not that of the last one")
    return _checked(records)


def _version_1(content: Json) -> Book:
    _require_fields(content, _FIELDS_OF_VERSION_1, "a ledger of version 1")
    budgets, entries = content["budgets"], content["entries"]
    if not isinstance(budgets, dict) or not isinstance(entries, list):
        raise ParameterError("budgets must be an object and entries a list")
    records = [record for entry in entries for record in _entry_of_version_1(entry)]
    records += [SetBudget(dataset=name, budget=Budget.from_dict(one), time=None) for name, one in budgets.items()]
    return _checked(records)


def _entry_of_version_1(given: object) -> list[Record]:
    entry = Entry.from_dict(given)  # type: ignore[arg-type]
    reserve = Reserve(entry=replace(entry, status=RESERVED, artefact=None))
    match entry.status, entry.artefact:
        case "pending", None:
            return [reserve]
        case "released", str() as artefact:
            return [reserve, Settle(id=entry.id, artefact=artefact, time=None)]
        case status, artefact:
            raise ParameterError(f"entry {entry.id!r} has status {status!r} and artefact {artefact!r}")


def _require_fields(given: object, names: set[str], what: str) -> None:
    if not isinstance(given, dict) or set(given) != names:
        has = sorted(given) if isinstance(given, dict) else given
        raise ParameterError(f"{what} has the fields {sorted(names)} and no others, got {has!r}")


def _checked(records: list[Record]) -> Book:
    book = Book(tuple(records))
    _ = book.entries
    return book


def write_book(path: Path, book: Book) -> None:
    """Replace the file at ``path`` by ``book``; it is on the disk when this returns.

    Raises:
        ParameterError: the book holds something that JSON cannot.
        OutputError: the disk refuses it; the old book is still there.
    """
    try:
        written = _rendered(book)
        size = len(written.encode("utf-8"))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"this cannot be written to the ledger {path}: {error}; nothing was spent") from error
    if size > _LARGEST_FILE:
        raise OutputError(f"the ledger {path} would grow too large to be read again; go on in a new one")
    try:
        write_text(path, written, mode=_OWN_FILE)
    except OutputError as error:
        raise OutputError(f"the ledger cannot be kept: {error}") from error


def _rendered(book: Book) -> str:
    head, lines = _NOTHING, []
    for record in book.records:
        lines.append(_linked(record, head))
        head = _digest(lines[-1])
    content = {"format": FORMAT, "version": VERSION, "records": lines, "head": head}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _linked(record: Record, previous: str) -> Json:
    return {**record.to_dict(), "previous": previous}


def _digest(line: Mapping[str, object]) -> str:
    return hashlib.sha256(_canonical(line).encode()).hexdigest()


def _canonical(line: Mapping[str, object]) -> str:
    return json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False)
