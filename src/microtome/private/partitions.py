"""Rows on disk in parts, by a hash of whose they are: all rows of a person are in one part, which fits in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
from numpy.typing import NDArray

PARTS = 64
"""Parts of a table: of ten million rows of twenty columns, one has some 25 MB."""


class Partitions:
    """Writes rows to the part that their number says, in files for their owner alone; read when all are written.

    Args:
        folder: A private folder.
        name: What to call the files.
        parts: How many there are.
    """

    def __init__(self, folder: Path, name: str, parts: int = PARTS) -> None:
        self._paths = [folder / f"{name}-{number}.arrow" for number in range(parts)]
        self._open, self._writers = ExitStack(), dict[int, ipc.RecordBatchFileWriter]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, rows: pa.RecordBatch | pa.Table, numbers: NDArray[np.int64]) -> None:
        """Write each row to the part of its number."""
        order = np.argsort(numbers, kind="stable")
        sorted_rows, ends = rows.take(pa.array(order)), np.cumsum(np.bincount(numbers, minlength=len(self._paths)))
        for part in np.unique(numbers).tolist():
            start = int(ends[part - 1]) if part else 0
            self._writer(part, rows.schema).write(sorted_rows.slice(start, int(ends[part]) - start))

    def _writer(self, part: int, schema: pa.Schema) -> ipc.RecordBatchFileWriter:
        if part not in self._writers:
            handle = os.open(self._paths[part], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            file = self._open.enter_context(os.fdopen(handle, "wb"))
            self._writers[part] = self._open.enter_context(ipc.new_file(file, schema))
        return self._writers[part]

    def read(self) -> Iterator[tuple[int, pa.Table]]:
        """The parts that have rows, with their numbers; nothing is held in memory that is not looked at."""
        self._open.close()
        for part in sorted(self._writers):
            yield part, ipc.open_file(pa.memory_map(str(self._paths[part]))).read_all()

    def drop(self, part: int) -> None:
        """Remove a part that was read."""
        self._paths[part].unlink()
