"""Sampling and shuffling in a stream have the law of one permutation of all rows."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from microtome.private import dealing
from microtome.private.dealing import Sampler, Shuffler

LEVEL = 1e-6


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting threads takes longer than shuffling four rows."""
    monkeypatch.setattr(dealing, "ordered_map", lambda function, items, threads: map(function, items))


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


def test_samples_have_exactly_the_wanted_size() -> None:
    rng = np.random.default_rng(3)
    for wanted in (0, 1, 17, 50):
        sampler = Sampler(total=50, wanted=wanted, stream=rng)
        chosen = [sampler.choose(size) for size in (7, 1, 30, 0, 12)]
        assert sum(map(len, chosen)) == wanted
        for part, size in zip(chosen, (7, 1, 30, 0, 12), strict=True):
            assert (np.diff(part) > 0).all()
            assert len(part) == 0 or (part.min() >= 0 and part.max() < size)


@pytest.mark.parametrize("blocks", [[5], [2, 3], [1, 1, 1, 1, 1]])
def test_every_sample_is_equally_likely(blocks: list[int]) -> None:
    rng = np.random.default_rng(4)
    trials = 4000
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(trials):
        sampler = Sampler(total=5, wanted=2, stream=rng)
        chosen, first = [], 0
        for size in blocks:
            chosen += [first + place for place in sampler.choose(size).tolist()]
            first += size
        counts[tuple(chosen)] += 1
    observed = [counts[pair] for pair in itertools.combinations(range(5), 2)]
    assert sum(observed) == trials
    assert stats.chisquare(observed).pvalue > LEVEL
