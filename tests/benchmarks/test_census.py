"""Sources of the tasks: the same splits for every method, and no source under another's name."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import census
from census import TARGET, TASKS, Source, load_task

needs_data = pytest.mark.skipif(
    not (census.data_folder() / "acs14").exists(), reason="no census data (see MICROTOME_DATA)"
)


@needs_data
@pytest.mark.parametrize("source", [Source.STATES, Source.CALIFORNIA, Source.ADULT])
def test_every_task_of_a_source_loads_with_a_whole_schema(source):
    for name in source.tasks:
        task = load_task(name, 0, source=source, rows=500)
        assert (len(task.train), len(task.test)) == (400, 100)
        assert task.schema.names == list(task.train.columns)
        assert all(column.is_declared for column in task.schema.columns)
        assert task.schema.target == TARGET
        assert set(task.train[TARGET].unique()) <= {0, 1}


@needs_data
def test_a_seed_chooses_the_split():
    first, again, other = (load_task("Mobility", seed, rows=300).train for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_a_task_of_another_source_is_refused():
    with pytest.raises(ValueError, match="has no task Employment"):
        load_task("Employment", 0, source=Source.CALIFORNIA)


def test_folktables_gives_the_papers_tables(monkeypatch):
    asked = {}
    features = np.arange(40.0).reshape(20, 2)

    class Survey:
        def __init__(self, **options):
            asked.update(options)

        def get_data(self, states, download):
            asked.update(states=states, download=download)
            return "survey"

    problem = SimpleNamespace(
        features=["AGEP", "WKHP"], df_to_numpy=lambda data: (features, np.arange(20) % 2 == 0, np.zeros(20))
    )
    monkeypatch.setitem(sys.modules, "folktables", SimpleNamespace(ACSDataSource=Survey, ACSIncome=problem))
    task = load_task("Income", 0, source=Source.FOLKTABLES)
    assert asked["states"] == ["CA"]
    assert asked["survey_year"] == "2018"
    assert len(task.train) + len(task.test) == 20
    assert str(task.train[TARGET].dtype) == "int8"
    assert Source.FOLKTABLES.tasks == TASKS


@pytest.mark.parametrize("source", ["states14", "california-40pct", "adult"])
def test_data_that_are_not_there_are_asked_for(source, monkeypatch, tmp_path):
    monkeypatch.setenv("MICROTOME_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="MICROTOME_DATA"):
        load_task(Source(source).tasks[0], 0, source=Source(source))


def test_folktables_that_is_not_installed_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "folktables", None)
    with pytest.raises(SystemExit, match="pip install folktables"):
        load_task("Income", 0, source=Source.FOLKTABLES)
