"""Records of a view on disk, by what they count for: however many weights there are, one file is open."""

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

Ints = NDArray[np.int64]


class WeightedRows:
    """Writes records in batches that count alike, to a file for its owner alone; read when all are written.

    Args:
        path: The file, in a private folder.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._open = path, ExitStack()
        self._writer: ipc.RecordBatchFileWriter | None = None
        self._batches: dict[tuple[int, int], list[int]] = {}
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, rows: pa.Table, weights: Ints, siblings: Ints) -> None:
        """Write records; siblings stand next to each other, and stay so."""
        pairs, codes = np.unique(np.column_stack([weights, siblings]), axis=0, return_inverse=True)
        codes = codes.ravel()
        ordered = rows.take(pa.array(np.argsort(codes, kind="stable")))
        ends = np.cumsum(np.bincount(codes, minlength=len(pairs))).tolist()
        for (weight, beside), start, end in zip(pairs.tolist(), [0, *ends], ends, strict=False):
            self._write(ordered.slice(start, end - start).combine_chunks(), (weight, beside))

    def _write(self, rows: pa.Table, counted: tuple[int, int]) -> None:
        if self._writer is None:
            file = self._open.enter_context(scratch_file(self._path))
            self._writer = self._open.enter_context(ipc.new_file(file, rows.schema))
        for batch in rows.to_batches():
            self._writer.write_batch(batch)
            self._batches.setdefault(counted, []).append(self._written)
            self._written += 1

    def __iter__(self) -> Iterator[tuple[pa.Table, int, int]]:
        """All records, with their weight and how many siblings stand together; nothing is held that is not read."""
        self._open.close()
        if self._writer is None:
            return
        with pa.memory_map(str(self._path)) as mapped:
            reader = ipc.open_file(mapped)
            for (weight, siblings), places in self._batches.items():
                yield pa.Table.from_batches([reader.get_batch(place) for place in places]), weight, siblings
