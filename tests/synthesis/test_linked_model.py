"""Linked tables from release to sample, by the library and by the command: keys resolve, cardinalities hold."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as pacsv
import pytest
from typer.testing import CliRunner

import microtome as mt
from microtome.cli.main import app
from microtome.demo.clinic import MOST_PRESCRIPTIONS, MOST_VISITS, clinic, clinic_schema
from microtome.errors import ModelError, ParameterError
from microtome.published import LinkedRelease, promise_in_words
from microtome.published.mechanisms import LinkedMechanism
from microtome.published.statement import privacy_statement
from microtome.schema import LinkedSchema
from microtome.schema.linked_view import linked_views
from microtome.synthesis.linked_model import LinkedModel

PATIENTS = 800
FAST = mt.FitSettings(steps=60)


def ruled() -> LinkedSchema:
    """The clinic's schema with a rule in a table below the people's."""
    schema = clinic_schema()
    visits = schema["visits"]
    changed = replace(visits, schema=replace(visits.schema, rules=("never: diagnosis = asthma and pressure > 160",)))
    return replace(schema, tables=tuple(changed if one.name == "visits" else one for one in schema.tables))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> LinkedRelease:
    output = tmp_path_factory.mktemp("clinic") / "clinic.release"
    return mt.release(clinic(PATIENTS), ruled(), epsilon=20.0, delta=1e-5, output=output)


@pytest.fixture(scope="module")
def model(release: LinkedRelease) -> mt.Synthesizer:
    return mt.Synthesizer(FAST, random_state=0).fit(release)


@pytest.fixture(scope="module")
def drawn(model: mt.Synthesizer) -> dict[str, pd.DataFrame]:
    return model.sample(PATIENTS, random_state=1)


def test_a_file_holds_views_of_all_tables_and_one_promise(release: LinkedRelease) -> None:
    assert list(release.views) == ["patients", "visits", "prescriptions"]
    assert release.num_records == PATIENTS
    assert release.manifest.promise.epsilon == 20.0


def test_what_is_inherited_is_measured_once_and_known_to_all_views(release: LinkedRelease) -> None:
    above, below = release.views["patients"], release.views["visits"]
    names = [above.schema.names.index("age"), above.schema.names.index("sex")]
    inherited = [below.schema.names.index(f"patients: {name}") for name in ("age", "sex")]
    stated = next(one.tables for one in release.mechanism.views if one.view == "visits")
    assert stated.pair_noise[inherited[0]][inherited[1]] == 0.0
    assert below.mechanism.pair_noise[inherited[0]][inherited[1]] == above.mechanism.pair_noise[names[0]][names[1]] > 0


def test_statement_and_description_speak_of_people(release: LinkedRelease) -> None:
    assert "everything that they contributed" in privacy_statement(release)
    assert f"The number of people, {PATIENTS}, is public." in promise_in_words(release)
    assert "3 linked tables" in repr(release)


def test_every_foreign_key_names_a_row_and_keys_are_unique(drawn: dict[str, pd.DataFrame]) -> None:
    patients, visits, prescriptions = drawn["patients"], drawn["visits"], drawn["prescriptions"]
    assert len(patients) == PATIENTS
    assert patients["patient"].is_unique
    assert visits["visit"].is_unique
    assert visits["patient"].isin(patients["patient"]).all()
    assert prescriptions["visit"].isin(visits["visit"]).all()


def test_cardinalities_order_and_rules_hold(drawn: dict[str, pd.DataFrame]) -> None:
    visits = drawn["visits"]
    assert visits.groupby("patient").size().max() <= MOST_VISITS
    assert drawn["prescriptions"].groupby("visit").size().max() <= MOST_PRESCRIPTIONS
    days = pd.to_datetime(visits["day"])
    assert (days.groupby(visits["patient"]).diff().dropna() >= pd.Timedelta(0)).all()
    assert not ((visits["diagnosis"] == "asthma") & (visits["pressure"] > 160)).any()
    assert not visits["diagnosis"].isna().any()


def test_people_have_as_many_rows_as_they_should(drawn: dict[str, pd.DataFrame]) -> None:
    real = {name: table.to_pandas() for name, table in clinic(PATIENTS).items()}
    counts = [
        one["visits"].groupby("patient").size().reindex(one["patients"]["patient"], fill_value=0)
        for one in (real, drawn)
    ]
    grid = np.arange(MOST_VISITS + 1)
    shares = [np.searchsorted(np.sort(one), grid, side="right") / PATIENTS for one in counts]
    assert np.abs(shares[0] - shares[1]).max() < 0.06


def test_conditions_choose_people(model: mt.Synthesizer) -> None:
    some = model.sample(40, conditions={"sex": "female", "number of visits": 2}, random_state=2)
    assert set(some["patients"]["sex"]) == {"female"}
    assert len(some["visits"]) == 80
    with pytest.raises(ModelError, match="no column 'diagnosis'"):
        model.sample(5, conditions={"diagnosis": "asthma"})


def test_a_model_comes_back_from_its_file(model: mt.Synthesizer, tmp_path: Path) -> None:
    model.save(tmp_path / "clinic.model")
    again = mt.Synthesizer.load(tmp_path / "clinic.model").sample(30, random_state=3)
    for name, frame in model.sample(30, random_state=3).items():
        pd.testing.assert_frame_equal(frame, again[name])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "records"}, "aggregates"),
        ({"pivot": "sex"}, "pivot"),
        ({"triples": 3}, "triples"),
        ({"anyway": True}, "anyway"),
    ],
)
def test_what_is_not_for_linked_tables_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        mt.release(clinic(60), clinic_schema(), epsilon=1.0, delta=1e-5, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "clinic"
    place.mkdir()
    for name, table in clinic(300).items():
        pacsv.write_csv(table, place / f"{name}.csv")
    (tmp_path / "clinic.yaml").write_text(clinic_schema().to_yaml())
    return place


def test_the_command_goes_from_a_folder_to_a_folder(folder: Path) -> None:
    run, beside = CliRunner().invoke, folder.parent
    release, model, output = beside / "clinic.release", beside / "clinic.model", beside / "synthetic"
    schema = ["--schema", str(beside / "clinic.yaml")]
    made = run(app, ["release", str(folder), *schema, "--epsilon", "20", "-o", str(release)])
    assert made.exit_code == 0, made.output
    assert "people" in made.output
    assert run(app, ["fit", str(release), "--steps", "5", "-o", str(model)]).exit_code == 0
    assert not list(beside.glob("*.checkpoint*"))
    sampled = run(app, ["sample", str(model), "-n", "50", "-o", str(output)])
    assert sampled.exit_code == 0, sampled.output
    assert sorted(path.name for path in output.iterdir()) == [
        "patients.csv",
        "practices.csv",
        "prescriptions.csv",
        "visits.csv",
    ]
    assert run(app, ["inspect", str(release)]).exit_code == 0
    wrong = run(app, ["sample", str(model), "-n", "5", "-o", str(beside / "all.csv")])
    assert wrong.exit_code != 0


def test_views_agree_on_what_they_share(release: LinkedRelease, model: mt.Synthesizer) -> None:
    """What rows are drawn given is distributed in their own view as in the one that it was drawn from."""
    linked = model._model
    assert isinstance(linked, LinkedModel)
    means = {name: linked.mixture(name).components().detach().mean(dim=0).numpy() for name in release.views}
    above, below = release.views["patients"], release.views["visits"]
    for name in ("age", "sex"):
        there = above.codebook.blocks[above.schema.names.index(name)]
        here = below.codebook.blocks[below.schema.names.index(f"patients: {name}")]
        shares = means["visits"][here.start : here.stop]
        np.testing.assert_allclose(shares, means["patients"][there.start : there.stop], atol=1e-5)


def test_a_card_describes_all_tables(model: mt.Synthesizer, tmp_path: Path) -> None:
    model.sample_to_file(tmp_path / "synthetic", 20, card=True)
    card = (tmp_path / "synthetic.card.md").read_text()
    assert "### visits" in card
    assert "person" in card
    described = json.loads((tmp_path / "synthetic.croissant.json").read_text())
    files = {one["@id"] for one in described["distribution"]}
    assert {f"synthetic/{name}.csv" for name in ("patients", "visits", "prescriptions", "practices")} == files
    sources = {one["source"]["fileObject"]["@id"] for part in described["recordSet"] for one in part["field"]}
    assert sources == files
    sets = {one["name"]: one for one in described["recordSet"]}
    assert sets["patients"]["key"] == {"@id": "patients/patient"}
    referred = {one["@id"]: one.get("description") for part in sets.values() for one in part["field"]}
    assert {name: said for name, said in referred.items() if said} == {
        "patients/practice": "Refers to practices/practice.",
        "visits/patient": "Refers to patients/patient.",
        "prescriptions/visit": "Refers to visits/visit.",
    }
    assert "- `visits.patient`: `patients/patient`" in card


def test_programs_that_read_croissant_read_all_tables(model: mt.Synthesizer, tmp_path: Path) -> None:
    croissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    model.sample_to_file(tmp_path / "synthetic", 20, card=True)
    dataset = croissant.Dataset(jsonld=str(tmp_path / "synthetic.croissant.json"))
    for name in ("patients", "visits", "prescriptions", "practices"):
        with (tmp_path / "synthetic" / f"{name}.csv").open() as rows:
            assert len(list(dataset.records(name))) == len(list(rows)) - 1


def towns() -> tuple[dict[str, pd.DataFrame], LinkedSchema]:
    """People in twenty towns, and shops that are in their owner's town for four of five."""
    rng = np.random.default_rng(11)
    home = rng.integers(1, 21, 3_000)
    owner = np.flatnonzero(rng.random(len(home)) < 0.6)
    place = np.where(rng.random(len(owner)) < 0.8, home[owner], rng.integers(1, 21, len(owner)))
    key = {"action": "surrogate", "dtype": "int64"}
    town = {"name": "town", "kind": "categorical", "dtype": "int64", "missing": "never"}
    shops = {"table": "shops", "parent": "people", "foreign_key": "who", "cardinality": "1:1"}
    document = {
        "microtome-linked": 1,
        "tables": [
            {
                "table": "people",
                "key": "who",
                "references": {"town": "towns"},
                "columns": [{"name": "who", **key}, town],
            },
            shops | {"references": {"town": "towns"}, "columns": [{"name": "who", **key}, town]},
            {"table": "towns", "public": True, "key": "town", "rows": {"town": list(range(1, 21))}},
        ],
    }
    tables = {
        "people": pd.DataFrame({"who": np.arange(len(home)), "town": home}),
        "shops": pd.DataFrame({"who": owner, "town": place}),
    }
    return tables, LinkedSchema.from_dict(document)


def test_rows_are_where_what_they_hang_on_is_as_often_as_they_should(tmp_path: Path) -> None:
    real, schema = towns()
    release = mt.release(real, schema, epsilon=3.0, delta=1e-6, output=tmp_path / "towns.release")
    assert release.mechanism.same
    model = mt.Synthesizer(FAST, random_state=0).fit(release)
    model.save(tmp_path / "towns.model")
    for one in (model, mt.Synthesizer.load(tmp_path / "towns.model")):
        drawn = one.sample(3_000, random_state=1)
        both = drawn["shops"].merge(drawn["people"], on="who", suffixes=("", " of the owner"))
        assert len(both) == len(drawn["shops"])
        assert (both["town"] == both["town of the owner"]).mean() == pytest.approx(0.81, abs=0.05)
        assert list(drawn["shops"].columns) == ["who", "town"]


def test_files_from_before_sameness_was_counted_are_read_without_it() -> None:
    _, schema = towns()
    assert linked_views(schema)["shops"].view.same
    old = linked_views(schema, same=False)["shops"].view
    assert not old.same
    assert old.schema.names == ["town", "people: town", "people: number of shops"]
    stated = {"profile_share": 0.2, "views": []}
    assert not LinkedMechanism.from_dict(stated).same
