"""Contents that no release can have are refused, though all checksums agree: a file can be made by a broken program."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from damage import broken_documents, refusal
from microtome.errors import ReleaseError
from microtome.published import Artefact, digest
from microtome.published.container import canonical_json
from support import ROOT

GOLDEN = ROOT / "tests" / "published" / "golden"
KINDS = {"records": "", "aggregates": "-aggregates", "rounding": "-rounding"}
KINDS |= {"image records": "-image-records", "image aggregates": "-image-aggregates"}


def golden(kind: str) -> Path:
    return GOLDEN / f"version-1{KINDS[kind]}.release"


def manifest_of(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    found: dict[str, Any] = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["microtome"])
    return found


def made(path: Path, kind: str, text: str | None = None, **tensors: np.ndarray) -> Path:
    """A golden release with another manifest, or other tensors, and checksums that agree."""
    arrays = {name: np.ascontiguousarray(array) for name, array in {**load_file(golden(kind)), **tensors}.items()}
    if text is None:
        manifest = manifest_of(golden(kind))
        for name in tensors:
            manifest["checksums"][name] = digest(arrays[name].tobytes())
        text = canonical_json(manifest)
    save_file(arrays, path, metadata={"microtome": text, "microtome_sha256": digest(text.encode())})
    return path


def changed(path: Path, kind: str, change: Callable[[dict[str, Any]], Any]) -> Path:
    manifest = manifest_of(golden(kind))
    change(manifest)
    return made(path, kind, json.dumps(manifest))


def refused(path: Path, said: str) -> None:
    with pytest.raises(ReleaseError, match=said) as error:
        Artefact.load(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_made_anew_from_the_same_contents_loads(kind: str, tmp_path: Path) -> None:
    assert Artefact.load(made(tmp_path / "r", kind)).fingerprint == Artefact.load(golden(kind)).fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_of_the_manifest_may_be_nonsense(kind: str, tmp_path: Path) -> None:
    """Left out or of another kind: refused with our error, or no harm to whoever reads it."""
    manifest = manifest_of(golden(kind))
    entries = {name: manifest[name] for name in ("promise", "mechanism", "contents", "codebook", "schema", "checksums")}
    for broken in broken_documents(entries):
        said = refusal(Artefact.load, made(tmp_path / "r", kind, json.dumps({**manifest, **broken})), ReleaseError)
        assert said is None or said.startswith(f"{tmp_path / 'r'}: ")


@pytest.mark.parametrize("text", ["[]", "1", "null", '"text"', "{}", "[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000])
def test_a_manifest_that_is_no_manifest(text: str, tmp_path: Path) -> None:
    assert refusal(Artefact.load, made(tmp_path / "r", "records", text), ReleaseError)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": 0.01}, "contradicted by its own events"),
        ({"delta": 1e-300}, "contradicted by its own events"),
        ({"epsilon": -1}, "epsilon of the promise must be a finite number above 0"),
        ({"epsilon": 0}, "epsilon of the promise must be a finite number above 0"),
        ({"epsilon": "one"}, "epsilon is 'one'; it must be a number"),
        ({"epsilon": None}, "epsilon is None; it must be a number"),
        ({"epsilon": True}, "epsilon is True; it must be a number"),
        ({"epsilon": float("nan")}, "NaN is not a number"),
        ({"epsilon": float("inf")}, "Infinity is not a number"),
        ({"delta": 0}, "delta of the promise"),
        ({"delta": 1}, "delta of the promise"),
        ({"delta": "small"}, "delta is 'small'; it must be a number"),
        ({"events": []}, "lists no events"),
        ({"events": [{"kind": "gaussian", "mu": 1e3}]}, "contradicted by its own events"),
        ({"events": {}}, "events is {}; it must be a list"),
        ({"events": None}, "damaged"),
        ({"private": "yes"}, "private is 'yes'; it must be true or false"),
        ({"accountant": "friendly"}, "friendly"),
    ],
)
def test_a_promise_that_cannot_be(kind: str, change: dict[str, Any], said: str, tmp_path: Path) -> None:
    refused(changed(tmp_path / "r", kind, lambda manifest: manifest["promise"].update(change)), said)


@pytest.mark.parametrize("accountant", ["exact", "renyi"])
def test_a_promise_is_checked_by_its_own_accountant(accountant: str, tmp_path: Path) -> None:
    """What Rényi accounting does not give may well be given by the exact one, and the file says which it was."""
    tight = Artefact.load(golden("aggregates")).manifest.promise
    stated = {"accountant": accountant, "epsilon": tight.epsilon}
    path = changed(tmp_path / "r", "aggregates", lambda manifest: manifest["promise"].update(stated))
    assert (refusal(Artefact.load, path, ReleaseError) is None) == (accountant == "exact")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_are_not_finite(kind: str, tmp_path: Path) -> None:
    for name, array in load_file(golden(kind)).items():
        if array.dtype == np.float64 and array.size:
            for value in (np.nan, np.inf):
                broken = array.copy()
                broken.flat[-1] = value
                refused(made(tmp_path / "r", kind, **{name: broken}), f"{name} has numbers that are not finite")


@pytest.mark.parametrize(
    ("tensor", "change", "said"),
    [
        ("profile/0/margins", lambda values: -values, "margins are no shares"),
        ("profile/0/margins", lambda values: 2 * values, "margins are no shares"),
        ("profile/0/margins", lambda values: values[:-1], "do not fit its cells"),
        ("profile/0/levels", lambda values: values + 1, "its levels are not"),
        ("profile/0/levels", lambda values: values - 1, "its levels are not"),
        ("profile/0/levels", lambda values: values * 10**15, "its levels are not"),
        ("profile/0/counts", lambda values: values[None], "do not fit its cells"),
        ("profile/3/edges", lambda values: values[::-1], "do not increase"),
        ("profile/3/edges", lambda values: 0 * values, "do not increase"),
        ("directions", lambda values: values.T, "directions are"),
        ("directions", lambda values: values[:-1], "directions are"),
    ],
)
def test_tensors_that_make_no_sense(
    tensor: str, change: Callable[[np.ndarray], np.ndarray], said: str, tmp_path: Path
) -> None:
    refused(made(tmp_path / "r", "records", **{tensor: change(load_file(golden("records"))[tensor])}), said)


@pytest.mark.parametrize(
    ("kind", "place", "value", "said"),
    [
        ("records", ("mechanism", "noise_scale"), 0, "noise_scale is 0"),
        ("records", ("mechanism", "noise_scale"), -1, "noise_scale is -1"),
        ("records", ("mechanism", "grid_step"), "x", "grid_step is 'x'"),
        ("records", ("mechanism", "profile_share"), 7, "profile_share is 7"),
        ("records", ("mechanism", "subsample"), 0, "subsample is 0"),
        ("records", ("mechanism", "capacity"), -5, "capacity is -5"),
        ("records", ("contents", "num_rows"), 10**18, "the manifest says"),
        ("records", ("contents", "num_rows"), -1, "num_rows is -1"),
        ("records", ("contents", "num_rows"), 2.5, "num_rows is 2.5"),
        ("records", ("contents", "bin_rows"), 0, "bin_rows is 0"),
        ("records", ("contents", "num_records"), -3, "num_records is -3"),
        ("records", ("contents", "num_records"), 0, "rows of 0 records"),
        ("records", ("mechanism", "directions", "dim"), 7, "of 7 dimensions"),
        ("records", ("codebook", "columns", 0, "noise_scale"), 0, "noise of its counts is 0"),
        ("records", ("codebook", "columns", 0, "noise_scale"), "a", "noise of its counts is 'a'"),
        ("records", ("codebook", "columns", 1, "categories"), ["low", "mid", "mid"], "coded twice"),
        ("records", ("codebook", "columns", 1, "categories"), ["low", "mid", "no"], "not the declared ones"),
        ("records", ("codebook", "columns", 0, "categories"), [None, "a", "b"], "no list of values"),
        ("records", ("codebook", "columns", 0, "other"), "yes", "no list of values"),
        ("records", ("codebook", "centred"), "yes", "centred is 'yes'"),
        ("rounding", ("codebook", "columns", 0, "rounding_noise"), -1, "noise of its counts is -1"),
        ("aggregates", ("mechanism", "first_noise", 0), -1, "its noise is -1"),
        ("aggregates", ("mechanism", "pair_noise", 0, 1), "a", "pair_noise is 'a'; it must be a number"),
        ("aggregates", ("mechanism", "num_classes"), 0, "num_classes is 0"),
        ("aggregates", ("contents", "num_records"), 0, "num_records is 0"),
        ("image records", ("mechanism", "radius"), 0, "radius is 0"),
        ("image records", ("mechanism", "class_rows"), [95.0, 117], "class_rows is 95.0; it must be a whole number"),
        ("image records", ("mechanism", "slices", "noise_scale"), 0, "noise_scale is 0"),
        ("image aggregates", ("mechanism", "second_noise"), 0, "second_noise is 0"),
        ("image aggregates", ("schema", "height"), 10**9, "numbers each"),
        ("image aggregates", ("kind",), "records", "ImageRowsMechanism has unknown fields"),
    ],
)
def test_figures_that_make_no_sense(kind: str, place: tuple[Any, ...], value: Any, said: str, tmp_path: Path) -> None:
    def change(manifest: Any) -> None:
        for step in place[:-1]:
            manifest = manifest[step]
        manifest[place[-1]] = value

    refused(changed(tmp_path / "r", kind, change), said)


def weaker(manifest: dict[str, Any]) -> None:
    mechanism = manifest["mechanism"]
    name = next(name for name in ("noise_scale", "count_noise", "mean_noise", "pair_noise") if name in mechanism)
    found = mechanism[name]
    mechanism[name] = [[0.5 * one for one in row] for row in found] if name == "pair_noise" else 0.5 * found


def weaker_profile(manifest: dict[str, Any]) -> None:
    manifest["codebook"]["columns"][0]["noise_scale"] *= 0.01


def replaced_relation(manifest: dict[str, Any]) -> None:
    manifest["promise"]["neighbours"] = "replace-one"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [weaker, weaker_profile, replaced_relation])
def test_noise_that_its_events_contradict(kind: str, change: Callable[..., None], tmp_path: Path) -> None:
    """The promise is computed from the events: these have to be those of the mechanism beside them."""
    if change is weaker_profile and kind.startswith("image"):
        return  # no codebook
    if change is weaker and kind == "rounding":
        return  # one column, and so no table
    refused(changed(tmp_path / "r", kind, change), "its events|its slices")


def test_a_promise_of_nothing_and_one_without_end(tmp_path: Path) -> None:
    nothing = [{"kind": "failure", "probability": 0.0, "reason": "none"}]
    endless = {"kind": "repeated", "count": 10**9, "event": {"kind": "gaussian", "mu": 1e-9}}
    for events in (nothing, [{"kind": "gaussian", "mu": 0.0}, *nothing]):
        manifest = manifest_of(golden("aggregates"))
        manifest["promise"]["events"] = events
        refused(made(tmp_path / "r", "aggregates", json.dumps(manifest)), "lists|events")
    refused(changed(tmp_path / "r", "records", lambda one: one["promise"]["events"].append(endless)), "events")


@pytest.mark.parametrize("insert", ['"rows":{"dtype":"I16","shape":[0],"data_offsets":[0,0]},', ""])
def test_a_header_that_says_something_twice_or_more_than_is_covered(insert: str, tmp_path: Path) -> None:
    content = golden("records").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + length].rstrip().decode()
    if insert:
        header = "{" + insert + header[1:]
    else:
        header = header.replace('"__metadata__": {', '"__metadata__": {"remark": "trust me", ', 1)
    body = header.encode() + b" " * (-len(header.encode()) % 8)
    (tmp_path / "r").write_bytes(struct.pack("<Q", len(body)) + body + content[8 + length :])
    refused(tmp_path / "r", "twice|no checksum covers")
