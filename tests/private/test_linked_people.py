"""Several tables: what one person and everything behind can do to any count, found by brute force.

People are added, removed and replaced, with every number of rows in every table, and rows move to other people.
"""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microtome.accounting import Neighbours
from microtome.errors import TableError
from microtome.private import LinkedSource, linked_people, open_linked
from microtome.private.aggregating import AggregateTally, plan_aggregates, plan_tables
from microtome.private.level_tally import LevelTally
from microtome.private.linked_people import LinkedPeople
from microtome.private.profile import Profile, Tally
from microtome.private.profile_budget import ProfileBudget
from microtome.private.table_weights import weights_of_views
from microtome.private.weighting import WHOLE
from microtome.progress import silent
from microtome.schema import Aside, Column, LinkedSchema, LinkedTable, Parent, PublicTable, Schema
from microtome.schema.code_kinds import code_from_counts
from microtome.schema.codebook import Codebook
from microtome.schema.column_code import CellCounts
from microtome.schema.grid import initial_cells
from microtome.schema.linked_view import inheriting, linked_views
from microtome.settings import PrivacySettings

VISITS, DRUGS = 3, 2
BUDGET = ProfileBudget(mu=1.0, threshold_delta=1e-6, neighbours=Neighbours.BLANK_ONE)


def key(name: str, place: int = 0) -> Aside:
    return Aside(name=name, action="surrogate", dtype="int64", place=place)


SCHEMA = LinkedSchema(
    tables=(
        LinkedTable(
            name="people",
            key="who",
            schema=Schema(
                columns=(
                    Column(name="sex", kind="categorical", categories=("f", "m"), missing=False),
                    Column(name="home", kind="categorical", dtype="int64", missing=False),
                ),
                aside=(key("who"),),
            ),
            references={"home": "towns"},
        ),
        LinkedTable(
            name="visits",
            key="visit",
            parent=Parent(table="people", foreign_key="who", max_rows=VISITS, order="day"),
            schema=Schema(
                columns=(
                    Column(name="kind", kind="categorical", categories=("a", "b"), missing=False),
                    Column(name="day", kind="integer", bounds=(0, 5), missing=False),
                    Column(name="place", kind="categorical", dtype="int64", missing=False),
                ),
                aside=(key("visit"), key("who", 1)),
            ),
            references={"place": "towns"},
        ),
        LinkedTable(
            name="drugs",
            parent=Parent(table="visits", foreign_key="visit", max_rows=DRUGS),
            schema=Schema(
                columns=(Column(name="drug", kind="categorical", categories=("x", "y", "z")),), aside=(key("visit"),)
            ),
        ),
    ),
    public=(PublicTable(name="towns", key="town", rows={"town": (1, 2, 3)}),),
)
HOME, PLACE = {"f": 1, "m": 2}, {"a": 1, "b": 3}
"""Women live where visits of kind a are."""
VIEWS = linked_views(SCHEMA)
Person = tuple[str, list[tuple[str, int, list[str]]]]
"""Sex, and visits with their kind, day and drugs."""


VISIT_TYPES = (pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.int64())


def random_person(rng: np.random.Generator, visits: int, drugs: int) -> Person:
    made = [
        (str(rng.choice(["a", "b"])), int(rng.integers(6)), [str(rng.choice(["x", "y", "z"])) for _ in range(drugs)])
        for _ in range(visits)
    ]
    return str(rng.choice(["f", "m"])), made


def tables_of(people: dict[int, Person], rng: np.random.Generator | None = None) -> dict[str, pa.Table]:
    persons = [(who, sex, HOME[sex]) for who, (sex, _) in people.items()]
    visits, drugs = [], []
    for who, (_, rows) in people.items():
        for kind, day, given in rows:
            visits.append((len(visits), who, kind, day, PLACE[kind]))
            drugs += [(len(visits) - 1, drug) for drug in given]
    if rng is not None:
        for rows in (persons, visits, drugs):
            rng.shuffle(rows)  # type: ignore[arg-type]
    return {
        "people": _table(persons, {"who": pa.int64(), "sex": pa.string(), "home": pa.int64()}),
        "visits": _table(visits, dict(zip(("visit", "who", "kind", "day", "place"), VISIT_TYPES, strict=True))),
        "drugs": _table(drugs, {"visit": pa.int64(), "drug": pa.string()}),
    }


def _table(rows: list[Any], types: dict[str, pa.DataType]) -> pa.Table:
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(types.values())]
    return pa.table(columns, names=list(types))


def gathered(tables: dict[str, pa.Table]) -> Any:
    opened = open_linked(tables, SCHEMA)
    return linked_people(SCHEMA, opened, key=b"lots", progress=silent, tell=lambda *_: None)


