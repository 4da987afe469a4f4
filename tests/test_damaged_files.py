"""Damage anywhere in any file of ours: refused with our own error, or without any effect. Never a wrong number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from safetensors.numpy import load_file
from sklearn.datasets import load_digits

from damage import DAMAGES, Damage, broken_documents, refusal
from fit_support import planted, planted_release, quick, quick_mixture
from microtome.adaptation import AdaptationSettings, DomainAdapter
from microtome.adaptation.network import build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.errors import ModelError, ReleaseError
from microtome.published import Artefact, ReleaseKind
from microtome.synthesis import Synthesizer
from microtome.training import Checkpoint, ImageFitSettings, Loop, read_tensors, write_tensors
from support import ROOT

GOLDEN = ROOT / "tests" / "published" / "golden"
RELEASES = ("version-1", "version-1-aggregates", "version-1-rounding", "version-1-image-aggregates")
RELEASES += ("version-1-image-records",)
FORMATS = {
    "network.model": "microtome-model-2",
    "mixture.model": "microtome-model-2",
    "network.checkpoint": "microtome-checkpoint-3",
    "image.model": "microtome-image-model-3",
    "image.checkpoint": "microtome-checkpoint-3",
    "adapter.model": "microtome-adapter-2",
    "adapter.checkpoint": "microtome-checkpoint-3",
}

ADAPTED = AdaptationSettings(
    epochs=2, align_from=1, batch_size=64, num_slices=10, images_per_epoch=128, checkpoint_every=1
)


def load_of(name: str) -> Callable[[Path], Any]:
    """What opens a file of this name."""
    if name.endswith(".checkpoint"):
        return Checkpoint.load
    return DomainAdapter.load if name.startswith("adapter") else Synthesizer.load


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model or checkpoint of every kind."""
    folder = tmp_path_factory.mktemp("files")
    paths = {name: folder / name for name in FORMATS}
    table = planted(400)
    records = planted_release(folder / "records", table=table)
    fitted = Synthesizer(quick(steps=4, check_every=2), random_state=0)
    fitted.fit(records, checkpoint=paths["network.checkpoint"]).save(paths["network.model"])
    counts = planted_release(folder / "counts", table=table, kind=ReleaseKind.AGGREGATES, pivot="shape")
    mixture = Synthesizer(quick_mixture(steps=4, check_every=2), random_state=0).fit(counts)
    mixture.save(paths["mixture.model"])
    pictures = Synthesizer(ImageFitSettings(steps=4, batch_size=16, check_every=2), random_state=0)
    pictures.fit(GOLDEN / "version-1-image-aggregates.release", checkpoint=paths["image.checkpoint"])
    pictures.save(paths["image.model"])
    images, labels = load_digits(return_X_y=True)
    pixels = (images / 16.0).astype(np.float32).reshape(-1, 8, 8)
    adapter = DomainAdapter(epsilon=3.0, delta=1e-4, settings=ADAPTED, random_state=0)
    book = folder / "book.json"
    adapter.fit(pixels[:300], labels[:300], pixels[900:], ledger=book, checkpoint=paths["adapter.checkpoint"])
    adapter.save(paths["adapter.model"])
    return paths


MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", RELEASES)
@MANY
@given(damage=DAMAGES)
def test_a_damaged_release_is_refused_or_the_same(name: str, damage: Damage, tmp_path: Path) -> None:
    whole, path = GOLDEN / f"{name}.release", tmp_path / "damaged"
    path.write_bytes(damage(whole.read_bytes()))
    said = refusal(Artefact.load, path, ReleaseError)
    if said is not None:
        assert said.startswith(f"{path}: ")
        return
    assert Artefact.load(path).manifest == Artefact.load(whole).manifest
    first, second = load_file(path), load_file(whole)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", FORMATS)
@MANY
@given(damage=DAMAGES)
def test_a_damaged_model_or_checkpoint_is_refused_or_the_same(
    name: str, damage: Damage, files: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(damage(files[name].read_bytes()))
    said = refusal(load_of(name), path, ModelError)
    if said is not None:
        assert said.startswith(f"{path}: ")
        return
    (tensors, document), (true, written) = (read_tensors(one, FORMATS[name]) for one in (path, files[name]))
    assert document == written
    assert tensors.keys() == true.keys()
    assert all(torch.equal(tensors[key], true[key]) for key in true)


@pytest.mark.parametrize("name", FORMATS)
def test_whole_files_load(name: str, files: dict[str, Path]) -> None:
    opened(name, files[name], files)


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_earlier_and_later_versions_are_refused_with_what_to_do(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    tensors, document = read_tensors(files[name], FORMATS[name])
    family = FORMATS[name].rpartition("-")[0]
    for version, said in ((1, "make it again"), (9, "upgrade")):
        write_tensors(tmp_path / "other", tensors, {**document, "format": f"{family}-{version}"})
        with pytest.raises(ModelError, match=said):
            load_of(name)(tmp_path / "other")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused_whatever_the_checksum(
    name: str, value: float, files: dict[str, Path], tmp_path: Path
) -> None:
    """A file can be made, checksum and all, by a broken program."""
    tensors, document = read_tensors(files[name], FORMATS[name])
    for key in [key for key, tensor in tensors.items() if tensor.is_floating_point() and tensor.numel()]:
        broken = tensors[key].clone()
        broken.view(-1)[-1] = value
        write_tensors(tmp_path / "broken", {**tensors, key: broken}, document)
        with pytest.raises(ModelError, match="not finite"):
            load_of(name)(tmp_path / "broken")


@pytest.mark.parametrize("name", FORMATS)
def test_tensors_of_other_shapes_and_types_are_refused_whatever_the_checksum(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    tensors, document = read_tensors(files[name], FORMATS[name])
    one_of_each_group = {key.rpartition("/")[0]: key for key in tensors}
    for key in one_of_each_group.values():
        tensor = tensors[key]
        for broken in (tensor.reshape(-1)[:-1].clone(), tensor.to(torch.float16)):
            write_tensors(tmp_path / "broken", {**tensors, key: broken}, document)
            with pytest.raises(ModelError):
                opened(name, tmp_path / "broken", files)


def opened(name: str, path: Path, files: dict[str, Path]) -> None:
    """Load a file; a checkpoint is also resumed, because only then it is known what it has to fit."""
    found = load_of(name)(path)
    if name == "network.checkpoint":
        fit = Synthesizer(quick(steps=4, check_every=2))
        fit.fit(files["network.model"].parent / "records", checkpoint=path, resume=True)
    elif name == "image.checkpoint":
        pictures = Synthesizer(ImageFitSettings(steps=4, batch_size=16, check_every=2))
        pictures.fit(GOLDEN / "version-1-image-aggregates.release", checkpoint=path, resume=True)
    elif name == "adapter.checkpoint":
        source = Source(images=torch.zeros(64, 1, 8, 8), labels=torch.zeros(64, dtype=torch.int64))
        network = build_network((1, 8, 8), 10, ADAPTED.radius, seed=0)
        Loop(AdaptationObjective(network, source, ADAPTED, seed=0), run=found.run, checkpoint=path, saved=found)


@pytest.mark.parametrize("name", FORMATS)
def test_documents_that_make_no_sense_are_refused_whatever_the_checksum(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """Every entry, however deep, missing or replaced by something of another kind."""
    tensors, document = read_tensors(files[name], FORMATS[name])
    for broken in broken_documents(document):
        write_tensors(tmp_path / "broken", tensors, broken)
        said = refusal(load_of(name), tmp_path / "broken", ModelError)
        assert said is None or said.startswith(str(tmp_path / "broken"))
