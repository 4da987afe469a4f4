"""The public code between table rows and vectors in the unit ball.

Each column is a block of the vector. A value falls in a cell, a cell belongs to a level ``j`` of ``L``, and
the block is the one-hot vector of that level, shifted by ``offset`` and stretched by ``scale``:

    block = scale · (e_j − offset)

Centred (``blank-one``, ``add-remove``): offset = 1/L and scale = w/√(1 − 1/L), so that every value of the
column has norm exactly w, and the null record, the zero vector, is the centre. Not centred (``replace-one``):
offset = 0 and scale = w, so that all coordinates are non-negative and two rows are at most √2 apart. The
weights satisfy Σw² = 1, so a row has norm at most 1.

Numeric columns are hard quantile bins, not interpolated between neighbours: a shared value has a shorter
vector (down to 1/√2), which is signal lost for the same noise, and hard bins keep second moments equal to
two-way tables. What a bin blurs is put back by drawing within it from the profile's fine cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.code_kinds import code_from_parts
from microtome.schema.column import Column
from microtome.schema.column_code import ColumnCode
from microtome.schema.document import Schema
from microtome.schema.domain import MOST_CELLS
from microtome.schema.grid import initial_cells
from microtome.schema.margins import Fineness, most_category_levels, most_number_levels


@dataclass(frozen=True, kw_only=True)
class Block:
    """Where a column lies in the encoded vector, and how it is shifted and stretched."""

    name: str
    start: int
    stop: int
    scale: float
    offset: float

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.stop - self.start


def largest_dim(schema: Schema, fineness: Fineness, rare_shares: Sequence[float] | None = None) -> int | None:
    """The longest that encoded rows of a table can be, whatever its profile says; ``None`` if there is no bound.

    ``rare_shares`` says of each column which share cannot be told from noise, where that is public by now.
    """
    shares = [0.0] * len(schema.columns) if rare_shares is None else rare_shares
    most = [_most_levels(column, fineness, share) for column, share in zip(schema.columns, shares, strict=True)]
    known = [levels for levels in most if levels is not None]
    return sum(known) if len(known) == len(most) else None


def _most_levels(column: Column, fineness: Fineness, rare_share: float = 0.0) -> int | None:
    cells = initial_cells(column)
    if not column.kind.is_categorical:
        num_cells, num_codes = MOST_CELLS if cells is None else len(cells), len(column.codes)
        return most_number_levels(num_cells, column.bins, rare_share, fineness, num_codes)
    pool = fineness.pool if column.pool is None else column.pool
    return most_category_levels(None if cells is None else len(cells), pool, rare_share)


@dataclass(frozen=True, kw_only=True, eq=False)
class Codebook:
    """The codes of all columns, in order: the whole map between levels and encoded rows."""

    codes: tuple[ColumnCode, ...]
    centred: bool

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The layout of an encoded row."""
        informative = [(code.column.weight or 1.0) ** 2 for code in self.codes if code.num_levels > 1]
        norm = math.sqrt(sum(informative)) if informative else 1.0
        blocks, start = [], 0
        for code in self.codes:
            width = code.num_levels
            weight = (code.column.weight or 1.0) / norm if width > 1 else 0.0
            offset, stretch = (1.0 / width, math.sqrt(1.0 - 1.0 / width) or 1.0) if self.centred else (0.0, 1.0)
            scale = weight / stretch
            block = Block(name=code.column.name, start=start, stop=start + width, scale=scale, offset=offset)
            blocks.append(block)
            start += width
        return tuple(blocks)

    @property
    def dim(self) -> int:
        """Length d of an encoded row."""
        return self.blocks[-1].stop

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """The stretch of each coordinate."""
        return np.concatenate([np.full(block.width, block.scale) for block in self.blocks])

    @cached_property
    def offset(self) -> NDArray[np.float64]:
        """The shift of each coordinate."""
        return np.concatenate([np.full(block.width, block.offset) for block in self.blocks])

    def encode(self, levels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rows in the unit ball for rows of levels (n × columns)."""
        rows = np.tile(-self.scale * self.offset, (len(levels), 1))
        starts = np.array([block.start for block in self.blocks])
        peaks = np.array([block.scale * (1.0 - block.offset) for block in self.blocks])
        row_starts = np.arange(0, rows.size, self.dim)
        rows.put(row_starts[:, None] + starts + levels, peaks)
        return rows

    def decode(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """The levels of encoded rows: the largest coordinate of each block."""
        picked = [np.argmax(rows[:, block.start : block.stop], axis=1) for block in self.blocks]
        return np.stack(picked, axis=1).astype(np.int64)

    def draw(self, levels: NDArray[np.int64], rng: np.random.Generator) -> pa.Table:
        """A table in the user's types for rows of levels."""
        arrays = [code.draw(levels[:, index], rng) for index, code in enumerate(self.codes)]
        return pa.table(arrays, names=[code.column.name for code in self.codes])

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The codebook as plain values and arrays, for a file."""
        parts = [code.to_parts() for code in self.codes]
        arrays = {
            f"profile/{index}/{name}": array for index, (_, own) in enumerate(parts) for name, array in own.items()
        }
        columns = [entry for entry, _ in parts]
        return {"centred": self.centred, "columns": columns}, arrays

    @classmethod
    def from_parts(cls, schema: Schema, parts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Codebook:
        """The inverse of ``to_parts``."""
        if not isinstance(parts["centred"], bool):
            raise SchemaError(f"centred is {parts['centred']!r}; it must be true or false")
        if len(parts["columns"]) != len(schema.columns):
            raise SchemaError(f"{len(parts['columns'])} coded columns for {len(schema.columns)} in the schema")
        codes = [
            code_from_parts(column, entry, f"profile/{index}", arrays)
            for index, (column, entry) in enumerate(zip(schema.columns, parts["columns"], strict=True))
        ]
        return cls(codes=tuple(codes), centred=parts["centred"])
