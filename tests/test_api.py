"""One function for tables and images, and options that are spelled once."""

import inspect
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
import typer

import microtome as mt
from microtome.accounting import Ledger, Neighbours
from microtome.cli.main import app
from microtome.errors import OutputError, ParameterError, PoorReleaseWarning, SchemaError, TableError
from microtome.images import ImageSet
from microtome.private.plan import plan_profile
from microtome.published import ReleaseKind
from microtome.schema import Aside
from microtome.schema.unit import Unit
from microtome.settings import IMAGE_PROFILE, TABLE_PROFILE, PrivacySettings, RunSettings
from support import people, people_schema, repeatable_noise

PICTURES = mt.ImageSchema(height=4, width=3, classes=(0, 1, 2), low=0, high=16, components=5)


def pictures(num_images: int = 90) -> ImageSet:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 17, (num_images, 4, 3, 1)).astype(np.uint8)
    return ImageSet.from_arrays(pixels, np.arange(num_images) % 3)


def saved(images: ImageSet, path: Path) -> Path:
    np.savez(path, images=images.pixels, labels=images.labels)
    return path


def write_idx(path: Path, array: np.ndarray) -> None:
    path.write_bytes(
        bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype("u1").tobytes()
    )


# Which kind of data


def test_the_schema_says_what_is_released(tmp_path: Path) -> None:
    of_table = mt.release(people(), people_schema(), epsilon=3, delta=1e-4)
    of_images = mt.release(pictures(), PICTURES, epsilon=3, delta=1e-4)
    assert (type(of_table).__mro__[1], type(of_images).__mro__[1]) == (mt.Release, mt.ImageRelease)
    (tmp_path / "table.yaml").write_text(people_schema().to_yaml(), encoding="utf-8")
    (tmp_path / "images.yaml").write_text(PICTURES.to_yaml(), encoding="utf-8")
    assert isinstance(mt.release(people(), tmp_path / "table.yaml", epsilon=3, delta=1e-4), mt.Release)
    assert isinstance(mt.release(pictures(), str(tmp_path / "images.yaml"), epsilon=3, delta=1e-4), mt.ImageRelease)


def test_data_of_the_other_kind_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot read images from Table"):
        mt.release(people(), PICTURES, epsilon=3)
    with pytest.raises(TableError, match="ImageSet"):
        mt.release(pictures(), people_schema(), epsilon=3)
    with pytest.raises(ParameterError, match=r"schema is dict; it must be a Schema, .*; for a table mt.draft_schema"):
        mt.release(people(), {"columns": []}, epsilon=3)  # type: ignore[call-overload]
    (tmp_path / "s.yaml").write_text("columns: []", encoding="utf-8")
    with pytest.raises(SchemaError, match="not a Microtome schema"):
        mt.release(people(), tmp_path / "s.yaml", epsilon=3)


def test_images_have_their_label_as_pivot() -> None:
    with pytest.raises(ParameterError, match="images are counted by their label"):
        mt.release(pictures(), PICTURES, epsilon=3, delta=1e-4, pivot="label")


# Options


