"""Levels that are dealt to many rows at once: tables come out as expected, and each row keeps its own distribution."""

import numpy as np
import pytest

from microtome.synthesis.dealing import dealt

WIDTHS = (40, 15, 2, 3)


def made(rows: int, seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    known = [rng.integers(0, width, rows) for width in WIDTHS]
    return rng.dirichlet(np.ones(6), rows).astype(np.float32), known


def missing(shares: np.ndarray, known: list[np.ndarray], found: np.ndarray) -> float:
    """What is missing in the tables with known columns, by table and row."""
    gap = 0.0
    for column in known:
        for level in range(shares.shape[1]):
            expected = np.bincount(column, weights=shares[:, level])
            gap += np.abs(expected - np.bincount(column[found == level], minlength=len(expected))).sum()
    return gap / len(known) / len(found)


def independent(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (shares.cumsum(axis=1) < rng.random(len(shares))[:, None]).sum(axis=1).clip(max=shares.shape[1] - 1)


@pytest.mark.parametrize(("rows", "part"), [(600, 0.6), (5_000, 0.35)])
def test_tables_with_known_columns_miss_less_than_independent_draws(rows: int, part: float) -> None:
    shares, known = made(rows)
    rng = np.random.default_rng(1)
    found = dealt(shares, known, rng)
    assert missing(shares, known, found) < part * missing(shares, known, independent(shares, rng))


def test_each_row_nearly_keeps_its_own_distribution() -> None:
    shares, known = made(300, seed=2)
    rng, counts, rounds = np.random.default_rng(3), np.zeros(shares.shape), 400
    for _ in range(rounds):
        counts[np.arange(len(shares)), dealt(shares, known, rng)] += 1
    errors = counts / rounds - shares
    assert np.abs(errors.mean(axis=0)).max() < 0.01
    assert np.sqrt((errors**2).mean()) < 0.05, "chance alone makes it 0.017"


def test_a_level_that_cannot_be_is_never_dealt() -> None:
    shares, known = made(2_000, seed=4)
    shares[shares < 0.1] = 0.0
    found = dealt(shares, known, np.random.default_rng(5))
    assert (shares[np.arange(len(found)), found] > 0).all()


def test_the_same_seed_deals_the_same() -> None:
    shares, known = made(500, seed=6)
    one, other = (dealt(shares, known, np.random.default_rng(7)) for _ in range(2))
    assert (one == other).all()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_few_rows_are_dealt_too(rows: int) -> None:
    shares, known = made(rows, seed=8)
    assert len(dealt(shares, known, np.random.default_rng(9))) == rows
