"""What is foretold comes from public facts, moves as it should, and is said in words and figures."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import microtome as mt
from microtome.demo import population_schema
from microtome.errors import ParameterError
from microtome.forecasting import Forecast, Learning, Verdict
from microtome.forecasting.anticipated import anticipate
from microtome.published import AggregatesRelease, ReleaseKind
from microtome.settings import PrivacySettings
from support import people, people_schema

TOWN = population_schema()


def drafted(schema: mt.Schema) -> mt.Schema:
    """The same with nothing declared but what a kind declares."""
    columns = [
        replace(column, categories=None, bounds=None, kind="categorical" if column.kind == "ordered" else column.kind)
        for column in schema.columns
    ]
    return replace(schema, columns=tuple(columns))


def test_more_records_more_epsilon_and_more_declared_help() -> None:
    few, many = (mt.forecast(TOWN, rows=rows, epsilon=1).margins for rows in (1_000, 30_000))
    weak, strong = (mt.forecast(TOWN, rows=3_000, epsilon=epsilon).margins for epsilon in (0.3, 5))
    bare, declared = (mt.forecast(schema, rows=1_000, epsilon=1).margins for schema in (drafted(TOWN), TOWN))
    assert few > 2 * many
    assert weak > 2 * strong
    assert bare > 1.5 * declared


def test_a_forecast_is_the_same_whenever_it_is_made() -> None:
    first, second = (mt.forecast(TOWN, rows=2_000, epsilon=2).to_dict() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("pivot", ["none", "owner"])
def test_noise_is_that_of_a_real_release(pivot: str) -> None:
    """Profile noise is the one that the door would use where all is declared: no search leaves anything over."""
    schema, table = mt.Schema(columns=tuple(one for one in people_schema().columns if one.is_declared)), people(400)
    made = mt.release(table, schema, epsilon=3, delta=1e-5, pivot=pivot, anyway=True)
    assert isinstance(made, AggregatesRelease)
    foretold = mt.forecast(schema, rows=400, epsilon=3, delta=1e-5, pivot=pivot)
    assert [column.count_noise for column in foretold.columns] == pytest.approx(
        [code.noise_scale for code in made.codebook.codes], rel=1e-9
    )
    assert foretold.release.events == made.manifest.promise.events


@pytest.mark.parametrize("kind", ["aggregates", "records"])
@pytest.mark.parametrize("neighbours", ["blank-one", "replace-one"])
def test_every_kind_and_relation_has_a_forecast(kind: str, neighbours: str) -> None:
    found = mt.forecast(TOWN, rows=5_000, epsilon=2, kind=kind, neighbours=neighbours)
    assert 0 < found.margins < 1
    assert found.pairs is not None
    assert 0 < found.pairs.error <= 1
    assert (found.band is not None) == ((kind, neighbours) == ("aggregates", "blank-one")), (
        "no band where none was measured"
    )
    assert ("not for this" in str(found)) == (found.band is None)


def test_pairs_are_not_foretold_where_directions_do_not_span_the_rows() -> None:
    found = mt.forecast(TOWN, rows=5_000, epsilon=2, kind="records", directions="gaussian", num_slices=10)
    assert found.pairs is None
    assert "not foretold" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_column_by_itself_has_no_pairs() -> None:
    alone = mt.Schema(columns=(TOWN["age"],))
    assert mt.forecast(alone, rows=5_000, epsilon=1).pairs is None


def test_columns_that_come_to_nothing_are_named_with_what_helps() -> None:
    found = mt.forecast(TOWN, rows=200, epsilon=1)
    lost = {column.name: column for column in found.lost}
    assert lost["district"].learning is Learning.NOT
    assert "declare its categories" in lost["district"].advice
    assert "Will not be learnt: " in str(found)


def test_the_smallest_useful_epsilon_is_where_the_verdict_turns() -> None:
    found = mt.forecast(TOWN, rows=3_000, epsilon=0.03)
    assert found.verdict is Verdict.NOTHING
    useful = found.useful_epsilon
    assert useful is not None
    assert mt.forecast(TOWN, rows=3_000, epsilon=useful).verdict.is_useful
    assert not mt.forecast(TOWN, rows=3_000, epsilon=useful / 2).verdict.is_useful


def test_no_epsilon_makes_ten_records_useful() -> None:
    assert mt.forecast(drafted(TOWN), rows=10, epsilon=1).useful_epsilon is None


def test_one_forecast_gives_those_of_all_epsilons_and_finds_nothing_out_twice() -> None:
    first = mt.forecast(population_schema(), rows=5000, epsilon=1)
    other = first.at(2.0)
    assert str(other) == str(mt.forecast(population_schema(), rows=5000, epsilon=2))
    assert other.at(1.0) is first
    assert first.at(2.0) is other
    assert next(point for point in first.curve if point.epsilon == 2.0).pairs is other.pairs
    with pytest.raises(ParameterError, match="epsilon"):
        first.at(0.0)


def test_the_curve_falls() -> None:
    curve = mt.forecast(TOWN, rows=3_000, epsilon=1).curve
    assert [point.epsilon for point in curve] == sorted(point.epsilon for point in curve)
    assert curve[0].margins > 3 * curve[-1].margins
    assert curve[0].attacker.best_guess < curve[-1].attacker.best_guess


@pytest.mark.parametrize(("epsilon", "said"), [(20, "ε = 20 is large"), (0.01, "ε = 0.01 is small"), (1, None)])
def test_an_unusual_epsilon_gets_a_word(epsilon: float, said: str | None) -> None:
    words = str(mt.forecast(TOWN, rows=50_000, epsilon=epsilon))
    assert (said in words) if said else ("is large" not in words and "is small" not in words)


def test_the_verdict_stands_first_and_no_column_is_forgotten() -> None:
    found = mt.forecast(TOWN, rows=800, epsilon=1)
    heading, verdict, *_ = str(found).splitlines()
    assert heading.startswith("800 records of 15 columns at ε = 1")
    assert verdict == found.verdict.in_words
    figures = found.to_dict()
    assert [column["name"] for column in figures["columns"]] == TOWN.names
    assert figures == json.loads(json.dumps(figures, allow_nan=False))


def test_a_notebook_shows_whole_html_in_which_names_are_text() -> None:
    nasty = mt.Schema(columns=(mt.Column(name="<b>&", kind="boolean"), mt.Column(name="x", kind="boolean")))
    page = mt.forecast(nasty, rows=1_000, epsilon=1)._repr_html_()
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(page)
    assert opened == []
    assert "&lt;b&gt;&amp;" in page


@pytest.mark.parametrize("rows", [0, 1, -5, 2.5, True])
def test_rows_must_be_a_number_of_records(rows: object) -> None:
    with pytest.raises(ParameterError, match="rows is"):
        mt.forecast(TOWN, rows=rows, epsilon=1)  # type: ignore[arg-type]


def test_a_delta_that_a_release_would_refuse_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"not below 1/800: .* take 1e-06"):
        mt.forecast(TOWN, rows=800, epsilon=1, delta=0.01)


def test_forecasts_of_huge_tables_take_no_longer() -> None:
    found = mt.forecast(TOWN, rows=10**7, epsilon=1)
    assert isinstance(found, Forecast)
    assert found.release.settings.delta == 1e-8
    assert found.verdict is Verdict.GOOD
    assert math.isfinite(found.cost.release_seconds)


def test_events_are_planned_and_nothing_else_is_needed() -> None:
    settings = PrivacySettings(epsilon=1, delta=1e-6, kind=ReleaseKind.AGGREGATES, profile_share=0.2)
    release = anticipate(settings, TOWN, 1_000)
    assert len(release.errors) == len(TOWN.columns)
    assert release.pair_noise is not None
    assert (release.pair_noise == release.pair_noise.T).all()
