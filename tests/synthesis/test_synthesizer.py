"""The face of the public half: frames like the real table, repeatable, streamed, saved and loaded."""

import datetime as dt
import json
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sklearn.base import clone

from fit_support import LatentClasses, RowsOnly, quick
from microtome.errors import ModelError, OutputError, ParameterError, ReleaseError
from microtome.generators import RowLayout
from microtome.published import Release
from microtome.synthesis import Synthesizer, synthetic_rows
from microtome.synthesis.synthetic_rows import CHUNK_PIECES, PIECE_ROWS
from microtome.training import Checkpoint, read_tensors, write_tensors
from support import fill_disk


@pytest.fixture(scope="module")
def frame(people_model: Synthesizer) -> pd.DataFrame:
    return people_model.sample(5000, random_state=3)


def test_columns_and_order_are_the_tables(frame: pd.DataFrame, people_table: pa.Table) -> None:
    assert list(frame.columns) == people_table.column_names
    assert len(frame) == 5000


def test_types_are_the_tables(frame: pd.DataFrame, people_table: pa.Table) -> None:
    text = people_table.to_pandas()["town"].dtype
    assert frame["town"].dtype == frame["grade"].dtype == text
    assert str(frame["owner"].dtype) == "boolean"
    assert str(frame["age"].dtype) == "Int64"
    assert frame["income"].dtype == np.float64
    assert all(type(day) is dt.date for day in frame["joined"])
    assert str(frame["seen"].dtype) == "datetime64[us]"


def test_arrow_types_are_the_tables(people_model: Synthesizer, people_table: pa.Table) -> None:
    (table,) = people_model.sample_tables(50, random_state=0)
    assert table.schema.equals(people_table.schema)


def test_values_are_those_that_were_declared_or_learnt(frame: pd.DataFrame) -> None:
    assert set(frame["grade"].dropna()) == {"low", "mid", "high"}
    assert set(frame["town"]) <= {"Åbo", "Bern", "Köln", "(other)"}
    assert frame["age"].dropna().between(0, 120).all()
    assert frame["joined"].between(dt.date(2020, 1, 1), dt.date(2022, 12, 31)).all()
    assert (frame["income"].dropna() >= 0).all()


def test_missing_shares_and_point_masses_are_the_tables(frame: pd.DataFrame, people_table: pa.Table) -> None:
    for name in people_table.column_names:
        share = people_table[name].null_count / people_table.num_rows
        assert frame[name].isna().mean() == pytest.approx(share, abs=0.02)
    wanted = (people_table["income"].to_pandas() == 0).mean()
    assert (frame["income"] == 0).mean() == pytest.approx(wanted, abs=0.03)


def test_measured_columns_have_the_tables_quantiles(frame: pd.DataFrame, people_table: pa.Table) -> None:
    real = people_table.to_pandas()
    for quantile in (0.1, 0.5, 0.9):
        assert frame["age"].quantile(quantile) == pytest.approx(real["age"].quantile(quantile), abs=5)
    days, real_days = (pd.to_datetime(one["joined"]) for one in (frame, real))
    assert abs((days.mean() - real_days.mean()).days) < 30


def test_whole_numbers_without_gaps_stay_plain(planted_model: Synthesizer) -> None:
    assert planted_model.sample(10)["large"].dtype == np.bool_


def test_same_seed_same_rows(people_model: Synthesizer) -> None:
    first = people_model.sample(300, random_state=7)
    pd.testing.assert_frame_equal(first, people_model.sample(300, random_state=7))
    assert not first.equals(people_model.sample(300, random_state=8))
    pd.testing.assert_frame_equal(people_model.sample(300), people_model.sample(300, random_state=0))


def test_without_a_seed_rows_differ(people_release: Release) -> None:
    model = Synthesizer(quick(steps=2)).fit(people_release)
    assert not model.sample(100).equals(model.sample(100))


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_out_of_range_are_refused(seed: int, people_model: Synthesizer, people_release: Release) -> None:
    with pytest.raises(ParameterError, match="random_state is"):
        people_model.sample(5, random_state=seed)
    with pytest.raises(ParameterError, match="random_state is"):
        Synthesizer(quick(steps=2), random_state=seed).fit(people_release)


def test_tables_are_streamed(people_model: Synthesizer) -> None:
    stream, chunk = people_model.sample_tables(10**12, random_state=0), CHUNK_PIECES * PIECE_ROWS
    first, second = next(stream), next(stream)
    assert first.num_rows == second.num_rows == chunk
    assert not first.equals(second)
    sizes = [table.num_rows for table in people_model.sample_tables(chunk + 5, random_state=0)]
    assert sizes == [chunk, 5]


