"""Renders the tables of docs/architecture.md from the source and from traces of it; run as a script, writes the page.

python tests/architecture/page.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ways
from privacy_core import TIERS, lines_of, lines_of_tier
from tracing import Function, Sight, Trace, function_of

import microtome as mt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
_PART = re.compile(r"(<!-- rendered: ([\w ]+) -->\n).*?(\n<!-- end -->)", flags=re.DOTALL)
_TRIVIAL = ("__post_init__", "__init__", "__len__", "__getattr__")
"""Names that say little in a list."""


def rendered(page: str) -> str:
    """The page with all its tables made anew."""
    asked = [name for _, name, _ in _PART.findall(page)]
    unknown = set(asked) ^ set(PARTS)
    if unknown or len(asked) != len(set(asked)):
        raise ValueError(f"{PAGE.name} must have each part once: {', '.join(PARTS)}; look at {', '.join(unknown)}")
    return _PART.sub(lambda found: found[1] + PARTS[found[2]]() + found[3], page)


def _record(kind: str) -> str:
    sights = ways.way_of_a_record(kind)
    bare, noisy = ([one.function for one in sights if one.bare is wanted] for wanted in (True, False))
    counted = (
        f"The record itself is seen by {_count(bare)}; what is left of it under noise by {_count(noisy)}, "
        f"of {_count(ways.trace_of_a_release(kind).callers)} that the release goes through."
    )
    return "\n\n".join([counted, _table(_hops(sights)), _table(_by_file(noisy), title="under noise")])


def _hops(sights: Iterable[Sight]) -> list[tuple[str, list[str]]]:
    """Functions that see the bare record, those in a row of one file together."""
    bare = [one.function for one in sights if one.bare]
    return [(file, [one.name for one in together]) for file, together in groupby(bare, key=lambda one: one.file)]


def _by_file(functions: Iterable[Function]) -> list[tuple[str, list[str]]]:
    """Functions of each file, files in the order of their first."""
    found: dict[str, list[str]] = {}
    for function in functions:
        found.setdefault(function.file, []).append(function.name)
    return list(found.items())


def _table(rows: Iterable[tuple[str, list[str]]], *, title: str = "the bare record") -> str:
    lines = [f"| | {title} | functions |", "|---|---|---|"]
    for number, (file, names) in enumerate(rows, 1):
        told = [f"`{name}`" for name in names if name.split(".")[-1] not in _TRIVIAL]
        lines.append(f"| {number} | `{file}` | {', '.join(told) or 'checks only'} |")
    return "\n".join(lines)


def _count(functions: Iterable[Function]) -> str:
    functions = list(functions)
    return f"{len(functions)} functions in {len({one.file for one in functions})} files"


def _tree(trace: Trace, root: Callable[..., object], *, depth: int) -> str:
    """The functions below a root, indented by what called them first."""
    top = function_of(root)
    children: dict[Function, list[Function]] = {}
    for function, caller in trace.callers.items():
        if caller is not None:
            children.setdefault(caller, []).append(function)
    lines: list[str] = []

    def walk(function: Function, level: int) -> None:
        told = function.name.split(".")[-1] not in _TRIVIAL
        if told:
            lines.append(f"{'  ' * level}{function.name}  ({function.file})")
        if level < depth:
            for below in children.get(function, []):
                walk(below, level + told)

    walk(top, 0)
    said = f"{_count(trace.callers)} in all. Those up to {depth} calls below, each where it is called first:"
    return "\n".join([said, "", "```text", *lines, "```"])


def _tiers() -> str:
    return "\n\n".join(_tier(name, files) for name, files in TIERS.items())


def _tier(name: str, files: dict[str, str]) -> str:
    head = [f"**{name.capitalize()}**: {lines_of_tier(name):,} lines of code.", ""]
    head += ["| | file | what it is | lines |", "|---|---|---|---|"]
    numbered = enumerate(files.items(), 1)
    return "\n".join([*head, *(f"| {n} | `{file}` | {what} | {lines_of(file)} |" for n, (file, what) in numbered)])


PARTS: dict[str, Callable[[], str]] = {
    "record in aggregates": lambda: _record("aggregates"),
    "record in records": lambda: _record("records"),
    "release": lambda: _tree(ways.trace_of_a_release("aggregates"), mt.release, depth=6),
    "fit": lambda: _tree(ways.trace_of_a_fit(), mt.Synthesizer.fit, depth=3),
    "sample": lambda: _tree(ways.trace_of_a_sample(), mt.Synthesizer.sample, depth=3),
    "reading order": _tiers,
}
"""What is rendered, by the name that the page has for it."""


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
