"""Landmarks: a few weighted points per slice that stand for all n released rows.

Each slice's cloud is cut into L cells (k-means), and a cell is kept as its share of the rows w, its mean z
and its spread v, the variance per coordinate inside it. A divergence sees the cell as w·N(z, vI), which
has its mass, its mean and its total variance, so what the summary changes in any smooth average is of third
order in the cell's width. With as many landmarks as rows every row is its own cell (w = 1/n, v = 0).

Rows are read once, in chunks, whatever n is. Where the cells go is settled beforehand on a pilot of some
thousand rows; the first chunks of an iterator serve as one, because a release is shuffled. In up to three
dimensions a row finds its cell by a table over a fine grid instead of by comparing it with every landmark:
the cells are then unions of grid squares, and the summary is as exact for these as for any other cells.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor

from microtome.divergences.gaussian_kernel import squared_distances
from microtome.errors import ParameterError

PILOT_ROWS_PER_LANDMARK = 32
LLOYD_ROUNDS = 6
NUMBERS_AT_ONCE = 1 << 20
GRID_SQUARES = {1: 2048, 2: 64, 3: 16}


@dataclass(frozen=True, kw_only=True)
class Landmarks:
    """A weighted summary of the released points of every slice.

    Attributes:
        points: z, the mean of each cell.
        weights: w, each cell's share of the rows; sums to one in a slice.
        spreads: v, the variance per coordinate inside each cell.
        num_rows: n, how many rows are summarised.
    """

    points: Float[Tensor, "m l k"]
    weights: Float[Tensor, "m l"]
    spreads: Float[Tensor, "m l"]
    num_rows: int

    @property
    def slice_dim(self) -> int:
        """The dimension k of a slice."""
        return self.points.shape[-1]

    def median_distances(self) -> Float[Tensor, " m"]:
        """The median distance between two different rows, per slice; pairs inside a cell count as well."""
        num, k = self.points.shape[1:]
        i, j = torch.triu_indices(num, num, offset=1)
        medians = []
        for points, weights, spreads in zip(self.points, self.weights, self.spreads, strict=True):
            inside = (2.0 * k * spreads).sqrt()
            distances = torch.cat([torch.pdist(points), inside])
            pairs = torch.cat([weights[i] * weights[j], 0.5 * weights * (weights - 1.0 / self.num_rows).clamp_min(0.0)])
            medians.append(_weighted_median(distances, pairs))
        result = torch.stack(medians)
        usable = (result > 0) & torch.isfinite(result)
        if not bool(usable.all()):
            place = int((~usable).nonzero()[0])
            raise ParameterError(
                f"slice {place} has a median distance of {float(result[place]):g}: its points do not vary, or are not "
                "finite because what they are computed by has diverged"
            )
        return result


def summarise(
    slices: Float[Tensor, "n m k"] | Iterable[Float[Tensor, "c m k"]],
    num_landmarks: int,
    *,
    generator: torch.Generator,
) -> Landmarks:
    """Summarises all released rows in one pass over them, in double precision.

    Args:
        slices: the released points, as one tensor or in chunks of rows.
        num_landmarks: L, the number of cells of a slice; never more than rows are used.
        generator: draws the starting points of the cells (and the pilot, if `slices` is one tensor).
    """
    if num_landmarks < 1:
        raise ParameterError(f"num_landmarks={num_landmarks} must be at least 1")
    pilot_rows = PILOT_ROWS_PER_LANDMARK * num_landmarks
    if isinstance(slices, Tensor):
        pilot = slices[torch.randperm(len(slices), generator=generator)[:pilot_rows]]
        chunks: Iterator[Tensor] = iter((slices,))
    else:
        source = iter(slices)
        head = _take_rows(source, pilot_rows)
        pilot = torch.cat(head)[:pilot_rows] if head else torch.empty(0, 0, 0)
        chunks = chain(head, source)
    _check_rows(pilot)
    pilot = pilot.transpose(0, 1).double()
    if pilot.shape[1] <= num_landmarks:
        return _every_row(pilot)
    centres = _place(pilot, num_landmarks, generator)
    return _accumulate(chunks, centres, _partition(pilot, centres))


def _take_rows(source: Iterator[Tensor], rows: int) -> list[Tensor]:
    taken: list[Tensor] = []
    while sum(map(len, taken)) < rows and (chunk := next(source, None)) is not None:
        taken.append(chunk)
    return taken


def _every_row(points: Float[Tensor, "m n k"]) -> Landmarks:
    m, n, _ = points.shape
    weights = torch.full((m, n), 1.0 / n, dtype=torch.float64)
    return Landmarks(points=points, weights=weights, spreads=torch.zeros_like(weights), num_rows=n)


def _place(pilot: Float[Tensor, "m p k"], num_landmarks: int, generator: torch.Generator) -> Float[Tensor, "m l k"]:
    """Lloyd's iteration on the pilot, started at rows of it."""
    centres = pilot[:, torch.randperm(pilot.shape[1], generator=generator)[:num_landmarks]]
    for _ in range(LLOYD_ROUNDS):
        totals = torch.zeros(*centres.shape[:2], pilot.shape[2] + 2, dtype=torch.float64)
        _add_to_cells(totals, pilot, _nearest(pilot, centres))
        centres = _means(totals, centres)
    return centres


