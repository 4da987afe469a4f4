"""Options that say what a release promises, for the verbs that make one and that forecast one."""

from pathlib import Path
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
Like = Annotated[
    Path | None,
    typer.Option(
        help="aggregates: release whose codebook to use, so that the two can be compared and pooled; no budget is "
        "spent on a profile then."
    ),
]
Pivot = Annotated[
    str,
    typer.Option(
        help="aggregates: column by whose classes everything is counted apart, for what three columns share; "
        "'none' has less noise."
    ),
]
FocusOption = Annotated[
    str,
    typer.Option(
        help="aggregates: column by whose levels all pairs are counted once more, beside the pairs: what predicts "
        "it is kept better. 'target' is that of the schema, 'none' has a little less noise in pairs."
    ),
]
TriplesOption = Annotated[
    int,
    typer.Option(
        help="aggregates: tables of three columns that a second round may choose, by what pairs do not tell; only "
        "as many as there are enough records for. 0 for none."
    ),
]
