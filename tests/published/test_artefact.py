"""The file that anybody may hold: what is written is read, and what is damaged is refused in words."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from microtome.accounting import DirectionKind, Neighbours
from microtome.errors import OutputError, ReleaseError
from microtome.private import RunSettings
from microtome.private.plan import longest_rows
from microtome.published import ContainerWriter, Release, container, digest, promise_in_words, summary
from microtome.published.container import canonical_json
from support import FixedRandomness, levels_of, people, people_schema, publish, repeatable_noise

MANY_BINS = RunSettings(threads=1, bin_entries=1 << 11)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return publish(people(), people_schema(), tmp_path_factory.mktemp("made") / "people.release", run=MANY_BINS)


@pytest.fixture
def copied(made: Release, tmp_path: Path) -> Path:
    return Path(shutil.copy(made.path, tmp_path / "copy.release"))


def refused(path: Path, message: str) -> None:
    with pytest.raises(ReleaseError, match=message) as error:
        Release.load(path)
    assert str(path) in str(error.value)


def header_of(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def with_header(path: Path, header: dict[str, Any], body: bytes) -> Path:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def with_manifest(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Rewrite the manifest, checksum and all, as another program or version might."""
    header, body = header_of(path)
    manifest = json.loads(header["__metadata__"]["microtome"])
    change(manifest)
    text = canonical_json(manifest)
    header["__metadata__"] = {"microtome": text, "microtome_sha256": digest(text.encode())}
    return with_header(path, header, body)


def test_what_is_written_is_read(made: Release) -> None:
    opened = Release.load(made.path)
    assert opened.manifest == made.manifest
    assert opened.schema == people_schema()
    assert opened.fingerprint == made.fingerprint
    assert len(opened.manifest.checksums["rows"]) > 3
    assert opened.num_rows == 400
    assert opened.noise_scale == opened.manifest.mechanism.noise_scale


def test_any_safetensors_reader_can_read_it(made: Release) -> None:
    tensors = load_file(made.path)
    assert tensors["rows"].dtype == np.int16
    assert np.allclose(tensors["rows"] * made.manifest.mechanism.grid_step, made.rows())
    assert (tensors["directions"] == made.directions).all()


def test_rows_are_read_in_pieces(made: Release) -> None:
    whole = made.rows()
    for first, last in ((0, 1), (17, 230), (399, 400), (0, None), (250, None)):
        assert (made.rows(first, last) == whole[first:last]).all()
    pieces = [made.rows(first, last) for first, last in made.chunks()]
    assert (np.concatenate(pieces) == whole).all()


def test_slices_are_groups_of_columns(tmp_path: Path) -> None:
    opened = publish(people(), people_schema(), tmp_path / "t.release", num_slices=5, slice_dim=3)
    slices, directions = opened.slices(), opened.slice_directions()
    assert slices.shape == (400, 5, 3)
    assert directions.shape == (5, opened.codebook.dim, 3)
    assert (slices[:, 2, 1] == opened.rows()[:, 7]).all()
    assert (directions[2, :, 1] == opened.directions[:, 7]).all()


@pytest.mark.parametrize("blocks", [1, 2])
def test_encoded_rows_undo_whole_orthogonal_directions(blocks: int, tmp_path: Path) -> None:
    """With the slices' noise: (XU + V)Uᵀ/q is X plus noise of scale σ/√q in every coordinate."""
    table, schema = people(), people_schema()
    opened = publish(table, schema, tmp_path / "t.release", num_slices=blocks * longest_rows(schema))
    assert opened.is_isotropic
    assert opened.isotropic_noise == pytest.approx(opened.noise_scale / np.sqrt(blocks))
    encoded = opened.codebook.encode(levels_of(table, opened.codebook))
    noise = opened.encoded_rows().mean(axis=0) - encoded.mean(axis=0)
    assert np.abs(noise).max() < 5 * opened.isotropic_noise / np.sqrt(400)
    second = (opened.encoded_rows() ** 2).mean() - (encoded**2).mean()
    assert second == pytest.approx(opened.isotropic_noise**2, rel=0.05)
    assert (opened.encoded_rows(3, 9) == opened.encoded_rows()[3:9]).all() or np.allclose(
        opened.encoded_rows(3, 9), opened.encoded_rows()[3:9]
    )


@pytest.mark.parametrize("extra", [{"num_slices": 7}, {"directions": DirectionKind.GAUSSIAN}])
def test_other_directions_cannot_be_undone(extra: dict, tmp_path: Path) -> None:
    opened = publish(people(), people_schema(), tmp_path / "t.release", **extra)
    assert not opened.is_isotropic
    with pytest.raises(ReleaseError, match="orthogonal"):
        opened.encoded_rows()


