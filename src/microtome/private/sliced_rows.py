"""The rows that end a release of records: noisy slices of what is sampled of a table, in random order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.private.cell_index import cell_indices
from microtome.private.passes import Blocks
from microtome.private.pipeline import ordered_map
from microtome.private.randomness import poisson_sample
from microtome.private.shuffling import Shuffler
from microtome.private.slicing import SlicingMechanism
from microtome.published import ContainerWriter, digest
from microtome.schema import Codebook
from microtome.settings import RunSettings


@dataclass(frozen=True, kw_only=True)
class NoisyBlocks:
    """Makes noisy slices of blocks of records, each block by itself.

    Attributes:
        codebook: The code of the rows.
        slicing: The mechanism.
        block_rows: The most records a block.
        piece_rows: Records worked on at a time, with a stream of their own: as many as stay in a core's cache.
    """

    codebook: Codebook
    slicing: SlicingMechanism
    block_rows: int
    piece_rows: int

    def __call__(self, item: tuple[int, pa.Table | int]) -> NDArray[np.int16]:
        """Noisy slices of the block of a number, or of so many null rows."""
        number, block = item
        levels = None if isinstance(block, int) else levels_of(block, self.codebook)
        num_rows = block if levels is None else len(levels)
        pieces = -(-self.block_rows // self.piece_rows)
        noisy = np.empty((num_rows, self.slicing.directions.shape[1]), np.int16)
        for piece, first in enumerate(range(0, num_rows, self.piece_rows)):
            part = slice(first, min(first + self.piece_rows, num_rows))
            rows = (
                np.zeros((part.stop - part.start, self.codebook.dim))
                if levels is None
                else self.codebook.encode(levels[part])
            )
            noisy[part] = self.slicing(rows, number * pieces + piece)
        return noisy


@dataclass(frozen=True, kw_only=True)
class SlicedRows:
    """Noisy slices of all sampled records and of the null rows that pad them, in random order.

    Attributes:
        codebook: The code of the rows.
        slicing: The mechanism.
        num_rows: Rows in the file.
        subsample: Rate of the Poisson sample, or ``None`` for all records.
        run: How the work is done.
    """

    codebook: Codebook
    slicing: SlicingMechanism
    num_rows: int
    subsample: float | None
    run: RunSettings

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the file, and numbers a row."""
        return self.num_rows, self.slicing.directions.shape[1]

    @property
    def bin_rows(self) -> int:
        """Rows that are shuffled, and checked, together."""
        return max(1, self.run.bin_entries // self.shape[1])

    @property
    def num_bins(self) -> int:
        """Checksums of the rows."""
        return -(-self.num_rows // self.bin_rows)

    def write(self, file: ContainerWriter, blocks: Blocks) -> list[str]:
        """Write all rows; gives the checksum of every bin."""
        shuffler = Shuffler(
            num_rows=self.num_rows,
            bin_rows=self.bin_rows,
            stream=self.slicing.randomness.stream("shuffle"),
            write=file.write_rows,
            read=file.read_rows,
        )
        for rows in ordered_map(self.noisy, self._items(blocks), threads=self.run.threads):
            shuffler.add(rows)
        return [digest(rows.data) for rows in shuffler.finish(threads=self.run.threads)]

    @property
    def noisy(self) -> NoisyBlocks:
        """What makes them, block by block."""
        return NoisyBlocks(
            codebook=self.codebook,
            slicing=self.slicing,
            block_rows=self.run.block_rows(self._width),
            piece_rows=max(64, self.run.piece_entries // self._width),
        )

    @property
    def _width(self) -> int:
        return int(max(self.slicing.directions.shape))

    def _items(self, blocks: Blocks) -> Iterator[tuple[int, pa.Table | int]]:
        """The records that are sampled, block by block, and the null rows that they leave room for."""
        stream = self.slicing.randomness.stream("sample")
        number = kept = 0
        for block in blocks("slices", self._width):
            chosen = sampled(block.num_rows, self.subsample, self.num_rows - kept, stream)
            taken = block if chosen is None else block.take(pa.array(chosen))
            kept += taken.num_rows
            yield number, taken
            number += 1
        step = self.run.block_rows(self._width)
        for first in range(kept, self.num_rows, step):
            yield number, min(step, self.num_rows - first)
            number += 1


def sampled(num_records: int, rate: float | None, room: int, stream: np.random.Generator) -> NDArray[np.int64] | None:
    """Which of the next records are in the sample, ``None`` for all; what finds no room is dropped (a failure)."""
    return None if rate is None else np.flatnonzero(poisson_sample(num_records, rate, stream))[:room]


def levels_of(block: pa.Table, codebook: Codebook) -> NDArray[np.int64]:
    """The level of every value of a block (rows × columns)."""
    levels = np.empty((len(codebook.codes), block.num_rows), np.int64)
    for index, code in enumerate(codebook.codes):
        values = block.column(code.column.name).combine_chunks()
        levels[index] = cell_indices(values, code.column, code.cells, code.levels)
    return levels.T
