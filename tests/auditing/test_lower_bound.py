"""The bound holds whatever the mechanism does, and is not far below the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from microtome.accounting import gaussian_epsilon
from microtome.auditing.lower_bound import Verdicts, count_verdicts, expected_bounds, lower_bound

MU, DELTA = 1.0, 0.1
TRUTH = gaussian_epsilon(DELTA, MU)
THRESHOLD = TRUTH / MU
"""Of the best test: a likelihood ratio above e^ε."""


def simulated(releases: int, targets: int, rng: np.random.Generator, *, alike: bool = False) -> Verdicts:
    """Guesses about targets of a Gaussian mechanism; ``alike`` gives all targets of a release the same noise."""
    rows = []
    for _ in range(releases):
        coins = rng.random(targets) < 0.5
        noise = np.full(targets, rng.standard_normal()) if alike else rng.standard_normal(targets)
        there, gone, luck = count_verdicts((noise + MU * coins - MU / 2 > THRESHOLD)[None], coins)
        rows.append((there[0], gone[0], luck))
    found_there, found_gone, lucky = np.array(rows).T
    return Verdicts(found_there=found_there, found_gone=found_gone, luck=lucky)


@pytest.mark.parametrize("alike", [False, True], ids=["independent targets", "targets with the same noise"])
def test_the_bound_is_wrong_no_more_often_than_it_says(alike: bool) -> None:
    rng = np.random.default_rng(1)
    repeats, error = 100, 0.1
    wrong = 0
    for _ in range(repeats):
        training, counted = simulated(40, 20, rng, alike=alike), simulated(150, 20, rng, alike=alike)
        wrong += lower_bound(training, counted, DELTA, error=error) > TRUTH
    assert wrong <= norm.isf(1e-6) * np.sqrt(repeats * error * (1 - error)) + repeats * error


def test_many_releases_come_close() -> None:
    rng = np.random.default_rng(2)
    bound = lower_bound(simulated(200, 200, rng), simulated(3000, 200, rng), DELTA, error=0.05)
    assert 0.95 * TRUTH < bound < TRUTH


def test_expectation_is_a_fair_guide_to_the_bound() -> None:
    rng = np.random.default_rng(3)
    training, counted = simulated(400, 100, rng), simulated(1600, 100, rng)
    as_tests = Verdicts(
        found_there=training.found_there[None], found_gone=training.found_gone[None], luck=training.luck[None]
    )
    expected = float(expected_bounds(as_tests, DELTA, num_releases=1600, error=0.05)[0])
    assert expected == pytest.approx(lower_bound(training, counted, DELTA, error=0.05), rel=0.25)


def test_perfect_guesses_are_bounded_by_their_number() -> None:
    coins = np.random.default_rng(4).random((2000, 1)) < 0.5
    verdicts = Verdicts(found_there=2.0 * coins[:, 0], found_gone=np.zeros(2000), luck=2.0 * coins[:, 0] - 1.0)
    few = Verdicts(found_there=verdicts.found_there[:100], found_gone=np.zeros(100), luck=verdicts.luck[:100])
    assert 1.5 < lower_bound(few, few, 1e-5, error=0.05) < lower_bound(few, verdicts, 1e-5, error=0.05) < 8


def test_guesses_at_random_prove_nothing() -> None:
    rng = np.random.default_rng(5)
    coins = rng.random((1000, 50)) < 0.5
    guesses = rng.random((1000, 50)) < 0.5
    there, gone, _ = count_verdicts(guesses, coins)
    verdicts = Verdicts(found_there=there, found_gone=gone, luck=2.0 * coins.mean(axis=1) - 1.0)
    assert lower_bound(verdicts, verdicts, 1e-5, error=0.01) == 0.0


def test_a_smaller_error_needs_more_evidence() -> None:
    rng = np.random.default_rng(6)
    training, counted = simulated(100, 50, rng), simulated(400, 50, rng)
    bounds = [lower_bound(training, counted, DELTA, error=error) for error in (0.1, 1e-3, 1e-6)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]
