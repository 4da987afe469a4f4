"""Habits of the source code that can be counted, and that the counting is right."""

from pathlib import Path

import pytest
from source_code import (
    asserted_classes,
    borrowed_private_names,
    code_lines,
    comparisons_with_members,
    dispatches,
    own_classes,
    own_enumerations,
    read,
    tells_members_apart,
)
from tracing import PACKAGE

SOURCES = sorted(PACKAGE.rglob("*.py"))
CLASSES = own_classes([read(path) for path in SOURCES])
MOST_DISPATCHES = 8
MOST_ASSERTIONS = 0
"""How often the package asks an object which class of ours it has, to decide by it or to tell the type checker. These
only go down. Give the classes a method, or use ``match``, instead of one more."""
ENUMERATIONS = own_enumerations([read(path) for path in SOURCES])
MOST_COMPARISONS = 22
"""How often the package compares with a member of an enumeration of ours, where one that is new would be taken for any
that is not that member. This only goes down: use ``match``, or give the enumeration a property that does."""


KINDS_TOLD_APART = {
    "schema/kind.py": "all that is particular to a kind",
    "schema/column.py": "a value as a number",
    "schema/rounding_classes.py": "how round its numbers are",
    "schema/importing.py": "what code books call it",
    "schema/exporting.py": "what other tools call it",
    "synthesis/dataset_card.py": "what Croissant calls it",
    "schema/rule_reading.py": "how a value is written in a rule",
    "private/draft.py": "drafts, which a person corrects",
    "private/look.py": "drafts, which a person corrects",
    "schema/editing.py": "which keys a change takes away",
    "evaluation/comparable_table.py": "0 and 1 for false and true",
}
"""The files that decide by the kind of a column. A new kind needs the first three, and others if it is to be offered
there; its code is one of numbers or one of categories. This list only becomes shorter."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_uses_private_names_of_another(path: Path) -> None:
    assert borrowed_private_names(read(path), PACKAGE.name) == []


def test_dispatches_on_our_own_classes_only_become_fewer() -> None:
    found = {str(path.relative_to(PACKAGE)): len(dispatches(read(path), CLASSES)) for path in SOURCES}
    assert sum(found.values()) <= MOST_DISPATCHES, {file: count for file, count in found.items() if count}
    assert sum(found.values()) > MOST_DISPATCHES - 10, f"lower MOST_DISPATCHES to {sum(found.values())}"


def test_assertions_of_our_own_classes_only_become_fewer() -> None:
    found = sum(len(asserted_classes(read(path), CLASSES)) for path in SOURCES)
    assert found <= MOST_ASSERTIONS
    assert found > MOST_ASSERTIONS - 10, f"lower MOST_ASSERTIONS to {found}"


def test_comparisons_with_members_only_become_fewer() -> None:
    found = {
        str(path.relative_to(PACKAGE)): len(comparisons_with_members(read(path), ENUMERATIONS)) for path in SOURCES
    }
    assert sum(found.values()) <= MOST_COMPARISONS, {file: count for file, count in found.items() if count}
    assert sum(found.values()) > MOST_COMPARISONS - 10, f"lower MOST_COMPARISONS to {sum(found.values())}"


def test_kinds_of_columns_are_told_apart_in_few_files() -> None:
    found = {str(path.relative_to(PACKAGE)) for path in SOURCES if tells_members_apart(read(path), "Kind")}
    assert found == KINDS_TOLD_APART.keys()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("match x:\n    case Kind.DATE: pass", True),
        ("match x:\n    case Kind.DATE | Kind.FLOAT: pass", True),
        ("y = {Kind.DATE: 1}", True),
        ("y = x in (Kind.DATE,)", True),
        ("y = Column(kind=Kind.DATE)", False),
        ("y = {Other.DATE: 1}", False),
    ],
)
def test_telling_members_apart_is_found(line: str, found: bool) -> None:
    assert tells_members_apart(line, "Kind") == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("y = 1 if x is Kind.DATE else 2", 1),
        ("if x.kind != Kind.DATE: pass", 1),
        ("y = x in (Kind.DATE, Kind.FLOAT)", 1),
        ("y = Kind.DATE is x and z is Kind.FLOAT", 2),
        ("y = x is foreign.Kind.DATE", 0),
        ("y = {Kind.DATE: 1}[x]", 0),
        ("match x:\n    case Kind.DATE: pass", 0),
        ("y = Kind.of(x) is None", 0),
    ],
)
def test_comparisons_with_members_are_found(line: str, found: int) -> None:
    enumerations = own_enumerations(["class Kind(StrEnum): ...\nclass Other(Enum): ...\nclass Plain: ...\n"])
    assert enumerations == {"Kind", "Other"}
    assert len(comparisons_with_members(line, enumerations)) == found


@pytest.mark.parametrize(
    ("line", "deciding", "asserting"),
    [
        ("if isinstance(x, Ours): pass", 1, 0),
        ("y = 1 if isinstance(x, int | Ours) else 2", 1, 0),
        ("y = [z for z in x if isinstance(z, (Ours, Other))]", 1, 0),
        ("y = isinstance(x, Ours) and isinstance(x, Other)", 2, 0),
        ("y = isinstance(x, Either)", 1, 0),
        ("y = type(x) is Ours", 1, 0),
        ("assert isinstance(x, Ours)", 0, 1),
        ("y = isinstance(x, int)", 0, 0),
        ("y = isinstance(x, foreign.Ours)", 0, 0),
        ("match x:\n    case Ours(): pass", 0, 0),
    ],
)
def test_dispatches_are_found(line: str, deciding: int, asserting: int) -> None:
    classes = own_classes(["class Ours: ...\nclass Other: ...\nEither = Ours | Other\n"])
    assert classes == {"Ours", "Other", "Either"}
    assert len(dispatches(line, classes)) == deciding
    assert len(asserted_classes(line, classes)) == asserting


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from microtome.published.container import _entries", ["_entries"]),
        ("from microtome._hidden import shown", ["microtome._hidden"]),
        ("from . import _near", ["_near"]),
        ("from microtome import whole_file\nwhole_file._sync()", ["whole_file._sync"]),
        ("import microtome.published as r\nr._x", ["r._x"]),
        ("from microtome import __version__", []),
        ("from numpy import _core", []),
        ("self._x", []),
    ],
)
def test_borrowed_private_names_are_found(text: str, found: list[str]) -> None:
    assert borrowed_private_names(text, "microtome") == found


EXPLAINED = '''"""Why."""

LIMIT = 3  # a comment beside code
"""What it limits."""

# alone
def f(
    x: int,
) -> int:
    """Says it.

    In two lines.
    """
    return (
        x + LIMIT
    )
'''


def test_lines_of_code_leave_out_what_explains_it() -> None:
    assert code_lines(EXPLAINED) == 7
    assert code_lines("x = '''a\nb'''\n") == 2
