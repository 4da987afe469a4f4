"""What is said of linked tables: alike where both sides come from one clinic, far apart where a link is broken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from microtome.demo import clinic, clinic_schema
from microtome.errors import TableError
from microtome.evaluation.linked_figures import LinkFigures, compare_link
from microtome.evaluation.linked_keys import check_synthetic_keys
from microtome.evaluation.linked_people import detect_people
from microtome.evaluation.linked_tables import Sides, read_linked

REAL = clinic(1_500)
SCHEMA = clinic_schema()


def sides_with(synthetic: dict[str, pa.Table]) -> Sides:
    return read_linked(REAL, synthetic, SCHEMA)[0]


def shuffled(table: pa.Table, column: str) -> pa.Table:
    """The table with one of its columns in another order."""
    order = np.random.default_rng(0).permutation(table.num_rows)
    return table.set_column(table.column_names.index(column), column, table[column].take(pa.array(order)))


@pytest.fixture(scope="module")
def another() -> Sides:
    return sides_with(clinic(1_500, seed=1))


@pytest.fixture(scope="module")
def torn() -> Sides:
    """The same tables with visits dealt out to patients at random: every table by itself is as it was."""
    return sides_with(REAL | {"visits": shuffled(REAL["visits"], "patient")})


def distance_over_chance(link: LinkFigures) -> float:
    assert link.distance is not None
    assert link.floor is not None
    return link.distance / link.floor


def test_another_clinic_is_alike_as_chance_allows(another: Sides) -> None:
    for name in SCHEMA.links:
        link = compare_link(name, another)
        assert (link.cardinality.score or 0.0) > 0.96
        assert distance_over_chance(link) < 1.7


def test_torn_links_show_between_tables_and_not_within(torn: Sides) -> None:
    link = compare_link("visits", torn)
    assert (link.cardinality.score or 0.0) == 1.0
    worst = link.worst(1)[0]
    assert "patients.age" in worst.names
    assert 1.0 - worst.similarity > 2 * worst.floor


def test_sequences_are_compared_by_what_comes_next(another: Sides, torn: Sides) -> None:
    alike, mixed = compare_link("visits", another).sequence, compare_link("visits", torn).sequence
    assert alike is not None
    assert mixed is not None
    assert alike.step_distance is not None
    assert mixed.step_distance is not None
    assert mixed.step_distance > 3 * alike.step_distance
    assert alike.gap.score is not None
    assert mixed.gap.score is not None
    assert mixed.gap.score < alike.gap.score - 0.1
    real, made = mixed.autocorrelation["pressure"]
    assert real > 0.7
    assert abs(made) < 0.2
    assert compare_link("prescriptions", another).sequence is None


def test_autocorrelation_is_that_of_pandas(another: Sides) -> None:
    visits = REAL["visits"].to_pandas().sort_values(["patient", "day"], kind="stable")
    expected = visits["pressure"].corr(visits.groupby("patient")["pressure"].shift(1))
    sequence = compare_link("visits", another).sequence
    assert sequence is not None
    assert sequence.autocorrelation["pressure"][0] == pytest.approx(expected, abs=1e-3)


def test_people_are_told_apart_by_what_is_behind_them(another: Sides, torn: Sides) -> None:
    rng = np.random.default_rng(0)
    alike, mixed = detect_people(another, rng, 1_500), detect_people(torn, rng, 1_500)
    assert not isinstance(alike, str)
    assert not isinstance(mixed, str)
    assert max(alike.auc.values()) < 0.56
    assert max(mixed.auc.values()) > 0.7


def test_keys_of_synthetic_tables_are_checked() -> None:
    assert all(one.is_intact for one in check_synthetic_keys(sides_with(REAL)[1]))
    visits = REAL["visits"]
    keys = pa.chunked_array([pa.array([visits["visit"][1].as_py()]), visits["visit"].slice(1)])
    of_nobody = pa.chunked_array([pa.array([0] * 3), visits["patient"].slice(3)])
    broken = visits.set_column(0, "visit", keys).set_column(1, "patient", of_nobody)
    found = {one.table: one for one in check_synthetic_keys(sides_with(REAL | {"visits": broken})[1])}
    assert (found["visits"].repeated, found["visits"].orphans) == (1, 3)
    assert found["prescriptions"].orphans > 0
    assert not found["visits"].is_intact
    one_patient = visits.set_column(1, "patient", pa.array([7] * visits.num_rows))
    found = {one.table: one for one in check_synthetic_keys(sides_with(REAL | {"visits": one_patient})[1])}
    assert found["visits"].too_many == 1


def test_a_table_that_is_not_there_is_named() -> None:
    with pytest.raises(TableError, match="the synthetic tables: no table 'visits', 'prescriptions'; there"):
        read_linked(REAL, {"patients": REAL["patients"]}, SCHEMA)
