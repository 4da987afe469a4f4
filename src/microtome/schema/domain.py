"""Where the numbers of a column lie that nobody has declared bounds for, found step by step where the mass is.

Numbers may be of any origin and scale, so the search begins with cells that cover all of them, an octave each (a decade
of dates), and goes on with cells inside those that hold records: every step cuts what it has found into parts, the
more the more records there are. All of this is public: the first cells are the same for every column of a kind, the
others follow from noisy counts.

*Evidence* is a run of neighbouring cells whose sum is more than noise makes it: sums of noisy counts cost nothing, and
many cells together may stand out where no single one does. What lies outside of all evidence is left out, and where
there is none nothing is learnt.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from microtome.schema.cells import NumberCells
from microtome.schema.column import Column
from microtome.schema.grid import both_sides

MOST_PARTS = 128
"""Parts into which the range of a column's numbers is cut, by where the records are."""
MOST_VALUES = 256
"""Common numbers of a column that get cells of their own."""
MOST_CELLS = 2048
"""More cells than numbers that were searched for ever have: parts are rounded up in every one of the first cells, the
ends are cut further, and a common number cuts a cell in three."""
_FEWEST_PARTS = 16
_CLEAR = 2.0
"""A part is to have this many standard deviations of the noise, if there are records enough."""
_END_PARTS = 4
"""Cells beyond each end of what was found: the next step, under less noise, tells whether there are records."""
_MISTAKE = 1e-3
"""Probability that noise alone makes evidence somewhere in a column, as long as a later step will look again."""
_FALSE_BOUND = 1e-4
"""The same where it settles the bounds for good."""
_MISSED = 2.0
"""Standard deviations of the noise by which records must be missing in the evidence for it to be stretched."""
_SURE = 4.5
"""Standard deviations by which records must be beyond a range for bounds to be twice as wide."""
_ELSEWHERE, _ELSEWHERE_IF_MISSED = 3.5, 2.0
"""Standard deviations from which records may be in cells apart from all evidence, so that the next step looks there
too; and the same where it is sure that some are missing in the evidence."""
_SURELY_MISSED = 3.0
"""Standard deviations by which they must be missing for that."""
_NEXT = 2
"""Cells beyond such, and beyond all that was cut finer, that stay as they are."""
_TAIL = 3.0
"""Standard deviations by which the next cells of a range must hold records together for bounds to go on there."""
_LIKELY = 1.5
"""Standard deviations above which a cell is counted among those that hold records."""
_CROWDED = 0.7
"""A cell with this share of all records, and many values, may hide that they are close together."""
_EXPONENTS_OF_FLOATS, _EXPONENTS_OF_WHOLE = (-20, 50), (0, 50)
_DECADES = range(1850, 2151, 10)

Floats = NDArray[np.float64]


def scale_cells(column: Column) -> NumberCells:
    """The cells with which the search begins."""
    return NumberCells.of(column, _scale_edges(column))


def nothing_learnt(column: Column) -> NumberCells:
    """The one cell of a column of which nothing stands out."""
    end = 1.0 if column.kind.is_integral else float(np.nextafter(0.0, 1.0))
    return NumberCells.of(column, np.array([0.0, end]))


def evidence(counts: Floats, noise_scale: float, mistake: float = _MISTAKE) -> tuple[int, int] | None:
    """First and last cell (exclusive) of all runs of cells that noise alone does not make; ``None`` if there are none.

    Runs have a power of two of cells, and one that contains a shorter run of evidence adds nothing to it. Of a run that
    part counts that stands out most: its ends may be empty.
    """
    lengths = [1 << power for power in range(max(len(counts), 1).bit_length()) if 1 << power <= len(counts)]
    wanted = noise_scale * -scipy.special.ndtri(mistake / max(sum(len(counts) - length + 1 for length in lengths), 1))
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    found: list[tuple[int, int]] = []
    soonest = np.full(len(counts) + 1, np.iinfo(np.int64).max)  # where evidence that begins here or later first ends
    for length in lengths:
        starts = np.flatnonzero(sums[length:] - sums[:-length] > wanted * math.sqrt(length))
        starts = starts[soonest[starts] > starts + length]
        found += [(start, start + length) for start in starts.tolist()]
        soonest[starts] = np.minimum(soonest[starts], starts + length)
        soonest = np.minimum.accumulate(soonest[::-1])[::-1]
    clearest = [_clearest(sums, *run) for run in found]
    return (min(first for first, _ in clearest), max(last for _, last in clearest)) if clearest else None


