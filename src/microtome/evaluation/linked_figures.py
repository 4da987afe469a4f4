"""What is said of two sets of linked tables beyond each table by itself.

- *Cardinality*: how many rows a parent has, as 1 − the largest distance between cumulative shares (KS).
- *Parent and child*: the table of every ancestor's column with every column of a row, and of a parent's columns with
  its number of rows, as total variation (TV).
- *Sequences* (``sequences``): a column now with the same column in the next row (TV), the gap between rows (KS), and
  the correlation of a measured column with itself one row later.
"""

from __future__ import annotations

from dataclasses import dataclass

from microtome.evaluation.binning import cut_columns, joint_shares
from microtome.evaluation.dependence import DependenceKept
from microtome.evaluation.distributions import ColumnFigures
from microtome.evaluation.fidelity import mean_of
from microtome.evaluation.linked_tables import Sides
from microtome.evaluation.number_tables import compare_numbers, extended
from microtome.evaluation.pairs import PairFigures, compare_pair, mean_distance
from microtome.evaluation.sequences import SequenceFigures, compare_sequences


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkFigures:
    """A table and what it hangs on.

    Attributes:
        table: The table.
        parent: What it hangs on.
        cardinality: Rows that a parent has.
        pairs: Columns of ancestors with columns of rows, and a parent's columns with the number of its rows.
        sequence: Where a parent's rows have an order.
    """

    table: str
    parent: str
    cardinality: ColumnFigures
    pairs: tuple[PairFigures, ...]
    sequence: SequenceFigures | None

    @property
    def distance(self) -> float | None:
        """Mean total variation of all pairs across the link."""
        return mean_distance(self.pairs)

    @property
    def floor(self) -> float | None:
        """What that would be by chance alone, were both sides drawn from one population."""
        return mean_of(pair.floor for pair in self.pairs)

    @property
    def kept(self) -> float | None:
        """Dependence kept across the link: 1 is perfect, 0 is what children independent of their parents have."""
        dependence = DependenceKept()
        for pair in self.pairs:
            dependence.add(pair.real, pair.synthetic)
        kept = dependence.kept()
        return None if kept is None else kept.value

    def worst(self, count: int) -> list[PairFigures]:
        """The pairs that differ most beyond chance."""
        return sorted(self.pairs, key=lambda pair: pair.floor - (1.0 - pair.similarity))[:count]


def compare_link(name: str, sides: Sides) -> LinkFigures:
    """A table that hangs on another, on both sides."""
    link = sides[0].schema.links[name]
    return LinkFigures(
        table=name,
        parent=link.table,
        cardinality=compare_numbers(f"rows of {name}", [side.counts(name) for side in sides], whole=True),
        pairs=(*_across(name, sides), *_with_number(name, sides)),
        sequence=None if link.order is None else compare_sequences(name, link.order, sides),
    )


def _across(name: str, sides: Sides) -> list[PairFigures]:
    """All pairs of an ancestor's column and a column of the table."""
    first, second = (side.joined(name) for side in sides)
    levels = dict(zip(first.values, cut_columns(first, second), strict=True))
    own = [column for column in levels if column.startswith(f"{name}.")]
    return [
        compare_pair(
            (above, column),
            (levels[above].labels, levels[column].labels),
            (joint_shares(levels[above], levels[column], 0), joint_shares(levels[above], levels[column], 1)),
            (max(first.num_rows, 2), max(second.num_rows, 2)),
        )
        for above in levels
        if above not in own
        for column in own
    ]


def _with_number(name: str, sides: Sides) -> list[PairFigures]:
    """All pairs of a parent's column and the number of its rows."""
    parent, number = sides[0].schema.links[name].table, f"rows of {name}"
    first, second = (extended(side.coded[parent], {number: side.counts(name)}, whole=True) for side in sides)
    levels = dict(zip(first.values, cut_columns(first, second), strict=True))
    return [
        compare_pair(
            (f"{parent}.{column}", number),
            (levels[column].labels, levels[number].labels),
            (joint_shares(levels[column], levels[number], 0), joint_shares(levels[column], levels[number], 1)),
            (max(first.num_rows, 2), max(second.num_rows, 2)),
        )
        for column in levels
        if column != number
    ]
