"""What every noisy array of a release says of every target, in closed form.

All noise is Gaussian, so an adversary who knows the rest of the table knows what the noise must have been if the
target is there and if it is not. With z₁ and z₀ for the noise under either hypothesis, in standard deviations, at
the numbers that the target touches, the log-likelihood ratio of the release is

    ln P(release | there) − ln P(release | not there) = Σ ½(‖z₀‖² − ‖z₁‖²)

over the columns of the profile, the total, and the target's own row or its cells of the tables. The noisy part of a
row that was sampled with probability τ is the mixture of z₁ (or z₀) and z of the null row.

The formula is the best attack if the mechanism is what it says it is. The bound that is drawn from it holds whatever
the mechanism does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import GaussianEvent, Neighbours
from microtome.auditing.scene import Places, Records, Scene
from microtome.auditing.witness import NOBODY, Sighting
from microtome.errors import MicrotomeError
from microtome.private.cell_index import numbers_within_bounds
from microtome.release import AggregatesRelease, RecordsRelease, Release
from microtome.schema import CategoryCells, Codebook, ColumnCode, NumberCells, Rounding, initial_cells

Numbers = NDArray[np.float64]

_NOWHERE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """One noisy array of the file, as the noise that is in it.

    Attributes:
        name: What it is.
        noise: Places × width. The noise that really is there.
        places: Targets × touched places: where in ``noise`` a target leaves a trace; ``-1`` for nowhere.
        there: Targets × touched places × width. The noise at these places if the target is there.
        gone: … if it is not.
        unsampled: … if it is there or was, but not in the sample; ``None`` if nothing is sampled.
        rate: The probability with which a record is sampled.
    """

    name: str
    noise: Numbers
    places: Places
    there: Numbers
    gone: Numbers
    unsampled: Numbers | None = None
    rate: float = 1.0

    def log_ratio(self) -> Numbers:
        """The log-likelihood ratio of every target."""
        there, gone = _log_density(self.there), _log_density(self.gone)
        if self.unsampled is None:
            return there - gone
        null = _log_density(self.unsampled)
        ratio: Numbers = self._mixture(there, null) - self._mixture(gone, null)
        return ratio

    def repeats(self, earlier: Reading) -> Numbers:
        """How much closer to the noise of an earlier release the noise is if the target is there."""
        known = earlier.noise[self.places] * (self.places != _NOWHERE)[..., None]
        return _log_density(self.there - known) - _log_density(self.gone - known)

    def _mixture(self, sampled: Numbers, null: Numbers) -> Numbers:
        mixture: Numbers = np.logaddexp(np.log(self.rate) + sampled, np.log1p(-self.rate) + null)
        return mixture


def _log_density(noise: Numbers) -> Numbers:
    log_density: Numbers = -0.5 * np.einsum("kjw,kjw->k", noise, noise)
    return log_density


def profile_readings(sighting: Sighting) -> Iterator[Reading]:
    """The profile, column by column, and the total where it is noisy."""
    scene, release = sighting.scene, sighting.release
    for index, code in enumerate(release.codebook.codes):
        cells = [
            _counted_at(scene, code, index, records.places[:, index]) for records in (scene.targets, scene.substitutes)
        ]
        present = _counted_at(scene, code, index, sighting.present.places[:, index])
        counts = np.bincount(present[present != _NOWHERE], minlength=len(code.counts))
        yield _cells_reading(
            sighting,
            name=f"profile of {code.column.name!r}",
            noise=(code.counts - counts) / code.noise_scale,
            scales=np.full(len(code.counts), code.noise_scale),
            there=cells[0][:, None],
            gone=cells[1][:, None],
        )
        if code.rounding is not None:
            yield _rounding_reading(sighting, code, code.rounding)
    if scene.neighbours.protects_count:
        scale = _total_noise(release)
        noise = np.array([(release.num_records - len(sighting.present)) / scale])
        everyone = np.zeros((len(scene.targets), 1), np.int64)
        yield _cells_reading(
            sighting, name="number of records", noise=noise, scales=np.array([scale]), there=everyone, gone=everyone
        )


def _rounding_reading(sighting: Sighting, code: ColumnCode, rounding: Rounding) -> Reading:
    """The counts of a column's rounding classes."""
    scene, name = sighting.scene, code.column.name
    there, gone, present = (
        rounding.classes.locate(numbers_within_bounds(records.table[name].combine_chunks(), code.column))
        for records in (scene.targets, scene.substitutes, sighting.present)
    )
    counts = np.bincount(present[present != _NOWHERE], minlength=len(rounding.counts))
    return _cells_reading(
        sighting,
        name=f"rounding of {name!r}",
        noise=(rounding.counts - counts) / rounding.noise_scale,
        scales=np.full(len(counts), rounding.noise_scale),
        there=there[:, None],
        gone=gone[:, None],
    )


