"""Images on the desk: declared, released, drawn and reported on, with no picture and no class read off them."""

from __future__ import annotations

import io
import zipfile
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from studio_support import Visitor, open_studio, problem, zipped_pictures

from microtome.accounting import Ledger
from microtome.card import account_in_words
from microtome.images import read_images
from microtome.published import ImageRelease
from microtome.studio.recipe import commands, program

PROMISE = {"epsilon": "30", "delta": "1e-5", "neighbours": "replace-one", "kind": "aggregates"}
DECLARED = {"classes": "Quentin, Wilhelmina", "low": "0", "high": "255"}


def declared(visitor: Visitor) -> Visitor:
    visitor.opened("letters.zip", zipped_pictures())
    assert visitor.post("/columns/images", **DECLARED).status == 303
    assert visitor.post("/columns/images/confirm", public="yes").status == 303
    return visitor


def test_no_class_is_read_off_the_folders(visitor: Visitor) -> None:
    visitor.opened("letters.zip", zipped_pictures())
    for path in ("/", "/columns", "/promise", "/promise/forecast?epsilon=1", "/model", "/report", "/files"):
        assert "Quentin" not in visitor.get(path).text, path
    text = visitor.get("/columns").text
    assert "Images of 8 × 8" in text
    assert "declare the classes" in text
    refused = visitor.post("/columns/images/confirm", public="yes")
    assert "declare the classes" in problem(refused)


def test_no_release_before_all_is_declared_and_confirmed(visitor: Visitor) -> None:
    visitor.opened("letters.zip", zipped_pictures())
    visitor.post("/columns/images", **DECLARED)
    assert "confirm" in problem(visitor.post("/promise/release", **PROMISE))
    assert "tick the box" in problem(visitor.post("/columns/images/confirm"))
    visitor.post("/columns/images/confirm", public="yes")
    assert "Go on to the promise" in visitor.get("/columns").text
    visitor.post("/columns/images", **{**DECLARED, "high": "300"})
    assert visitor.studio.desk.contents.is_draft
    book = visitor.studio.desk.places.ledger
    assert book is not None
    assert not book.exists()


def test_all_that_is_wrong_is_told_at_once(visitor: Visitor) -> None:
    visitor.opened("letters.zip", zipped_pictures())
    answer = visitor.post("/columns/images", classes="a,a", low="x", high="255", mean="1,y", components="many")
    assert all(word in problem(answer) for word in ("twice", "low is", "mean is", "components:"))
    assert "must be [smallest, largest]" in problem(visitor.post("/columns/images", classes="2", low="3", high="3"))


def test_the_forecast_tells_what_is_known_and_hides_a_protected_number(visitor: Visitor) -> None:
    declared(visitor)
    asked = "/promise/forecast?epsilon=2&delta=1e-5&kind=aggregates&neighbours="
    known = visitor.get(f"{asked}replace-one").text
    assert "80 images of 8 × 8 × 1 in 2 classes at ε = 2" in known
    assert "is among the images" in known
    assert "is not foretold" in known
    hidden = visitor.get(f"{asked}add-remove&capacity=100").text
    assert "80" not in hidden
    assert "There is no forecast" in hidden


@pytest.mark.parametrize("kind", ["aggregates", "records"])
def test_what_is_foretold_of_the_book_is_what_is_spent(visitor: Visitor, kind: str) -> None:
    declared(visitor)
    query = "&".join(f"{name}={value}" for name, value in {**PROMISE, "kind": kind}.items())
    foretold = visitor.get(f"/promise/forecast?{query}").text
    visitor.done("/promise/release", **{**PROMISE, "kind": kind})
    released = visitor.studio.desk.contents.released
    assert released is not None
    assert ImageRelease.load(released.path).manifest.promise.epsilon == 30
    book = Ledger(visitor.studio.desk.places.ledger).account("letters.zip", delta=1e-5)
    assert [line for line in account_in_words(book) if line not in unescape(foretold)] == []


def test_the_whole_way(visitor: Visitor) -> None:
    declared(visitor)
    visitor.done("/promise/release", **PROMISE)
    assert "after 5 steps" in visitor.done("/model/fit", steps="5", seed="1").text
    assert "is written to .npz, .png" in problem(visitor.post("/model/draw", rows="5", ending=".csv"))
    page = visitor.done("/model/draw", rows="30", ending=".npz", seed="1", where="label=Quentin")
    assert "30 images" in page.text
    drawn = visitor.studio.desk.contents.drawn
    assert drawn is not None
    images = read_images(drawn.path)
    assert images.labels is not None
    assert images.shape == (8, 8, 1)
    assert set(images.labels) == {"Quentin"}
    visitor.done("/model/draw", rows="30", ending=".npz", seed="1")
    assert "Free to publish" in visitor.done("/report/make", against="release").text
    for key in ("schema", "release", "statement", "model", "rows", "report"):
        assert visitor.get(f"/files/{key}").status == 200
    desk = visitor.studio.desk.contents
    assert commands(desk)[0].startswith("microtome release letters.zip --schema letters.schema.yaml")
    assert "--anyway" not in commands(desk)[0]
    assert "mt.Synthesizer(" in program(desk)
    assert "mt.FitSettings" not in program(desk)


def test_the_program_does_the_same(visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared(visitor)
    visitor.done("/promise/release", **PROMISE)
    visitor.done("/model/fit", steps="3", seed="1")
    visitor.done("/model/draw", rows="30", ending=".npz", seed="1")
    visitor.done("/report/make", against="table", alone="yes")
    desk = visitor.studio.desk.contents
    assert desk.released is not None
    assert desk.released.schema is not None
    assert desk.reported is not None
    assert visitor.studio.desk.places.private in desk.reported.path.parents
    monkeypatch.chdir(tmp_path)
    Path("letters.zip").write_bytes(zipped_pictures())
    Path("letters.schema.yaml").write_text(desk.released.schema.to_yaml())
    exec(program(desk), {})
    for name in ("letters.release", "letters.model", "letters.synthetic.npz", "letters.private-report.html"):
        assert Path(name).is_file()


def test_a_release_of_images_can_be_opened_to_go_on_with(visitor: Visitor, tmp_path: Path) -> None:
    declared(visitor)
    visitor.done("/promise/release", **PROMISE)
    released = visitor.studio.desk.contents.released
    assert released is not None
    with open_studio(tmp_path / "other") as other:
        second = Visitor(other)
        second.opened("letters.release", released.path.read_bytes())
        assert "after 3 steps" in second.done("/model/fit", steps="3").text
        assert "Draw images" in second.get("/model").text
        assert "mt.ImageRelease.load" in program(other.desk.contents)


def test_images_without_labels_need_no_classes(visitor: Visitor) -> None:
    packed = io.BytesIO()
    np.savez(packed, images=np.zeros((20, 4, 4), np.uint8))
    visitor.opened("plain.npz", packed.getvalue())
    assert visitor.post("/columns/images/confirm", public="yes").status == 303
    assert "Released: plain.release" in visitor.done("/promise/release", **PROMISE).text


def test_an_archive_without_pictures_is_told_of_and_removed(visitor: Visitor) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("people.csv", "a\n1\n")
    visitor.opened("people.zip", packed.getvalue())
    assert "holds no images" in problem(visitor.get("/columns"))
    assert visitor.studio.desk.contents.table is None
    assert list(visitor.studio.desk.places.private.rglob("*.*")) == []
