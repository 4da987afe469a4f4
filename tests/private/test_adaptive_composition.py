"""What the second pass costs does not depend on what the first one said.

The profile's noise settles how long encoded rows are. Where that chose the law of W, keeping (ε, δ) with each law by
itself was not enough: whoever sees the profile knows which law it chose (docs/privacy.md, section 4).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from microtome.accounting import DirectionKind, Event, GaussianEvent, SliceEvent, calibrate_noise, delta
from microtome.accounting.divergence import slice_pair
from microtome.errors import MicrotomeError, ParameterError
from microtome.private import PrivacySettings
from microtome.private.plan import longest_rows, plan_profile, plan_slices
from microtome.private.slicing import draw_directions
from microtome.schema import (
    COARSE,
    FINE,
    CategoryCells,
    CellCounts,
    Column,
    Fineness,
    Kind,
    NumberCells,
    Schema,
    code_from_counts,
    initial_cells,
)
from microtome.schema.codebook import _most_levels
from microtome.schema.margins import rare_share
from support import FixedRandomness, people, people_schema, publish

SCHEMA = people_schema()
EPSILON, DELTA = 2.0, 1e-5
LENGTHS = [7, 8, 23, 60, 150]
GAUSSIAN = {"directions": DirectionKind.GAUSSIAN}
LAWS = [{}, {"slice_dim": 3}, {"num_slices": 5}, {"num_slices": 400}, GAUSSIAN, {**GAUSSIAN, "num_slices": 5}]


def planned(profile_share: float = 0.1, **options: object) -> tuple[PrivacySettings, tuple[Event, ...]]:
    promise = {"epsilon": EPSILON, "delta": DELTA, "kind": "records", "profile_share": profile_share}
    wanted = PrivacySettings(**{**promise, **options})  # type: ignore[arg-type]
    return wanted, plan_profile(wanted, SCHEMA).events


@pytest.mark.parametrize("subsample", [None, 0.25])
@pytest.mark.parametrize("options", LAWS, ids=str)
def test_the_cost_of_slices_is_the_same_whatever_the_profile_says(options: dict, subsample: float | None) -> None:
    wanted, spent = planned(subsample=subsample, **options)
    plan = plan_slices(wanted, SCHEMA, spent)
    assert delta([*spent, *plan.events], EPSILON) <= DELTA
    for epsilon in (0.3, EPSILON, 5.0):
        whole = delta(plan.events, epsilon)
        for dim in LENGTHS:
            assert delta(plan.for_rows(dim).events, epsilon) == pytest.approx(whole, rel=1e-7)


def after_the_profile(mu: float, laws: Sequence[SliceEvent]) -> float:
    """δ(ε) of a Gaussian of ``mu`` whose outcome chooses, at its worst, by which of the laws rows are sliced.

    ∫ max_d H_d(ε − l) dP(l) over the loss l of the Gaussian, by plain sums.
    """
    deviates = np.linspace(-8.0, 9.0, 40_001)
    losses = mu**2 / 2 + mu * deviates
    divergences = np.stack([slice_pair(law).divergence(EPSILON - losses) for law in laws])
    return float((norm.pdf(deviates) * divergences.max(axis=0)).sum() * (deviates[1] - deviates[0]))


@pytest.mark.parametrize("options", [GAUSSIAN, {"num_slices": 5}], ids=["gaussian", "cut"])
def test_a_law_that_the_profile_chooses_would_exceed_delta_and_ours_does_not(options: dict) -> None:
    wanted, spent = planned(profile_share=0.5, **options)
    (profile,) = [event for event in spent if isinstance(event, GaussianEvent)]

    def by_itself(dim: int) -> SliceEvent:
        """As it was: the least noise for rows of this length, were they the only ones there can be."""
        law = wanted.direction_law(dim)
        event = SliceEvent(directions=law, row_distance=1.0, noise_scale=1.0)
        scale = calibrate_noise(
            lambda scale: [profile, replace(event, noise_scale=scale)], epsilon=EPSILON, delta=DELTA
        )
        return replace(event, noise_scale=scale)

    dims = [7, 12, 30, 100]
    assert after_the_profile(profile.mu, [by_itself(100)]) == pytest.approx(DELTA, rel=1e-3)
    assert after_the_profile(profile.mu, [by_itself(dim) for dim in dims]) > 1.002 * DELTA
    plan = plan_slices(wanted, SCHEMA, spent)
    ours = [event for dim in dims for event in plan.for_rows(dim).events if isinstance(event, SliceEvent)]
    assert after_the_profile(profile.mu, ours) <= DELTA * (1 + 1e-6)


@pytest.mark.parametrize("options", LAWS, ids=str)
def test_directions_let_through_what_the_plan_says(options: dict) -> None:
    """Energies ‖xU‖²/σ² of the directions that are drawn have the law that was accounted for."""
    wanted, spent = planned(**options)
    plan = plan_slices(wanted, SCHEMA, spent)
    for dim in (8, 23):
        settled = plan.for_rows(dim)
        row = np.zeros(dim)
        row[dim // 2] = 1.0
        energies = [
            float(((row @ draw_directions(settled.law, FixedRandomness(seed), dim)) ** 2).sum()) for seed in range(60)
        ]
        constant = settled.law.constant_energy
        if constant is not None:
            np.testing.assert_allclose(energies, constant, rtol=1e-9)
        mean = settled.law.count / settled.law.dim
        assert np.mean(energies) == pytest.approx(mean, rel=5 * np.std(energies) / np.mean(energies) / 60**0.5 + 1e-9)


def test_slices_that_do_not_fill_rows_evenly_lose_nothing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Rows are lengthened by zeros to whole slices: all of a row is let through, and moments can be had."""
    opened = publish(people(), SCHEMA, tmp_path / "t.release", slice_dim=3)
    assert opened.mechanism.directions.count % 3 == 0
    assert opened.mechanism.directions.count - opened.codebook.dim < 3
    np.testing.assert_allclose(opened.directions @ opened.directions.T, np.eye(opened.codebook.dim), atol=1e-12)


