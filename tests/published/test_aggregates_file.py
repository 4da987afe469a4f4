"""A file of aggregates: what is written is read, what is damaged is refused, and it says in words what it is."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from microtome import release
from microtome.accounting import Neighbours
from microtome.errors import ReleaseError
from microtome.published import AggregatesRelease, Release, ReleaseKind, contents_in_words, digest, promise_in_words
from microtome.published import summary as figures
from microtome.published.container import canonical_json
from support import people, people_schema, publish


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> AggregatesRelease:
    path = tmp_path_factory.mktemp("made") / "people.release"
    opened = publish(people(), people_schema(), path, kind=ReleaseKind.AGGREGATES, pivot="owner")
    assert isinstance(opened, AggregatesRelease)
    return opened


@pytest.fixture
def copied(made: Release, tmp_path: Path) -> Path:
    return Path(shutil.copy(made.path, tmp_path / "copy.release"))


def refused(path: Path, message: str) -> None:
    with pytest.raises(ReleaseError, match=message) as error:
        Release.load(path)
    assert str(path) in str(error.value)


def header_of(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return dict(json.loads(content[8 : 8 + length]))


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """Change manifest and header, checksum of the manifest and all, as another program might."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    manifest = json.loads(header["__metadata__"]["microtome"])
    change(manifest, header)
    text = canonical_json(manifest)
    header["__metadata__"] = {"microtome": text, "microtome_sha256": digest(text.encode())}
    written = json.dumps(header).encode()
    written += b" " * (-len(written) % 8)
    path.write_bytes(struct.pack("<Q", len(written)) + written + body)
    return path


def test_rows_that_no_checksum_covers_are_refused(copied: Path) -> None:
    place = max(
        end for name, entry in header_of(copied).items() if name != "__metadata__" for end in entry["data_offsets"]
    )

    def add_rows(_: dict[str, Any], header: dict[str, Any]) -> None:
        header["rows"] = {"dtype": "I16", "shape": [2, 1], "data_offsets": [place, place + 4]}

    rewritten(copied, add_rows)
    copied.write_bytes(copied.read_bytes() + bytes(4))
    assert "rows" in load_file(copied)
    refused(copied, "no checksum covers its 'rows'")


def test_what_is_written_is_read(made: AggregatesRelease) -> None:
    opened = Release.load(made.path)
    assert isinstance(opened, AggregatesRelease)
    assert opened.manifest == made.manifest
    assert opened.manifest.kind is ReleaseKind.AGGREGATES
    assert opened.schema == people_schema()
    assert (opened.first == made.first).all()
    assert (opened.second == made.second).all()
    assert opened.pivot == 2


def test_any_safetensors_reader_can_read_it(made: AggregatesRelease) -> None:
    tensors = load_file(made.path)
    assert "rows" not in tensors
    assert "directions" not in tensors
    assert tensors["aggregates/first"].dtype == tensors["aggregates/second"].dtype == np.float64
    assert (tensors["aggregates/second"] == made.second).all()
    assert made.manifest.checksums["aggregates/first"] == digest(made.first.tobytes())


def test_noise_is_stated_entry_by_entry(made: AggregatesRelease) -> None:
    dim = made.codebook.dim
    assert made.first_noise().shape == (dim,)
    assert made.second_noise().shape == (dim, dim)
    assert ((made.second_noise() > 0) >= (made.second != 0).any(axis=0)).all()
    town, age = made.codebook.blocks[0], made.codebook.blocks[3]
    assert made.second_noise()[town.start, age.stop - 1] == made.mechanism.pair_noise[0][3] > 0
    assert made.first_noise()[age.start] == made.mechanism.first_noise[3] > 0


@pytest.mark.parametrize("name", ["aggregates/first", "aggregates/second", "profile/0/counts"])
def test_an_altered_byte_is_refused(name: str, copied: Path) -> None:
    content = bytearray(copied.read_bytes())
    (length,) = struct.unpack("<Q", content[:8])
    begin, end = json.loads(content[8 : 8 + length])[name]["data_offsets"]
    content[8 + length + (begin + end) // 2] ^= 1
    copied.write_bytes(content)
    refused(copied, f"{name} was altered")


def test_a_truncated_file_is_refused(copied: Path) -> None:
    copied.write_bytes(copied.read_bytes()[:-8])
    refused(copied, "damaged")


def transposed(manifest: dict[str, Any], header: dict[str, Any]) -> None:
    shape = header["aggregates/second"]["shape"]
    header["aggregates/second"]["shape"] = [shape[1], shape[0], shape[2]]


def flattened(manifest: dict[str, Any], header: dict[str, Any]) -> None:
    first = header["aggregates/first"]
    first["shape"] = [first["shape"][0] * first["shape"][1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (transposed, "not as the manifest says"),
        (flattened, "not as the manifest says"),
        (lambda manifest, _: manifest["mechanism"].update(num_classes=3), "not as the manifest says"),
        (lambda manifest, _: manifest["mechanism"].update(pivot="nobody"), "'nobody' is not a column"),
        (lambda manifest, _: manifest["mechanism"].update(pivot="grade"), "not those of its pivot"),
        (lambda manifest, _: manifest["mechanism"].update(pivot=None), "not those of its pivot"),
        (lambda manifest, _: manifest["mechanism"]["first_noise"].pop(), "do not fit its columns"),
        (lambda manifest, _: manifest["mechanism"]["pair_noise"].pop(), "do not fit its columns"),
        (lambda manifest, _: manifest["mechanism"]["pair_noise"][0].pop(), "damaged"),
        (lambda manifest, _: manifest["mechanism"].pop("pair_noise"), "pair_noise"),
        (lambda manifest, _: manifest["mechanism"].update(noise_scale=1.0), "noise_scale"),
        (lambda manifest, _: manifest.update(kind="records"), "damaged"),
        (lambda manifest, _: manifest["checksums"].pop("aggregates/first"), "tensors"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(change: Callable, message: str, copied: Path) -> None:
    refused(rewritten(copied, change), message)


def test_it_says_in_words_what_it_is(tmp_path: Path) -> None:
    plain, pivoted = (
        release(people(), people_schema(), epsilon=2.0, delta=1e-5, pivot=pivot, neighbours=relation, anyway=True)
        for pivot, relation in (("none", Neighbours.ADD_REMOVE), ("owner", Neighbours.BLANK_ONE))
    )
    words = " ".join(promise_in_words(pivoted))
    assert "(ε = 2, δ = 1e-05)-differentially private, profile included" in words
    assert "noise was added to counts over all records, of every pair of columns" in words
    assert "apart for each of the 2 classes of 'owner'" in words
    assert f"took {pivoted.mechanism.profile_share:.0%} of the budget" in words
    assert "The number of records, 400, is public" in words
    assert "noise was added to every record" not in words
    assert "in 2 classes; noise σ of a count from" in contents_in_words(pivoted)
    plainly = " ".join(promise_in_words(plain))
    assert "apart for" not in plainly
    assert "The number of records is protected" in plainly
    assert "classes" not in contents_in_words(plain)


def test_all_figures_are_json(made: AggregatesRelease) -> None:
    document = json.loads(json.dumps(figures(made)))
    assert document["kind"] == "aggregates"
    assert document["mechanism"]["pivot"] == "owner"
    assert len(document["mechanism"]["pair_noise"]) == 7
    assert document["contents"]["num_rows"] == 0
    assert "null_share" not in document["contents"]
    assert document["promise"]["epsilon_exact"] <= 5.0
    assert [column["name"] for column in document["columns"]] == people_schema().names