def codebooks() -> dict[str, Codebook]:
    """Codes in which every value has a level of its own."""
    profiled = {}
    for name, one in VIEWS.items():
        codes = []
        for column in one.view.own_schema.columns:
            cells = initial_cells(column)
            assert cells is not None
            given = CellCounts(
                column=column, counts=np.full(len(cells), 500.0), noise_scale=0.01, total=500.0 * len(cells)
            )
            codes.append(code_from_counts(cells, given))
        profiled[name] = Codebook(codes=tuple(codes), centred=True)
    return inheriting(VIEWS, profiled)


CODES = codebooks()


def counted(people: dict[int, Person], rng: np.random.Generator | None = None, rows: int = 4) -> dict[str, np.ndarray]:
    """All exact counts, every histogram and every table of every view, in people."""
    with gathered(tables_of(people, rng)) as held:
        return _counts(held, rows)


def _counts(held: LinkedPeople, rows: int) -> dict[str, np.ndarray]:
    settings, found = PrivacySettings(epsilon=1.0, focus="none", triples=0), {}
    profiles = {name: Tally(one.view.own_schema) for name, one in VIEWS.items()}
    pairs = {}
    for name, one in VIEWS.items():
        full = one.view.with_steps(CODES[name])
        budget = plan_tables(settings, one.view.schema, ())
        plan = plan_aggregates(settings, one.view.schema, full, budget, 100.0, measured=one.view.measured_pairs())
        pairs[name] = LevelTally(CODES[name], AggregateTally(full, plan), one.view.step_places), plan, full
    for block in held.blocks(rows):
        profiles[block.view].add(block)
        pairs[block.view][0].add(block)
    for name, tally in profiles.items():
        for place, (_, histogram) in enumerate(tally.questions):
            found[f"{name} histogram {place}"] = histogram.counts.astype(float) / WHOLE
    for name, (tally, plan, full) in pairs.items():
        second = tally.counts._pairs()[0] / WHOLE
        for (i, one), (j, other) in itertools.combinations(enumerate(full.blocks), 2):
            if plan.pair_noise[i, j] > 0:
                table = second[one.start : one.stop, other.start : other.stop]
                found[f"{name} {one.name} × {other.name}"] = table.ravel()
    return found


