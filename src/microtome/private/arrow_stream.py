"""Whatever gives rows once, as one stream of Arrow batches: readers, queries, relations, frames that are yet to run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pyarrow as pa

from microtome.query import Query

_BATCH_ROWS = 65_536
_NO_COPY = ("pandas", "polars", "pyspark")
"""Whose frames need no copy: they are in memory already, or are counted where they are."""


def is_of_data_sets(source: Any, name: str) -> bool:
    """Whether a source is of a class of ``pyarrow.dataset``, which loads pandas: who has one has loaded both."""
    loaded = sys.modules.get("pyarrow.dataset")
    return loaded is not None and isinstance(source, getattr(loaded, name))


def is_stream(source: Any) -> bool:
    """Whether a source gives its rows once, or would compute them anew, and perhaps others, each time it is asked."""
    match source:
        case Query():
            return True
        case pa.Table() | pa.RecordBatch():
            return False
        case _ if is_of_data_sets(source, "FileSystemDataset"):
            return False
        case _ if is_of_data_sets(source, "Dataset") or is_of_data_sets(source, "Scanner"):
            return True
        case _ if hasattr(source, "collect_batches"):
            return True
        case _:
            needs_none = type(source).__module__.partition(".")[0] in _NO_COPY
            return hasattr(source, "__arrow_c_stream__") and not needs_none


def opened(source: Any) -> AbstractContextManager[pa.RecordBatchReader]:
    """The batches of a stream; whatever has to be closed is closed at the end."""
    match source:
        case Query():
            return source.reader()
        case _ if is_of_data_sets(source, "Scanner"):
            return nullcontext(source.to_reader())
        case _ if is_of_data_sets(source, "Dataset"):
            return nullcontext(source.scanner(batch_size=_BATCH_ROWS).to_reader())
        case _ if hasattr(source, "collect_batches"):
            return nullcontext(_lazy(source))
        case _ if hasattr(source, "to_arrow_reader"):  # DuckDB's relations would be read whole by the capsule
            return nullcontext(source.to_arrow_reader(_BATCH_ROWS))
        case _:
            return nullcontext(pa.RecordBatchReader.from_stream(source))


def named(source: Any) -> str:
    """What to call a stream in messages."""
    match source:
        case Query():
            return "the query"
        case _:
            return f"the {type(source).__name__}"


def _lazy(source: Any) -> pa.RecordBatchReader:
    """A lazy frame of polars, computed piece by piece."""
    schema = pa.RecordBatchReader.from_stream(source.limit(0).collect()).schema

    def batches() -> Iterator[pa.RecordBatch]:
        for frame in source.collect_batches(chunk_size=_BATCH_ROWS):
            yield from pa.RecordBatchReader.from_stream(frame)

    return pa.RecordBatchReader.from_batches(schema, batches())
