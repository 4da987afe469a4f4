"""Rows of a Spark frame as blocks of bytes, which Spark keeps on the executors' disks for as long as a release takes.

Spark hands rows over one by one and column by column, which takes longer than to count them. So that is done once: a
task makes blocks of the rows of its partition, in the schema's types and with texts of categories as places in a list,
and all passes count these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from microtome.errors import MicrotomeError, TableError
from microtome.private.engines.spark_jobs import Batches, batches_of, partition_table
from microtome.schema import Schema

_ROWS = 1 << 16
"""Rows a block."""
_PACKED = pa.schema([("rows", pa.binary()), ("problem", pa.string())])
_PACKED_IN_SPARK = "rows binary, problem string"


def packed(frame: Any, schema: Schema) -> Any:
    """A frame of blocks, kept once it is made."""
    from pyspark import StorageLevel

    with batches_of(frame, _ROWS):
        return frame.mapInArrow(_packer(schema), _PACKED_IN_SPARK).persist(StorageLevel.DISK_ONLY)


def packed_partition(batches: Batches, schema: Schema) -> Iterator[pa.RecordBatch]:
    """The blocks of a partition, or why they cannot be made."""
    try:
        for block in partition_table(batches, schema).blocks(schema, _ROWS):
            yield _row(_to_bytes(block), None)
    except MicrotomeError as error:
        yield _row(None, str(error))


def unpacked(batches: Batches, block_rows: int) -> Iterator[pa.Table]:
    """The rows of a partition again, in blocks of so many at most."""
    for batch in batches:
        for row, problem in zip(batch.column("rows"), batch.column("problem"), strict=True):
            if problem.is_valid:
                raise TableError(problem.as_py())
            table = pa.ipc.open_stream(row.as_buffer()).read_all()
            for start in range(0, table.num_rows, block_rows):
                yield table.slice(start, block_rows)


def _to_bytes(block: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, block.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(block)
    return bytes(sink.getvalue())


def _row(rows: bytes | None, problem: str | None) -> pa.RecordBatch:
    values = (rows, problem)
    return pa.RecordBatch.from_arrays(
        [pa.array([value], kind) for value, kind in zip(values, _PACKED.types, strict=True)], schema=_PACKED
    )


def _packer(schema: Schema) -> Callable[[Batches], Iterator[Any]]:
    def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.packed_rows import packed_partition

        yield from packed_partition(batches, schema)

    return pack
