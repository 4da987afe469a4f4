"""``microtome budget``: how much noise a promise needs, by every accountant; touches no data."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from microtome.cli.choices import Directions, Neighbours
from microtome.cli.screen import console, print_json
from microtome.errors import ParameterError


def budget(
    dim: Annotated[int, typer.Option(help="Encoded dimension d.")],
    delta: Annotated[float, typer.Option(help="δ.")],
    epsilon: Annotated[float | None, typer.Option(help="ε, to get the noise.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Noise σ, to get ε.")] = None,
    directions: Annotated[Directions, typer.Option(help="Law of the directions.")] = Directions.ORTHOGONAL,
    num_directions: Annotated[
        int | None, typer.Option(help="Number of directions m' = slices × slice dimension.", show_default="dim")
    ] = None,
    slice_dim: Annotated[int, typer.Option(help="Dimension of a slice (matters to fixed directions only).")] = 1,
    neighbours: Annotated[Neighbours, typer.Option(help="Neighbouring relation.")] = Neighbours.BLANK_ONE,
    subsample: Annotated[float | None, typer.Option(help="Poisson sampling rate.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The noise that each accountant asks for, or the ε that given noise achieves.

    For the sliced part alone, before a profile takes its share. Under replace-one neighbours rows are encoded
    with non-negative coordinates, so two of them are at most √2 apart.
    """
    from microtome import accounting

    if (epsilon is None) == (sigma is None):
        raise ParameterError("give either --epsilon, to get the noise, or --sigma, to get ε")
    count = dim if num_directions is None else num_directions
    if slice_dim < 1 or count % slice_dim:
        raise ParameterError(f"{count} directions do not make whole slices of dimension {slice_dim}")
    kind, relation = accounting.DirectionKind(directions), accounting.Neighbours(neighbours)
    law = accounting.Directions(kind=kind, dim=dim, num_slices=count // slice_dim, slice_dim=slice_dim)
    nonnegative = not relation.centred
    if sigma is None:
        assert epsilon is not None
        found = accounting.noise_by_accountant(
            epsilon=epsilon, delta=delta, directions=law, neighbours=relation, subsample=subsample,
            nonnegative=nonnegative,
        )  # fmt: skip
        name, given = "sigma", f"ε = {epsilon:g}"
    else:
        found = accounting.epsilon_by_accountant(
            sigma=sigma, delta=delta, directions=law, neighbours=relation, subsample=subsample,
            nonnegative=nonnegative,
        )  # fmt: skip
        name, given = "epsilon", f"σ = {sigma:g}"
    if as_json:
        print_json({name: found})
        return
    sampled = "" if subsample is None else f", sampled at {subsample:g}"
    console.print(
        f"{given}, δ = {delta:g}, {count} {directions} directions in {dim} dimensions, {neighbours}{sampled}",
        soft_wrap=True,
    )
    console.print(_table(name, found))


def _table(name: str, found: dict[str, float | None]) -> Table:
    table = Table("accountant", "σ" if name == "sigma" else "ε", header_style="bold")
    for accountant, value in found.items():
        table.add_row(accountant, "does not apply" if value is None else f"{value:.4f}")
    return table
