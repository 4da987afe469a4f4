"""Texts that are not written in a column's format: which they are, and where the first of them stands."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MOST_TOLD = 6


class Misfit(pa.ArrowInvalid):  # type: ignore[misc]  # pyarrow has no types
    """Some texts are not written in a format.

    Attributes:
        values: Some of them, all different, as messages write them; the first one first.
        place: Where the first is, from 0.
    """

    def __init__(self, values: list[str], place: int) -> None:
        super().__init__(f"value {values[0]} is not written so")
        self.values, self.place = values, place


def refuse_misfits(texts: pa.Array, fits: pa.Array) -> None:
    """An error where a text is not written as it should be; missing ones are."""
    misfits = pc.and_not(texts.is_valid(), fits)
    if pc.any(misfits).as_py():
        different = texts.filter(misfits).unique()[:_MOST_TOLD].to_pylist()
        raise Misfit([repr(text) for text in different], int(np.argmax(misfits.to_numpy(zero_copy_only=False))))
