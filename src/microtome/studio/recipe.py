"""The same as commands, and as Python: what was done here, for whoever wants to do it again without a page.

Files are named as they are when they are downloaded; the table by its path, or by its name if it was copied here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from microtome.studio.desk import Contents, Drawn, Fitted, Released, Reported, Tuned
from microtome.studio.places import Opened

_FLAGS = ("anyway",)


def schema_name(released: Released) -> str:
    """What the schema of a release is called."""
    return f"{released.stem}.schema.yaml"


def statement_name(released: Released) -> str:
    """What the statement on a release is called."""
    return f"{released.stem}.statement.md"


def commands(desk: Contents) -> list[str]:
    """A command a step that was done, in order."""
    return [shlex.join(["microtome", *words]) + tail for words, tail in _commands(desk)]


def _commands(desk: Contents) -> Iterator[tuple[list[str], str]]:
    released = desk.released
    if released is None:
        return
    if desk.table is not None and released.schema is not None:
        yield _release(desk.table, released), ""
    yield ["inspect", released.path.name, "--statement"], f" > {shlex.quote(statement_name(released))}"
    if desk.tuned is not None:
        yield ["tune", released.path.name, "--trials", str(desk.tuned.trials), "-o", desk.tuned.path.name], ""
    if desk.fitted is not None:
        yield _fit(released, desk.fitted), ""
        if desk.drawn is not None:
            yield _sample(desk.fitted, desk.drawn), ""
    if desk.drawn is not None and desk.reported is not None:
        yield _report(desk, desk.drawn, desk.reported), ""


def _release(table: Opened, released: Released) -> list[str]:
    words = ["release", table.named, "--schema", schema_name(released)]
    for name, value in released.options.items():
        if name not in _FLAGS:
            words += [f"--{name}", _plain(value)]
        elif value:
            words.append(f"--{name}")
    if table.is_elsewhere:
        words += ["--ledger", str(table.ledger), "--dataset", table.dataset]
    return [*words, "-o", released.path.name]


def _fit(released: Released, fitted: Fitted) -> list[str]:
    words = ["fit", released.path.name]
    words += [] if fitted.settings is None else ["--settings", fitted.settings.name]
    words += [] if fitted.steps is None else ["--steps", str(fitted.steps)]
    words += [] if fitted.seed is None else ["--seed", str(fitted.seed)]
    return [*words, "-o", fitted.path.name]


def _sample(fitted: Fitted, drawn: Drawn) -> list[str]:
    words = ["sample", fitted.path.name, "-n", str(drawn.rows)]
    for condition in drawn.where:
        words += ["--where", condition]
    words += ["--spreadsheet-safe"] if drawn.spreadsheet_safe else []
    words += [] if drawn.seed is None else ["--seed", str(drawn.seed)]
    return [*words, "-o", drawn.path.name]


def _report(desk: Contents, drawn: Drawn, reported: Reported) -> list[str]:
    real = [desk.table.named] if reported.of_real_rows and desk.table is not None else []
    release = [] if desk.released is None else ["--release", desk.released.path.name]
    return ["report", *real, drawn.path.name, *release, "-o", reported.path.name]


def program(desk: Contents) -> str:
    """The same as a program: imports first, those of Python before the others."""
    lines = list(_lines(desk))
    if not lines:
        return ""
    imported = sorted({line for line in lines if line.startswith("from ")})
    ours = ["import microtome as mt", *(line for line in imported if line.startswith("from microtome"))]
    pythons = [line for line in imported if line not in ours]
    steps = [line for line in lines if line not in imported]
    return "\n".join([*pythons, *([""] if pythons else []), *ours, "", *steps]) + "\n"


def _lines(desk: Contents) -> Iterator[str]:
    released = desk.released
    if released is None:
        return
    if desk.table is not None and released.schema is not None:
        yield from _released(desk.table, released)
    else:
        kind = "ImageRelease" if released.is_of_images else "Release"
        yield f"release = mt.{kind}.load({released.path.name!r})"
    if desk.tuned is not None:
        yield from _tuned(desk.tuned)
    if desk.fitted is not None:
        yield from _fitted(desk.fitted, "ImageFitSettings" if released.is_of_images else "FitSettings")
        if desk.drawn is not None:
            yield from _drawn(desk.drawn)
    if desk.drawn is not None and desk.reported is not None:
        real = repr(desk.table.named) if desk.reported.of_real_rows and desk.table is not None else "None"
        if released.is_of_images:
            yield "from microtome.evaluation.images import report_images"
        compare = "report_images" if released.is_of_images else "mt.report"
        yield f"report = {compare}({real}, {desk.drawn.path.name!r}, release=release)"
        yield f"report.save({desk.reported.path.name!r})"


def _released(table: Opened, released: Released) -> Iterator[str]:
    yield "release = mt.release("
    yield f"    {table.named!r},"
    yield f"    {schema_name(released)!r},"
    for name, value in released.options.items():
        if name not in _FLAGS or value:
            yield f"    {name}={value!r},"
    yield f"    output={released.path.name!r},"
    yield f"    ledger={_book(table)!r},"
    yield f"    dataset={table.dataset!r},"
    yield ")"


def _book(table: Opened) -> str:
    """The book, by its path; one beside the table as the table is named."""
    return str(table.ledger if table.is_elsewhere else Path(table.named).with_name(table.ledger.name))


def _tuned(tuned: Tuned) -> Iterator[str]:
    yield "from pathlib import Path"
    yield "from microtome.training import tune"
    yield f"trials = tune(release, trials={tuned.trials}, storage=Path({f'{tuned.path.name}.trials.sqlite3'!r}))"
    yield f"trials[0].settings.save({tuned.path.name!r})"


def _fitted(fitted: Fitted, kind: str) -> Iterator[str]:
    options = []
    match fitted.settings, fitted.steps:
        case None, None:
            pass
        case None, steps:
            options.append(f"mt.{kind}(steps={steps})")
        case path, None:
            options.append(f"mt.{kind}.load({path.name!r})")
        case path, steps:
            yield "from dataclasses import replace"
            options.append(f"replace(mt.{kind}.load({path.name!r}), steps={steps})")
    options += [] if fitted.seed is None else [f"random_state={fitted.seed}"]
    yield f"model = mt.Synthesizer({', '.join(options)}).fit(release)"
    yield f"model.save({fitted.path.name!r})"


def _drawn(drawn: Drawn) -> Iterator[str]:
    options: dict[str, str] = {}
    if drawn.where:
        yield f"conditions = model.model.conditions_from_text({list(drawn.where)!r})"
    options |= {"conditions": "conditions"} if drawn.where else {}
    options |= {"spreadsheet_safe": "True"} if drawn.spreadsheet_safe else {}
    options |= {"card": "True"} if drawn.described else {}
    options |= {} if drawn.seed is None else {"random_state": str(drawn.seed)}
    given = "".join(f", {name}={value}" for name, value in options.items())
    yield f"model.sample_to_file({drawn.path.name!r}, {drawn.rows}{given})"


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