def test_options_and_settings_are_the_same_promise() -> None:
    options: dict[str, Any] = {"epsilon": 3, "delta": 1e-4, "kind": "records", "neighbours": "replace-one"}
    with repeatable_noise():
        given = mt.release(people(), people_schema(), **options)
    privacy = mt.PrivacySettings(**options)
    with repeatable_noise():
        settled = mt.release(people(), people_schema(), privacy=privacy)
    assert privacy.neighbours is Neighbours.REPLACE_ONE
    assert given.fingerprint == settled.fingerprint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 1, "neighbors": "blank-one"}, "no option 'neighbors'; is it neighbours?"),
        ({"epsilon": 1, "outptu": "x"}, "is it output?"),
        ({"epsilno": 1, "kin": "records"}, "is it epsilon?.*\n.*is it kind?"),
        ({"epsilon": 1, "zzz": 2}, "no option 'zzz'; it has epsilon, delta, kind"),
        ({"epsilon": 1, "threads": 2}, r"run=RunSettings\(threads=…\)"),
        ({"epsilon": 1, "labels": "l"}, r"read_images\(path, labels=…\)"),
        ({}, "nothing is promised: give epsilon="),
        ({"delta": 1e-6}, "nothing is promised: give epsilon="),
        ({"privacy": mt.PrivacySettings(epsilon=1), "kind": "records"}, "say kind in it, not beside it"),
        ({"privacy": 1.0}, "privacy is 1.0; it must be PrivacySettings"),
        ({"epsilon": "1"}, "epsilon is '1'; it must be a number above 0"),
        ({"epsilon": True}, "epsilon is True"),
        ({"epsilon": None}, "epsilon is None"),
        ({"epsilon": 1, "kind": "record"}, "kind is 'record'; it must be one of records, aggregates"),
        ({"epsilon": 1, "kind": None}, "kind is None; it must be one of"),
        ({"epsilon": 1, "kind": "records", "slice_dim": 2.0}, "slice_dim is 2.0; it must be a whole number"),
        ({"epsilon": -1, "delta": 2, "slice_dim": 2}, "(?s)epsilon is -1.*delta is 2.*slice_dim is for records"),
        ({"epsilon": 1, "capacity": 9, "slice_dim": 2}, "slice_dim, capacity are for records"),
    ],
)
def test_what_is_wrong_is_said_at_once_before_anything_is_read(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        mt.release("no such file", "no such schema", **options)


def test_the_share_of_the_profile_goes_by_kind_and_data() -> None:
    tables = {kind: mt.release(people(), people_schema(), epsilon=3, delta=1e-4, kind=kind) for kind in ReleaseKind}
    images = {kind: mt.release(pictures(), PICTURES, epsilon=3, delta=1e-4, kind=kind) for kind in ReleaseKind}
    planned = {kind: PrivacySettings(epsilon=3, delta=1e-4, kind=kind) for kind in ReleaseKind}
    assert {kind: made.manifest.mechanism.profile_share for kind, made in tables.items()} == pytest.approx(
        {kind: plan_profile(promise, people_schema(), len(people())).share for kind, promise in planned.items()}
    )
    assert {kind: made.manifest.mechanism.profile_share for kind, made in images.items()} == IMAGE_PROFILE
    assert (TABLE_PROFILE[ReleaseKind.RECORDS], TABLE_PROFILE[ReleaseKind.AGGREGATES]) == (0.1, 0.2)
    for data, schema in ((people(), people_schema()), (pictures(), PICTURES)):
        made = mt.release(data, schema, epsilon=3, delta=1e-4, profile_share=0.3)
        assert made.manifest.mechanism.profile_share == 0.3


def parameters_of_the_command() -> dict[str, Any]:
    return {one.name: one for one in typer.main.get_command(app).commands["release"].params}  # type: ignore[attr-defined]


def plain(value: object) -> object:
    return value.value if isinstance(value, StrEnum) else value


def test_the_command_has_every_option_of_the_promise_with_its_default() -> None:
    command = parameters_of_the_command()
    for one in fields(mt.PrivacySettings):
        asked = command[one.name]
        assert asked.required == (one.name == "epsilon"), one.name
        if not asked.required and one.name != "delta":  # without one it fits the number of records
            assert plain(asked.default) == plain(one.default), one.name
    run = {one.name: one.default for one in fields(mt.RunSettings)}
    assert (command["threads"].default, command["force"].default) == (run["threads"], run["force"])
    assert (
        command["profile_share"].show_default
        == "0.1 for records, 0.2 for aggregates, 0.05 for images; more for what is to be learnt"
    )


def test_release_spells_no_option_of_the_promise() -> None:
    spelled = set(inspect.signature(mt.release).parameters)
    assert spelled == {
        "source",
        "schema",
        "privacy",
        "like",
        "anyway",
        "output",
        "ledger",
        "dataset",
        "sign",
        "run",
        "options",
    }
    assert not spelled & {one.name for one in fields(mt.PrivacySettings)}


# Files


def test_images_that_were_read_have_the_name_of_their_file_in_the_book(tmp_path: Path) -> None:
    path, book = saved(pictures(), tmp_path / "scans.npz"), Ledger()
    mt.release(mt.read_images(path), PICTURES, epsilon=1, delta=1e-4, ledger=book)
    mt.release(path, PICTURES, epsilon=1, delta=1e-4, ledger=book)
    mt.release(pictures(), PICTURES, epsilon=1, delta=1e-4, ledger=book)
    mt.release(people(), people_schema(), epsilon=1, delta=1e-4, ledger=book)
    spent = {name: book.spent(name, delta=1e-3) for name in ("scans.npz", "images", "table")}
    assert spent["scans.npz"] > spent["images"] > 0
    assert spent["table"] > 0


def test_no_input_is_overwritten(tmp_path: Path) -> None:
    images, labels = tmp_path / "t-images-idx3-ubyte", tmp_path / "t-labels-idx1-ubyte"
    write_idx(images, pictures().pixels[..., 0])
    write_idx(labels, pictures().labels)
    table, document, book = tmp_path / "people.csv", tmp_path / "s.yaml", tmp_path / "book.json"
    pacsv.write_csv(people(), table)
    document.write_text(people_schema().to_yaml(), encoding="utf-8")
    held = mt.read_images(images)
    assert held.files == (images, labels)
    before = {path: path.read_bytes() for path in (images, labels, table, document)}
    run = mt.RunSettings(force=True)
    for output in (images, labels):
        with pytest.raises(OutputError, match="choose another output"):
            mt.release(held, PICTURES, epsilon=1, delta=1e-4, output=output, run=run)
    for output in (table, document, book):
        for ledger in (book, Ledger(book)):
            with pytest.raises(OutputError, match="choose another output"):
                mt.release(table, document, epsilon=1, delta=1e-4, ledger=ledger, output=output, run=run)
    assert before == {path: path.read_bytes() for path in before}


def test_a_key_of_people_that_was_left_out_is_told_of_unless_it_is_the_unit(tmp_path: Path) -> None:
    table = people(60).append_column("patient_id", pa.array(np.arange(60) // 2))
    schema = people_schema()
    dropped = replace(schema, aside=(*schema.aside, Aside(name="patient_id", action="drop", place=len(schema.names))))
    with pytest.warns(PoorReleaseWarning, match="unit: patient_id"):
        mt.release(table, dropped, epsilon=1.0, delta=1e-5, anyway=True, output=tmp_path / "rows.release")
    told = list[str]()
    whole = replace(dropped, unit=Unit(key="patient_id", max_rows=2))
    run = RunSettings(tell=lambda _, lines: told.extend(lines))
    mt.release(table, whole, epsilon=1.0, delta=1e-5, anyway=True, output=tmp_path / "people.release", run=run)
    assert not [line for line in told if "unit" in line]
