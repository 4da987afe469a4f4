"""A release in a folder: whole or refused, and as good as one in a file for whoever reads it."""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from microtome import FitSettings, Release, Synthesizer, report
from microtome.errors import OutputError, ReleaseError
from microtome.private import RunSettings
from microtome.published import Artefact, RecordsRelease, check_output, contents_in_words
from microtome.published.container import MANIFEST
from microtome.published.shards import Shards, shard_name, write_shard
from microtome.published.signature import Signer, make_key, signed_by, verify_signature
from spark_here import in_partitions
from support import people, people_schema, publish

SMALL = RunSettings(threads=1, bin_entries=1 << 12, force=True)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town") / "town.release"
    publish(in_partitions(people(500), 200), people_schema(), place, run=SMALL, epsilon=20.0)
    return place


@pytest.fixture
def copy(town: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(town, tmp_path / "copy.release"))


def test_rows_are_read_over_the_ends_of_shards(tmp_path: Path) -> None:
    rows = np.arange(60, dtype=np.int16).reshape(20, 3)
    sizes = (7, 0, 9, 4)
    ends = np.cumsum((0, *sizes))
    for number, (first, last) in enumerate(pairwise(ends)):
        write_shard(tmp_path / shard_name(number), rows[first:last])
    shards = Shards(folder=tmp_path, sizes=sizes, width=3)
    shards.check()
    for first, last in ((0, 20), (0, 0), (6, 8), (7, 7), (7, 16), (3, 19), (19, 20)):
        assert np.array_equal(shards.read(first, last), rows[first:last])
    assert np.array_equal(load_file(tmp_path / shard_name(2))["rows"], rows[7:16])


def test_everything_that_reads_releases_reads_a_folder(town: Path) -> None:
    released = Release.load(town)
    assert isinstance(released, RecordsRelease)
    assert released.manifest.contents.shards is not None
    assert len(released.manifest.contents.shards) > 1
    assert "500 rows" in contents_in_words(released)
    assert Artefact.load(town / MANIFEST).fingerprint == released.fingerprint
    model = Synthesizer(FitSettings(steps=3), random_state=0).fit(town)
    drawn = model.sample(50, random_state=1)
    assert "town.release" in report(None, drawn, release=town).html


def test_shards_are_listed_only_where_there_are_any(town: Path, tmp_path: Path) -> None:
    here = publish(people(100), people_schema(), tmp_path / "here.release")
    assert "shards" not in here.manifest.to_dict()["contents"]
    there = Release.load(town).manifest.to_dict()["contents"]
    assert sum(there["shards"]) == 500


def remove(place: Path) -> None:
    place.unlink()


def shorten(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-2])


def flip(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[-1] ^= 1
    place.write_bytes(bytes(data))


def rename_tensor(place: Path) -> None:
    place.write_bytes(place.read_bytes().replace(b'"rows"', b'"ROWS"'))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (remove, "rows-00001.safetensors is missing; copy the whole folder"),
        (shorten, "rows-00001.safetensors is damaged"),
        (rename_tensor, "rows-00001.safetensors is damaged"),
        (flip, "were altered: their checksum is wrong"),
    ],
)
def test_a_shard_that_is_missing_or_damaged_is_named(copy: Path, damage: Any, told: str) -> None:
    damage(copy / shard_name(1))
    with pytest.raises(ReleaseError, match=told):
        Release.load(copy)


def test_all_missing_shards_are_named_at_once(copy: Path) -> None:
    (copy / shard_name(0)).unlink()
    (copy / shard_name(1)).unlink()
    with pytest.raises(ReleaseError, match=r"(?s)rows-00000.*rows-00001"):
        Release.load(copy)


def test_shards_of_another_release_are_refused(copy: Path, tmp_path: Path) -> None:
    other = publish(in_partitions(people(500), 200), people_schema(), tmp_path / "other", run=SMALL, epsilon=20.0)
    again = publish(in_partitions(people(500, 2), 200), people_schema(), tmp_path / "again", run=SMALL, epsilon=20.0)
    shutil.copy(other.path / shard_name(0), again.path / shard_name(0))
    with pytest.raises(ReleaseError, match=r"damaged|altered"):
        Release.load(again.path)


def test_rows_beside_those_of_the_shards_are_refused(copy: Path) -> None:
    with safe_open(copy / MANIFEST, framework="numpy") as file:
        metadata = file.metadata()
    tensors = {**load_file(copy / MANIFEST), "rows": np.zeros((2, 1), np.int16)}
    save_file(tensors, copy / MANIFEST, metadata)
    with pytest.raises(ReleaseError, match="no checksum covers its 'rows'"):
        Release.load(copy)


def test_a_folder_without_a_manifest_is_no_release(copy: Path, tmp_path: Path) -> None:
    (copy / MANIFEST).unlink()
    with pytest.raises(ReleaseError, match="a directory without a release in it"):
        Release.load(copy)


def test_it_is_saved_whole_and_signed(town: Path, tmp_path: Path) -> None:
    Release.load(town).save(tmp_path / "saved.release")
    saved = Release.load(tmp_path / "saved.release")
    with pytest.raises(OutputError, match="exists"):
        saved.save(town)
    name = make_key(tmp_path / "key")
    Signer.load(tmp_path / "key").sign(saved.file)
    assert signed_by(saved.file) == verify_signature(saved.file, tmp_path / "key.pub") == name
    assert Release.load(saved.path).fingerprint == Release.load(town).fingerprint


def test_only_a_release_in_a_folder_is_replaced(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "file").touch()
    for place in ("pictures", "file"):
        with pytest.raises(OutputError, match="is no release in a folder"):
            check_output(tmp_path / place, force=True, folder=True)
    with pytest.raises(OutputError, match="is a directory"):
        check_output(copy, force=True)
    for name in ("ledger.json", "rows-1.safetensors", ".key"):
        (copy / name).touch()
        with pytest.raises(OutputError, match=rf"holds '{name}'.*move it elsewhere"):
            publish(in_partitions(people(300), 200), people_schema(), copy, run=SMALL)
        (copy / name).unlink()
    before = Release.load(copy).fingerprint
    after = publish(in_partitions(people(300), 200), people_schema(), copy, run=SMALL)
    assert after.fingerprint != before
    assert len(json.dumps(after.manifest.contents.shards)) > 2
    assert {path.name for path in copy.iterdir()} == {MANIFEST, *map(shard_name, range(len(list(copy.iterdir())) - 1))}
