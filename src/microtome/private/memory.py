"""What there is room for, so that what cannot fit is refused before anything is spent."""

from __future__ import annotations

import numpy as np

from microtome.errors import TableError
from microtome.machine import available_memory
from microtome.schema import Schema, initial_cells

_HEADER_BYTES = 1 << 16
_CELL_BYTES = 64
_LEARNT_CELLS = 1 << 12
_PIECE = 31 << 20


def check_memory(size: int, origin: str) -> None:
    """Refuse tables of counts that need more memory than there is."""
    available = available_memory()
    if available is not None and size > available:
        raise TableError(
            f"{origin}: its tables of counts need about {size / 2**30:,.1f} GiB of memory and {available / 2**30:,.1f} "
            "GiB are free; pool rare categories, take fewer bins or columns, or no pivot"
        )


def keep_freed_memory() -> None:
    """Have the C library keep what a block of rows took and gave back, for the next one.

    Glibc hands memory to the system once twice as much is free as the largest piece that was given back so far, up to
    32 MiB. To get it again, page by page, may take longer than to count. A piece that nobody writes to settles that.
    """
    np.empty(_PIECE, np.uint8)


def profile_bytes(schema: Schema) -> int:
    """About what the codebook takes in the file: some numbers of 8 bytes a cell."""
    cells = [initial_cells(column) for column in schema.columns]
    return _HEADER_BYTES + sum(_CELL_BYTES * (_LEARNT_CELLS if one is None else len(one)) for one in cells)
