"""Numbers that many records share are found in columns with declared bounds, and drawn as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import microtome as mt
from microtome.accounting import GaussianEvent, events_of
from microtome.private.value_search import full_buckets
from microtome.published import AggregatesRelease
from microtome.schema import NumberCode
from support import repeatable_noise

DENSITIES = np.round(np.random.default_rng(1).lognormal(5.0, 1.5, 20), 1)


def districts(num_rows: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "density": DENSITIES[rng.integers(0, 20, num_rows)],
            "income": np.round(rng.gamma(2.0, 1500.0, num_rows), 2),
            "fee": np.where(rng.random(num_rows) < 0.3, 1347, rng.integers(0, 100_000, num_rows)),
        }
    )


SCHEMA = mt.Schema(
    columns=(
        mt.Column(name="density", kind="float", bounds=(0, 10_000), missing=False),
        mt.Column(name="income", kind="float", bounds=(0, 50_000), missing=False),
        mt.Column(name="fee", kind="integer", bounds=(0, 100_000), missing=False),
    )
)


@pytest.fixture(scope="module")
def release() -> AggregatesRelease:
    with repeatable_noise():
        made = mt.release(districts(), SCHEMA, epsilon=1.0, delta=1e-6)
    assert isinstance(made, AggregatesRelease)
    return made


def code_of(release: AggregatesRelease, name: str) -> NumberCode:
    code = release.codebook.codes[SCHEMA.names.index(name)]
    assert isinstance(code, NumberCode)
    return code


def test_common_numbers_have_cells_of_their_own_and_are_drawn(release: AggregatesRelease) -> None:
    code = code_of(release, "density")
    single = code.cells.edges[:-1][code.cells.singletons()]
    assert set(DENSITIES) <= set(single)
    rows = mt.Synthesizer(mt.FitSettings(steps=20), random_state=0).fit(release).sample(2000)
    assert rows.density.isin(DENSITIES).mean() > 0.97
    assert (rows.fee == 1347).mean() == pytest.approx(0.3, abs=0.03)


def test_numbers_that_hardly_anybody_shares_are_not_looked_for(release: AggregatesRelease) -> None:
    income = code_of(release, "income")
    assert len(income.search_noise) == 1, "buckets, and no numbers"
    assert len(code_of(release, "density").search_noise) == 2


def test_whatever_is_found_costs_the_same(release: AggregatesRelease) -> None:
    with repeatable_noise():
        plain = mt.release(
            districts().assign(density=districts().income.clip(upper=9999.0)), SCHEMA, epsilon=1.0, delta=1e-6
        )
    costs = [events_of(GaussianEvent, made.manifest.promise.events)[0].mu for made in (release, plain)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)
    for made in (release, plain):
        codes = made.codebook.codes  # type: ignore[attr-defined]
        noise = [scale for code in codes for scale in (code.noise_scale, *code.search_noise)]
        noise += [code.rounding.noise_scale for code in codes if code.rounding is not None]
        assert np.sqrt(sum(scale**-2.0 for scale in noise)) == pytest.approx(costs[0], rel=1e-6)


def test_a_number_of_one_record_does_not_show() -> None:
    frame = districts(3000)
    frame.loc[7, "density"] = 1234.5
    with repeatable_noise():
        release = mt.release(frame, SCHEMA, epsilon=5.0, delta=1e-6, anyway=True)
    assert isinstance(release, AggregatesRelease)
    code = code_of(release, "density")
    assert 1234.5 not in code.cells.edges[:-1][code.cells.singletons()]


def test_a_bucket_is_looked_into_before_a_number_in_it_could_fail_to_show() -> None:
    """A code of 3 % of 24,000 records at ε = 1, 24 columns: it would pass the threshold, so it has to be looked for."""
    rng, scale, threshold = np.random.default_rng(0), 138.2, 524.0

    def looked(records: float) -> float:
        counts = rng.normal(24_000 / 4_096, scale, (400, 4_096))
        counts[:, 7] += records
        return float(np.mean([full_buckets(one, scale) is not None for one in counts]))

    assert looked(720.0) > 0.85
    assert looked(threshold) > 0.4
    assert looked(0.0) < 0.15, "in vain"


def test_chance_among_many_records_is_not_taken_for_common_numbers() -> None:
    """Of 10⁸ records that share no number, buckets differ by more than the noise: few are looked into, and rarely."""
    rng, scale, expected = np.random.default_rng(0), 86.1, 10**8 / 4_096
    counts = rng.poisson(expected, (400, 4_096)) + rng.normal(0.0, scale, (400, 4_096))
    assert np.mean([full_buckets(one, scale) is not None for one in counts]) < 0.15
    counts[:, 7] += 0.001 * 10**8
    found = [full_buckets(one, scale) for one in counts]
    assert all(full is not None and full[7] and full.mean() < 0.03 for full in found)
