"""``microtome sample``: synthetic rows from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microtome.cli import images
from microtome.cli.screen import console, plain, watch
from microtome.errors import ParameterError


def sample(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="CSV or Parquet file; for images .npz, a .png grid, or a folder.")
    ],
    rows: Annotated[int, typer.Option("-n", "--rows", help="Number of rows, or of images.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Condition: 'sex=female', 'age=30..40', 'town=A|B', for images 'label=3|5'; may be repeated."
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool, typer.Option("--spreadsheet-safe", help="CSV: an apostrophe before text that a spreadsheet would run.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Seed, to draw the same rows again.")] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
) -> None:
    """Draw any number of synthetic rows, streamed to a file, or of synthetic images."""
    from microtome.release import check_output
    from microtome.synthesis import Synthesizer, conditions_from_text
    from microtome.synthesis.table_file import write_tables

    if images.is_image_model(model):
        if spreadsheet_safe:
            raise ParameterError("--spreadsheet-safe is for tables; this is a model of images")
        images.sample(model, output, rows, where or (), seed=seed, force=force)
        return
    check_output(output, force=force)
    synthesizer = Synthesizer.load(model)
    conditions = conditions_from_text(synthesizer.model.codebook, where or ())
    tables = synthesizer.sample_tables(rows, conditions=conditions, random_state=seed)
    with watch("rows") as progress:
        write_tables(output, tables, rows, progress, spreadsheet_safe=spreadsheet_safe)
    console.print(f"[bold]{plain(output)}[/]: {rows:,} rows", soft_wrap=True)
