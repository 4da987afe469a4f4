"""Synthetic people, and linked tables, against their release alone: everybody counts once."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import microtome as mt
from microtome.demo.clinic import clinic, clinic_schema
from microtome.errors import ParameterError, TableError
from microtome.evaluation.linked_tables import read_side
from microtome.evaluation.one_row_each import one_path_each
from microtome.published import LinkedRelease
from microtome.schema.linked_view import linked_views
from microtome.schema.unit import Unit

PATIENTS = 500


def visits(num_people: int = 600) -> pd.DataFrame:
    """People who come often are ill: shares of rows are not those of people."""
    rng = np.random.default_rng(7)
    ill = rng.random(num_people) < 0.5
    rows = [(person, day, "ill" if ill[person] else "well") for person in range(num_people)
            for day in range(5 if ill[person] else 1)]  # fmt: skip
    return pd.DataFrame(rows, columns=["patient", "day", "state"])


def schema() -> mt.Schema:
    return mt.Schema(
        columns=(
            mt.Column(name="day", kind="integer", bounds=(0, 9), missing=False),
            mt.Column(name="state", kind="categorical", categories=("ill", "well"), missing=False),
        ),
        unit=Unit(key="patient", max_rows=5, order="day"),
    )


def test_people_count_once_whatever_rows_they_have(tmp_path: Path) -> None:
    real = visits()
    release = mt.release(real, schema(), epsilon=50.0, delta=1e-5, output=tmp_path / "visits.release")
    page = mt.report(None, real, release=release).figures
    alike = {column.name: column.score for column in page.columns}
    assert {"state", "number of rows", "first row"} <= set(alike)
    assert min(alike.values()) > 0.9
    others = real[real["state"] == "ill"]
    assert {column.name: column.score for column in mt.report(None, others, release=release).figures.columns}[
        "state"
    ] < 0.6
    with pytest.raises(TableError, match="whose each row is"):
        mt.report(None, real.drop(columns="patient"), release=release)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> LinkedRelease:
    output = tmp_path_factory.mktemp("clinic") / "clinic.release"
    return mt.release(clinic(PATIENTS), clinic_schema(), epsilon=50.0, delta=1e-5, output=output)


def test_the_tables_themselves_agree_with_their_release(release: LinkedRelease) -> None:
    page = mt.report_linked(None, clinic(PATIENTS), release=release)
    found = page.figures
    assert found.free_to_publish
    assert found.broken_keys == 0
    assert found.cardinality is not None
    assert found.cardinality > 0.9
    assert next(table.rows for table in found.tables) == (PATIENTS, PATIENTS)
    assert all(table.rows[0] is None for table in found.tables[1:])
    assert "Free to publish" in page.html
    assert "None" not in page.html


def test_rows_dealt_out_at_random_differ_across_links(release: LinkedRelease) -> None:
    tables = {name: table.to_pandas() for name, table in clinic(PATIENTS).items()}
    dealt = dict(tables)
    dealt["prescriptions"] = tables["prescriptions"].assign(
        visit=np.random.default_rng(1).permutation(tables["prescriptions"]["visit"].to_numpy())
    )
    kept = [
        next(
            link.kept for link in mt.report_linked(None, one, release=release).figures.links if link.parent == "visits"
        )
        for one in (tables, dealt)
    ]
    assert kept[0] is not None
    assert kept[1] is not None
    assert kept[0] > kept[1] + 0.1


def test_steps_are_compared_with_what_was_counted_of_them(release: LinkedRelease) -> None:
    tables = {name: table.to_pandas() for name, table in clinic(PATIENTS).items()}
    visits = tables["visits"]
    rng = np.random.default_rng(2)
    shuffled = visits.assign(diagnosis=rng.permutation(visits["diagnosis"].to_numpy()))
    found = []
    for one in (tables, tables | {"visits": shuffled}):
        page = mt.report_linked(None, one, release=release)
        sequence = next(link.sequence for link in page.figures.links if link.table == "visits")
        assert sequence is not None
        assert sequence.gap.score > 0.85
        assert {step.names for step in sequence.steps} >= {("diagnosis", "in the next row")}
        assert "From one row to the next" in page.html
        found.append(next(1.0 - step.similarity for step in sequence.steps if step.names[0] == "diagnosis"))
    assert found[0] < 0.5 * found[1]


def test_of_everybody_one_row_is_drawn_below_another() -> None:
    side = read_side(clinic(60), "synthetic", clinic_schema())
    views = linked_views(clinic_schema())
    drawn = one_path_each(side, views, np.random.default_rng(0))
    paths = {name: path.table for name, path in drawn.items()}
    assert {table.num_rows for table in paths.values()} == {60}
    ages = paths["patients"].values["age"]
    np.testing.assert_array_equal(paths["prescriptions"].values["patients: age"], ages)
    numbers, drugs = paths["patients"].values["number of visits"], paths["visits"]
    assert (drugs.missing("diagnosis") == (numbers == 0)).all()


def test_a_release_takes_the_place_of_tables_and_schema(release: LinkedRelease) -> None:
    with pytest.raises(ParameterError, match="in place of both"):
        mt.report_linked(clinic(50), clinic(50), clinic_schema(), release=release)
    with pytest.raises(ParameterError, match="give a schema"):
        mt.report_linked(clinic(50), clinic(50))