def _clearest(sums: Floats, first: int, last: int) -> tuple[int, int]:
    """The part of a run of cells with the largest sum for its noise, given sums from the start."""
    if last - first == 1:
        return first, last
    starts, stops = np.arange(first, last), np.arange(first + 1, last + 1)
    lengths = stops[None, :] - starts[:, None]
    clear = np.where(
        lengths > 0, (sums[stops][None, :] - sums[starts][:, None]) / np.sqrt(np.maximum(lengths, 1)), -np.inf
    )
    start, stop = np.unravel_index(int(np.argmax(clear)), clear.shape)
    return int(starts[start]), int(stops[stop])


def covering_range(
    edges: Floats, counts: Floats, noise_scale: float, total: float, likely: tuple[int, int]
) -> tuple[int, int]:
    """First and last cell (exclusive) of what the evidence says, and of so many cells beside it as records ask for.

    Args:
        edges: Edges of the cells.
        counts: Their noisy counts.
        noise_scale: Standard deviation of the noise.
        total: The number of all records, none of which is beyond these cells.
        likely: Where earlier steps have found records. What misses in the evidence is looked for there only.
    """
    found = sound_evidence(edges, counts, noise_scale, total, _FALSE_BOUND)
    if found is None:
        return likely
    (first, last), widest = found, 2.0 * (edges[found[1]] - edges[found[0]])
    first -= _tail(edges[first] - edges[:first][::-1], counts[:first][::-1], noise_scale, edges[last] - edges[first])
    last += _tail(edges[last + 1 :] - edges[last], counts[last:], noise_scale, edges[last] - edges[first])
    while total - counts[first:last].sum() > noise_scale * math.sqrt(last - first):
        below = counts[likely[0] : first].sum() if likely[0] < first else -math.inf
        above = counts[last : likely[1]].sum() if last < likely[1] else -math.inf
        if max(below, above) <= 0.0:
            break
        wider = (first - 1, last) if below > above else (first, last + 1)
        if edges[wider[1]] - edges[wider[0]] > widest:
            inside = counts[first:last]
            sides = (
                (inside[::-1], counts[likely[0] : first]) if below > above else (inside, counts[last : likely[1]][::-1])
            )
            if not _are_beyond(total, *sides, noise_scale):
                break
        first, last = wider
    return first, last


def _tail(distances: Floats, counts: Floats, noise_scale: float, width: float) -> int:
    """How many cells go on from the end of a range that is so wide: those that stand out from the noise together most.

    Evidence is looked for everywhere, so that much is asked of it, and cells in which a tail thins out have less. Of
    them it is known where they would be. They are not farther from the range than it is wide.
    """
    reach, near = 0, int(np.searchsorted(distances, width, side="right"))
    while reach < near:
        clear = np.cumsum(counts[reach:near]) / np.sqrt(np.arange(1, near - reach + 1))
        best = int(np.argmax(clear))
        if clear[best] <= _TAIL * noise_scale:
            break
        reach += best + 1
    return reach


def sound_evidence(
    edges: Floats, counts: Floats, noise_scale: float, total: float | None, mistake: float = _MISTAKE
) -> tuple[int, int] | None:
    """The evidence without ends that make it twice as wide, unless it is sure that there are records in them.

    Cells may be of very different widths: a wide one at an end that noise has made part of the evidence stretches
    bounds many times over. ``total`` is the number of records, if public; otherwise nobody knows whether some miss.
    """
    found = evidence(counts, noise_scale, mistake)
    if found is None or total is None:
        return found
    first, last = found
    for _ in range(2):
        last = first + _believed(edges[first : last + 1], counts[first:last], noise_scale, total)
        first = last - _believed(-edges[first : last + 1][::-1], counts[first:last][::-1], noise_scale, total)
    return first, last


def _believed(edges: Floats, counts: Floats, noise_scale: float, total: float) -> int:
    """How many cells, from the first on, are left without an upper end that nobody can be sure of."""
    last = len(counts)
    while last > 1:
        near = int(np.searchsorted(edges[:last], (edges[0] + edges[last]) / 2.0)) - 1
        if near < 1 or _are_beyond(total, counts[:near], counts[near:last], noise_scale):
            break
        last -= 1
    return last


def _are_beyond(total: float, inside: Floats, beyond: Floats, noise_scale: float) -> bool:
    """Whether records are surely beyond some cells: by what was counted there, from its last cell on, and what misses.

    How many miss is told by any number of the cells inside, from the first on, and least noisily by those few that hold
    most records: where some of these need none beyond, nobody can be sure. Both are noisy, independently, and are taken
    together by their variances.
    """
    within, outside = np.arange(1, len(inside) + 1)[:, None], np.arange(1, len(beyond) + 1)[None, :]
    missing = (total - np.cumsum(inside))[:, None]
    together = missing / within + np.cumsum(beyond[::-1])[None, :] / outside
    clear = together / (noise_scale * np.sqrt(1.0 / within + 1.0 / outside))
    return bool(clear.max(axis=1).min() > _SURE)


