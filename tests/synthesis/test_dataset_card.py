"""Beside a file of synthetic rows: what it is, for people and for programs."""

import hashlib
import json
from pathlib import Path

import pytest

from microtome.errors import OutputError, ParameterError
from microtome.synthesis import Synthesizer


def test_both_say_what_was_promised_and_what_the_columns_are(people_model: Synthesizer, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    people_model.sample_to_file(path, 50, conditions={"owner": True}, card=True, random_state=0)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    card = (tmp_path / "rows.csv.card.md").read_text(encoding="utf-8")
    for part in ("50 synthetic rows", digest, people_model.model.origin["release"], "| age | integer |", "owner: True"):
        assert part in card
    described = json.loads((tmp_path / "rows.csv.croissant.json").read_text(encoding="utf-8"))
    assert described["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert described["distribution"][0]["sha256"] == digest
    names = [field["name"] for field in described["recordSet"][0]["field"]]
    assert names == people_model.model.schema.names  # type: ignore[union-attr]


def test_a_release_that_promises_nothing_is_called_so(people_model: Synthesizer, tmp_path: Path) -> None:
    people_model.sample_to_file(tmp_path / "rows.parquet", 5, card=True)
    assert "NOT PRIVATE" in (tmp_path / "rows.parquet.card.md").read_text(encoding="utf-8")


def test_nothing_is_drawn_where_a_card_could_not_be(people_model: Synthesizer, tmp_path: Path) -> None:
    (tmp_path / "rows.csv.card.md").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        people_model.sample_to_file(tmp_path / "rows.csv", 5, card=True)
    assert not (tmp_path / "rows.csv").exists()
    people_model.sample_to_file(tmp_path / "rows.csv", 5, card=True, force=True)
    with pytest.raises(ParameterError, match="a card is for one file"):
        people_model.sample_to_file(tmp_path / "folder", 5, card=True)


def test_programs_that_read_croissant_read_it(people_model: Synthesizer, tmp_path: Path) -> None:
    croissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    people_model.sample_to_file(tmp_path / "rows.csv", 5, card=True)
    dataset = croissant.Dataset(jsonld=str(tmp_path / "rows.csv.croissant.json"))
    assert len(list(dataset.records("rows"))) == 5