def test_share_of_null_rows(made: Release, tmp_path: Path) -> None:
    assert made.null_share == 0.0
    sampled = publish(people(), people_schema(), tmp_path / "s.release", subsample=0.25)
    assert sampled.null_share == pytest.approx(1 - 100 / sampled.num_rows)
    padded = publish(people(), people_schema(), tmp_path / "p.release", neighbours=Neighbours.ADD_REMOVE, capacity=500)
    assert padded.null_share == pytest.approx(1 - padded.manifest.contents.num_records / 500)
    assert padded.null_share == pytest.approx(0.2, abs=0.05)
    assert not padded.manifest.contents.records_exact


def test_the_protected_count_is_nowhere_in_the_file(tmp_path: Path) -> None:
    options: dict[str, Any] = {"neighbours": Neighbours.ADD_REMOVE, "capacity": 500}
    opened = publish(people(413), people_schema(), tmp_path / "t.release", randomness=FixedRandomness(3), **options)
    text = canonical_json(opened.manifest.to_dict())
    assert ":413" not in text
    assert "413," not in text
    assert "413" not in " ".join(promise_in_words(opened))


def test_description_says_it_all(made: Release, tmp_path: Path) -> None:
    figures = json.loads(json.dumps(summary(made)))
    assert figures["promise"]["epsilon"] == 5.0
    assert figures["promise"]["epsilon_exact"] <= 5.0
    assert figures["promise"]["neighbours"] == "blank-one"
    assert figures["format_version"] == 1
    assert [column["name"] for column in figures["columns"]] == people_schema().names
    by_name = {column["name"]: column for column in figures["columns"]}
    assert by_name["age"]["bounds"] == ["0", "120"]
    assert by_name["joined"]["bounds"] == ["2020-01-01", "2022-12-31"]
    assert by_name["age"]["declared"]
    assert not by_name["income"]["declared"]


@pytest.mark.parametrize("neighbours", Neighbours)
def test_promise_in_words_names_the_relation(neighbours: Neighbours, tmp_path: Path) -> None:
    from microtome import release

    capacity = 450 if neighbours.protects_count else None
    settings = {"neighbours": neighbours, "capacity": capacity, "subsample": 0.5, "kind": "records"}
    with repeatable_noise():  # a noisy count may happen to be the true one
        opened = release(people(), people_schema(), epsilon=3, delta=1e-5, anyway=True, **settings)
    words = " ".join(promise_in_words(opened))
    share = f"{opened.mechanism.profile_share:.0%}"
    for part in ("ε = 3", "δ = 1e-05", str(neighbours), neighbours.describes, "exact accountant", share, "0.5"):
        assert part in words
    assert ("400" in words) == (not neighbours.protects_count)


# Damage


def test_a_truncated_file_is_refused_wherever_it_is_cut(copied: Path) -> None:
    content = copied.read_bytes()
    lengths = {0, 1, 7, 8, 9, 100, len(content) - 1, *np.linspace(0, len(content) - 1, 60).astype(int).tolist()}
    for length in sorted(lengths):
        copied.write_bytes(content[:length])
        refused(copied, "not a release|altered")
    copied.write_bytes(content + b"\0")
    refused(copied, "not a release, or damaged")


