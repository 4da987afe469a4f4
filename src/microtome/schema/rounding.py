"""How round the numbers of a column are: incomes end in 000, prices have two decimals, times are on the minute.

Where a column has many values its cells are wide, and a value drawn evenly from a cell is as odd as chance will have
it. So the profile also counts, for every order of magnitude, the largest *step* of a public chain (1, 5, 10, 50, 100,
…) of which a number is a multiple. A record has one number and so one class: it is one more histogram of
sensitivity 1.

From these counts and those of the cells follows the joint distribution of both that is nearest to an even spread
(iterative proportional fitting). It has the form

    P(cell c, class s)  ∝  f(c) · rate(s) · (numbers of class s in cell c),

so that a rate for each class is all that has to be kept: it says how much more often a number of that class occurs
than others nearby.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.schema.alias import AliasTable
from microtome.schema.cells import NumberCells
from microtome.schema.column import Column, Kind
from microtome.schema.grid import initial_cells

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
_SIGNIFICANT = 4.0
"""Counts below this many standard deviations of their noise are taken for nothing. There are hundreds of them."""
_LARGEST_LEARNT = 2.0**50
"""Where the search for numbers that nobody has declared bounds for ends."""
_ITERATIONS = 50
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
        seen = np.flatnonzero((counts > _SIGNIFICANT * noise_scale).reshape(self.shape).any(axis=0))
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounding:
    """What the profile knows of how round a column's numbers are.

    Attributes:
        classes: The public classes.
        counts: Noisy number of records in each class.
        noise_scale: Standard deviation of the noise in ``counts``.
        rates: How often one number of each class occurs, relative to others of its magnitude; made from ``counts``.
    """

    classes: RoundingClasses
    counts: Floats
    noise_scale: float
    rates: Floats

    @classmethod
    def from_counts(
        cls, column: Column, counts: Floats, noise_scale: float, *, cells: NumberCells, margins: Floats, total: float
    ) -> Rounding:
        """Settle the rates from the noisy counts of a column's classes and the margins of its cells.

        Common values that have cells of their own say nothing of how round the others are. A magnitude of which no
        class stands out has the rates of the next larger one, or else of the largest, that is known.
        """
        classes = rounding_classes(column)
        assert classes is not None
        within, magnitude = classes.numbers_within(cells), classes.magnitude_of(cells)
        shares = margins[: cells.num_values]
        others = counts - total * classes.shares_of(cells, shares)
        wanted = np.where(others > _SIGNIFICANT * noise_scale, others, 0.0).reshape(classes.shape)
        rates = np.ones(classes.shape)
        rates[:, 1:] = not classes.between
        held = np.bincount(magnitude, weights=shares, minlength=len(rates)) > 0.0
        known = np.flatnonzero(wanted.any(axis=1) & held)
        for order in known:
            here = magnitude == order
            rates[order] = _filled(_rates(within[here], shares[here], wanted[order]), classes.between)
        for order in np.setdiff1d(np.arange(len(rates)), known) if len(known) else ():
            rates[order] = rates[known[min(np.searchsorted(known, order), len(known) - 1)]]
        return cls(classes=classes, counts=counts, noise_scale=noise_scale, rates=rates.ravel())

    def possible(self, cells: NumberCells, margins: Floats) -> Floats:
        """Margins without those of cells that hold no number of a class that occurs: these are noise."""
        largest = self.counts.reshape(self.classes.shape).max(axis=1)
        known = largest[self.classes.magnitude_of(cells)] > _SIGNIFICANT * self.noise_scale
        empty = np.zeros(len(margins), dtype=bool)
        empty[: cells.num_values] = known & (self.weights(cells).sum(axis=1) == 0.0) & ~cells.singletons()
        left = np.where(empty, 0.0, margins)
        return left / left.sum() if left.sum() > 0.0 else margins

    def singletons(self, cells: NumberCells) -> NDArray[np.bool_]:
        """Which cells hold one value only, classes that do not occur left out."""
        occurring = self.rates.reshape(self.classes.shape)[self.classes.magnitude_of(cells)] > 0.0
        within = np.where(occurring, self.classes.numbers_within(cells), 0.0)
        alone = within.sum(axis=1) == 1.0
        if self.classes.between:
            alone &= ~occurring[:, 0]
        single: NDArray[np.bool_] = cells.singletons() | alone
        return single

    def weights(self, cells: NumberCells) -> Floats:
        """The share of each class in each cell, up to a factor of the cell."""
        rates = self.rates.reshape(self.classes.shape)[self.classes.magnitude_of(cells)]
        return self.classes.numbers_within(cells) * rates


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundedCells:
    """Cells whose numbers are drawn by their rates."""

    rounding: Rounding
    cells: NumberCells

    @cached_property
    def _within(self) -> Floats:
        return self.rounding.classes.numbers_within(self.cells)

    @cached_property
    def _classes(self) -> AliasTable:
        """The classes of each cell, to draw from."""
        weights = self.rounding.weights(self.cells)
        weights = np.where(weights.sum(axis=1, keepdims=True) > 0.0, weights, self._within)
        weights[:, 0] += weights.sum(axis=1) == 0.0
        return AliasTable(weights)

    def draw(self, cells: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """A number in each of the given cells."""
        classes = self.rounding.classes
        step = self._classes.draw(cells, rng.integers(0, 1 << 32, size=len(cells), dtype=np.uint32))
        numbers = self.cells.draw(cells, rng)
        stepped = np.flatnonzero((step >= classes.between) & (self._within[cells, step] > 0.0))
        cell, step = cells[stepped], step[stepped]
        place = np.floor(rng.random(len(stepped)) * self._within[cell, step])
        numbers[stepped] = classes.draw(self.cells.edges[cell], step - classes.between, place)
        return numbers


def rounding_classes(column: Column) -> RoundingClasses | None:
    """The classes to count a column's numbers by; ``None`` where cells leave nothing to tell."""
    if column.kind.is_categorical or column.kind is Kind.DATE:
        return None
    if column.kind is Kind.TIME:
        return RoundingClasses(units=1, steps=_TIMES[:-1], magnitudes=(0.0,), between=False)
    if column.kind is Kind.DATETIME:
        return RoundingClasses(units=1, steps=_TIMES, magnitudes=(0.0,), between=False)
    cells = initial_cells(column)
    largest = _largest_learnt(column) if cells is None else float(np.abs(cells.edges).max())  # type: ignore[union-attr]
    if column.kind is Kind.INTEGER:
        if isinstance(cells, NumberCells) and cells.singletons().all():
            return None
        highest = max(int(math.log10(largest)), 0)
        return RoundingClasses(units=1, steps=_chain(highest), magnitudes=_magnitudes(0, highest), between=False)
    highest = min(max(math.floor(math.log10(largest)), 0), _LARGEST_POWER_OF_FLOATS)
    return RoundingClasses(
        units=_UNITS_OF_FLOATS,
        steps=_chain(highest + round(math.log10(_UNITS_OF_FLOATS))),
        magnitudes=_magnitudes(-1, highest),
        between=True,
        single=column.dtype == "float32",
    )


