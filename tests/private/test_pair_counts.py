"""Counts of all pairs against the product of one-hot rows, whatever the widths and however many rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from microtome.private.pair_counts import pair_counts


def one_hot_product(levels: NDArray[np.int64], widths: list[int]) -> NDArray[np.int64]:
    """The slow, obvious way."""
    rows = np.concatenate([np.eye(width, dtype=np.int64)[one] for one, width in zip(levels, widths, strict=True)], 1)
    return rows.T @ rows


def drawn(num_rows: int, widths: list[int], seed: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, width, num_rows) for width in widths])


@given(st.lists(st.integers(1, 12), min_size=1, max_size=9), st.integers(0, 3000), st.integers(0, 99))
def test_counts_are_those_of_the_one_hot_product(widths: list[int], num_rows: int, seed: int) -> None:
    levels = drawn(num_rows, widths, seed)
    assert np.array_equal(pair_counts(levels, widths), one_hot_product(levels, widths))


@pytest.mark.parametrize("widths", [[2] * 20, [300, 2, 2, 40, 1], [64, 64, 64]])
def test_blocks_add_up(widths: list[int]) -> None:
    """Teams follow the number of rows of a block; the counts do not."""
    levels = drawn(5000, widths, 1)
    parts = [pair_counts(levels[:, start : start + step], widths) for start, step in ((0, 3), (3, 1000), (1003, 3997))]
    assert np.array_equal(sum(parts), pair_counts(levels, widths))
    assert np.array_equal(sum(parts), one_hot_product(levels, widths))
