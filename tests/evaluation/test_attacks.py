"""Attacks find copies, and find nothing where there is nothing."""

from __future__ import annotations

import importlib.util

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from microtome.accounting import GaussianEvent, gaussian_mu
from microtome.demo import population, population_schema
from microtome.evaluation.anonymity import NOT_INSTALLED, anonymeter_risks, frame_of
from microtome.evaluation.attacks import FALSE_ALARMS, Attacks, attack, most_members_found
from microtome.evaluation.comparable_table import ComparableTable, code_tables
from microtome.evaluation.nearest_rows import Embedding, nearest
from microtome.evaluation.tables import read_table


def coded(*tables: pa.Table) -> list[ComparableTable]:
    return code_tables([read_table(table, "a table") for table in tables], population_schema())[0]


@pytest.fixture(scope="module")
def rows() -> list[ComparableTable]:
    """Used rows, held-out rows, and other rows of the same town."""
    town = population(6_000, seed=6)
    return coded(*(town.slice(start, 2_000) for start in (0, 2_000, 4_000)))


def attacked(real: ComparableTable, made: ComparableTable, holdout: ComparableTable | None) -> Attacks:
    found = attack(real, made, holdout, np.random.default_rng(0))
    assert isinstance(found, Attacks)
    return found


def test_a_copy_is_caught(rows: list[ComparableTable]) -> None:
    used, held_out, _ = rows
    found = attacked(used, used, held_out)
    assert found.used.copies == 1.0
    assert found.held_out is not None
    assert found.held_out.copies < 0.01
    assert found.closer_to_used == 1.0
    assert all(guess.auc > 0.99 and guess.found[0] > 0.9 for guess in found.membership.values())


def test_a_tenth_of_copies_is_caught(rows: list[ComparableTable]) -> None:
    used, held_out, other = rows
    values = {name: np.concatenate([column[:200], other.values[name][200:]]) for name, column in used.values.items()}
    found = attacked(used, other.with_values(values, other.num_rows), held_out)
    assert found.used.copies == pytest.approx(0.1, abs=0.02)
    assert found.closer_to_used is not None
    assert found.closer_chance is not None
    assert found.closer_to_used > 0.5 + 3 * found.closer_chance
    assert found.membership["distance"].found[0] > 0.08


def test_rows_of_the_same_town_betray_nobody(rows: list[ComparableTable]) -> None:
    used, held_out, other = rows
    found = attacked(used, other, held_out)
    assert found.closer_to_used is not None
    assert found.closer_chance is not None
    assert found.membership_chance is not None
    assert abs(found.closer_to_used - 0.5) < 4 * found.closer_chance
    for guess in found.membership.values():
        assert abs(guess.auc - 0.5) < 4 * found.membership_chance
        assert guess.found[0] < 0.04


def test_without_held_out_rows_nothing_is_compared(rows: list[ComparableTable]) -> None:
    found = attacked(rows[0], rows[2], None)
    assert found.held_out is None
    assert found.membership == {}
    assert "too few" in str(attack(rows[0].take(np.arange(10)), rows[1], None, np.random.default_rng(0)))


def test_distances_are_those_of_the_text(rows: list[ComparableTable]) -> None:
    real = rows[0]
    embedding = Embedding.fit(real)
    points = embedding.points(real)
    slow = np.zeros((30, 50))
    for name, values in real.values.items():
        if name in real.labels:
            slow += values[:30, None] != values[None, :50]
        else:
            present = np.sort(values[~np.isnan(values)])
            rank = (np.searchsorted(present, values, "left") + np.searchsorted(present, values, "right")) / 2
            gone, share = np.isnan(values), rank / len(present)
            both = np.where(gone, 0.5, share)
            apart = (both[:30, None] - both[None, :50]) ** 2 + 0.75 * (gone[:30, None] != gone[None, :50])
            slow += apart
    expected = np.sort(np.sqrt(slow / len(real.values)), axis=1)[:, :2]
    assert nearest(points[:30], points[:50], 2) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_the_exact_profile_bounds_the_members_found(epsilon: float) -> None:
    """The best attack on a Gaussian mechanism is known: Φ(Φ⁻¹(f) + μ) of the members (Neyman and Pearson)."""
    mu = gaussian_mu(epsilon, 1e-6)
    best = [float(norm.cdf(norm.ppf(rate) + mu)) for rate in FALSE_ALARMS]
    found = most_members_found([GaussianEvent(mu=mu)])
    assert found == pytest.approx(best, rel=2e-3)
    assert all(bound >= share for bound, share in zip(found, best, strict=True)), "a bound errs upwards"


def test_at_epsilon_five_a_quarter_and_not_everybody_is_found() -> None:
    found = most_members_found([GaussianEvent(mu=gaussian_mu(5.0, 1e-6))])
    assert found[FALSE_ALARMS.index(0.05)] == pytest.approx(0.27, abs=0.01)
    assert min(1.0, 0.05 * np.exp(5.0)) == 1.0, "what the stated pair alone would say"


def test_anonymeter_is_asked_for_where_it_is_missing(
    rows: list[ComparableTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microtome.evaluation.anonymity.find_spec", lambda name: None)
    assert anonymeter_risks(*rows, np.random.default_rng(0)) == NOT_INSTALLED


@pytest.mark.skipif(importlib.util.find_spec("anonymeter") is None, reason="anonymeter is in the extra 'attacks'")
def test_anonymeter_tells_a_copy_from_other_rows(rows: list[ComparableTable]) -> None:
    used, held_out, other = rows
    copied, honest = (anonymeter_risks(used, made, held_out, np.random.default_rng(0)) for made in (used, other))
    assert not isinstance(copied, str)
    assert not isinstance(honest, str)
    assert max(risk.risk for risk in copied) > 0.5
    assert max(risk.low for risk in honest) < 0.1


def test_frames_have_the_values_back(rows: list[ComparableTable]) -> None:
    frame = frame_of(rows[0])
    town = population(6_000, seed=6).slice(0, 2_000).to_pandas()
    assert frame["district"].tolist() == town["district"].tolist()
    assert frame["satisfaction"].isna().sum() == town["satisfaction"].isna().sum()
