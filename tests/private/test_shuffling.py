"""Shuffling in a stream has the law of one permutation of all rows."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from microtome.private import shuffling
from microtome.private.shuffling import Shuffler

LEVEL = 1e-6


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting threads takes longer than shuffling four rows."""
    monkeypatch.setattr(shuffling, "ordered_map", lambda function, items, threads: map(function, items))


def shuffled(blocks: Sequence[int], bin_rows: int, rng: np.random.Generator, threads: int = 1) -> list[int]:
    total = sum(blocks)
    file = np.full((total, 1), -1, np.int16)

    def write(first: int, rows: np.ndarray) -> None:
        file[first : first + len(rows)] = rows

    shuffler = Shuffler(
        num_rows=total,
        bin_rows=bin_rows,
        stream=rng,
        write=write,
        read=lambda first, count: file[first : first + count].copy(),
    )
    values = iter(range(total))
    for size in blocks:
        shuffler.add(np.array([next(values) for _ in range(size)], np.int16).reshape(size, 1))
    bins = list(shuffler.finish(threads=threads))
    assert np.concatenate(bins).tolist() == file.tolist()
    assert [len(rows) for rows in bins[:-1]] == [bin_rows] * (len(bins) - 1)
    return file[:, 0].tolist()


@pytest.mark.parametrize("blocks", [[4], [1, 3], [2, 0, 2], [1, 1, 1, 1]])
@pytest.mark.parametrize("bin_rows", [1, 2, 3, 4])
@pytest.mark.usefixtures("no_threads")
def test_every_permutation_is_equally_likely(blocks: list[int], bin_rows: int) -> None:
    rng = np.random.default_rng(1)
    trials = 2400
    counts = Counter(tuple(shuffled(blocks, bin_rows, rng)) for _ in range(trials))
    observed = [counts[order] for order in itertools.permutations(range(4))]
    assert sum(observed) == trials
    assert stats.chisquare(observed).pvalue > LEVEL


def test_shuffling_within_bins_alone_would_be_caught() -> None:
    rng = np.random.default_rng(1)
    counts = Counter((*rng.permutation(2).tolist(), *(2 + rng.permutation(2)).tolist()) for _ in range(4800))
    assert stats.chisquare([counts[order] for order in itertools.permutations(range(4))]).pvalue < LEVEL


@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_is_lost_over_many_bins(threads: int) -> None:
    order = shuffled([100, 37, 500, 1, 362], 64, np.random.default_rng(0), threads)
    assert sorted(order) == list(range(1000))
    assert abs(np.corrcoef(order, range(1000))[0, 1]) < 5 / math.sqrt(1000)
