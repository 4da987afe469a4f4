"""``microtome sample``: synthetic rows from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microtome.cli.screen import console, plain, watch


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
    from microtome.synthesis import Synthesizer

    synthesizer = Synthesizer.load(model)
    unit = synthesizer.model.unit
    with watch(unit) as progress:
        synthesizer.sample_to_file(
            output,
            rows,
            conditions=synthesizer.model.conditions_from_text(where or ()),
            spreadsheet_safe=spreadsheet_safe,
            force=force,
            random_state=seed,
            progress=progress,
        )
    console.print(f"[bold]{plain(output)}[/]: {rows:,} {unit}", soft_wrap=True)
