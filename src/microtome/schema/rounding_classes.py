"""The classes by which a number is counted as round: its order of magnitude, and the largest step it is a multiple of.

Steps are a public chain (1, 5, 10, 50, 100, …). A record has one number and so one class: it is one more histogram of
sensitivity 1. What such counts are good for is in ``rounding``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from microtome.schema.cells import NumberCells
from microtome.schema.column import Column
from microtome.schema.grid import number_cells
from microtome.schema.kind import Kind

_UNITS_OF_FLOATS = 10**6
"""Decimals of floats are looked at down to the sixth."""
_LARGEST_POWER_OF_FLOATS = 8
"""Of ten, so that larger numbers have the classes of this one: these are all that 64 bits tell apart to the sixth."""
_DIGITS_OF_SINGLES = 6
"""Digits that 32 bits keep."""
_UNIT_POWER = 100
_POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(-_UNIT_POWER, _UNIT_POWER + 1)])
"""All that numbers of 32 bits can need; 1 is in the middle."""
_TIMES = (1, 10**3, 10**6, 60 * 10**6, 3600 * 10**6, 86_400 * 10**6)
"""Microsecond, millisecond, second, minute, hour, day."""
_LARGEST_EXACT = 2.0**53
SIGNIFICANT = 4.0
"""Counts below this many standard deviations of their noise are taken for nothing. There are hundreds of them."""
_LARGEST_LEARNT = 2.0**50
"""Where the search for numbers that nobody has declared bounds for ends."""
_EDGE = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RoundingClasses:
    """The public classes of a column's numbers: order of magnitude times step.

    Attributes:
        units: Units in 1: steps are whole numbers of units.
        steps: The chain, each a divisor of the next.
        magnitudes: Lower ends of the orders of magnitude; smaller numbers belong to the first.
        between: Whether numbers may lie between units. These are the first class of every magnitude.
        single: Whether numbers are stored in 32 bits.
    """

    units: int
    steps: tuple[int, ...]
    magnitudes: tuple[float, ...]
    between: bool
    single: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Orders of magnitude, and classes of each."""
        return len(self.magnitudes), len(self.steps) + self.between

    def __len__(self) -> int:
        return math.prod(self.shape)

    def step_of(self, counts: Floats, noise_scale: float) -> float:
        """The largest step of which all numbers are multiples, as far as noisy counts tell; 0 if they are of none."""
        seen = np.flatnonzero((counts > SIGNIFICANT * noise_scale).reshape(self.shape).any(axis=0))
        if not len(seen) or (self.between and seen[0] == 0):
            return 0.0
        return self.steps[int(seen[0]) - self.between] / self.units

    def count(self, numbers: Floats) -> NDArray[np.int64]:
        """How many numbers are in each class."""
        return np.bincount(self.locate(numbers[numbers != 0.0]), minlength=len(self))

    def locate(self, numbers: Floats) -> NDArray[np.int64]:
        """The class of each number; zero, which is a multiple of everything, is in none, which is −1."""
        is_zero = numbers == 0.0
        numbers = np.where(is_zero, 1.0, numbers)
        exact = np.abs(numbers) < _LARGEST_EXACT / self.units
        whole = np.rint(np.where(exact, _shortened(numbers) if self.single else numbers, 0.0) * self.units)
        if self.between:
            back = whole / self.units
            exact &= (back.astype(np.float32) == numbers.astype(np.float32)) if self.single else (back == numbers)
        step = np.where(exact, int(self.between), 0)
        left, units = np.flatnonzero(exact), np.abs(whole[exact]).astype(np.int64)
        for number, size in enumerate(self.steps[1:], start=1 + self.between):
            divided = units % size == 0
            left, units = left[divided], units[divided]
            step[left] = number
        return np.where(is_zero, -1, self.magnitude(numbers) * self.shape[1] + step)

    def magnitude(self, numbers: Floats) -> NDArray[np.intp]:
        """The order of magnitude of each number."""
        return np.maximum(np.searchsorted(self.magnitudes, np.abs(numbers), side="right") - 1, 0)

    def magnitude_of(self, cells: NumberCells) -> NDArray[np.intp]:
        """The order of magnitude of each cell: of its middle, and the smaller one where that is on the edge of two."""
        return self.magnitude(cells.middles() * (1.0 - _EDGE))

    def numbers_within(self, cells: NumberCells) -> Floats:
        """How many numbers of each class are in each cell; of those between units, the width of the cell."""
        most = _LARGEST_EXACT / self.units
        edges = np.clip(cells.edges, -most, most) * self.units
        found: Floats = np.diff(np.ceil(edges[:, None] / np.array(self.steps, dtype=float)), axis=0)
        found[:, :-1] -= found[:, 1:].copy()
        found[:, -1] -= (edges[:-1] <= 0.0) & (edges[1:] > 0.0)
        if self.between:
            found = np.column_stack([np.diff(cells.edges), found])
            found[cells.singletons()] = 0.0  # zero alone, whose width is lost in the division
        return found

    def shares_of(self, cells: NumberCells, shares: Floats) -> Floats:
        """The share of each class among common values: cells that hold one value which is no whole number's cell."""
        if cells.integral:
            return np.zeros(len(self))
        single = cells.singletons()
        found = self.locate(cells.edges[:-1][single])
        weights = shares[single][found >= 0]
        return np.bincount(found[found >= 0], weights=weights, minlength=len(self)).astype(np.float64)

    def draw(self, low: Floats, step: NDArray[np.intp], place: Floats) -> Floats:
        """The numbers of the given classes (not between units) at a place ≥ 0 in their order, from ``low`` upwards.

        Of the multiples m of a step those that are multiples of the next step, m = 0 mod q, are left out. The t-th of
        the others is t + ⌊(t − 1)/(q − 1)⌋.
        """
        sizes = np.array(self.steps, dtype=float)
        ratios = np.append(sizes[1:] / sizes[:-1], np.inf)[step]
        before = np.ceil(low * self.units / sizes[step]) - 1.0
        wanted = before - np.floor(before / ratios) + place + 1.0
        multiple = wanted + np.floor((wanted - 1.0) / (ratios - 1.0))
        drawn: Floats = multiple * sizes[step] / self.units
        return drawn


