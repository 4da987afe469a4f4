"""People together have what is wanted of them, whatever each was weighed with."""

import numpy as np
import pytest

from microtome.synthesis.people_rows import balanced


def shares_of(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet([1.0, 2.0, 4.0], rows).astype(np.float32)


def normed(shares: np.ndarray) -> np.ndarray:
    return shares / shares.sum(axis=1, keepdims=True)


def test_every_group_has_the_sums_that_are_wanted() -> None:
    shares, wanted, groups = shares_of(600, 0), shares_of(600, 1)[:, ::-1], np.repeat([1, 2], 300)
    found = normed(balanced(shares, wanted, groups))
    for group in (1, 2):
        sums = found[groups == group].sum(axis=0)
        np.testing.assert_allclose(sums, wanted[groups == group].sum(axis=0), rtol=0.01)


def test_rows_differ_as_before() -> None:
    """One factor for each level and all: ratios between two rows stay."""
    shares, wanted = shares_of(400, 2), shares_of(400, 3)[:, ::-1]
    found = balanced(shares, wanted, None)
    factors = found / shares
    np.testing.assert_allclose(factors[0] / factors[0, 0], factors[7] / factors[7, 0], rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 8])
def test_few_people_keep_most_of_their_own(rows: int) -> None:
    shares, wanted = shares_of(rows, 4), np.tile(np.float32([1.0, 0.0, 0.0]), (rows, 1))
    few = np.abs(normed(balanced(shares, wanted, None)) - shares).sum()
    many = np.abs(
        normed(balanced(np.tile(shares, (200, 1)), np.tile(wanted, (200, 1)), None)) - np.tile(shares, (200, 1))
    )
    assert few < many.sum() / 200


def test_a_level_that_nobody_may_have_stays_empty() -> None:
    shares = np.tile(np.float32([0.0, 0.5, 0.5]), (100, 1))
    found = balanced(shares, shares[:, [0, 2, 1]], None)
    assert np.isfinite(found).all()
    assert not found[:, 0].any()
