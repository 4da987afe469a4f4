"""The queries that are put to a database: text alone, from public facts, for any dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.errors import together
from microtome.private.engines.sql_dialect import SqlDialect
from microtome.private.engines.sql_questions import ColumnInSql, defined
from microtome.private.histograms import MOST_CATEGORIES, NUM_BUCKETS
from microtome.schema import Cells, Schema


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The queries of a pass."""

    source: str
    query: str
    columns: tuple[ColumnInSql, ...]

    @classmethod
    def of(cls, query: str, schema: Schema, families: Sequence[str | None], dialect: SqlDialect) -> Questions:
        """Those of a schema; all columns that cannot be counted are named."""
        columns = []
        with together() as attempts:
            for place, (column, family) in enumerate(zip(schema.columns, families, strict=True)):
                with attempts:
                    columns.append(ColumnInSql.of(place, column, family, dialect))
        return cls(source=defined(query, columns), query=query, columns=tuple(columns))

    def number_of_rows(self) -> str:
        """How many rows there are."""
        return f"SELECT COUNT(*) FROM ({self.query}) AS asked"

    def cell(self, place: int, cells: Cells, outputs: NDArray[np.int64] | None = None) -> str:
        """The cell of a column's value, or what stands for it."""
        return self.columns[place].located(cells, np.arange(len(cells)) if outputs is None else outputs)

    def dense(self, expression: str) -> str:
        """How often an expression has each value."""
        inner = f"SELECT {expression} AS cell FROM ({self.source}) AS defined"
        return f"SELECT cell, COUNT(*) FROM ({inner}) AS located GROUP BY cell"

    def categories(self, one: ColumnInSql) -> str:
        """How often each value occurs; more than there may be are not asked for."""
        return f"{self.dense(one.key())} LIMIT {MOST_CATEGORIES + 2}"

    def numbers(self, one: ColumnInSql, chosen: NDArray[np.bool_]) -> str:
        """How often each number in the chosen buckets occurs."""
        wanted = ", ".join(map(str, np.flatnonzero(chosen)))
        inner = f"SELECT {one.common()} AS cell, {one.bucket(NUM_BUCKETS)} AS bucket FROM ({self.source}) AS defined"
        return f"SELECT cell, COUNT(*) FROM ({inner}) AS located WHERE bucket IN ({wanted}) GROUP BY cell"

    def tables(self, levels: Sequence[str], part: str, sets: Sequence[tuple[int, ...]], used: Sequence[int]) -> str:
        """How often levels occur together in each set of columns, apart for each part."""
        all_levels = ", ".join(f"{level} AS level_{place}" for place, level in enumerate(levels))
        inner = f"SELECT {all_levels} FROM ({self.source}) AS defined"
        parted = f"SELECT levels.*, {part} AS part FROM ({inner}) AS levels"
        names = ", ".join(f"level_{place}" for place in used)
        grouped = ", ".join(f"(part, {', '.join(f'level_{place}' for place in one)})" for one in sets)
        return f"SELECT part, {names}, COUNT(*) FROM ({parted}) AS parted GROUP BY GROUPING SETS ({grouped})"