@pytest.mark.parametrize("pieces", [1, 3])
def test_the_same_rows_whatever_is_handed_on_at_once(
    pieces: int, people_model: Synthesizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = people_model.sample(5 * PIECE_ROWS + 7, as_="arrow", random_state=4)
    monkeypatch.setattr(synthetic_rows, "CHUNK_PIECES", pieces)
    assert people_model.sample(5 * PIECE_ROWS + 7, as_="arrow", random_state=4).equals(usual)


@pytest.mark.parametrize("num_rows", [0, -3])
def test_numbers_of_rows_that_make_no_sense(num_rows: int, people_model: Synthesizer) -> None:
    for sample in (people_model.sample, people_model.sample_tables):
        with pytest.raises(ParameterError, match=f"num_rows is {num_rows}"):
            sample(num_rows)


def test_nothing_fitted_yet() -> None:
    with pytest.raises(ModelError, match="nothing is fitted yet"):
        Synthesizer().sample(3)
    with pytest.raises(ModelError, match="nothing is fitted yet"):
        Synthesizer().save("nowhere.model")


def test_saved_and_loaded_model_draws_the_same(people_model: Synthesizer, tmp_path: Path) -> None:
    people_model.save(tmp_path / "m")
    before = torch.get_rng_state()
    loaded = Synthesizer.load(tmp_path / "m")
    assert torch.equal(torch.get_rng_state(), before)
    for conditions in ({}, {"age": (20, 30), "town": "Bern"}):
        wanted = people_model.sample_conditions(conditions, 300, random_state=1)
        pd.testing.assert_frame_equal(loaded.sample_conditions(conditions, 300, random_state=1), wanted)
    assert loaded.model.origin == json.loads(json.dumps(people_model.model.origin))


def test_model_files_hold_no_pickle_and_can_be_shared(people_model: Synthesizer, tmp_path: Path) -> None:
    path, plain = tmp_path / "m", tmp_path / "plain"
    people_model.save(path)
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    with safe_open(path, framework="numpy") as file:
        assert set(file.metadata()) == {"microtome"}
        assert all(file.get_tensor(name).dtype.kind in "fi" for name in file.keys())  # noqa: SIM118
    with pytest.raises(Exception, match=r"."):
        list(pickletools.genops(path.read_bytes()))


def test_existing_files_are_kept_unless_forced(people_model: Synthesizer, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        people_model.save(path)
    assert path.read_text() == "mine"
    people_model.save(path, force=True)
    assert len(Synthesizer.load(path).sample(2)) == 2


def test_full_disk_leaves_the_old_model(
    people_model: Synthesizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    path.write_text("old")
    fill_disk(monkeypatch)
    with pytest.raises(OutputError, match="No space left"):
        people_model.save(path, force=True)
    assert [one.name for one in tmp_path.iterdir()] == ["m"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("left", [0.0, 0.5, 0.99])
def test_models_cut_short_are_explained(left: float, people_model: Synthesizer, tmp_path: Path) -> None:
    people_model.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(content[: int(left * len(content))])
    with pytest.raises(ModelError, match=r"m: .*(damaged|an empty file)"):
        Synthesizer.load(tmp_path / "m")


def test_models_with_a_part_missing_are_explained(people_model: Synthesizer, tmp_path: Path) -> None:
    path = tmp_path / "m"
    people_model.save(path)
    tensors, document = read_tensors(path, "microtome-model-2")
    for name in ("schema", "codebook", "network", "origin"):
        write_tensors(path, tensors, {key: value for key, value in document.items() if key != name})
        with pytest.raises(ModelError, match="damaged"):
            Synthesizer.load(path)
    for tensor in ("codebook/profile/0/counts", "generator/head.bias"):
        write_tensors(path, {name: value for name, value in tensors.items() if name != tensor}, document)
        with pytest.raises(ModelError, match=r"damaged|do not fit"):
            Synthesizer.load(path)
    save_file(tensors, path, metadata={"microtome": '["no", "object"]'})
    with pytest.raises(ModelError, match="its format is None"):
        Synthesizer.load(path)


def test_files_of_another_kind_are_refused(people_release: Release, people_model: Synthesizer, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        Synthesizer.load(tmp_path / "none")
    with pytest.raises(ModelError, match="it is a release, not a model; 'microtome fit' makes a model"):
        Synthesizer.load(people_release.path)
    people_model.save(tmp_path / "m")
    with pytest.raises(ReleaseError):
        Synthesizer().fit(tmp_path / "m")


@pytest.mark.parametrize("damaged_at", [0.3, 0.9])
def test_damaged_releases_are_refused(damaged_at: float, people_release: Release, tmp_path: Path) -> None:
    content = bytearray(people_release.path.read_bytes())
    content[int(damaged_at * len(content))] ^= 0xFF
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(ReleaseError, match="r: "):
        Synthesizer(quick(steps=2)).fit(path)


def test_release_is_taken_by_path_or_in_hand(people_release: Release) -> None:
    by_path = Synthesizer(quick(steps=2), random_state=0).fit(str(people_release.path))
    in_hand = Synthesizer(quick(steps=2), random_state=0).fit(people_release)
    pd.testing.assert_frame_equal(by_path.sample(20), in_hand.sample(20))


def test_parameters_are_get_set_and_cloned(people_release: Release) -> None:
    own = LatentClasses(RowLayout.of(people_release.codebook))
    model = Synthesizer(quick(steps=3), generator=own, random_state=4)
    assert Synthesizer(**model.get_params()).get_params() == model.get_params()
    copy = clone(model)
    assert copy.get_params()["settings"] == model.settings
    assert copy.random_state == 4
    assert copy.generator is not own
    assert model.set_params(random_state=5) is model
    assert model.random_state == 5
    with pytest.raises(ParameterError, match="no parameter 'speed'"):
        model.set_params(speed=3)


def test_clone_of_a_fitted_model_is_not_fitted(people_model: Synthesizer) -> None:
    with pytest.raises(ModelError, match="nothing is fitted yet"):
        clone(people_model).sample(3)


def test_interrupted_fit_without_a_seed_resumes_its_own(people_release: Release, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int | None, note: str = "") -> None:
        if done == 25:
            raise KeyboardInterrupt

    path = tmp_path / "c"
    stopped = Synthesizer(quick(steps=40)).fit(people_release, checkpoint=path, progress=stop)
    assert stopped.fit_ is not None
    assert not stopped.fit_.finished
    seed = Checkpoint.load(path).seed
    resumed = Synthesizer(quick(steps=40)).fit(people_release, checkpoint=path, resume=True)
    whole = Synthesizer(quick(steps=40), random_state=seed).fit(people_release)
    assert resumed.fit_ is not None
    assert whole.fit_ is not None
    assert resumed.fit_.history == whole.fit_.history


@pytest.mark.parametrize("kind", [LatentClasses, RowsOnly])
def test_own_generators_are_fitted_saved_and_loaded(kind: Any, people_release: Release, tmp_path: Path) -> None:
    layout, path = RowLayout.of(people_release.codebook), tmp_path / "m"
    model = Synthesizer(quick(steps=20), generator=kind(layout), random_state=0).fit(people_release)
    model.save(path)
    with pytest.raises(ModelError, match=f"{kind.__name__}.*load it with generator="):
        Synthesizer.load(path)
    with pytest.raises(ModelError, match="do not fit"):
        Synthesizer.load(path, generator=LatentClasses(layout, classes=9))
    with pytest.raises(ModelError, match=r"must be a torch\.nn\.Module; function is not"):
        Synthesizer.load(path, generator=lambda latent: latent)
    loaded = Synthesizer.load(path, generator=kind(layout, seed=9))
    pd.testing.assert_frame_equal(loaded.sample(50, random_state=1), model.sample(50, random_state=1))


def test_generator_of_rows_takes_no_conditions(people_release: Release) -> None:
    model = Synthesizer(quick(steps=2), generator=RowsOnly(RowLayout.of(people_release.codebook)), random_state=0)
    with pytest.raises(ModelError, match="RowsOnly gives rows, not distributions"):
        model.fit(people_release).sample_conditions({"town": "Bern"}, 5)


class Tied(RowsOnly):
    """Two names for one weight."""

    def __init__(self, layout: Any) -> None:
        super().__init__(layout)
        self.same = self.net


def test_shared_weights_can_be_saved(people_release: Release, tmp_path: Path) -> None:
    layout = RowLayout.of(people_release.codebook)
    model = Synthesizer(quick(steps=2), generator=Tied(layout), random_state=0).fit(
        people_release, checkpoint=tmp_path / "c"
    )
    model.save(tmp_path / "m")
    loaded = Synthesizer.load(tmp_path / "m", generator=Tied(layout))
    pd.testing.assert_frame_equal(loaded.sample(20, random_state=1), model.sample(20, random_state=1))
