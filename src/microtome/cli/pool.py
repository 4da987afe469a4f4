"""``microtome pool``: releases of several holders added up to one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microtome.cli.screen import console, plain
from microtome.cli.verb import Quiet


def pool(
    releases: Annotated[
        list[Path], typer.Argument(help="Releases of aggregates on one codebook: see 'microtome release --like'.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Release file to write.")],
    overlapping: Annotated[
        bool,
        typer.Option("--overlapping", help="People may be in several of the releases: what these cost is added up."),
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Add up releases of several holders. Reads no private data and spends nothing.

    Counts add, and so does the variance of their noise. Without --overlapping you state that nobody is in two of the
    releases; each keeps the promise of their own holder, which the pool lists.
    """
    from microtome.published import pool as add_up
    from microtome.published import promise_in_words

    pooled = add_up(releases, output, overlapping=overlapping, force=force)
    console.print(f"[bold]{plain(output)}[/]: {pooled.num_records:,.0f} records", soft_wrap=True)
    for line in promise_in_words(pooled):
        console.print(plain(line), soft_wrap=True)