def test_rows_longer_than_the_longest_are_refused() -> None:
    wanted, spent = planned(**GAUSSIAN)
    with pytest.raises(MicrotomeError, match="was the most"):
        plan_slices(wanted, SCHEMA, spent).for_rows(longest_rows(SCHEMA) + 1)


def test_rows_of_any_length_are_refused_beforehand() -> None:
    endless = Schema(columns=(Column(name="a", kind=Kind.CATEGORICAL, pool=0.0),))
    with pytest.raises(ParameterError, match="pool: 0"):
        longest_rows(endless)


COLUMNS = [
    *SCHEMA.columns,
    Column(name="x", kind=Kind.FLOAT, bounds=(0.0, 1.0), bins=3),
    Column(name="y", kind=Kind.INTEGER, bounds=(0, 40)),
    Column(name="z", kind=Kind.CATEGORICAL, pool=0.2),
    Column(name="w", kind=Kind.CATEGORICAL, categories=tuple(map(str, range(300)))),
]


@settings(max_examples=150, deadline=None)
@given(
    column=st.sampled_from(COLUMNS), seed=st.integers(0, 10**6), noise=st.sampled_from([1e-3, 1.0, 100.0]),
    fineness=st.sampled_from([COARSE, FINE]),
)  # fmt: skip
def test_no_column_has_more_levels_than_its_bound(column: Column, seed: int, noise: float, fineness: Fineness) -> None:
    rng = np.random.default_rng(seed)
    cells = initial_cells(column)
    if cells is None and not column.kind.is_categorical:
        cells = NumberCells.of(column, np.unique(np.rint(rng.normal(0, 1000, int(rng.integers(2, 500))))))
    if cells is None:
        names = tuple(f"{number:04}" for number in range(int(rng.integers(1, 1500))))
        cells = CategoryCells(categories=names, other=True, missing=column.missing)
    shape = rng.choice([0.01, 0.1, 1.0, 10.0])
    counts = rng.multinomial(10_000, rng.dirichlet(np.full(len(cells), shape))).astype(float)
    if isinstance(cells, NumberCells) and rng.random() < 0.5:
        counts[rng.integers(0, len(cells), 10)] += 3000.0
    noisy = counts + rng.normal(0, noise, len(cells))
    code = code_from_counts(
        cells, CellCounts(column=column, counts=noisy, noise_scale=noise, total=10_000.0, fineness=fineness)
    )
    for known in {0.0, rare_share(noise, 10_000.0)}:
        bound = _most_levels(column, fineness, known)
        assert bound is not None
        assert code.num_levels <= bound
