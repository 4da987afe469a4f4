"""``microtome sample``: synthetic rows from a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from microtome.cli.screen import console, plain, watch
from microtome.cli.verb import Quiet, count
from microtome.errors import ParameterError
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
    card: Annotated[
        bool | None,
        typer.Option(
            "--card/--no-card",
            help="Write beside it what it is: OUTPUT.card.md, for people, and OUTPUT.croissant.json.",
            show_default="beside all but standard output, grids and folders of images",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed, to draw the same rows again.")] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draw any number of synthetic rows, streamed to a file, or of synthetic images."""
    from microtome.synthesis import Synthesizer
    from microtome.synthesis.dataset_card import is_describable

    synthesizer = Synthesizer.load(model)
    unit = synthesizer.model.unit
    with watch(unit) as progress:
        options: dict[str, Any] = {
            "conditions": synthesizer.model.conditions_from_text(where or ()),
            "spreadsheet_safe": spreadsheet_safe,
            "random_state": seed,
            "progress": progress,
        }
        if output == STANDARD and card:
            raise ParameterError("--card is written beside a file; name one with --output")
        if output == STANDARD:
            synthesizer.sample_to_stream(sys.stdout.buffer, rows, **options)
            return
        described = is_describable(output, synthesizer.model) if card is None else card
        synthesizer.sample_to_file(output, rows, card=described, force=force, **options)
    beside = "; beside it .card.md and .croissant.json say what it is" if described else ""
    console.print(f"[bold]{plain(output)}[/]: {rows:,} {unit}{beside}", soft_wrap=True)
