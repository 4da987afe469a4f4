"""PATE-GAN as we wrote it: one record touches one teacher, and the votes spend the budget."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from baselines import pate_gan
from baselines.pate_gan import PATEGAN, Ensemble, vote_noise
from baselines.protocol import RunContext
from microtome.accounting import gaussian_delta
from microtome.schema import Column, Kind, Schema


@pytest.mark.parametrize("epsilon", [1.0, 5.1])
def test_all_votes_together_spend_the_budget_and_no_more(epsilon):
    votes = 12_800
    mu = math.sqrt(votes) / vote_noise(epsilon, 1e-5, votes)
    assert gaussian_delta(epsilon, mu) == pytest.approx(1e-5, rel=1e-4)
    assert gaussian_delta(epsilon, 1.4 * mu) > 1e-5


def test_a_teacher_does_not_depend_on_the_rows_of_others():
    torch.manual_seed(0)
    ensemble, rows = Ensemble(5, 4), torch.randn(5, 8, 4)
    ensemble(rows).sigmoid().sum().backward()
    before = ensemble.first.grad.clone()
    ensemble.zero_grad()
    rows[2] += 1.0
    ensemble(rows).sigmoid().sum().backward()
    moved = (ensemble.first.grad - before).abs().amax(dim=(1, 2)) > 0
    assert moved.tolist() == [False, False, True, False, False]


def test_it_runs_and_counts_its_votes(monkeypatch):
    monkeypatch.setattr(pate_gan, "ITERATIONS", 5)
    schema = Schema(
        columns=(
            Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
            Column(name="sex", kind=Kind.CATEGORICAL, dtype="int64", categories=(0, 1), missing=False),
        )
    )
    frame = pd.DataFrame({"age": np.arange(1000) % 100, "sex": np.arange(1000) % 2})
    method = PATEGAN(RunContext(seed=0, time_limit=60))
    method.fit(frame, schema, 5.1, 1e-5)
    assert method.notes()["votes_released"] == 5 * pate_gan.STUDENT_BATCH
    assert method.notes()["teachers"] == 10
    assert method.sample(50).shape == (50, 2)
