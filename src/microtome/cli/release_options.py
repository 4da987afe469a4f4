"""Options that say what a release promises, for the verbs that make one and that forecast one."""

from typing import Annotated

import typer

from microtome.cli.choices import DrawnDirections, Neighbours, ReleaseAccountant
from microtome.cli.verb import count

NeighboursOption = Annotated[Neighbours, typer.Option(help="Which tables must be hard to tell apart.")]
DirectionsOption = Annotated[
    DrawnDirections, typer.Option(help="records: orthogonal needs least noise; gaussian is the paper's.")
]
NumSlices = Annotated[
    int | None, typer.Option(help="records: number of slices.", show_default="as many as fill the encoded dimension")
]
SliceDim = Annotated[int, typer.Option(help="records: dimension of a slice.")]
Subsample = Annotated[float | None, typer.Option(help="records: Poisson sampling rate, e.g. 0.25.")]
Capacity = Annotated[
    int | None,
    typer.Option(parser=count, metavar="NUMBER", help="records: public upper bound on their number, for add-remove."),
]
AccountantOption = Annotated[ReleaseAccountant, typer.Option(help="How the noise is computed from ε and δ.")]
ProfileShare = Annotated[
    float | None,
    typer.Option(
        help="Share of the budget spent on one-way histograms.",
        show_default="0.1 for records, 0.2 for aggregates, 0.05 for images; more for what is to be learnt",
    ),
]
