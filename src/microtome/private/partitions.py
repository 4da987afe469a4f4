"""Rows on disk in parts, by a hash of whose they are: all rows of a person are in one part, which fits in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
from numpy.typing import NDArray

from microtome.whole_file import scratch_file

PARTS, _ROWS_A_PART = 64, 1 << 17
"""Parts of a table at most: of ten million rows of twenty columns, one has some 25 MB. Small tables have fewer."""


def parts_for(*tables: int | None) -> int:
    """Into how many parts tables of so many rows are cut; where nobody knows how many there will be, the most."""
    known = [rows for rows in tables if rows is not None]
    return min(-(-max(known, default=0) // _ROWS_A_PART) or 1, PARTS) if len(known) == len(tables) else PARTS


class Partitions:
    """Writes rows to the part that their number says, in files for their owner alone; read when all are written.

    Args:
        folder: A private folder.
        name: What to call the files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._open, self._writers = ExitStack(), dict[int, ipc.RecordBatchFileWriter]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, rows: pa.RecordBatch | pa.Table, numbers: NDArray[np.int64]) -> None:
        """Write each row to the part of its number."""
        found, starts = np.unique(numbers[order := np.argsort(numbers, kind="stable")], return_index=True)
        sorted_rows, ends = rows.take(pa.array(order)), [*starts[1:].tolist(), len(numbers)]
        for part, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
            self._writer(part, rows.schema).write(sorted_rows.slice(start, end - start))

    def _writer(self, part: int, schema: pa.Schema) -> ipc.RecordBatchFileWriter:
        if part not in self._writers:
            file = self._open.enter_context(scratch_file(self._path(part)))
            self._writers[part] = self._open.enter_context(ipc.new_file(file, schema))
        return self._writers[part]

    def read(self) -> Iterator[tuple[int, pa.Table]]:
        """The parts that have rows, with their numbers; nothing is held in memory that is not looked at."""
        self._open.close()
        for part in sorted(self._writers):
            yield part, self.part(part)

    def drop(self, part: int) -> None:
        """Remove a part that was read."""
        self._path(part).unlink()

    def part(self, part: int) -> pa.Table:
        """One part that has rows; all must be written by now."""
        return ipc.open_file(pa.memory_map(str(self._path(part)))).read_all()

    def has(self, part: int) -> bool:
        """Whether a part has rows."""
        return part in self._writers

    def close(self) -> None:
        """All rows are written."""
        self._open.close()

    def _path(self, part: int) -> Path:
        return self._folder / f"{self._name}-{part}.arrow"