def _largest_learnt(column: Column) -> float:
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


def _filled(rates: Floats, between: bool) -> Floats:
    """Rates in which a step that does not stand out has that of the next finer one: rounder numbers are no rarer."""
    filled = rates.copy()
    for place in range(1 + between, len(filled)):
        if filled[place] == 0.0:
            filled[place] = filled[place - 1]
    return filled


def _rates(within: Floats, margins: Floats, wanted: Floats) -> Floats:
    """Rates of classes by which their shares come out as wanted, given the shares of cells."""
    wanted = np.where(within.sum(axis=0) > 0.0, wanted, 0.0)
    if not (wanted.sum() > 0.0 and margins.sum() > 0.0):
        return np.ones(len(wanted))
    within, wanted, margins = within / within.max(), wanted / wanted.sum(), margins / margins.sum()
    rates = np.where(wanted > 0.0, 1.0, 0.0)
    for _ in range(_ITERATIONS):
        joint = within * rates
        total = joint.sum(axis=1)
        weights = np.divide(margins, total, out=np.zeros_like(total), where=total > 0.0)
        found = weights @ joint
        rates *= np.divide(wanted, found, out=np.zeros_like(found), where=found > 0.0)
    scaled: Floats = rates / max(rates.max(), np.finfo(float).tiny)
    return scaled
