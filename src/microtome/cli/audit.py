"""``microtome audit``: attack the mechanism, and compare what it gives away with what it claims."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from microtome.cli.choices import DrawnDirections, Neighbours, ReleaseAccountant
from microtome.cli.screen import EndedEarly, Screen, console, plain, watch
from microtome.cli.verb import Quiet
from microtome.errors import AuditError, ParameterError
from microtome.whole_file import write_text

_WIDTH = 150
"""Characters a line where there is no terminal to say."""

if TYPE_CHECKING:
    from microtome.auditing import Audit, AuditSetting, Finding


def audit(
    epsilon: Annotated[float | None, typer.Option(help="ε of the promise.", show_default="1")] = None,
    delta: Annotated[float | None, typer.Option(help="δ of the promise.", show_default="1e-5")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="records, aggregates, or one part alone: profile; of images: means, second-moments, spreads.",
            show_default="records",
        ),
    ] = None,
    neighbours: Annotated[
        Neighbours | None, typer.Option(help="Neighbouring relation.", show_default="blank-one")
    ] = None,
    directions: Annotated[
        DrawnDirections | None, typer.Option(help="records: law of the directions.", show_default="orthogonal")
    ] = None,
    num_slices: Annotated[
        int | None, typer.Option(help="records: number of slices.", show_default="the encoded dimension")
    ] = None,
    subsample: Annotated[
        float | None, typer.Option(help="records: Poisson sampling rate.", show_default="all records")
    ] = None,
    pivot: Annotated[str | None, typer.Option(help="aggregates: a column, or 'none'.", show_default="none")] = None,
    accountant: Annotated[
        ReleaseAccountant | None, typer.Option(help="By whom the noise is computed.", show_default="exact")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="aggregates: rows of a person, who come and go together.", show_default="1")
    ] = None,
    linked: Annotated[
        bool, typer.Option("--linked", help="aggregates: audit linked tables, with --rows rows of every parent.")
    ] = False,
    images: Annotated[bool, typer.Option("--images", help="Audit releases of images, not of tables.")] = False,
    schema: Annotated[
        Path | None,
        typer.Option(help="Columns, or images, to audit on; no data are read.", show_default="made for the purpose"),
    ] = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Use nothing but the public function and the file it writes.")
    ] = False,
    budget_seconds: Annotated[float, typer.Option(help="Time for all settings together.")] = 300.0,
    confidence: Annotated[float, typer.Option(help="With which each bound holds, and all verdicts together.")] = 0.95,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="JSON file for all figures.", show_default="none")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Attack real releases of made-up tables and images: a lower bound on ε, beside the ε that is claimed.

    Without options that describe a setting, all mechanisms and neighbouring relations are audited. Touches no private
    data. Exit code 1 if a promise is refuted. Ctrl-C shows, and writes, what has been found so far.
    """
    from microtome.auditing import audit as run_audit
    from microtome.auditing import suite
    from microtome.published import check_output

    described = {
        "epsilon": epsilon, "delta": delta, "kind": kind, "neighbours": neighbours, "directions": directions,
        "num_slices": num_slices, "subsample": subsample, "pivot": pivot, "accountant": accountant,
        "rows": rows,
    }  # fmt: skip
    given = {name: value for name, value in described.items() if value is not None}
    given |= {"linked": True} if linked else {}
    described_at_all = given or images or schema or as_published
    settings = [_setting(given, schema, images, as_published)] if described_at_all else suite()
    if output is not None:
        check_output(output, force=force)
    with watch("s") as progress:
        found = run_audit(settings, seconds=budget_seconds, confidence=confidence, progress=progress)
    if output is not None:
        write_text(output, json.dumps(found.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    _show(found)
    if found.violations:
        names = "; ".join(finding.setting for finding in found.violations)
        raise AuditError(f"the audit refutes {len(found.violations)} of {len(found.findings)} promises: {names}")
    if not found.finished:
        raise EndedEarly


def _setting(given: Mapping[str, object], schema: Path | None, images: bool, as_published: bool) -> AuditSetting:
    from microtome import accounting
    from microtome.auditing import AuditKind, AuditSetting
    from microtome.images import ImageSchema
    from microtome.schema_file import load_schema

    held = None if schema is None else load_schema(schema)
    types: dict[str, type[StrEnum]] = {
        "kind": AuditKind,
        "neighbours": accounting.Neighbours,
        "directions": accounting.DirectionKind,
        "accountant": accounting.Accountant,
    }
    typed = {name: _member(types[name], value) if name in types else value for name, value in given.items()}
    return AuditSetting(
        **typed,  # type: ignore[arg-type]
        images=images or isinstance(held, ImageSchema),
        schema=held,
        as_published=as_published,
    )


def _member(options: type[StrEnum], value: object) -> object:
    try:
        return options(str(value))
    except ValueError:
        raise ParameterError(f"{value!r} is not one of {', '.join(options)}") from None


def _show(found: Audit) -> None:
    table = Table(header_style="bold", title_justify="left")
    for heading in ("mechanism", "claimed ε (δ)", "claimed ε(δ′)", "audited ε(δ′) ≥", "as ε", "confidence", "verdict"):
        table.add_column(heading, justify="left" if heading in ("mechanism", "verdict") else "right")
    for finding in found.findings:
        table.add_row(*_cells(finding))
    wide = console if console.is_terminal or console.quiet else Screen(width=_WIDTH)
    wide.print(table)
    console.print(
        f"Each bound holds with confidence {found.confidence:.4g}, and so do all verdicts together. 'As ε' is the "
        "bound translated to the stated δ by the shape of the claimed curve; the other figures assume nothing.",
        soft_wrap=True,
    )
    if not found.finished:
        console.print(
            f"interrupted: {len(found.findings)} of {found.settings} settings, the last one cut short", soft_wrap=True
        )


def _cells(finding: Finding) -> list[str]:
    equivalent = "–" if finding.equivalent is None else f"{finding.equivalent:.3g}"
    return [
        plain(finding.setting),
        f"{finding.epsilon:.3g} ({finding.delta:g})",
        f"{finding.curve.claimed:.3f} ({finding.curve.delta:g})",
        f"{finding.curve.audited:.3f}",
        equivalent,
        f"{finding.confidence:.2%}",
        "[bold red]VIOLATED[/]" if finding.is_violation else "doubtful" if finding.is_doubtful else "holds",
    ]
