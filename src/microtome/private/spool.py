"""Tables that can be read only once, from a pipe, a stream or a query: kept in a file of their own while they are read.

A release reads a table more than once. What it cannot read again is copied, bytes as they are and batches as Arrow's,
to a file that only its owner can read, in a folder that only its owner can enter, and both are gone when the work ends,
by Ctrl-C and SIGTERM too. Copied is all that happens to rows here: nothing is counted and nothing comes out.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from microtome.errors import MicrotomeError, TableError
from microtome.plugins import source_plugin
from microtome.progress import Progress, silent
from microtome.whole_file import STANDARD, scratch_folder, whole_file

if TYPE_CHECKING:
    import pyarrow as pa

_FOLDER = "microtome-input"
_ENDINGS = {
    b"PAR1": ".parquet",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"PK\x03\x04": ".xlsx",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrows",
}
"""What first bytes say of a table; anything else is CSV."""
_LONGEST_MAGIC = max(map(len, _ENDINGS))


def is_read_once(source: Any) -> bool:
    """Whether a table is standard input, a pipe or a device, which gives every byte once, or a stream of batches."""
    if not isinstance(source, str | Path):
        from microtome.private.arrow_stream import is_stream

        return is_stream(source)
    if source_plugin(source) is not None:
        return True
    path = Path(source)
    return path == STANDARD or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def read_again(source: Any, progress: Progress = silent) -> Iterator[Any]:
    """What can be read as often as needed: the same source, or the path of a copy of what can be read only once."""
    if not is_read_once(source):
        yield source
        return
    with scratch_folder(_FOLDER) as folder:
        if (open_rows := source_plugin(source)) is not None:
            called = str(source)
            copy = _streamed(lambda: open_rows(called), called, folder, progress)
        elif isinstance(source, str | Path):
            called = "standard input" if Path(source) == STANDARD else str(source)
            with _opened(Path(source)) as bytes_once:
                copy = _copied(bytes_once, folder)
        else:
            from microtome.private.arrow_stream import named

            called = named(source)
            copy = _streamed(lambda: source, called, folder, progress)
        try:
            yield copy
        except MicrotomeError as error:
            error.args = (str(error).replace(str(copy), called),)
            raise


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path != STANDARD:
        with path.open("rb") as file:
            yield file
    elif sys.stdin.isatty():
        raise TableError("standard input is a terminal; pipe a table into it, as in 'zcat people.csv.gz | microtome …'")
    else:
        yield sys.stdin.buffer


def _copied(source: BinaryIO, folder: Path) -> Path:
    start = source.read(_LONGEST_MAGIC)
    ending = next((ending for magic, ending in _ENDINGS.items() if start.startswith(magic)), ".csv")
    copy = folder / f"table{ending}"
    with whole_file(copy, mode=0o600) as file:
        file.write(start)
        shutil.copyfileobj(source, file)
    return copy


def _streamed(asked: Callable[[], Any], called: str, folder: Path, progress: Progress) -> Path:
    """All batches of a stream, which is asked for here, in an Arrow file."""
    import pyarrow as pa
    import pyarrow.ipc as ipc

    from microtome.private.arrow_stream import opened

    copy, rows = folder / "table.arrow", 0
    with ExitStack() as stack:
        with _engine_errors(called, rows):
            reader = stack.enter_context(opened(asked()))
        plain = pa.schema([_without_dictionary(field) for field in reader.schema])
        file = stack.enter_context(whole_file(copy, mode=0o600))
        writer = stack.enter_context(ipc.new_file(file, plain, options=ipc.IpcWriteOptions(compression="lz4")))
        while True:
            with _engine_errors(called, rows):
                batch = next(reader, None)
            if batch is None:
                return copy
            writer.write_batch(batch.cast(plain))
            rows += batch.num_rows
            progress("copy", rows, None)


@contextmanager
def _engine_errors(called: str, rows: int) -> Iterator[None]:
    """Whatever stops an engine halfway, each with errors of its own, as an error of ours."""
    try:
        yield
    except (MicrotomeError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{called} stopped after {rows:,} rows: {said}") from error


def _without_dictionary(field: pa.Field) -> pa.Field:
    """A field by its values: an Arrow file cannot change the dictionary from batch to batch, as streams do."""
    from pyarrow.types import is_dictionary

    return field.with_type(field.type.value_type) if is_dictionary(field.type) else field
