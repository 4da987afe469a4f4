"""``microtome report``: how good a synthetic table is, on a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microtome.cli import images
from microtome.cli.screen import console, errors, plain, print_json, watch
from microtome.cli.verb import Quiet, count
from microtome.errors import ParameterError

if TYPE_CHECKING:
    from microtome.evaluation.linked_report import LinkedReport
    from microtome.evaluation.reporting import Report
    from microtome.schema import LinkedSchema


def report(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="[REAL] SYNTHETIC",
            help="CSV or Parquet files, folders of linked tables, or image sets; REAL is left out with --release.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="HTML file to write.")],
    release: Annotated[
        Path | None,
        typer.Option(help="Release: its promise is shown; without REAL everything on the page comes from it."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="What is known of the columns.", show_default="the release's, or drafted")
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(help="Real rows that were not used: test rows of models, controls of attacks.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.", show_default="the schema's target")] = None,
    sample: Annotated[
        int,
        typer.Option(
            parser=count, metavar="NUMBER", help="Rows a table that models, detector and attacks use at most."
        ),
    ] = 50_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of samples, splits and learners.")] = 0,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compare a synthetic table with the real one, on one self-contained HTML page.

    With REAL the page is computed from private rows and says so: it is not itself private. With --release instead of
    REAL everything on it comes from the release, with error bands from its known noise, and it may be published.

    Folders are linked tables, a file each; --schema says how they hang together.
    """
    from microtome.evaluation import report as compare
    from microtome.published import check_output

    if len(tables) > 2:
        raise ParameterError(f"{len(tables)} tables given; a report compares REAL with SYNTHETIC")
    if len(tables) == 1 and release is None:
        raise ParameterError("give REAL and SYNTHETIC, or SYNTHETIC and --release")
    if len(tables) == 1 and release is not None and _is_linked(release):
        if (schema, holdout, target) != (None, None, None):
            raise ParameterError("--schema, --holdout and --target are for real tables; a release brings its schema")
        _compare_linked(
            None, tables[0], output, release=release, sample=sample, as_json=as_json, seed=seed, force=force
        )
        return
    linked = _linked_schema(tables, schema)
    if linked is not None:
        if len(tables) == 1 or (release, holdout, target) != (None, None, None):
            raise ParameterError(
                "linked tables take REAL, SYNTHETIC and --schema, or SYNTHETIC and their --release, and neither "
                "--holdout nor --target"
            )
        _compare_linked(
            tables[0], tables[1], output, schema=linked, sample=sample, as_json=as_json, seed=seed, force=force
        )
        return
    if images.all_image_sets(tables):
        if target is not None:
            raise ParameterError("images have their label as target; --target is for tables")
        images.report(
            tables, output, release=release, schema=schema, holdout=holdout, sample=sample, as_json=as_json, seed=seed,
            force=force,
        )  # fmt: skip
        return
    check_output(output, force=force)
    with watch("parts") as progress:
        made = compare(
            tables[0] if len(tables) == 2 else None,
            tables[-1],
            release=release,
            schema=schema,
            holdout=holdout,
            target=target,
            sample=sample,
            random_state=seed,
            progress=progress,
        )
        made.save(output, force=force)
    _tell(made, output, as_json=as_json)


def _tell(made: Report | LinkedReport, output: Path, *, as_json: bool) -> None:
    """Say what a page has found, for people or for programs."""
    for note in made.figures.notes:
        errors.print(plain(note), soft_wrap=True)
    if as_json:
        print_json(made.figures.to_dict(), indent=1)
        return
    console.print(f"[bold]{plain(output)}[/]: {plain(made.headline)}", soft_wrap=True)


def _compare_linked(
    real: Path | None,
    synthetic: Path,
    output: Path,
    *,
    schema: LinkedSchema | None = None,
    release: Path | None = None,
    sample: int,
    as_json: bool,
    seed: int,
    force: bool,
) -> None:
    from microtome.evaluation import report_linked
    from microtome.published import check_output

    check_output(output, force=force)
    with watch("parts") as progress:
        made = report_linked(
            real, synthetic, schema, release=release, sample=sample, random_state=seed, progress=progress
        )
        made.save(output, force=force)
    _tell(made, output, as_json=as_json)


def _is_linked(release: Path) -> bool:
    """Whether a release is one of linked tables."""
    from microtome.published import Artefact

    return Artefact.load(release, verify=False).manifest.is_of_linked_tables


def _linked_schema(tables: list[Path], schema: Path | None) -> LinkedSchema | None:
    """How linked tables hang together, where tables are linked ones."""
    from microtome.schema import LinkedSchema
    from microtome.schema.table_folder import is_table
    from microtome.schema_file import load_any_schema

    match None if schema is None else load_any_schema(schema):
        case LinkedSchema() as linked:
            return linked
        case _ if any(table.is_dir() and is_table(table) for table in tables):
            raise ParameterError("folders are linked tables, and how these hang together is in a --schema; give it")
        case _:
            return None
