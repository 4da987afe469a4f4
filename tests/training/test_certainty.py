"""Columns that follow from another do so in synthetic rows, and no other table is charged for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import microtome as mt
from microtome.generators import MixtureSettings
from microtome.published import AggregatesRelease
from microtome.training import aggregates_objective, certainty
from microtome.training.certainty import Certainty
from support import repeatable_noise

ROWS = 20_000
BRANCHES = [f"b{number:02}" for number in range(24)]
GROUPS = [f"g{number}" for number in range(6)]
SCHEMA = mt.Schema(
    columns=(
        mt.Column(name="branch", kind="categorical", categories=tuple(BRANCHES), missing=False),
        mt.Column(name="group", kind="categorical", categories=tuple(GROUPS), missing=False),
        mt.Column(name="sex", kind="categorical", categories=("f", "m"), missing=False),
        mt.Column(name="age", kind="integer", bounds=(0, 99), missing=False),
    )
)


def workers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    branch = rng.choice(24, ROWS, p=np.arange(1, 25) / 300)
    return pd.DataFrame(
        {
            "branch": np.array(BRANCHES)[branch],
            "group": np.array(GROUPS)[branch // 4],
            "sex": rng.choice(["f", "m"], ROWS),
            "age": np.clip(rng.normal(40 + branch, 12, ROWS), 0, 99).astype(int),
        }
    )


@pytest.fixture(scope="module")
def release() -> AggregatesRelease:
    with repeatable_noise():
        made = mt.release(workers(), SCHEMA, epsilon=0.5, delta=1e-6)
    assert isinstance(made, AggregatesRelease)
    return made


def wrong(release: AggregatesRelease) -> float:
    settings = mt.FitSettings(mixture=MixtureSettings(components=256, likeness=0.0))
    rows = mt.Synthesizer(settings, random_state=0).fit(release).sample(10_000)
    return float((rows.branch.str[1:].astype(int) // 4 != rows.group.str[1:].astype(int)).mean())


def test_a_column_that_follows_does_so_in_every_row(release: AggregatesRelease) -> None:
    assert wrong(release) == 0.0


def test_tables_that_are_only_fitted_are_blurred(release: AggregatesRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates_objective, "split", lambda mixture, _: mixture)
    charged = wrong(release)
    monkeypatch.setattr(certainty, "CHARGE", 0.0)
    assert 0.0 < charged < 0.06
    assert charged < wrong(release) / 1.3


def test_a_level_of_few_records_goes_with_its_fullest_cell() -> None:
    table = np.array([[100.0, 0.0, 1.0], [-1.0, 2.0, 0.5], [0.3, 0.1, 2.0]])
    together = certainty._together(table, 1.0, np.array([101.0, 2.5, 9.0]))
    assert together.tolist() == [[True, False, False], [False, True, False], [True, True, True]]


def shown(together: np.ndarray, table: np.ndarray, exact: np.ndarray, noise: float, missing: int | None) -> np.ndarray:
    both = certainty._both_there(exact.shape, (missing, missing))
    expected = certainty._expected(table, (exact.sum(axis=1), exact.sum(axis=0)), both)
    return certainty._shown(together, table, noise, expected, both)


def test_few_records_under_strong_noise_are_no_certainty() -> None:
    """Most people have no loan; those of the others have two ends, whatever they are for."""
    noise, draws = 60.0, np.random.default_rng(3)
    exact = np.array([[100.0, 100.0, 0.0], [40.0, 40.0, 0.0], [0.0, 0.0, 4600.0]])
    for _ in range(50):
        found = shown(np.eye(3) > 0, exact + draws.normal(0.0, noise, exact.shape), exact, noise, 2)
        assert found[:2, :2].all()


def test_what_is_missed_in_many_cells_together_is_left_out() -> None:
    exact = np.kron(np.eye(20), np.full((4, 1), 70.0))
    follows, noise = exact > 0, np.random.default_rng(4).normal(0.0, 10.0, exact.shape)
    assert (shown(follows, exact + noise, exact, 10.0, None) == follows).all()
    assert shown(follows, 3.5 + noise, exact, 10.0, None).all()


def test_only_the_table_of_both_is_charged_for(release: AggregatesRelease) -> None:
    assert len(Certainty(release, 100).supports) == 1


def test_rows_that_keep_it_are_not_charged(release: AggregatesRelease) -> None:
    charge, frame = Certainty(release, 100), workers()
    levels = np.stack([frame.branch.map(BRANCHES.index), frame.group.map(GROUPS.index)], axis=1)
    starts = [block.start for block in release.codebook.blocks]
    rows = torch.zeros(len(frame), release.codebook.dim)
    for column in range(2):
        codes = release.codebook.codes[column]
        assert codes.num_levels == (24, 6)[column]
        rows[torch.arange(len(frame)), starts[column] + torch.tensor(codes.levels[levels[:, column]])] = 1.0
    assert float(charge(rows)) == 0.0
    assert (
        float(charge(rows[:, torch.randperm(release.codebook.dim, generator=torch.Generator().manual_seed(1))])) > 0.0
    )


def test_what_nearly_everybody_has_follows_from_nothing() -> None:
    """A rare answer that is lost in the noise of its cells, and a level that nearly everybody has, make no relation."""
    people = np.array([4000.0, 3000.0, 2000.0, 1000.0])
    rare = np.outer(people, [0.99, 0.01])
    assert not certainty._follows(rare, 40.0, people.sum(), rare.sum(axis=0))
    nearly_all = np.array([[5000.0, 4500.0], [250.0, 0.0], [0.0, 250.0]])
    assert not certainty._follows(nearly_all, 40.0, 10_000.0, nearly_all.sum(axis=0))
    lost = np.array([[5000.0, 0.0, 0.0], [0.0, 4000.0, 0.0], [0.0, 0.0, 90.0], [300.0, 400.0, 110.0]])
    assert not certainty._follows(lost, 40.0, 9_900.0, lost.sum(axis=0))


def test_a_relation_that_shows_is_one() -> None:
    follows = np.array([[4000.0, 0.0], [3000.0, 0.0], [0.0, 2000.0], [0.0, 1000.0]])
    assert certainty._follows(follows, 40.0, 10_000.0, follows.sum(axis=0))
