"""``microtome forecast``: what a release would be worth, before anything is spent; touches no data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from microtome.cli import images
from microtome.cli.choices import DrawnDirections, Kind, Neighbours, ReleaseAccountant
from microtome.cli.release_options import (
    AccountantOption,
    Capacity,
    DirectionsOption,
    FocusOption,
    Like,
    NeighboursOption,
    NumSlices,
    Pivot,
    ProfileShare,
    SliceDim,
    Subsample,
    TriplesOption,
)
from microtome.cli.screen import console, plain, print_json
from microtome.cli.verb import Quiet, count
from microtome.errors import ParameterError

if TYPE_CHECKING:
    from microtome.published import Release
    from microtome.schema import Schema


def forecast(
    rows: Annotated[
        int,
        typer.Option(
            "-n", "--rows", parser=count, metavar="NUMBER", help="How many records it has, as far as that is public."
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Total ε.")],
    schema: Annotated[
        Path | None, typer.Option(help="What is public about the table.", show_default="that of --like")
    ] = None,
    like: Like = None,
    delta: Annotated[
        float | None, typer.Option(help="Total δ.", show_default="1e-6, or less where there are many rows")
    ] = None,
    kind: Annotated[Kind, typer.Option(help="Kind of release.")] = Kind.AGGREGATES,
    pivot: Pivot = "none",
    focus: FocusOption = "target",
    triples: TriplesOption = 32,
    neighbours: NeighboursOption = Neighbours.BLANK_ONE,
    directions: DirectionsOption = DrawnDirections.ORTHOGONAL,
    num_slices: NumSlices = None,
    slice_dim: SliceDim = 1,
    subsample: Subsample = None,
    capacity: Capacity = None,
    accountant: AccountantOption = ReleaseAccountant.EXACT,
    profile_share: ProfileShare = None,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what a release would be worth, from the schema and the number of rows alone.

    In words first; then what is to be expected of every column, and how all of it changes with ε. Reads no table and
    costs nothing, so try as much as you like: declare more, leave columns out, take another ε.
    """
    from microtome.forecasting import forecast as foretold
    from microtome.forecasting.page import COLUMN_HEADINGS, CURVE_HEADINGS, column_rows, curve_rows
    from microtome.published import Release

    other = None if like is None else Release.load(like)
    found = foretold(
        _declared(schema, other),
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        like=other,
        kind=kind.value,
        pivot=pivot,
        focus=focus,
        triples=triples,
        neighbours=neighbours.value,
        directions=directions.value,
        num_slices=num_slices,
        slice_dim=slice_dim,
        subsample=subsample,
        capacity=capacity,
        accountant=accountant.value,
        profile_share=profile_share,
    )
    if as_json:
        print_json(found.to_dict(), indent=1)
        return
    heading, verdict, *lines = (plain(line) for line in str(found).splitlines())
    console.print(f"{heading}\n[bold]{verdict}[/]", soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=True)
    console.print(_table(COLUMN_HEADINGS, column_rows(found)))
    console.print(_table(CURVE_HEADINGS, curve_rows(found)))


def _declared(path: Path | None, like: Release | None) -> Schema:
    from microtome.schema import Schema
    from microtome.schema_file import load_schema

    if path is None:
        if like is None:
            raise ParameterError("nothing is known of the table: give --schema, or --like and another release's file")
        return like.schema
    match None if str(path) == images.WORD else load_schema(path):
        case Schema() as declared:
            return declared
        case _:
            raise ParameterError(
                "there is no forecast of images; 'microtome budget' says how much noise a promise needs"
            )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(*headings, header_style="bold")
    for row in rows:
        table.add_row(*map(plain, row))
    return table
