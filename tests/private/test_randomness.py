"""The one place where noise is added, and the streams it comes from."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

import microtome.private
from microtome import release
from microtome.errors import MicrotomeError
from microtome.private import Randomness, SystemRandomness
from microtome.private.randomness import GRID, add_gaussian_noise, haar_columns
from support import FixedRandomness, repeatable_noise

NUM_DRAWS = 20_000
LEVEL = 1e-6
"""Probability with which the right noise would be rejected."""


def accepts_scale(noise: np.ndarray, claimed: float) -> bool:
    """Two-sided χ² test that centred noise has the claimed standard deviation.

    The variance of rounding to the grid, step²/12, is a part in 10⁶ and far within the interval.
    """
    statistic = float((noise**2).sum()) / claimed**2
    low, high = stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], noise.size)
    return bool(low < statistic < high)


@pytest.mark.parametrize("claimed", [0.03, 1.0, 250.0])
@pytest.mark.parametrize("source", [FixedRandomness, SystemRandomness])
def test_noise_has_its_scale_and_no_other(claimed: float, source: type[Randomness]) -> None:
    with repeatable_noise():
        stream = source().stream("noise")
    values = np.full(NUM_DRAWS, 3.7 * claimed)
    noise = add_gaussian_noise(values, claimed, stream) * (claimed / GRID) - values
    assert accepts_scale(noise, claimed)
    assert not accepts_scale(noise, 0.7 * claimed)
    assert not accepts_scale(noise, 1.4 * claimed)
    assert not accepts_scale(0.95 * noise, claimed)
    assert abs(noise.mean()) < 5 * claimed / math.sqrt(NUM_DRAWS)
    assert stats.kstest(noise[:5000] / claimed, "norm").pvalue > LEVEL


def test_noise_is_in_whole_steps_of_the_grid() -> None:
    steps = add_gaussian_noise(np.array([0.1, 1e5, -3.0]), 2.0, FixedRandomness().stream("noise"))
    assert steps.dtype == np.int64
    silent = np.random.default_rng(0)
    again = add_gaussian_noise(np.array([0.0] * 1000), 2.0, silent)
    assert len(set(again.tolist())) > 300


def test_low_bits_of_the_value_do_not_show() -> None:
    values = 0.3 + np.arange(2000) * np.finfo(float).eps
    noisy = [add_gaussian_noise(values[[i]], 1.0, FixedRandomness(7).stream("noise"))[0] for i in range(0, 2000, 50)]
    assert len(set(noisy)) == 1


def test_system_streams_repeat_for_the_same_purpose_and_block_only() -> None:
    source = SystemRandomness()
    labels = [
        ("noise", 0),
        ("noise", 1),
        ("noise", 10),
        ("profile", 0),
        ("profile", 1),
        ("directions", 0),
        ("sample", 0),
    ]
    first = {label: source.stream(*label).integers(0, 2**63, 4).tolist() for label in labels}
    again = {label: source.stream(*label).integers(0, 2**63, 4).tolist() for label in labels}
    assert first == again
    assert len({tuple(draws) for draws in first.values()}) == len(labels)
    other = SystemRandomness()
    assert all(other.stream(*label).integers(0, 2**63, 4).tolist() != first[label] for label in labels)


def test_streams_are_independent_of_one_another() -> None:
    with repeatable_noise():
        source = SystemRandomness()
    one, two = (source.stream("noise", block).standard_normal(NUM_DRAWS) for block in (0, 1))
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / math.sqrt(NUM_DRAWS)


def test_a_forgotten_secret_gives_no_noise() -> None:
    source = SystemRandomness()
    source.stream("noise")
    source.forget()
    with pytest.raises(MicrotomeError, match="cannot be drawn again"):
        source.stream("noise")


def test_nobody_can_choose_the_noise_of_a_release() -> None:
    parameters = set(inspect.signature(release).parameters) | set(inspect.signature(SystemRandomness).parameters)
    assert not parameters & {"seed", "random_state", "rng", "randomness", "key", "secret", "directions_seed"}
    assert not any("seed" in name for name in parameters)
    for name in ("PrivacySettings", "RunSettings"):
        fields = inspect.signature(getattr(microtome.private, name)).parameters
        assert not any("seed" in field or "random" in field for field in fields)


NUM_BLOCKS = 3000


@pytest.mark.parametrize("dim", [2, 5])
def test_haar_columns_are_uniform(dim: int) -> None:
    rng = np.random.default_rng(11)
    blocks = np.stack([haar_columns(dim, dim, rng) for _ in range(NUM_BLOCKS)])
    gram = np.einsum("nij,nik->njk", blocks, blocks)
    assert np.abs(gram - np.eye(dim)).max() < 1e-12
    # Every coordinate of a uniform point of the sphere: its square is Beta(1/2, (d−1)/2).
    law = stats.beta(0.5, (dim - 1) / 2)
    for row, column in ((0, 0), (dim - 1, 0), (0, dim - 1), (dim - 1, dim - 1)):
        assert stats.kstest(blocks[:, row, column] ** 2, law.cdf).pvalue > LEVEL
    assert np.abs(blocks.mean(axis=0)).max() < 5 / math.sqrt(NUM_BLOCKS * dim)
    determinants = np.sign(np.linalg.det(blocks))
    assert abs(determinants.sum()) < 5 * math.sqrt(NUM_BLOCKS)


def test_haar_test_catches_a_qr_without_its_signs() -> None:
    rng = np.random.default_rng(11)
    blocks = np.stack([np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(NUM_BLOCKS)])
    assert np.abs(blocks.mean(axis=0)).max() > 5 / math.sqrt(NUM_BLOCKS * 5)
