"""How much a row counts for: whole, or its part of a person who has several.

The rows of a person have weights that sum to at most one, so whatever is counted of a person is a convex combination of
what is counted of one row, and no longer (``docs/privacy.md``, section 1). Weights are whole numbers of steps of
2⁻²⁴, cut towards zero: counts stay exact, and a person with m rows adds at least 1 − m·2⁻²⁴.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

DIGITS = 24
"""Binary digits of a weight."""
WHOLE = 1 << DIGITS
"""A person, in steps."""


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """What one person may do to counts.

    Attributes:
        digits: Binary digits behind the point of the weight of a row.
        most_rows: Rows of a person: cells of a table that they may touch.
    """

    digits: int = 0
    most_rows: int = 1


ONE_ROW = Weighting()
"""That of people with one row each."""


def weighting_of(most_rows: int) -> Weighting:
    """That of people with so many rows at most."""
    return ONE_ROW if most_rows == 1 else Weighting(digits=DIGITS, most_rows=most_rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedBlock:
    """Rows of some people, all of one weight, those of a person next to each other and all there.

    Attributes:
        rows: The rows.
        weight: What each counts for, in steps.
        siblings: How many there are of each person, or of each parent.
        people: People who are counted by these rows.
        view: The table that they are of.
    """

    rows: pa.Table
    weight: int
    siblings: int
    people: int
    view: str = ""

    def __len__(self) -> int:
        return self.people

    @property
    def is_last(self) -> NDArray[np.bool_]:
        """Which rows have no next one."""
        last: NDArray[np.bool_] = np.arange(self.rows.num_rows) % self.siblings == self.siblings - 1
        return last


TableBlock: TypeAlias = "pa.Table | WeightedBlock"
"""Some rows of a table, each whole, or each a part of a person."""


def rows_of(block: TableBlock) -> tuple[pa.Table, int]:
    """The rows of a block, and what each counts for."""
    match block:
        case WeightedBlock() as weighted:
            return weighted.rows, weighted.weight
        case _:
            return block, 1
