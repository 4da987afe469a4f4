"""Exact discrete Gaussian noise: its law, and what it costs beside the continuous one (docs/privacy.md, section 6)."""

import math
import time
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from microtome.errors import MicrotomeError
from microtome.private import SystemRandomness, discrete_gaussian
from microtome.private.discrete_gaussian import CELLS
from microtome.private.randomness import LATTICE_GAP, noise_quantile, noisy_counts
from support import FixedRandomness, repeatable_noise

LEVEL = 1e-6
"""Probability with which the right law would be rejected."""
NUM_DRAWS = 400_000
MOST_TIMES_NORMAL = 150
"""Time of exact draws as a multiple of that of as many floats by the ziggurat method; measured 15 to 30."""
LEAST_STEPS = 2.0**26
"""Lattice steps a standard deviation."""


def draws(width: int, count: int = NUM_DRAWS, seed: int = 0) -> np.ndarray:
    return discrete_gaussian.discrete_gaussian(np.full(count, width), FixedRandomness(seed).stream("noise"))


def law(scale: float, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers up to a distance, and their probabilities."""
    numbers = np.arange(-reach, reach + 1)
    weights = np.exp(-((numbers / scale) ** 2) / 2)
    return numbers, weights / weights.sum()


def fits(drawn: np.ndarray, scale: float) -> bool:
    """χ² of the draws against the law of a scale, numbers next to each other taken together."""
    numbers, chances = law(scale, int(12 * scale))
    whole = np.minimum((np.cumsum(chances) * 400).astype(int), 399)
    expected = np.bincount(whole, chances) * len(drawn)
    observed = np.bincount(whole[drawn - numbers[0]], minlength=len(expected))
    return bool(stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > LEVEL)


@pytest.mark.parametrize("width", [1, 2, 3, 37, 5000])
def test_draws_have_the_law_and_no_other(width: int) -> None:
    drawn, scale = draws(width), CELLS * width
    assert fits(drawn, scale)
    assert not fits(drawn, 0.98 * scale)
    assert not fits(drawn, 1.02 * scale)
    assert not fits(drawn + math.ceil(0.05 * scale), scale)


@pytest.mark.parametrize("width", [1, 7, 2**20, 2**51])
def test_moments(width: int) -> None:
    """Of the discrete Gaussian as of the continuous one, for a scale of 16 and more to the last bit."""
    drawn = draws(width, seed=5) / (CELLS * width)
    for order, moment, spread in ((1, 0.0, 1.0), (2, 1.0, math.sqrt(2.0)), (3, 0.0, math.sqrt(15)), (4, 3.0, 9.8)):
        assert abs((drawn**order).mean() - moment) < 5 * spread / math.sqrt(NUM_DRAWS)
    assert stats.kstest(drawn[:20_000], "norm").pvalue > (LEVEL if width > 100 else 0.0)


def test_every_number_has_a_scale_of_its_own() -> None:
    widths = np.tile([1, 100, 40_000], NUM_DRAWS // 10)
    drawn = discrete_gaussian.discrete_gaussian(widths, FixedRandomness(3).stream("noise"))
    for width in (1, 100, 40_000):
        assert fits(drawn[widths == width], CELLS * width)


def test_draws_go_together_with_opendp_s() -> None:
    opendp = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l2_distance(T=float)
    theirs = np.array(opendp.m.make_gaussian(*space, scale=float(CELLS))([0] * 40_000))
    ours = draws(1, 40_000, seed=8)
    edges = [-np.inf, *np.arange(-40, 41, 2), np.inf]

    def agree(one: np.ndarray, other: np.ndarray) -> bool:
        table = np.stack([np.histogram(numbers, edges)[0] for numbers in (one, other)])
        return bool(stats.chi2_contingency(table).pvalue > LEVEL)

    assert agree(ours, theirs)
    assert not agree(np.rint(1.06 * ours), theirs)


@pytest.mark.parametrize("words", [1, 2, 3])
def test_digits_of_the_distribution_function(words: int) -> None:
    with mpmath.workdps(120):
        weights = [mpmath.exp(mpmath.mpf(-v * v) / (2 * CELLS**2)) for v in range(900)]
        total, below, found = mpmath.fsum(weights), mpmath.mpf(0), []
        for weight in weights[:250]:
            below += weight
            found.append(int(mpmath.floor(below / total * mpmath.mpf(2) ** (64 * words))))
    assert discrete_gaussian._cumulative(words)[:250] == found


def test_digits_that_do_not_decide_are_followed_by_others() -> None:
    """A number that begins as P(v ≤ j) does is in cell j or in the next, as the digits after these say."""
    first, second = discrete_gaussian._cumulative(1), discrete_gaussian._cumulative(2)
    stream = FixedRandomness(1).stream("noise")
    for cell in (0, 1, 17, 60):
        share = (second[cell] % 2**64) / 2.0**64
        found = np.array([discrete_gaussian._decide(first[cell], stream) for _ in range(4000)])
        assert set(found) <= {cell, cell + 1}
        assert abs((found == cell).mean() - share) < 5 * math.sqrt(share * (1 - share) / 4000) + 1e-9
    assert all(one < other for one, other in pairwise(first[:100]))


def test_far_from_the_middle_the_law_holds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody will see a number 16 standard deviations away, but it is drawn by the same law."""
    width, count = 10**6, 200_000
    monkeypatch.setattr(discrete_gaussian, "_draw_cells", lambda count, stream: np.full(count, 700))
    kept, numbers = discrete_gaussian._candidates(np.full(count, width), FixedRandomness().stream("noise"))
    rests = np.abs(numbers) - 700 * width
    chances = np.exp(-rests / width * (2 * 700 * width + rests) / (2 * CELLS**2 * width))
    assert abs(kept.sum() - chances.sum()) < 5 * math.sqrt((chances * (1 - chances)).sum())
    assert 0.2 < kept.mean() < 0.5


def test_the_same_stream_has_the_same_noise_again() -> None:
    with repeatable_noise():
        source = SystemRandomness()
    once, again, other = (noisy_counts(np.zeros(5000), 3.0, source.stream("profile", block)) for block in (0, 0, 1))
    assert (once == again).all()
    assert abs(np.corrcoef(once, other)[0, 1]) < 5 / math.sqrt(5000)


@given(
    scale=st.floats(0.02, 1e6),
    digits=st.sampled_from([0, 15, 30]),
    counts=st.lists(st.integers(0, 2**20), min_size=1, max_size=5),
    more=st.integers(-(2**20), 2**20),
)
def test_noise_does_not_depend_on_what_it_is_added_to(scale: float, digits: int, counts: list[int], more: int) -> None:
    """Counts that differ by a whole number have outcomes that differ by exactly it."""
    exact, unit = np.array(counts, dtype=float) / 2**digits, more / 2**digits
    one = noisy_counts(exact, scale, FixedRandomness().stream("noise"), digits=digits)
    other = noisy_counts(exact + unit, scale, FixedRandomness().stream("noise"), digits=digits)
    bare = noisy_counts(0 * exact, scale, FixedRandomness().stream("noise"), digits=digits)
    if np.abs([*one, *other]).max() * 2.0 ** max(digits, 34) < 2.0**53:  # what a float of the file holds in full
        assert (other - one == unit).all()
        assert (one - bare == exact).all()


@pytest.mark.parametrize("scale", [0.03, 1.0, 16.0, 250.0, 2.0**40])
def test_the_lattice_is_as_fine_as_the_argument_says(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 2²⁶ steps, 2²⁶/σ if σ < 1, of noise that is no less than stated, and hardly more."""
    asked: list[int] = []

    def widths_of(widths: np.ndarray, stream: object) -> np.ndarray:
        asked.extend(widths.tolist())
        return np.ones_like(widths)

    monkeypatch.setattr("microtome.private.randomness.discrete_gaussian", widths_of)
    step = float(noisy_counts(np.zeros(1), scale, FixedRandomness().stream("noise"))[0])
    steps = CELLS * asked[0]
    assert math.log2(step).is_integer()
    assert step <= 1.0
    assert scale <= steps * step < scale * (1 + 2.0**-21)
    assert steps >= LEAST_STEPS / min(scale, 1.0)


@pytest.mark.parametrize(
    ("counts", "scale", "digits"),
    [
        pytest.param([0.5], 2.0**40, 0, id="half a count"),
        pytest.param([1 / 3], 1.0, 0, id="a third"),
        pytest.param([2.0**-31], 2.0**20, 30, id="half a digit"),
        pytest.param([math.nan], 1.0, 0, id="no number"),
        pytest.param([1e18], 1.0, 0, id="more than 64 bits"),
        pytest.param([1.0], 2.0**60, 0, id="noise of more than 64 bits"),
        pytest.param([1.0], 0.0, 0, id="no noise"),
        pytest.param([1.0], math.nan, 0, id="noise that is no number"),
        pytest.param([1.0], math.inf, 0, id="endless noise"),
    ],
)
def test_what_is_not_on_the_lattice_is_refused(counts: list[float], scale: float, digits: int) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(MicrotomeError, match="do not fit the lattice"):
        noisy_counts(np.array(counts), scale, FixedRandomness().stream("noise"), digits=digits)


def test_a_million_draws_are_quick() -> None:
    source, widths = SystemRandomness(), np.full(1_000_000, 2**23)

    def seconds(draw: object) -> float:
        start = time.process_time()
        draw()  # type: ignore[operator]
        return time.process_time() - start

    exact = min(seconds(lambda: discrete_gaussian.discrete_gaussian(widths, source.stream("noise"))) for _ in range(2))
    floats = min(seconds(lambda: source.stream("noise").standard_normal(1_000_000)) for _ in range(5))
    assert exact < MOST_TIMES_NORMAL * floats


def gap(steps: float, shifts: list[float]) -> mpmath.mpf:
    """The bound of the page: what discrete noise adds to δ, for numbers that change by so many deviations."""
    c, growth, mean = 1 / (24 * mpmath.mpf(steps) ** 2), mpmath.mpf(1), mpmath.mpf(1)
    extra = 1 + 3 * mpmath.exp(-2 * (mpmath.pi * steps) ** 2)
    for shift in shifts:
        growth /= 1 - c
        mean *= extra**2 * mpmath.exp(c * mpmath.mpf(shift) ** 2 / (1 - 2 * c)) / mpmath.sqrt(1 - 2 * c)
    return growth - 1 + mean - 1


def rounded(number: int, steps: float) -> mpmath.mpf:
    return mpmath.ncdf((number + 0.5) / mpmath.mpf(steps)) - mpmath.ncdf((number - 0.5) / mpmath.mpf(steps))


@pytest.mark.parametrize("steps", [2, 7, 64])
def test_the_ratio_of_discrete_and_rounded_noise(steps: int) -> None:
    with mpmath.workdps(60):
        total = mpmath.fsum(mpmath.exp(-mpmath.mpf(k * k) / (2 * steps**2)) for k in range(-30 * steps, 30 * steps + 1))
        for number in range(0, 12 * steps, max(steps // 5, 1)):
            ratio = mpmath.exp(-mpmath.mpf(number**2) / (2 * steps**2)) / total / rounded(number, steps)
            assert ratio <= 1 / (1 - 1 / (24 * mpmath.mpf(steps) ** 2))
            least = mpmath.exp(-mpmath.mpf(number**2) / (24 * steps**4))
            assert ratio >= least / (1 + 3 * mpmath.exp(-2 * (mpmath.pi * steps) ** 2))


@pytest.mark.parametrize("steps", [3, 16])
@pytest.mark.parametrize("shift", [1, 5, 20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_delta_of_discrete_noise_is_that_of_the_continuous_and_the_gap(steps: int, shift: int, epsilon: float) -> None:
    """δ(ε) of both, summed up: the gap covers the difference, and is not far more than it needs to be."""
    with mpmath.workdps(40):
        numbers = range(-25 * steps, 25 * steps + shift + 1)
        weights = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * steps**2)) for k in range(-26 * steps - 60, 26 * steps + 60)}
        total, factor = mpmath.fsum(weights.values()), mpmath.exp(epsilon)
        discrete = mpmath.fsum(max((weights[k - shift] - factor * weights[k]) / total, 0) for k in numbers)
        mu = mpmath.mpf(shift) / steps
        continuous = mpmath.ncdf(mu / 2 - epsilon / mu) - factor * mpmath.ncdf(-mu / 2 - epsilon / mu)
        assert discrete <= continuous + gap(steps, [float(mu)])


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 40.0])
@pytest.mark.parametrize("touched", [1, 1000, 1_000_000])
def test_the_gap_that_is_counted(scale: float, touched: int) -> None:
    """Numbers that change by 2 at most, as sums over images do, those of tables by 1."""
    with mpmath.workdps(60):
        steps = mpmath.mpf(LEAST_STEPS / min(scale, 1.0))
        c = 1 / (24 * steps**2)
        each = mpmath.exp(c * (2 / mpmath.mpf(scale)) ** 2 / (1 - 2 * c)) / mpmath.sqrt(1 - 2 * c)
        assert (1 - c) ** -touched - 1 + each**touched - 1 < touched * mpmath.mpf(LATTICE_GAP)
        assert gap(float(steps), [2 / scale]) < mpmath.mpf(LATTICE_GAP)


@pytest.mark.parametrize("chance", [0.4, 1e-3, 1e-9, 1e-100, 1e-300])
def test_the_quantile_of_the_noise(chance: float) -> None:
    """P(k ≥ t) ≤ P(N ≥ t − ½)/(1 − 1/24s²), at the coarsest lattice and the scale rounded up the farthest."""
    with mpmath.workdps(360):
        steps = mpmath.mpf(LEAST_STEPS)
        largest = steps + CELLS
        bound = mpmath.mpf(noise_quantile(1.0, chance)) * steps - mpmath.mpf(1) / 2
        tail = mpmath.erfc(bound / largest / mpmath.sqrt(2)) / 2 / (1 - 1 / (24 * steps**2))
        assert tail <= chance
        assert tail > 0.99 * chance
