"""Models with a pivot: on disk and back, conditions on the pivot, rows of the right law."""

from pathlib import Path

import pandas as pd
import pytest

from fit_support import distance, joint, planted, planted_release, quick_mixture
from microtome.generators import MixtureGenerator
from microtome.published import ReleaseKind
from microtome.synthesis import Synthesizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    path = tmp_path_factory.mktemp("releases") / "planted.release"
    release = planted_release(path, kind=ReleaseKind.AGGREGATES, pivot="shape")
    return Synthesizer(quick_mixture(), random_state=0).fit(release)


def test_loaded_model_draws_the_same_rows(model: Synthesizer, tmp_path: Path) -> None:
    model.save(tmp_path / "a.model")
    loaded = Synthesizer.load(tmp_path / "a.model")
    generator = loaded.model.generator
    assert isinstance(generator, MixtureGenerator)
    assert (generator.pivot, generator.num_classes) == (0, 3)
    pd.testing.assert_frame_equal(loaded.sample(500, random_state=3), model.sample(500, random_state=3))
    conditions = {"shape": "long"}
    ours, theirs = (one.sample_conditions(conditions, 200, random_state=4) for one in (model, loaded))
    pd.testing.assert_frame_equal(ours, theirs)


def test_conditions_on_the_pivot_are_met_and_are_those_of_rejection(model: Synthesizer) -> None:
    given = model.sample_conditions({"shape": "square"}, 8000, random_state=1)
    assert set(given["shape"]) == {"square"}
    all_rows = model.sample(60_000, random_state=2)
    kept = all_rows[all_rows["shape"] == "square"]
    assert distance(joint(given, "colour", "large"), joint(kept, "colour", "large")) < 0.025


def test_conditions_on_another_column_move_the_pivot(model: Synthesizer) -> None:
    given = model.sample_conditions({"colour": "red"}, 8000, random_state=1)
    assert set(given["colour"]) == {"red"}
    real = planted().to_pandas()
    wanted = joint(real[real["colour"] == "red"], "shape")
    assert distance(joint(given, "shape"), wanted) < 0.05


def test_the_pivot_has_the_share_of_the_profile(model: Synthesizer) -> None:
    assert distance(joint(model.sample(30_000), "shape"), joint(planted(), "shape")) < 0.015
    assert distance(joint(model.sample(30_000), "colour"), joint(planted(), "colour")) < 0.02