def rows_reading(sighting: Sighting) -> Reading:
    """The row of every target, whose place in the file is known to the witness."""
    scene, release, owners, order = sighting.scene, sighting.release, sighting.owners, sighting.order
    if not isinstance(release, RecordsRelease) or owners is None or order is None:
        raise MicrotomeError("rows can be told apart in a witnessed release of records only")
    rows = np.empty((release.num_rows, release.directions.shape[1]))
    rows[order] = release.rows()
    means = row_means(release, scene, sighting.present)
    standing = np.where((owners == NOBODY)[:, None], 0.0, means[owners])
    own = _rows_of_targets(sighting, owners)
    replaced = scene.neighbours is Neighbours.REPLACE_ONE
    there = row_means(release, scene, scene.targets)
    gone = row_means(release, scene, scene.substitutes) if replaced else np.zeros_like(there)
    sigma = release.noise_scale
    subsample = release.mechanism.subsample
    seen = rows[own]
    return Reading(
        name="rows",
        noise=(rows - standing) / sigma,
        places=own[:, None],
        there=((seen - there) / sigma)[:, None, :],
        gone=((seen - gone) / sigma)[:, None, :],
        unsampled=None if subsample is None else (seen / sigma)[:, None, :],
        rate=1.0 if subsample is None else subsample,
    )


def table_readings(sighting: Sighting) -> Iterator[Reading]:
    """The tables of aggregates, by class of the pivot: of each column, and of each pair of columns."""
    scene, release = sighting.scene, sighting.release
    assert isinstance(release, AggregatesRelease)
    codebook, pivot, dim = release.codebook, release.pivot, release.codebook.dim
    present = _coordinates(scene, codebook, sighting.present)
    one_hot = np.zeros((len(present), dim), np.float32)
    one_hot[np.arange(len(present))[:, None], present] = 1.0
    classes = _classes(codebook, pivot, present)
    members = [one_hot[classes == number] for number in range(len(release.first))]
    first = np.stack([rows.sum(axis=0) for rows in members]).astype(np.float64)
    second = np.stack([rows.T @ rows for rows in members]).astype(np.float64)
    sides = []
    for records in (scene.targets, scene.substitutes):
        at = _coordinates(scene, codebook, records)
        of = _classes(codebook, pivot, at)[:, None]
        pairs = [at[:, a] * dim + at[:, b] for a, b in combinations(range(at.shape[1]), 2)]
        sides.append((of * dim + at, of * dim * dim + np.stack(pairs, axis=1) if pairs else at[:, :0]))
    for name, published, exact, scales, cells in (
        ("counts by class", release.first, first, release.first_noise(), [side[0] for side in sides]),
        ("pairs", release.second, second, release.second_noise(), [side[1] for side in sides]),
    ):
        wide = np.broadcast_to(scales, published.shape).ravel()
        measured = wide > 0
        noise = np.divide((published - exact).ravel(), wide, out=np.zeros(wide.shape), where=measured)
        there, gone = (np.where(measured[side], side, _NOWHERE) for side in cells)
        yield _cells_reading(sighting, name=name, noise=noise, scales=wide, there=there, gone=gone)


def row_means(release: RecordsRelease, scene: Scene, records: Records) -> Numbers:
    """Where the rows of some records would be without noise."""
    starts = np.array([block.start for block in release.codebook.blocks])
    levels = _coordinates(scene, release.codebook, records) - starts
    return release.codebook.encode(levels) @ release.directions


