"""What the user sees: progress bars on a terminal, plain lines elsewhere, tables, errors."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from microtome.progress import Progress as ReportProgress

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)
_SECONDS_BETWEEN_LINES = 5.0


class EndedEarly(SystemExit):
    """Ctrl-C where what was done so far is written and has been said: exit code 130 and no further word."""

    def __init__(self) -> None:
        super().__init__(130)


def complain(message: str) -> None:
    """Print an error."""
    errors.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


@contextmanager
def watch(unit: str) -> Iterator[ReportProgress]:
    """Progress stage by stage: a bar on a terminal, a line now and then elsewhere."""
    if not errors.is_terminal:
        yield _lines(unit)
        return
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=errors) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int | None, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, note=note)
            bars.update(tasks[stage], completed=done, total=total, note=note)

        yield report


def _lines(unit: str) -> ReportProgress:
    last: dict[str, float] = {}

    def report(stage: str, done: int, total: int | None, note: str = "") -> None:
        now = time.monotonic()
        finished = total is not None and done >= total
        if finished or now - last.setdefault(stage, now) >= _SECONDS_BETWEEN_LINES:
            last[stage] = now
            whole = "" if total is None else f" of {total:,}"
            print(f"{stage}: {done:,}{whole} {unit}{note and f', {note}'}", file=sys.stderr, flush=True)

    return report
