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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.schema.alias import AliasTable
from microtome.schema.cells import NumberCells
from microtome.schema.column import Column
from microtome.schema.rounding_classes import SIGNIFICANT, RoundingClasses, rounding_classes

_ITERATIONS = 50

Floats = NDArray[np.float64]


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
        wanted = np.where(others > SIGNIFICANT * noise_scale, others, 0.0).reshape(classes.shape)
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
        known = largest[self.classes.magnitude_of(cells)] > SIGNIFICANT * self.noise_scale
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
