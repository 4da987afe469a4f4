"""``microtome sample``: synthetic rows from a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from microtome.cli.screen import console, plain, watch
from microtome.cli.verb import Quiet, count
from microtome.whole_file import STANDARD


def sample(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="File that ends in .csv, .csv.gz, .tsv … or .parquet, or - for text to standard output; for images "
            ".npz, a .png grid, or a folder; for linked tables a folder.",
        ),
    ],
    rows: Annotated[
        int,
        typer.Option(
            "-n",
            "--rows",
            parser=count,
            metavar="NUMBER",
            help="Number of rows, of images or, with a unit or linked tables, of people; such as 1e6.",
        ),
    ],
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
    quiet: Quiet = False,
) -> None:
    """Draw any number of synthetic rows, streamed to a file, or of synthetic images."""
    from microtome.synthesis import Synthesizer

    synthesizer = Synthesizer.load(model)
    unit = synthesizer.model.unit
    with watch(unit) as progress:
        options: dict[str, Any] = {
            "conditions": synthesizer.model.conditions_from_text(where or ()),
            "spreadsheet_safe": spreadsheet_safe,
            "random_state": seed,
            "progress": progress,
        }
        if output == STANDARD:
            synthesizer.sample_to_stream(sys.stdout.buffer, rows, **options)
            return
        synthesizer.sample_to_file(output, rows, force=force, **options)
    console.print(f"[bold]{plain(output)}[/]: {rows:,} {unit}", soft_wrap=True)