def held_range(edges: Floats, counts: Floats, noise_scale: float, total: float | None) -> tuple[int, int] | None:
    """The evidence, and cells beside it as long as records are missing in it; ``total`` is their number, if public."""
    found = sound_evidence(edges, counts, noise_scale, total)
    if found is None or total is None:
        return found
    first, last = found
    while total - counts[first:last].sum() > _MISSED * noise_scale * math.sqrt(last - first):
        below = counts[first - 1] if first > 0 else 0.0
        above = counts[last] if last < len(counts) else 0.0
        if max(below, above) <= 0.0:
            break
        first, last = (first - 1, last) if below > above else (first, last + 1)
    return first, last


def narrowed(
    cells: NumberCells,
    counts: Floats,
    noise_scale: float,
    *,
    step: float = 0.0,
    values: Sequence[float] = (),
    total: float | None = None,
) -> tuple[NumberCells, tuple[float, float]] | None:
    """Finer cells where records are, and some beyond; and the ends of what is sure. ``None`` if nothing stands out.

    Args:
        cells: The cells that were counted.
        counts: Their noisy counts.
        noise_scale: Standard deviation of the noise.
        step: Numbers are multiples of this, as far as can be seen; 0 where they are of no step.
        values: Common values, each of which gets a cell of its own.
        total: The number of records, if that is public.
    """
    found = held_range(cells.edges, counts[: cells.num_values], noise_scale, _numbers(cells, counts, total))
    if found is None:
        return None
    (first, last), step = found, _step(cells, step, found)
    inside, mass = cells.edges[first : last + 1], np.maximum(counts[first:last], 0.0)
    parts = _parts(mass, noise_scale)
    if are_few(cells, counts, noise_scale, step=step, total=total):
        inside = _multiples(inside[0], inside[-1], step)
    else:
        inside = _cut(inside, mass / mass.sum(), parts, step, single=cells.singletons()[first:last])
    cut = np.concatenate([inside, *_beyond(cells, first, last, step)])
    missing = None if total is None else _numbers(cells, counts, total) - counts[first:last].sum()
    cut = np.concatenate([cut, _elsewhere(cells.edges, counts[: cells.num_values], noise_scale, found, missing, cut)])
    cut = with_values(np.unique(cut), values, integral=cells.integral)
    finer = replace(cells, edges=cut)
    sure = sound_evidence(cells.edges, counts[: cells.num_values], noise_scale, _numbers(cells, counts, total))
    assert sure is not None
    return finer, (float(cells.edges[sure[0]]), float(cells.edges[sure[1]]))


def are_few(cells: NumberCells, counts: Floats, noise_scale: float, *, step: float, total: float | None = None) -> bool:
    """Whether the numbers where records were found are few enough to have a cell each."""
    found = held_range(cells.edges, counts[: cells.num_values], noise_scale, _numbers(cells, counts, total))
    if found is None:
        return False
    step = _step(cells, step, found)
    if not step:
        return False
    low, high = cells.edges[found[0]], cells.edges[found[1]]
    return bool((high - low) / step <= _parts(counts[slice(*found)], noise_scale))


def is_crowded(cells: NumberCells, counts: Floats, noise_scale: float, *, step: float = 0.0) -> bool:
    """Whether most records are in one cell of many values, so that finer cells inside may tell more."""
    values = counts[: cells.num_values]
    place = int(np.argmax(values))
    low, high = cells.edges[place], cells.edges[place + 1]
    step = _step(cells, step, (place, place + 1))
    many = not cells.singletons()[place] and (not step or (high - low) / step > _FEWEST_PARTS)
    total = np.maximum(values, 0.0)[values > _LIKELY * noise_scale].sum()
    return bool(many and values[place] > _CROWDED * total)


def _scale_edges(column: Column) -> Floats:
    if column.kind.is_temporal:
        return np.array([column.to_number(dt.date(year, 1, 1)) for year in _DECADES])
    integral = column.kind.is_integral
    first, last = _EXPONENTS_OF_WHOLE if integral else _EXPONENTS_OF_FLOATS
    edges = np.unique(both_sides(np.exp2(np.arange(first, last + 1, dtype=float)), integral))
    return _within_type(edges, column) if "int" in column.dtype else edges


def _within_type(edges: Floats, column: Column) -> Floats:
    """No cell beyond what the storage type can hold: noise alone could put a drawn value there."""
    limits = np.iinfo(column.dtype)
    low, end = np.clip([float(limits.min), float(limits.max) + 1.0], edges[0], edges[-1])
    return np.unique(np.concatenate([[low], edges[(edges >= low) & (edges <= end)], [end]]))


def _parts(mass: Floats, noise_scale: float) -> int:
    return int(np.clip(np.maximum(mass, 0.0).sum() / (_CLEAR * noise_scale), _FEWEST_PARTS, MOST_PARTS))


