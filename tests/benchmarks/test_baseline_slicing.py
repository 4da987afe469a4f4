"""The paper's mechanism as a row of the comparison: its settings, and as many epochs as there is time."""

import numpy as np
import pandas as pd
import pytest

from baselines.protocol import RunContext
from baselines.slicing import Aggregates, Algorithm1, Algorithm1Outside, Records, SliceWass, SliceWassOutside
from microtome.accounting import DirectionKind, Directions, Neighbours
from microtome.accounting.paper import noise_by_accountant
from microtome.schema import Column, Kind, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
        Column(name="label", kind=Kind.CATEGORICAL, dtype="int8", categories=(0, 1), missing=False),
    ),
    target="label",
)


def table(rows=1200):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows)
    return pd.DataFrame({"age": 20 + 40 * label + rng.integers(0, 10, rows), "label": label.astype("int8")})


@pytest.mark.parametrize("method", [Algorithm1, SliceWass])
def test_the_paper_s_mechanism_runs_for_as_long_as_there_is_time(method):
    made = method(RunContext(seed=0, time_limit=10))
    made.fit(table(), SCHEMA, 5.1, 1e-5)
    notes = made.notes()
    assert 1 <= notes["steps"] <= 200 * (1200 // 4 // 128)
    assert notes["settings"]["learning_rate"] == 2e-5
    assert notes["settings"]["batch_size"] == 128
    assert notes["best_step"] == notes["steps"], "the last state, whatever its score"
    assert list(made.sample(30).columns) == SCHEMA.names


@pytest.mark.parametrize(
    ("method", "epsilon"), [(Algorithm1, 4.6), (Algorithm1Outside, 5.1), (SliceWass, 4.6), (SliceWassOutside, 5.1)]
)
def test_slices_have_the_noise_that_the_paper_s_accounting_gives_them(method, epsilon):
    made = method(RunContext(seed=0, time_limit=1))
    made.fit(table(), SCHEMA, 5.1, 1e-5)
    notes = made.notes()
    of_slices = noise_by_accountant(
        epsilon=epsilon,
        delta=1e-5 if made.outside else 0.475e-5,
        directions=Directions(
            kind=DirectionKind.GAUSSIAN,
            dim=notes["encoded_dimension"],
            num_slices=made.num_slices,
            slice_dim=made.slice_dim,
        ),
        neighbours=Neighbours.BLANK_ONE,
        subsample=0.25,
    )
    assert notes["noise_scale"] == pytest.approx(of_slices["theorem1"], rel=2e-3)


@pytest.mark.parametrize("method", [Records, Aggregates])
def test_both_kinds_run_at_their_defaults(method):
    made = method(RunContext(seed=0, time_limit=60))
    made.fit(table(), SCHEMA, 5.1, 1e-5)
    assert "best_step" in made.notes()
    assert len(made.sample(30)) == 30
