"""``microtome schema edit``: a schema changed question by question; answers may also come through a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from microtome.cli.screen import console, errors, plain
from microtome.errors import ParameterError, SchemaError
from microtome.schema import Aside, Column, Schema
from microtome.schema.editing import with_changes, with_target
from microtome.whole_file import write_text

_HELP = (
    "A number or a name chooses a column. 'target NAME' sets what is to be predicted ('target none' for nothing), "
    "'save' writes the file, 'confirm' writes it as confirmed, 'quit' leaves it as it was."
)
_OF_COLUMN = (
    "kind, dtype, bounds, categories, missing, outside, format, zone, unit; or action (drop, surrogate, categories, "
    "release); an empty line goes back"
)


def edit(path: Path, schema: Schema) -> None:
    """Change a schema and write it to its file whole, or not at all."""
    _list(schema)
    console.print(_HELP, soft_wrap=True)
    for line in _lines("schema> "):
        word, _, rest = line.partition(" ")
        match word:
            case "quit":
                console.print(f"{plain(path)} is as it was.", soft_wrap=True)
                return
            case "save" | "confirm":
                written = schema.confirm() if word == "confirm" else schema
                write_text(path, written.to_yaml())
                state = "is a draft still" if written.drafted else "is confirmed: all of it will be public"
                console.print(f"{plain(path)}: written, and {state}.", soft_wrap=True)
                return
            case "list":
                _list(schema)
            case "target":
                schema = _tried(schema, partial(with_target, schema, None if rest == "none" else rest))
            case _:
                schema = _column(schema, line)
    raise ParameterError(f"{path} is as it was: nothing was saved ('save' or 'confirm' writes it)")


def _lines(prompt: str) -> Iterator[str]:
    """Lines of standard input, with a prompt where somebody is there to read it."""
    while True:
        if sys.stdin.isatty():
            console.print(prompt, end="")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip() or prompt != "schema> ":
            yield line.strip()


def _list(schema: Schema) -> None:
    for number, one in enumerate(schema.layout(), start=1):
        console.print(f"{number:4} {plain(_in_words(one, schema))}", soft_wrap=True)


def _in_words(one: Column | Aside, schema: Schema) -> str:
    match one:
        case Aside():
            return f"{one.name}: not released ({one.action})"
        case Column():
            return _described(one, schema)


def _described(one: Column, schema: Schema) -> str:
    declared = one.categories if one.kind.is_categorical else one.bounds
    shown = "learn" if declared is None else ", ".join(map(str, declared[:6])) + (" …" if len(declared) > 6 else "")
    marks = [one.suggested and f"suggested: {one.suggested}", one.name == schema.target and "target"]
    return "; ".join([f"{one.name}: {one.kind} ({one.described})", shown, *[mark for mark in marks if mark]])


def _tried(schema: Schema, change: Callable[[], Schema]) -> Schema:
    """The changed schema, or the same with a word on what is wrong."""
    try:
        return change()
    except (SchemaError, ValueError) as error:
        errors.print(f"[bold red]no:[/] {plain(error)}", soft_wrap=True)
        return schema


def _column(schema: Schema, wanted: str) -> Schema:
    """Ask for changes of one column until an empty line."""
    names = [one.name for one in schema.layout()]
    name = names[int(wanted) - 1] if wanted.isdigit() and 0 < int(wanted) <= len(names) else wanted
    if name not in names:
        errors.print(f"[bold red]no:[/] no column or command {plain(wanted)!r}. {_HELP}", soft_wrap=True)
        return schema
    console.print(plain(_in_words(_find(schema, name), schema)), soft_wrap=True)
    console.print(f"'KEY VALUE' with KEY one of {_OF_COLUMN}.", soft_wrap=True)
    for line in _lines(f"{plain(name)}> "):
        if not line:
            break
        key, _, value = line.partition(" ")
        schema = _tried(schema, partial(with_changes, schema, name, {key.rstrip(":"): value.strip()}))
        console.print(plain(_in_words(_find(schema, name), schema)), soft_wrap=True)
    return schema


def _find(schema: Schema, name: str) -> Column | Aside:
    return next(one for one in schema.layout() if one.name == name)