def _cells_reading(
    sighting: Sighting, *, name: str, noise: Numbers, scales: Numbers, there: Places, gone: Places
) -> Reading:
    """A reading of counts: a target that is there adds 1 at ``there``, its substitute, if it has one, at ``gone``."""
    coins = sighting.coins[:, None]
    unit = np.divide(1.0, scales, out=np.zeros(scales.shape), where=scales > 0)
    step = np.where(there == _NOWHERE, 0.0, unit[there])
    if sighting.scene.neighbours is not Neighbours.REPLACE_ONE:
        places, shifts = there, step
    else:
        # Where a target and its substitute share a cell, one comes as the other goes: no trace.
        step = np.where(there == gone, 0.0, step)
        other = np.where((gone == _NOWHERE) | (there == gone), 0.0, -unit[gone])
        places, shifts = np.concatenate([there, gone], axis=1), np.concatenate([step, other], axis=1)
    seen = np.where(shifts == 0.0, 0.0, noise[places])
    return Reading(
        name=name,
        noise=noise[:, None],
        places=np.where(shifts == 0.0, _NOWHERE, places),
        there=(seen - np.where(coins, 0.0, shifts))[..., None],
        gone=(seen + np.where(coins, shifts, 0.0))[..., None],
    )


def _counted_at(scene: Scene, code: ColumnCode, index: int, places: Places) -> Places:
    """The published count to which a value at each place belongs; nowhere if it is not among the published ones."""
    if isinstance(code.cells, NumberCells):
        moved = places - _first_cell(code)
        return np.where((moved >= 0) & (moved < code.cells.num_values), moved, _NOWHERE)
    if code.column.categories is None:
        return _shown(scene, code, index)[places]
    return places


def _coordinates(scene: Scene, codebook: Codebook, records: Records) -> Places:
    """The coordinate of the encoded row that each value of each record sets (records × columns)."""
    found = np.empty_like(records.places)
    for index, (code, block) in enumerate(zip(codebook.codes, codebook.blocks, strict=True)):
        places = records.places[:, index]
        if isinstance(code.cells, NumberCells):
            cells = np.clip(places - _first_cell(code), 0, code.cells.num_values - 1)
        elif code.column.categories is None:
            shown = _shown(scene, code, index)[places]
            cells = np.where(shown == _NOWHERE, len(code.cells.categories), shown)
        else:
            cells = places
        found[:, index] = block.start + code.levels[cells]
    return found


def _first_cell(code: ColumnCode) -> int:
    """How many cells of the column's own grid lie below the first published one."""
    assert isinstance(code.cells, NumberCells)
    grid = initial_cells(code.column)
    assert isinstance(grid, NumberCells)
    return int(np.searchsorted(grid.edges, code.cells.edges[0]))


def _shown(scene: Scene, code: ColumnCode, index: int) -> Places:
    """For every spot of a column whose categories are learnt, its number among the published ones."""
    assert isinstance(code.cells, CategoryCells)
    numbers = {value: number for number, value in enumerate(code.cells.categories)}
    return np.array([numbers.get(value, _NOWHERE) for value in scene.spots[index].to_pylist()])


def _classes(codebook: Codebook, pivot: int | None, coordinates: Places) -> Places:
    if pivot is None:
        return np.zeros(len(coordinates), np.int64)
    return coordinates[:, pivot] - codebook.blocks[pivot].start


def _rows_of_targets(sighting: Sighting, owners: Places) -> Places:
    """The row of every target: its own, its substitute's, or where neither was sampled, any null row.

    All null rows have the same law, so it does not matter which one is shown.
    """
    coins = sighting.coins
    records = np.full(len(coins), NOBODY)
    records[coins] = np.arange(coins.sum())
    if sighting.scene.neighbours is Neighbours.REPLACE_ONE:
        records[~coins] = np.arange(coins.sum(), len(coins))
    row_of = np.full(len(sighting.present) + 1, _NOWHERE)
    standing = np.flatnonzero(owners != NOBODY)
    row_of[owners[standing]] = standing
    rows = np.where(records == NOBODY, _NOWHERE, row_of[records])
    nulls = np.flatnonzero(owners == NOBODY)
    without = np.flatnonzero(rows == _NOWHERE)
    if len(without):
        if not len(nulls):
            raise MicrotomeError("the sample filled its padding, so there is no null row to compare with; run it again")
        rows[without] = nulls[np.arange(len(without)) % len(nulls)]
    return rows


def _total_noise(release: Release) -> float:
    """Noise of the number of records: what the profile's μ² is not spent on by its histograms."""
    profile = release.manifest.promise.events[0]
    assert isinstance(profile, GaussianEvent)
    scales = [code.noise_scale for code in release.codebook.codes]
    scales += [code.rounding.noise_scale for code in release.codebook.codes if code.rounding is not None]
    rest = profile.mu**2 - sum(1.0 / scale**2 for scale in scales)
    return float(1.0 / np.sqrt(rest))