class _Nearest:
    """The partition of each slice into the cells of the nearest landmarks."""

    def __init__(self, centres: Float[Tensor, "m l k"]) -> None:
        self.centres = centres
        self.numbers_per_row = centres.shape[0] * centres.shape[1]

    def __call__(self, points: Float[Tensor, "m c k"]) -> Int[Tensor, "m c"]:
        return _nearest(points, self.centres)


class _GridTable:
    """The same for the middle of every square of a fine grid over the pilot; rows go with their square."""

    def __init__(self, pilot: Float[Tensor, "m p k"], centres: Float[Tensor, "m l k"]) -> None:
        m, _, k = centres.shape
        self.side = GRID_SQUARES[k]
        self.numbers_per_row = m * k
        self.low = pilot.amin(dim=1, keepdim=True)
        self.step = ((pilot.amax(dim=1, keepdim=True) - self.low) / self.side).clamp_min(1e-300)
        axis = torch.arange(self.side, dtype=torch.float64) + 0.5
        middles = torch.cartesian_prod(*[axis] * k).reshape(-1, k)
        self.table = _nearest(self.low + middles * self.step, centres)
        self.strides = self.side ** torch.arange(k - 1, -1, -1)

    def __call__(self, points: Float[Tensor, "m c k"]) -> Int[Tensor, "m c"]:
        squares = ((points - self.low) / self.step).clamp(0, self.side - 1).long()
        return self.table.gather(1, (squares * self.strides).sum(dim=-1))


def _partition(pilot: Float[Tensor, "m p k"], centres: Float[Tensor, "m l k"]) -> _Nearest | _GridTable:
    return _GridTable(pilot, centres) if centres.shape[2] in GRID_SQUARES else _Nearest(centres)


def _accumulate(
    chunks: Iterator[Tensor], centres: Float[Tensor, "m l k"], partition: _Nearest | _GridTable
) -> Landmarks:
    m, num_landmarks, k = centres.shape
    totals = torch.zeros(m, num_landmarks, k + 2, dtype=torch.float64)
    num_rows = 0
    for chunk in chunks:
        _check_rows(chunk, expected=(m, k))
        for part in torch.split(chunk, max(1, NUMBERS_AT_ONCE // partition.numbers_per_row)):
            points = part.transpose(0, 1).double()
            _add_to_cells(totals, points, partition(points))
        num_rows += len(chunk)
    counts, means = totals[..., 0], _means(totals, centres)
    spreads = (totals[..., -1] / counts.clamp_min(1.0) - means.square().sum(-1)).clamp_min(0.0) / k
    spreads = torch.where(counts > 1, spreads, torch.zeros_like(spreads))
    return Landmarks(points=means, weights=counts / num_rows, spreads=spreads, num_rows=num_rows)


def _add_to_cells(totals: Float[Tensor, "m l f"], points: Float[Tensor, "m c k"], cells: Int[Tensor, "m c"]) -> None:
    """Adds count, sum and sum of squares of the points to their cells."""
    rows = cells + torch.arange(len(totals))[:, None] * totals.shape[1]
    ones = torch.ones_like(points[..., :1])
    features = torch.cat([ones, points, points.square().sum(-1, keepdim=True)], dim=-1)
    totals.view(-1, totals.shape[-1]).index_add_(0, rows.flatten(), features.flatten(0, 1))


def _means(totals: Float[Tensor, "m l f"], empty: Float[Tensor, "m l k"]) -> Float[Tensor, "m l k"]:
    counts = totals[..., :1]
    return torch.where(counts > 0, totals[..., 1:-1] / counts.clamp_min(1.0), empty)


def _nearest(points: Float[Tensor, "m c k"], centres: Float[Tensor, "m l k"]) -> Int[Tensor, "m c"]:
    return squared_distances(points.float(), centres.float()).argmin(dim=-1)


def _weighted_median(values: Float[Tensor, " p"], weights: Float[Tensor, " p"]) -> Float[Tensor, ""]:
    """The smallest value below or at which half of the weight lies; `torch.median` for equal weights."""
    ordered, order = values.sort()
    cumulative = weights[order].cumsum(0)
    half = 0.5 * cumulative[-1] * (1.0 - 1e-9)
    return ordered[torch.searchsorted(cumulative, half)]


def _check_rows(chunk: Tensor, expected: tuple[int, int] | None = None) -> None:
    if chunk.ndim != 3 or (expected is not None and tuple(chunk.shape[1:]) != expected):
        wanted = "(rows, slices, slice_dim)" if expected is None else f"(rows, {expected[0]}, {expected[1]})"
        raise ParameterError(f"slices has a chunk of shape {tuple(chunk.shape)}, expected {wanted}")
    if len(chunk) < 2 and expected is None:
        raise ParameterError(f"slices has {len(chunk)} rows; at least 2 are needed")
    if not bool(torch.isfinite(chunk).all()):
        raise ParameterError("slices has a value that is not finite")