def test_one_altered_byte_is_found_anywhere(copied: Path) -> None:
    """Every kind of place: the header's length, entries and manifest, and each tensor."""
    content = copied.read_bytes()
    header, body = header_of(copied)
    start = len(content) - len(body)
    spans = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
    places = {start + place for first, last in spans for place in (first, (first + last) // 2, last - 1)}
    places |= {0, 1, 7, *np.linspace(8, start - 1, 150).astype(int).tolist()}
    unnoticed = []
    for place in sorted(places):
        altered = bytearray(content)
        altered[place] ^= 0x01
        copied.write_bytes(altered)
        try:
            Release.load(copied)
        except ReleaseError:
            continue
        unnoticed.append(place)
    # Only the padding behind the header may change, into other white space.
    assert all(content[place:start].strip() == b"" for place in unnoticed)


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_random_flipped_bit_is_found(place: float, bit: int, made: Release, tmp_path_factory: Any) -> None:
    content = bytearray(made.path.read_bytes())
    where = int(place * len(content))
    content[where] ^= 1 << bit
    path = tmp_path_factory.mktemp("flip") / "t.release"
    path.write_bytes(content)
    with pytest.raises(ReleaseError):
        Release.load(path)


@pytest.mark.parametrize(
    ("tensor", "dtype"), [("profile/0/counts", "I64"), ("profile/0/levels", "F64"), ("rows", "U16"), ("rows", "F16")]
)
def test_a_tensor_read_as_another_type_is_refused(tensor: str, dtype: str, copied: Path) -> None:
    header, body = header_of(copied)
    header[tensor]["dtype"] = dtype
    refused(with_header(copied, header, body), tensor)


def test_exchanged_tensors_are_refused(copied: Path) -> None:
    header, body = header_of(copied)
    header["profile/0/counts"], header["profile/0/margins"] = header["profile/0/margins"], header["profile/0/counts"]
    refused(with_header(copied, header, body), "profile/0")


@pytest.mark.parametrize("version", [0, 2, 99, None, "1"])
def test_another_version_is_refused(version: Any, copied: Path) -> None:
    refused(with_manifest(copied, lambda manifest: manifest.update(version=version)), f"format version {version}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest: manifest.update(format="something else"), "something else"),
        (lambda manifest: manifest.update(kind="aggregates of tomorrow"), "aggregates of tomorrow"),
        (lambda manifest: manifest.pop("promise"), "promise"),
        (lambda manifest: manifest["promise"].update(neighbours="friends"), "friends"),
        (lambda manifest: manifest["promise"]["events"].append({"kind": "magic"}), "magic"),
        (lambda manifest: manifest["contents"].update(num_rows=5), "the manifest says"),
        (lambda manifest: manifest["mechanism"]["directions"].update(num_slices=3), "the manifest says"),
        (lambda manifest: manifest["schema"].update(columns=[]), "no columns"),
        (lambda manifest: manifest["codebook"]["columns"].pop(), "coded columns"),
        (lambda manifest: manifest["codebook"].pop("columns"), "columns"),
        (lambda manifest: manifest["codebook"]["columns"][0].pop("categories"), "categories"),
        (lambda manifest: manifest["checksums"].pop("profile/0/counts"), "tensors"),
        (lambda manifest: manifest["checksums"].pop("rows"), "rows"),
        (lambda manifest: manifest["checksums"].update(rows=[]), "rows"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(change: Callable, message: str, copied: Path) -> None:
    refused(with_manifest(copied, change), message)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.release"
    save_file({"weights": np.zeros(3)}, foreign)
    refused(foreign, "not a Microtome release")
    save_file({"weights": np.zeros(3)}, foreign, metadata={"microtome": "{}", "microtome_sha256": digest(b"{}")})
    refused(foreign, "not a release")
    foreign.write_bytes(b"")
    refused(foreign, "it is an empty file, not a release")
    foreign.write_text("hello, I am a text")
    refused(foreign, r"it is a table \(CSV\) or other text, not a release; 'microtome release' makes")
    refused(tmp_path, "no such file|directory")
    refused(tmp_path / "absent.release", "no such file")


def test_rows_may_be_left_unchecked_and_checked_later(copied: Path) -> None:
    content = bytearray(copied.read_bytes())
    content[-1] ^= 1
    copied.write_bytes(content)
    opened = Release.load(copied, verify=False)
    with pytest.raises(ReleaseError, match=r"rows from .* altered"):
        opened.verify_rows()


# Writing


def test_save_copies_and_refuses_to_overwrite(made: Release, tmp_path: Path) -> None:
    made.save(tmp_path / "kept.release")
    assert Release.load(tmp_path / "kept.release").fingerprint == made.fingerprint
    with pytest.raises(OutputError, match="exists"):
        made.save(tmp_path / "kept.release")
    made.save(tmp_path / "kept.release", force=True)
    with pytest.raises(OutputError, match="not a directory"):
        made.save(tmp_path / "absent" / "kept.release")
    assert [path.name for path in tmp_path.iterdir()] == ["kept.release"]


def test_save_translates_a_full_disk(made: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(OutputError, match="No space left"):
        made.save(tmp_path / "kept.release")
    assert list(tmp_path.iterdir()) == []


def small_writer(path: Path) -> ContainerWriter:
    return ContainerWriter(path, {"directions": np.eye(3)}, (4, 3), {"rows": "0" * 64})


def test_an_unfinished_file_leaves_nothing(tmp_path: Path) -> None:
    with small_writer(tmp_path / "t.release") as writer:
        writer.write_rows(1, np.ones((2, 3), np.int16))
        assert writer.read_rows(1, 2).tolist() == [[1, 1, 1], [1, 1, 1]]
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_a_disk_that_fills_up_leaves_nothing(fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite, calls = os.pwrite, []

    def fill_up(*arguments: Any) -> int:
        calls.append(1)
        if len(calls) >= fails_at:
            raise OSError(28, "No space left on device")
        return pwrite(*arguments)

    monkeypatch.setattr(container.os, "pwrite", fill_up)
    with pytest.raises(OutputError, match=r"t\.release cannot be written: No space left"):
        publish(people(), people_schema(), tmp_path / "t.release")
    assert list(tmp_path.iterdir()) == []


def test_writes_that_fall_short_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(container.os, "pwrite", lambda file, data, place: pwrite(file, data[:1000], place))
    opened = publish(people(), people_schema(), tmp_path / "t.release")
    opened.verify_rows()
