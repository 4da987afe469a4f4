"""People with several rows, counted by engines: before the noise, to the bit what a file of the same rows gives."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from databases import Open
from hypothesis import HealthCheck, given, settings
from people_cases import KEYS, many_visits, visits, visits_schema
from spark_support import require_spark, session

from microtome import sql_table
from microtome.accounting import Ledger
from microtome.errors import MicrotomeError, TableError
from microtome.private import open_table
from microtome.private.aggregating import AggregateTally, plan_aggregates, plan_tables
from microtome.private.level_tally import LevelTally
from microtome.private.people import people_of
from microtome.private.plan import plan_profile
from microtome.private.profile import Tally
from microtome.private.second_round import TripleTally
from microtome.private.weighting import weighting_of
from microtome.progress import silent
from microtome.published import RecordsRelease
from microtome.schema import Schema
from microtome.schema.aside import Action, Aside
from microtome.schema.unit import Unit
from microtome.schema.view import view_of
from microtome.settings import PrivacySettings
from spark_here import Pieces, in_partitions
from support import SilentRandomness, publish

KEY = bytes(range(32))
MOST = 3
SOME = settings(max_examples=8, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@cache
def tallies(order: str | None) -> list[Any]:
    """A profile, tables of pairs with steps, and tables of three columns."""
    schema = visits_schema(MOST, order=order)
    view, own = view_of(schema), PrivacySettings(epsilon=5.0)
    weighting = weighting_of(view.most_rows)
    profile, start = plan_profile(own, view.schema, weighting=weighting), Tally(view.schema)
    with people_of(open_table(many_visits()), schema, view, key=KEY, progress=silent, count_is_public=True) as kept:
        for block in kept.blocks(view.schema, 1000):
            start.add(block)
    codebook = start.publish(profile.budget, SilentRandomness(), centred=True, num_records=120).codebook
    full, budget = view.with_steps(codebook), plan_tables(own, view.schema, (), weighting)
    plan = plan_aggregates(own, view.schema, full, budget, 120.0, measured=view.measured_pairs())
    groups = [np.minimum(np.arange(code.num_levels), 3) for code in full.codes]
    triples = TripleTally(groups, list(combinations(range(len(view.schema.columns)), 3))[:9])
    return [
        Tally(view.schema),
        LevelTally(codebook, AggregateTally(full, plan), view.step_places),
        LevelTally(codebook, triples, view.step_places),
    ]


def counted(source: Any, schema: Schema, empty: list[Any]) -> Any:
    """What a source counts, and how many people; or that it refuses."""
    view = view_of(schema)
    try:
        gathered = people_of(open_table(source), schema, view, key=KEY, progress=silent, count_is_public=True)
        with gathered as kept:
            return [_filled(kept, tally, view) for tally in empty]
    except TableError as error:
        return str(error).split(":", 1)[1]


def _filled(kept: Any, tally: Any, view: Any) -> Any:
    from copy import deepcopy

    tally, people = deepcopy(tally), 0
    if kept.counter is not None:
        with kept.counter.held():
            people = kept.counter.fill(tally, view.schema, 7, lambda done, total: None)
    else:
        for block in kept.blocks(view.schema, 1000):
            tally.add(block)
            people += len(block)
    return people, [_sorted(part.to_pylist()) for part in tally.parts()]


def _sorted(part: list[Any]) -> list[Any]:
    return part if all(isinstance(one, int) for one in part) else sorted(map(str, part))


@pytest.mark.parametrize("sort", KEYS)
@pytest.mark.parametrize("order", [None, "day"])
def test_executors_count_what_a_file_gives(sort: str, order: str | None) -> None:
    schema, empty = visits_schema(MOST, order=order), tallies(order)

    @SOME
    @given(visits(sort))
    def same(table: pa.Table) -> None:
        wanted = counted(table, schema, empty)
        assert isinstance(wanted, list), "nothing is refused"
        assert counted(in_partitions(table, 7), schema, empty) == wanted

    same()


@pytest.mark.parametrize("sort", KEYS)
@pytest.mark.parametrize("order", [None, "day"])
def test_databases_count_what_a_file_gives(load: Open, sort: str, order: str | None) -> None:
    schema, empty = visits_schema(MOST, order=order), tallies(order)

    @SOME
    @given(visits(sort))
    def same(table: pa.Table) -> None:
        wanted = counted(table, schema, empty)
        assert isinstance(wanted, list), "nothing is refused"
        assert counted(sql_table(load(table), "private"), schema, empty) == wanted

    same()


BAD_KEYS = pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["one", None, "two", ""], "2 of 4 rows have no 'who'"),
        ([1.0, float("nan"), 2.0, None], "2 of 4 rows have no 'who'"),
        ([1.0, 1.5, 2.0, 3.0], "whole numbers"),
        ([1.0, 2.0**53, 2.0, 3.0], "whole numbers"),
        (["one", " \t", "two", "\u00a0"], "2 of 4 rows have no 'who'"),
        (["7", "07", "8", "8.0"], "2 of the keys in 'who' are spelled in several ways"),
        (["7", "7 ", " 7", "+7.00"], "1 of the keys in 'who' are spelled in several ways"),
        (["00", "-0.0", "7\u202f", "\ufeff7"], "2 of the keys in 'who' are spelled in several ways"),
        (["Ä", "ä", "a\u0308", "b\u00a0"], "1 of the keys in 'who' are spelled in several ways"),
    ],
)


def with_keys(keys: list[Any]) -> pa.Table:
    return many_visits().slice(0, 4).drop_columns("who").append_column("who", [keys])


@BAD_KEYS
def test_executors_refuse_keys_that_a_file_is_refused_for(keys: list[Any], said: str) -> None:
    table = with_keys(keys)
    for source in (table, in_partitions(table, 2)):
        with pytest.raises(TableError, match=said):
            publish(source, visits_schema(MOST), Path("never.release"), kind="aggregates")


@BAD_KEYS
def test_databases_refuse_them_too_and_give_the_reservation_back(
    load: Open, keys: list[Any], said: str, tmp_path: Path
) -> None:
    book, source = Ledger(tmp_path / "book.json"), sql_table(load(with_keys(keys)), "private")
    with pytest.raises(TableError, match=said):
        publish(source, visits_schema(MOST), tmp_path / "never.release", kind="aggregates", ledger=book)
    assert book.account("people", delta=1e-5).spent == 0


WHOLE_KEYS = replace(visits_schema(MOST), aside=(Aside(name="who", action=Action.SURROGATE, dtype="int64"),))


def test_keys_that_are_declared_whole_numbers_are_one_however_they_are_spelled(load: Open) -> None:
    empty, spelled = tallies(None), with_keys(["7", "+07.0", " 7 ", "-8"])
    wanted = counted(with_keys([7, 7, 7, -8]), WHOLE_KEYS, empty)
    assert isinstance(wanted, list), "nothing is refused"
    for source in (spelled, in_partitions(spelled, 2), sql_table(load(spelled), "private")):
        assert counted(source, WHOLE_KEYS, empty) == wanted
    broken = with_keys(["7", "x", "8.5", "9"])
    for source in (broken, in_partitions(broken, 2), sql_table(load(broken), "private")):
        with pytest.raises(TableError, match="declared to be a whole number"):
            publish(source, WHOLE_KEYS, Path("never.release"), kind="aggregates")


def test_databases_refuse_what_is_declared_constant_and_is_not(load: Open) -> None:
    schema = replace(visits_schema(MOST), unit=Unit(key="who", constant=("ward", "urgent")))
    for source in (many_visits(), sql_table(load(many_visits()), "private")):
        with pytest.raises(TableError, match=r"(?s)'ward' is declared constant.*'urgent' is declared constant"):
            publish(source, schema, Path("never.release"), kind="aggregates")


def test_keys_of_other_types_are_named() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE private AS SELECT [1] AS who, 1 AS number")
    schema = Schema(columns=(visits_schema(1)["number"],), unit=Unit(key="who"))
    with pytest.raises(TableError, match="column 'who' is a key, and the database has it as a type that is not known"):
        publish(sql_table(connection, "private"), schema, Path("never.release"), kind="aggregates")


@pytest.mark.parametrize("options", [{"most": MOST, "order": "day"}, {"most": 1}], ids=str)
def test_people_in_a_database_give_the_same_file(load: Open, tmp_path: Path, options: dict[str, Any]) -> None:
    given = {"schema": visits_schema(**options), "kind": "aggregates", "profile_share": 0.25, "focus": "urgent"}
    publish(many_visits(), output=tmp_path / "here.release", **given)
    publish(sql_table(load(many_visits()), "private"), output=tmp_path / "sql.release", **given)
    assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()


def test_rows_that_arrive_twice_or_changed_are_refused() -> None:
    def twice(pieces: Pieces, task: Any, key: bytes) -> Pieces:
        return pieces + pieces[:1]

    def other(pieces: Pieces, task: Any, key: bytes) -> Pieces:
        return [{**piece, "digest": b"other"} if not number else piece for number, piece in enumerate(pieces)]

    def lost(pieces: Pieces, task: Any, key: bytes) -> Pieces:
        return [piece for piece in pieces if piece["part"] != 1]

    said = {twice: "a block twice", other: "when a task was run again", lost: "every part once"}
    for between, told in said.items():
        source = in_partitions(many_visits(), 100, between=between)
        with pytest.raises((TableError, MicrotomeError), match=told):
            publish(source, visits_schema(MOST), Path("never.release"), kind="aggregates")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    require_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = session("local[2]", **{"spark.local.dir": str(tmp_path_factory.mktemp("spark"))})
        yield running
        running.stop()


def on_spark(spark: Any, table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "table.parquet")
    return spark.read.parquet(str(folder / "table.parquet")).repartition(3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("neighbours", ["blank-one", "add-remove"])
def test_people_on_spark_give_the_same_file(spark: Any, tmp_path: Path, neighbours: str) -> None:
    table, schema = many_visits(), visits_schema(MOST, order="day")
    released = partial(publish, schema=schema, kind="aggregates", neighbours=neighbours)
    released(table, output=tmp_path / "here.release")
    released(on_spark(spark, table, tmp_path), output=tmp_path / "spark.release")
    assert (tmp_path / "spark.release").read_bytes() == (tmp_path / "here.release").read_bytes()
    assert not spark.sparkContext._jsc.getPersistentRDDs(), "executors hold nothing any more"


@pytest.mark.filterwarnings("ignore")
def test_records_of_people_on_spark_have_a_row_each(spark: Any, tmp_path: Path) -> None:
    schema, output = visits_schema(1), tmp_path / "rows.release"
    made = publish(on_spark(spark, many_visits(), tmp_path), schema, output)
    assert isinstance(made, RecordsRelease)
    assert made.rows().shape[0] == 120