def away(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """The largest squared change of any table."""
    assert one.keys() == other.keys()
    return max(float(((one[name] - other[name]) ** 2).sum()) for name in one)


def test_no_person_changes_a_table_of_any_view_by_more_than_is_accounted() -> None:
    rng, largest = np.random.default_rng(0), dict.fromkeys(Neighbours, 0.0)
    others = {number: random_person(rng, number % 5, number % 4) for number in range(6)}
    without = counted(others)
    for visits, drugs in itertools.product([0, 1, 2, 3, 6], [0, 1, 2, 4]):
        present = counted(others | {99: random_person(rng, visits, drugs)}, rng)
        replaced = counted(others | {99: random_person(rng, 3 - visits % 3, drugs)}, rng)
        for relation in Neighbours:
            far = away(present, without if relation.cells_changed == 1 else replaced)
            assert far <= relation.cells_changed + 1e-9
            largest[relation] = max(largest[relation], far)
    one, other = counted(others | {99: ("f", [("a", 1, ["x"])])}), counted(others | {99: ("m", [("b", 4, ["y"])])})
    largest[Neighbours.REPLACE_ONE] = max(largest[Neighbours.REPLACE_ONE], away(one, other))
    assert largest == {relation: pytest.approx(relation.cells_changed, abs=1e-5) for relation in Neighbours}


def test_rows_that_move_to_another_person_change_two_people_and_no_more() -> None:
    rng = np.random.default_rng(1)
    people = {number: random_person(rng, 2, 1) for number in range(5)}
    (sex, rows), (other_sex, other_rows) = people[0], people[1]
    moved = people | {0: (sex, rows[:1]), 1: (other_sex, [*other_rows, rows[1]])}
    assert away(counted(people), counted(moved)) <= 8.0  # two people are replaced, each by √2


def test_every_view_has_every_person_once() -> None:
    rng = np.random.default_rng(2)
    people = {number: random_person(rng, number % 6, number % 4) for number in range(30)}
    for name, counts in counted(people).items():
        if "histogram" in name:
            assert counts.sum() == pytest.approx(30.0, abs=1e-4)


def test_what_is_inherited_is_distributed_as_where_it_is_from() -> None:
    rng = np.random.default_rng(3)
    people = {number: random_person(rng, number % 4, number % 3) for number in range(40)}
    with gathered(tables_of(people)) as held:
        shares = {}
        for name in VIEWS:
            column = "sex" if name == "people" else "people: sex"
            women = sum(
                weight * sum(value == "f" for value in table.column(column).to_pylist())
                for table, weight, _ in held.views[name]
            )
            shares[name] = women / WHOLE
    assert shares == {name: pytest.approx(shares["people"], abs=1e-4) for name in VIEWS}


def test_a_row_says_whether_it_is_where_its_person_is() -> None:
    people: dict[int, Person] = {1: ("f", [("a", 0, []), ("b", 1, [])]), 2: ("m", [("a", 2, [])]), 3: ("f", [])}
    (same,) = VIEWS["visits"].view.same
    assert (same.column, same.above) == ("place", "people: home")
    assert not VIEWS["people"].view.same
    assert not VIEWS["drugs"].view.same
    assert same.name not in VIEWS["drugs"].sources
    with gathered(tables_of(people)) as held:
        rows = pa.concat_tables([table for table, _, _ in held.views["visits"]]).to_pylist()
    said = {(row["people: home"], row["place"]): row[same.name] for row in rows}
    assert said == {(1, 1): True, (1, 3): False, (2, 1): False, (1, None): None}


def test_counts_depend_neither_on_the_order_of_rows_nor_on_blocks() -> None:
    for seed in (4, 5, 6):  # where equal visits differ in their drugs, and not all of them are kept
        rng = np.random.default_rng(seed)
        people = {number: random_person(rng, number % 6, number % 4) for number in range(20)}
        first = counted(people)
        for rows in (1, 1000):
            again = counted(people, rng, rows)
            assert all((first[name] == again[name]).all() for name in first)


def test_children_of_rows_that_are_left_out_are_left_out_too() -> None:
    many: Person = ("f", [("a", day % 6, ["x", "y"]) for day in range(9)])
    with gathered(tables_of({1: many, 2: ("m", [])})) as held:
        kept = {name: sum(t.num_rows for t, _, _ in tables) for name, tables in held.views.items()}
    assert kept == {"people": 2, "visits": VISITS + 1, "drugs": VISITS * DRUGS + 1}


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no table 'visits', 'drugs'"):
        open_linked({"people": tables_of({})["people"]}, SCHEMA)
    (tmp_path / "people.csv").write_text("who,sex,home\n1,f,1\n")
    with pytest.raises(TableError, match="no table 'visits', 'drugs'"):
        open_linked(str(tmp_path), SCHEMA)


def test_the_budget_of_all_views_together_is_that_of_one_release() -> None:
    rng = np.random.default_rng(5)
    people = {number: random_person(rng, number % 4, number % 3) for number in range(10)}
    with gathered(tables_of(people)) as held:
        source = LinkedSource(people=held, schema=SCHEMA, count_is_public=True)
        budgets = source._profile_budgets(BUDGET, protects_count=False)
    assert sum(one.mu**2 for one in budgets.values()) == pytest.approx(BUDGET.mu**2, rel=1e-9)
    assert sum(one.mu**2 for one in budgets.values()) < BUDGET.mu**2


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("total", [1.0, 20.0, 50.0, 100.0, 400.0, 1e4, 1e7])
def test_tables_of_all_views_spend_what_one_table_would(total: float, epsilon: float) -> None:
    """However weights share it out: Σ 1/σ² over all tables is that of a single one with all of the budget."""
    rng = np.random.default_rng(6)
    settings = PrivacySettings(epsilon=epsilon, focus="none", triples=0)
    people = {number: random_person(rng, number % 4, number % 3) for number in range(200)}
    with gathered(tables_of(people)) as held:
        source = LinkedSource(people=held, schema=SCHEMA, count_is_public=True)
        budget = plan_tables(settings, SCHEMA["people"].schema, ())
        profiles = {
            name: Profile(
                codebook=replace(codes, codes=codes.codes[: len(VIEWS[name].view.own_schema.columns)]), total=total
            )
            for name, codes in CODES.items()
        }
        passes = source._tables(settings, budget, 0.2, profiles)
    noise = np.concatenate(
        [one._plan.pair_noise[np.triu_indices_from(one._plan.pair_noise)] for one in passes.values()]
    )
    spent = (noise[noise > 0] ** -2.0).sum() * budget.unit_noise**2
    assert 1.0 - 1e-6 < spent <= 1.0


def test_tables_of_few_rows_and_tables_that_show_nothing() -> None:
    """Noise is less where rows are rarer, more where cells are too many to show anything; and no table is without."""
    codes = [CODES[name] for name in VIEWS]
    measured = [
        one.view.measured_pairs()[: len(book.codes), : len(book.codes)]
        for one, book in zip(VIEWS.values(), codes, strict=True)
    ]
    many, few = (weights_of_views(codes, measured, [None] * 3, records) for records in (1e6, 30.0))
    for weights, counted_pairs in zip(many, measured, strict=True):
        assert (weights[counted_pairs] > 0).all()
        assert not weights[~counted_pairs].any()
    names = VIEWS["visits"].view.schema.names
    kind, day, sex = (names.index(name) for name in ("kind", "day", "people: sex"))
    assert many[1][day, sex] > many[1][kind, sex], "with records enough the larger table has more"
    assert few[1][day, sex] < few[1][kind, sex], "and with few the one that shows something"
    wanted = weights_of_views(codes, measured, [None, kind, None], 1e6)
    assert wanted[1][kind, sex] > 2.0 * many[1][kind, sex], "what will be asked for weighs more"
    np.testing.assert_allclose(wanted[1][day, sex], many[1][day, sex])
