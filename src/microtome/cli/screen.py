"""What the user sees: progress bars on a terminal, plain lines elsewhere, tables, errors."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from microtome.progress import Progress as ReportProgress
from microtome.progress import silent


def visible(text: str) -> str:
    """Text with everything escaped that a terminal would act on instead of showing it; line ends and tabs stay."""
    return "".join(_escaped(letter) if _acts(letter) else letter for letter in text)


def plain(value: object) -> str:
    """A value from a file or a name of one, as a part of a line with markup: shown as it is, and on one line."""
    return escape(visible(str(value)).replace("\n", "\\n").replace("\t", "\\t"))


def _acts(letter: str) -> bool:
    """Whether a character is a control, turns the direction of writing, or cannot be written at all."""
    return letter not in "\n\t" and unicodedata.category(letter) in _ACTING


def _escaped(letter: str) -> str:
    return f"\\x{ord(letter):02x}" if ord(letter) < 0x100 else f"\\u{ord(letter):04x}"


class Screen(Console):
    """A console on which nothing that is printed can move the cursor, change colours or hide what is written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """All text passes here, with its markup, before it is measured and printed."""
        return super().render_str(visible(text), **options)


_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls; formats, such as bidirectional overrides; halves of characters; and separators of lines."""
console = Screen()
errors = Screen(stderr=True)
_SECONDS_BETWEEN_LINES = 5.0


def be_quiet() -> None:
    """From now on print errors and warnings only, and what was asked for by an option such as ``--json``."""
    console.quiet = True


def speak() -> None:
    """The opposite, as every command begins."""
    console.quiet = False


def write_every_letter() -> None:
    """Files and pipes get UTF-8, whatever the system's habit; a terminal gets an escape for what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


class EndedEarly(SystemExit):
    """Ctrl-C where what was done so far is written and has been said: exit code 130 and no further word."""

    def __init__(self) -> None:
        super().__init__(130)


def size_in_words(number: int) -> str:
    """A number of bytes."""
    if number < 1 << 20:
        return f"{max(number / 2**10, 0.1):,.1f} KiB"
    return f"{number / 2**20:,.1f} MiB"


def complain(message: str) -> None:
    """Print an error."""
    errors.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def print_document(text: str) -> None:
    """Print a document that is made for programs or to be kept, without markup or colours, as it is."""
    print(visible(text), end="")


def print_json(value: Any, *, indent: int | None = None) -> None:
    """Print JSON; characters that a terminal would act on are written as JSON escapes, so that it stays the same."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    print("".join(_json_escaped(letter) if _acts(letter) else letter for letter in text))


@contextmanager
def watch(unit: str) -> Iterator[ReportProgress]:
    """Progress stage by stage: a bar on a terminal, a line now and then elsewhere, nothing if it is to be quiet."""
    if console.quiet:
        yield silent
    elif errors.is_terminal:
        with _bars(unit) as report:
            yield report
    else:
        yield _lines(unit)


@contextmanager
def _bars(unit: str) -> Iterator[ReportProgress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:>10}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=errors) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int | None, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(visible(stage), total=total, note="")
            bars.update(tasks[stage], completed=done, total=total, note=visible(note))

        yield report


def _json_escaped(letter: str) -> str:
    return json.dumps(letter, ensure_ascii=True)[1:-1] if letter != "\x7f" else "\\u007f"


def _lines(unit: str) -> ReportProgress:
    last: dict[str, float] = {}
    said: dict[str, str] = {}

    def report(stage: str, done: int, total: int | None, note: str = "") -> None:
        now = time.monotonic()
        whole = "" if total is None else f" of {total:,}"
        line = f"{stage}: {done:,}{whole} {unit}{note and f', {note}'}"
        finished = total is not None and done >= total and line != said.get(stage)  # a stage may have many passes
        if finished or now - last.setdefault(stage, now) >= _SECONDS_BETWEEN_LINES:
            last[stage], said[stage] = now, line
            print(visible(line), file=sys.stderr, flush=True)

    return report
