"""Alias tables: shares to the last bit but rounding, nothing that has none, whatever the shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from microtome.schema.alias import AliasTable, _parts

SURE = 1e-6
"""A right sampler fails this often, a wrong one nearly always."""


def shares_of(parts: tuple[NDArray[np.float64], NDArray[np.int64]]) -> NDArray[np.float64]:
    """The shares that thresholds and aliases stand for."""
    thresholds, aliases = parts
    found = thresholds.copy()
    for row, other, rest in zip(found, aliases, 1.0 - thresholds, strict=True):
        np.add.at(row, other, rest)
    return found / thresholds.shape[1]


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 1.0, 3.0, 1e12]), min_size=1, max_size=40).filter(any),
    st.integers(0, 5),
)
def test_parts_stand_for_the_shares(weights: list[float], turns: int) -> None:
    shares = np.stack([np.roll(weights, turn) for turn in range(turns + 1)])
    shares /= shares.sum(axis=1, keepdims=True)
    found = shares_of(_parts(shares * len(weights)))
    assert np.abs(found - shares).max() < 1e-12
    assert not found[shares == 0.0].any()


@pytest.mark.parametrize("width", [1, 2, 7, 300])
def test_draws_have_the_shares(width: int) -> None:
    rng = np.random.default_rng(width)
    shares = rng.dirichlet(np.full(width, 0.5), 3) + 0.2 / width
    table, members = AliasTable(shares), np.repeat([2, 0, 1], 100_000)
    drawn = table.draw(members, rng.integers(0, 1 << 32, size=len(members), dtype=np.uint32))
    for member in range(3):
        counts = np.bincount(drawn[members == member], minlength=width)
        wanted = shares[member] / shares[member].sum()
        assert width == 1 or chisquare(counts, 100_000 * wanted).pvalue > SURE
        assert width == 1 or chisquare(counts, 100_000 * (0.95 * wanted + 0.05 / width)).pvalue < SURE


def test_the_largest_number_draws_nothing_impossible() -> None:
    table = AliasTable(np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]))
    ends = np.array([0, 0xFFFFFFFF], np.uint32)
    assert table.draw(np.array([0, 0]), ends).tolist() == [1, 1]
    assert set(table.draw(np.array([1, 1]), ends).tolist()) <= {0, 2}