def rounding_classes(column: Column) -> RoundingClasses | None:
    """The classes to count a column's numbers by; ``None`` where cells leave nothing to tell."""
    match column.kind:
        case Kind.CATEGORICAL | Kind.ORDERED | Kind.BOOLEAN | Kind.DATE:
            return None
        case Kind.TIME:
            return RoundingClasses(units=1, steps=_TIMES[:-1], magnitudes=(0.0,), between=False)
        case Kind.DATETIME:
            return RoundingClasses(units=1, steps=_TIMES, magnitudes=(0.0,), between=False)
        case Kind.INTEGER:
            return _classes_of_whole_numbers(column)
        case Kind.FLOAT:
            return _classes_of_floats(column)
        case never:
            assert_never(never)


def _classes_of_whole_numbers(column: Column) -> RoundingClasses | None:
    cells = number_cells(column)
    if cells is not None and cells.singletons().all():
        return None
    highest = max(int(math.log10(_largest(column, cells))), 0)
    return RoundingClasses(units=1, steps=_chain(highest), magnitudes=_magnitudes(0, highest), between=False)


def _classes_of_floats(column: Column) -> RoundingClasses:
    largest = _largest(column, number_cells(column))
    highest = min(max(math.floor(math.log10(largest)), 0), _LARGEST_POWER_OF_FLOATS)
    return RoundingClasses(
        units=_UNITS_OF_FLOATS,
        steps=_chain(highest + round(math.log10(_UNITS_OF_FLOATS))),
        magnitudes=_magnitudes(-1, highest),
        between=True,
        single=column.dtype == "float32",
    )


def _largest(column: Column, cells: NumberCells | None) -> float:
    """The largest magnitude of a number, declared or learnt."""
    if cells is not None:
        return float(np.abs(cells.edges).max())
    if "int" not in column.dtype:
        return _LARGEST_LEARNT
    limits = np.iinfo(column.dtype)
    return min(_LARGEST_LEARNT, max(-float(limits.min), float(limits.max) + 1.0))


def _chain(highest: int) -> tuple[int, ...]:
    """1, 5, 10, 50, … up to 5 times the given power of ten."""
    return tuple(size * 10**power for power in range(highest + 1) for size in (1, 5))


def _magnitudes(lowest: int, highest: int) -> tuple[float, ...]:
    """Powers of ten, a little less: a cell that holds one, and so perhaps many records, has its middle above this."""
    return tuple(0.95 * 10.0**power for power in range(lowest, highest + 1))


def _shortened(numbers: Floats) -> Floats:
    """Numbers other than zero to as many digits as 32 bits keep.

    Powers of ten are looked up: a library's logarithms and powers may differ in their last bits with a number's place
    in the array, and a number's class must be its own.
    """
    exponents = np.searchsorted(_POWERS_OF_TEN, np.abs(numbers), side="right") - 1
    digits = _POWERS_OF_TEN[np.clip(_DIGITS_OF_SINGLES - 1 - exponents + 2 * _UNIT_POWER, 0, len(_POWERS_OF_TEN) - 1)]
    shortened: Floats = np.rint(numbers * digits) / digits
    return shortened
