"""What was counted elsewhere, as bytes: one Arrow message a tally.

A message has a row, and a column for each array. Nothing in it is run by whoever reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from microtome.errors import MicrotomeError
from microtome.private.passes import TableTally


def to_bytes(tally: TableTally) -> bytes:
    """Everything that a tally has counted."""
    arrays = [pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part) for part in tally.parts()]
    batch = pa.RecordBatch.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def add_bytes(tally: TableTally, sent: bytes) -> None:
    """Add what another tally of the same kind has counted; refuses what does not fit."""
    parts = _parts(sent)
    try:
        tally.add_parts(parts)
    except StopIteration:
        raise _unfit() from None
    if next(parts, None) is not None:
        raise _unfit()


def _parts(sent: bytes) -> Iterator[pa.Array]:
    try:
        table = pa.ipc.open_stream(sent).read_all()
    except (pa.ArrowInvalid, OSError):
        raise _unfit() from None
    return iter([column.combine_chunks().flatten() for column in table.columns])


def _unfit() -> MicrotomeError:
    return MicrotomeError("what was counted elsewhere does not fit what was asked; nothing is released")
