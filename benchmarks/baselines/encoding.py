"""Rows as numbers for the baselines' networks: a column of [0, 1] for a number, one-hot for a category.

All of it follows from the declared schema, so it costs no ε. It is what the usual GANs do; Microtome's own encoding
is another (``microtome.schema.codebook``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from microtome.schema import Column

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Span:
    """The coordinates of one column."""

    column: Column
    start: int
    stop: int

    @property
    def is_categorical(self) -> bool:
        """Whether it is one-hot."""
        return self.column.kind.is_categorical


class MixedEncoding:
    """Between frames and vectors, for columns whose categories or bounds are all declared."""

    def __init__(self, columns: Sequence[Column]) -> None:
        undeclared = [column.name for column in columns if not column.is_declared]
        if undeclared:
            raise ValueError(
                f"column {undeclared[0]!r} declares neither categories nor bounds: reading them would leak"
            )
        spans, start = [], 0
        for column in columns:
            width = len(column.categories or ()) or 1
            spans.append(Span(column=column, start=start, stop=start + width))
            start += width
        self.spans, self.width = tuple(spans), start

    @property
    def categorical(self) -> list[Span]:
        """Spans of categorical columns."""
        return [span for span in self.spans if span.is_categorical]

    @property
    def numeric(self) -> list[int]:
        """Coordinates of numbers."""
        return [span.start for span in self.spans if not span.is_categorical]

    def encode(self, frame: pd.DataFrame) -> FloatArray:
        """Rows of a frame as vectors; numbers are clamped to their declared bounds."""
        rows = np.zeros((len(frame), self.width), dtype=np.float32)
        for span in self.spans:
            if span.is_categorical:
                rows[np.arange(len(frame)), span.start + codes(frame[span.column.name], span.column)] = 1.0
            else:
                low, high = _bounds(span.column)
                rows[:, span.start] = np.clip((frame[span.column.name].to_numpy(float) - low) / (high - low), 0.0, 1.0)
        return rows

    def decode(self, rows: npt.NDArray[np.floating]) -> pd.DataFrame:
        """Vectors as rows of a frame: the largest entry of a one-hot block, and numbers within their bounds."""
        return pd.DataFrame({span.column.name: _values(span, rows[:, span.start : span.stop]) for span in self.spans})


def codes(values: pd.Series, column: Column) -> npt.NDArray[np.intp]:
    """Places of values in the declared list of categories."""
    places = pd.Index(list(column.categories or ())).get_indexer(values.to_numpy())
    if (places < 0).any():
        raise ValueError(f"column {column.name!r} has a value outside its declared categories")
    return places


def decode_codes(places: npt.NDArray[np.integer], column: Column) -> npt.NDArray[np.generic]:
    """Categories by their places."""
    categories = np.asarray(column.categories, dtype=_storage(column))
    return categories[places]


def decode_numbers(numbers: npt.NDArray[np.floating], column: Column) -> npt.NDArray[np.generic]:
    """Numbers within the declared bounds, whole where the column is."""
    clipped = np.clip(numbers, *_bounds(column))
    return (np.rint(clipped) if column.kind.is_integral else clipped).astype(_storage(column))


def _values(span: Span, block: npt.NDArray[np.floating]) -> npt.NDArray[np.generic]:
    if span.is_categorical:
        return decode_codes(block.argmax(axis=1), span.column)
    low, high = _bounds(span.column)
    return decode_numbers(low + (high - low) * block[:, 0].astype(float), span.column)


def _bounds(column: Column) -> tuple[float, float]:
    bounds = column.number_bounds()
    assert bounds is not None
    return bounds


def _storage(column: Column) -> str:
    return "object" if column.dtype == "string" else column.dtype
