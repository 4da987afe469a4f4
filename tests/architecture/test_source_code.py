"""Habits of the source code that can be counted, and that the counting is right."""

from pathlib import Path

import pytest
from source_code import asserted_classes, borrowed_private_names, code_lines, dispatches, own_classes, read
from tracing import PACKAGE

SOURCES = sorted(PACKAGE.rglob("*.py"))
CLASSES = own_classes([read(path) for path in SOURCES])
MOST_DISPATCHES = 131
MOST_ASSERTIONS = 36
"""How often the package asks an object which class of ours it has, to decide by it or to tell the type checker. These
only go down; the aim is 20 dispatches. Give the classes a method, or use ``match``, instead of one more."""


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
