"""The queries that are put to a database: text alone, from public facts, for any dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.private.engines.sql_dialect import SqlDialect
from microtome.private.engines.sql_people import PeopleInSql
from microtome.private.engines.sql_questions import ColumnInSql, named, numbered
from microtome.private.histograms import MOST_CATEGORIES, NUM_BUCKETS
from microtome.schema import Cells, Schema


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The queries of a pass.

    Attributes:
        source: What gives the rows, under names of our own.
        rows: How many rows there are, and how many records.
        columns: What is counted.
        count: How much some rows count for.
        beside: What else the source gives, of rows of people.
    """

    source: str
    rows: str
    columns: tuple[ColumnInSql, ...]
    count: str = "COUNT(*)"
    beside: str = ""

    @classmethod
    def of(cls, query: str, schema: Schema, families: Sequence[str | None], dialect: SqlDialect) -> Questions:
        """Those of a schema; all columns that cannot be counted are named."""
        columns = ColumnInSql.all_of(schema, families, dialect)
        rows = f"SELECT COUNT(*), COUNT(*) FROM ({query}) AS asked"
        return cls(source=numbered(named(query, columns), columns), rows=rows, columns=columns)

    @classmethod
    def of_people(cls, people: PeopleInSql) -> Questions:
        """Those of the rows that are kept of people, each of which counts for its part of a person."""
        return cls(
            source=people.source,
            rows=people.number_of_rows(),
            columns=people.view_columns,
            count="COUNT(*)" if people.view.most_rows == 1 else "SUM(weight)",
            beside=", person, place, weight",
        )

    def cell(self, place: int, cells: Cells, outputs: NDArray[np.int64] | None = None) -> str:
        """The cell of a column's value, or what stands for it."""
        return self.columns[place].located(cells, np.arange(len(cells)) if outputs is None else outputs)

    def dense(self, expression: str) -> str:
        """How often an expression has each value."""
        inner = f"SELECT {expression} AS cell{self.beside} FROM ({self.source}) AS defined"
        return f"SELECT cell, {self.count} FROM ({inner}) AS located GROUP BY cell"

    def categories(self, one: ColumnInSql) -> str:
        """How often each value occurs; more than there may be are not asked for."""
        return f"{self.dense(one.key())} LIMIT {MOST_CATEGORIES + 2}"

    def numbers(self, one: ColumnInSql, chosen: NDArray[np.bool_]) -> str:
        """How often each number in the chosen buckets occurs."""
        wanted = ", ".join(map(str, np.flatnonzero(chosen)))
        asked = f"{one.common()} AS cell, {one.bucket(NUM_BUCKETS)} AS bucket{self.beside}"
        inner = f"SELECT {asked} FROM ({self.source}) AS defined"
        return f"SELECT cell, {self.count} FROM ({inner}) AS located WHERE bucket IN ({wanted}) GROUP BY cell"

    def tables(
        self,
        levels: Sequence[str],
        part: str,
        sets: Sequence[tuple[int, ...]],
        used: Sequence[int],
        steps: Sequence[tuple[int, int]] = (),
    ) -> str:
        """How often levels occur together in each set of columns, apart for each part.

        ``steps`` are columns of which the next row's level is counted too, each with the level of no next row.
        """
        all_levels = ", ".join(f"{level} AS level_{place}" for place, level in enumerate(levels))
        inner = f"SELECT {all_levels}{self.beside} FROM ({self.source}) AS defined"
        if steps:
            following = ", ".join(
                f"COALESCE(LEAD(level_{base}) OVER (PARTITION BY person ORDER BY place), {none}) AS level_{place}"
                for place, (base, none) in enumerate(steps, start=len(levels))
            )
            inner = f"SELECT stepping.*, {following} FROM ({inner}) AS stepping"
        parted = f"SELECT levels.*, {part} AS part FROM ({inner}) AS levels"
        names = ", ".join(f"level_{place}" for place in used)
        grouped = ", ".join(f"(part, {', '.join(f'level_{place}' for place in one)})" for one in sets)
        return f"SELECT part, {names}, {self.count} FROM ({parted}) AS parted GROUP BY GROUPING SETS ({grouped})"