def _numbers(cells: NumberCells, counts: Floats, total: float | None) -> float | None:
    """How many records have numbers, neither codes nor missing values."""
    return None if total is None else total - max(float(counts[cells.num_values :].sum()), 0.0)


def _step(cells: NumberCells, step: float, found: tuple[int, int]) -> float:
    """The step of numbers in some cells: one that is larger than all of them is none of theirs, noise has made it."""
    step = step if step <= np.abs(cells.edges[list(found)]).max() else 0.0
    return max(step, 1.0) if cells.integral else step


def _cut(edges: Floats, shares: Floats, parts: int, step: float, *, single: NDArray[np.bool_]) -> Floats:
    """Every cell in parts by its share, at multiples of the step; those at the ends, where bounds will be, in some."""
    pieces = np.where(single, 1, np.maximum(np.ceil(shares * parts), 1)).astype(np.int64)
    ends = [place for place in (0, -1) if not single[place]]
    pieces[ends] = np.maximum(pieces[ends], _END_PARTS)
    return _in_pieces(edges, pieces, step)


def _beyond(cells: NumberCells, first: int, last: int, step: float) -> list[Floats]:
    """Edges of some cells on both sides of a range: half as many cells as it has, and half as wide, at the most."""
    low, high, more = cells.edges[first], cells.edges[last], max((last - first) // 2, 1)
    below = max(cells.edges[max(first - more, 0)], low - (high - low) / 2.0)
    above = min(cells.edges[min(last + more, cells.num_values)], high + (high - low) / 2.0)
    below, above = on_step(np.array([below, above]), step)
    ends = [(below, low), (high, above)]
    return [_in_pieces(np.array(end), np.array([_END_PARTS]), step) for end in ends if end[0] < end[1]]


def _elsewhere(
    edges: Floats, counts: Floats, noise_scale: float, found: tuple[int, int], missing: float | None, cut: Floats
) -> Floats:
    """Edges of the cells beyond those that were cut in which there may be records, and of some next to these.

    Whatever is beyond the last edge counts in the last cell, as if it were there: a column of many zeros and few
    numbers of all sizes would have them all next to zero. ``missing`` is how many records the evidence lacks, if that
    can be told.
    """
    first, last = found
    spread = noise_scale * math.sqrt(last - first)
    enough = _ELSEWHERE
    if missing is not None and missing > _SURELY_MISSED * spread:
        enough = _ELSEWHERE_IF_MISSED
    elif missing is not None and missing < spread:
        enough = math.inf
    kept = [_apart(edges[last:], counts[last:], noise_scale * enough, float(cut.max()))]
    kept += [-_apart(-edges[: first + 1][::-1], counts[:first][::-1], noise_scale * enough, -float(cut.min()))]
    return np.concatenate(kept)


def _apart(edges: Floats, counts: Floats, enough: float, end: float) -> Floats:
    """Edges beyond an end: of the next cells, and on to those that stand out most, if that is enough."""
    begin = stop = int(np.searchsorted(edges, end))
    if len(counts):
        start, close = _clearest(np.append(0.0, np.cumsum(counts)), 0, len(counts))
        if counts[start:close].sum() > enough * math.sqrt(close - start):
            stop = max(stop, close)
    return edges[begin : stop + _NEXT + 1]


def _in_pieces(edges: Floats, pieces: NDArray[np.int64], step: float) -> Floats:
    inner = [
        np.linspace(low, high, number + 1)[1:-1]
        for low, high, number in zip(edges[:-1], edges[1:], pieces, strict=True)
    ]
    cut = np.concatenate([edges, on_step(np.concatenate([edges[:0], *inner]), step)])
    return np.unique(np.clip(cut, edges[0], edges[-1]))


def _multiples(low: float, high: float, step: float) -> Floats:
    first, last = math.floor(low / step), math.ceil(high / step)
    return np.unique(on_step(np.arange(first, last + 1, dtype=float) * step, step))


def on_step(points: Floats, step: float) -> Floats:
    """The nearest multiples of a step; of a decimal one as they are written, not as products of floats come out."""
    if not step:
        return points
    if step >= 1.0:
        return np.asarray(np.rint(points / step) * step)
    inverse = round(1.0 / step)
    return np.asarray(np.rint(points * inverse) / inverse)


def with_values(edges: Floats, values: Sequence[float], *, integral: bool) -> Floats:
    """The edges with a cell of its own for every value, inside of them or not, and for zero if that is inside."""
    zero = [0.0] if edges[0] <= 0.0 < edges[-1] else []
    low = np.array([*values, *zero])
    high = low + 1.0 if integral else np.nextafter(low, np.inf)
    return np.unique(np.concatenate([edges, low, high]))
