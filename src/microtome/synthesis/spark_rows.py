"""Synthetic rows as a Spark frame: any number of them, drawn by executors, the same ones however these share the work.

Rows come in pieces of a fixed size, each with a seed of its own that follows from ``random_state`` and its number. So
rows do not depend on partitions, nor on tasks that Spark repeats. A piece is drawn as ``sample`` draws so many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from microtome.errors import ModelError, ParameterError, require_whole
from microtome.schema import Action
from microtome.synthesis.image_model import ImageModel
from microtome.synthesis.synthesizer import Synthesizer
from microtome.synthesis.table_model import TableModel
from microtome.whole_file import whole_file

_PIECE_ROWS = 1 << 18


def spark_sample(model: Synthesizer, spark: Any, num_rows: int, *, random_state: int | None = None) -> Any:
    """Draw rows as a frame of a Spark session.

    Args:
        model: A fitted model of a table.
        spark: The session, whose executors have microtome.
        num_rows: How many rows.
        random_state: Seed of the draw; by default a new one, drawn once: the frame is the same whenever it is read.
    """
    require_whole("num_rows", num_rows, 1)
    surrogates = list(_surrogates(model))
    if surrogates:
        raise ModelError(
            f"keys of {', '.join(surrogates)} are made up one after the other, and pieces would repeat them; drop the "
            "column in the schema, or call sample"
        )
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if random_state is None else random_state
    first = next(iter(model.sample_tables(1, random_state=seed)))
    pieces = -(-num_rows // _PIECE_ROWS)
    numbers = spark.range(0, pieces, 1, min(pieces, spark.sparkContext.defaultParallelism * 4))
    return numbers.mapInArrow(_drawer(_as_bytes(model), seed, num_rows, _PIECE_ROWS), _spark_types(first.schema))


def _surrogates(model: Synthesizer) -> Iterator[str]:
    """Columns whose keys are made up when rows are drawn."""
    match model.model:
        case TableModel(schema=schema):
            for one in schema.aside:
                match one.action:
                    case Action.SURROGATE:
                        yield one.name
                    case Action.DROP:
                        pass
        case ImageModel():
            raise ModelError("this is a model of images, which are no tables; call sample")


def _drawer(
    saved: bytes, seed: int, num_rows: int, piece_rows: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does: draws the pieces whose numbers it gets."""

    def draw(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from microtome.synthesis.spark_rows import drawn_pieces

        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        yield from drawn_pieces(saved, numbers, seed, num_rows, piece_rows)

    return draw


def drawn_pieces(
    saved: bytes, numbers: Iterable[int], seed: int, num_rows: int, piece_rows: int
) -> Iterator[pa.RecordBatch]:
    """The rows of some pieces."""
    model = _from_bytes(saved)
    for number in numbers:
        own = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
        for table in model.sample_tables(min(piece_rows, num_rows - number * piece_rows), random_state=own):
            yield from _plain(table).to_batches()


def _plain(table: pa.Table) -> pa.Table:
    """Categories as their values: Spark has no such type."""
    return pa.table({name: _values(table.column(name)) for name in table.column_names})


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _spark_types(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    try:
        return from_arrow_schema(_plain(schema.empty_table()).schema)
    except Exception as error:  # Spark has no class of errors for types that it has not
        raise ParameterError(f"Spark has no type for a column of this table: {str(error).splitlines()[0]}") from error


def _as_bytes(model: Synthesizer) -> bytes:
    with TemporaryDirectory(prefix="microtome-") as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.read_bytes()


def _from_bytes(saved: bytes) -> Synthesizer:
    with TemporaryDirectory(prefix="microtome-") as folder:
        path = Path(folder) / "model"
        with whole_file(path) as file:
            file.write(saved)
        return Synthesizer.load(path)
