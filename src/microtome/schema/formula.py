"""What a rule says of a row: conditions on columns, joined, and whether values or whole cells break them.

A condition is asked of *extents*: numbers between which a value lies, an entry a row, or an entry a cell of a column.
It *fails* where no value within the extents makes it hold. Of a value that is known that is the plain answer, and of
cells it tells which pairs of them a rule forbids altogether. A missing value compares with nothing and breaks nothing,
as a CHECK in SQL has it: whoever wants it otherwise says "is missing" or "is not missing".

Negations are taken into the conditions (not a < b is a >= b), so a formula has only "and" and "or".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


@dataclass(frozen=True, kw_only=True, eq=False)
class Extent:
    """What is known of a column's values.

    Attributes:
        low: The smallest that each can be; infinite for a category without a place of its own.
        high: The largest.
        absent: Whether it may be missing, or a code, which compare with nothing.
        missing: Whether it is missing for certain.
        present: Whether it is not missing for certain.
    """

    low: Floats
    high: Floats
    absent: Bools
    missing: Bools
    present: Bools

    @classmethod
    def of_values(cls, positions: Floats, *, absent: Bools, missing: Bools) -> Extent:
        """Of values that are known."""
        return cls(low=positions, high=positions, absent=absent, missing=missing, present=~missing)

    def take(self, index: NDArray[np.int64]) -> Extent:
        """Some of its entries."""
        return Extent(**{name: values[index] for name, values in self.__dict__.items()})

    def along(self, axis: int, axes: int) -> Extent:
        """The same laid out along one of several axes, so that extents of several columns are crossed."""
        shape = [1] * axes
        shape[axis] = -1
        return Extent(**{name: values.reshape(shape) for name, values in self.__dict__.items()})


Extents = Mapping[str, Extent]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A column compared with a number: < <= > >=."""

    column: str
    operator: str
    number: float

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold."""
        one = extents[self.column]
        number = np.float64(self.number)
        return ~one.absent & order_fails(self.operator, one.low, one.high, number, number)


@dataclass(frozen=True, kw_only=True)
class OneOf:
    """A column that is one of some values, or none of them."""

    column: str
    numbers: tuple[float, ...]
    wanted: bool

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold."""
        one = extents[self.column]
        if self.wanted:
            inside = [(one.low <= number) & (number <= one.high) for number in self.numbers]
            return np.asarray(~one.absent & ~np.logical_or.reduce(inside))
        return np.asarray(~one.absent & (one.low == one.high) & np.isin(one.low, self.numbers))


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A column that is missing, or is not."""

    column: str
    wanted: bool

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold."""
        one = extents[self.column]
        return one.present if self.wanted else one.missing


@dataclass(frozen=True, kw_only=True)
class Order:
    """Two columns compared."""

    left: str
    operator: str
    right: str

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold."""
        left, right = extents[self.left], extents[self.right]
        known = ~(left.absent | right.absent) & np.isfinite(left.low) & np.isfinite(right.low)
        return known & order_fails(self.operator, left.low, left.high, right.low, right.high)


@dataclass(frozen=True, kw_only=True)
class Every:
    """Formulas that all hold."""

    parts: tuple[Formula, ...]

    def fails(self, extents: Extents) -> Bools:
        """Where they cannot all hold."""
        return _joined(np.logical_or, self.parts, extents)


@dataclass(frozen=True, kw_only=True)
class Either:
    """Formulas of which one holds at least."""

    parts: tuple[Formula, ...]

    def fails(self, extents: Extents) -> Bools:
        """Where none can hold."""
        return _joined(np.logical_and, self.parts, extents)


Formula = Limit | OneOf | Gap | Order | Every | Either


def negated(formula: Formula) -> Formula:
    """What holds where the formula does not."""
    match formula:
        case Limit(column=column, operator=operator, number=number):
            return Limit(column=column, operator=OPPOSITE[operator], number=number)
        case OneOf(column=column, numbers=numbers, wanted=wanted):
            return OneOf(column=column, numbers=numbers, wanted=not wanted)
        case Gap(column=column, wanted=wanted):
            return Gap(column=column, wanted=not wanted)
        case Order(left=left, operator=operator, right=right):
            return Order(left=left, operator=OPPOSITE[operator], right=right)
        case Every(parts=parts):
            return Either(parts=tuple(map(negated, parts)))
        case Either(parts=parts):
            return Every(parts=tuple(map(negated, parts)))


def conditions(formula: Formula) -> list[Limit | OneOf | Gap | Order]:
    """The conditions that a formula is made of."""
    match formula:
        case Every(parts=parts) | Either(parts=parts):
            return [one for part in parts for one in conditions(part)]
        case Limit() | OneOf() | Gap() | Order():
            return [formula]


def columns_of(formula: Formula) -> list[str]:
    """The columns that a formula is about, each once, in their order."""
    found: list[str] = []
    for one in conditions(formula):
        match one:
            case Order(left=left, right=right):
                found += [left, right]
            case Limit(column=column) | OneOf(column=column) | Gap(column=column):
                found.append(column)
    return list(dict.fromkeys(found))


def order_fails(
    operator: str, low: Floats, high: Floats, other_low: Floats | np.float64, other_high: Floats | np.float64
) -> Bools:
    """Where no number between low and high compares so with any between the others."""
    match operator:
        case "<":
            return np.asarray(low >= other_high)
        case "<=":
            return np.asarray(low > other_high)
        case ">":
            return np.asarray(high <= other_low)
        case ">=":
            return np.asarray(high < other_low)
        case "=":
            return np.asarray((low > other_high) | (high < other_low))
        case "!=":
            return np.asarray((low == high) & (other_low == other_high) & (low == other_low))
        case _:
            raise ValueError(f"{operator!r} compares nothing")


def _joined(join: np.ufunc, parts: tuple[Formula, ...], extents: Extents) -> Bools:
    found = parts[0].fails(extents)
    for part in parts[1:]:
        found = join(found, part.fails(extents))
    return found
