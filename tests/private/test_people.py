"""People with several rows: what one person can do to any count, and that nothing else does.

Sensitivities are found by brute force, over tables of people with every number of rows: people added, removed, and
replaced by others.
"""

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microtome as mt
from microtome.accounting import Neighbours
from microtome.errors import BudgetError, TableError
from microtome.private import open_table
from microtome.private.aggregating import AggregateTally, plan_aggregates, plan_tables
from microtome.private.histograms import DenseHistogram, bucket_histogram
from microtome.private.level_tally import LevelTally
from microtome.private.people import PeopleTable, gaps, order_numbers, people_of
from microtome.private.plan import plan_profile
from microtome.private.profile import Tally
from microtome.private.second_round import TripleTally
from microtome.private.weighting import DIGITS, WHOLE, weighting_of
from microtome.progress import silent
from microtome.schema import Codebook, Column, Schema
from microtome.schema.aside import Action, Aside
from microtome.schema.unit import Unit
from microtome.schema.view import view_of
from microtome.settings import PrivacySettings
from support import SilentRandomness

KEY = b"lots"
MOST = 4
SCHEMA = Schema(
    columns=(
        Column(name="kind", kind="categorical", categories=("a", "b", "c")),
        Column(name="ward", kind="categorical", categories=("x", "y"), missing=False),
        Column(name="day", kind="integer", bounds=(0, 9), missing=False),
    ),
    unit=Unit(key="who", max_rows=MOST, order="day"),
)
VIEW = view_of(SCHEMA)
Person = list[tuple[Any, Any, int]]


def table_of(people: dict[str, Person], rng: np.random.Generator | None = None) -> pa.Table:
    rows = [(who, *row) for who, rows in people.items() for row in rows]
    if rng is not None:
        rng.shuffle(rows)  # type: ignore[arg-type]
    columns = zip(*rows, strict=True) if rows else [()] * 4
    types = (pa.string(), pa.string(), pa.string(), pa.int64())
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["who", "kind", "ward", "day"])


def random_person(rng: np.random.Generator, number: int) -> Person:
    return [(rng.choice(["a", "b", "c"]), rng.choice(["x", "y"]), int(rng.integers(10))) for _ in range(number)]


def gathered(source: Any, schema: Schema = SCHEMA, key: bytes = KEY) -> Any:
    return people_of(open_table(source), schema, view_of(schema), key=key, progress=silent, count_is_public=True)


@pytest.fixture(scope="module")
def codebook() -> Codebook:
    """A code in which every value has a level of its own."""
    rng = np.random.default_rng(5)
    people = {f"p{number}": random_person(rng, 1 + number % 6) for number in range(60)}
    plan = plan_profile(PrivacySettings(epsilon=5.0), VIEW.schema, weighting=weighting_of(MOST))
    with gathered(table_of(people)) as kept:
        tally = Tally(VIEW.schema)
        for block in kept.blocks(VIEW.schema, 7):
            tally.add(block)
    return tally.publish(plan.budget, SilentRandomness(), centred=True, num_records=60).codebook


class Counted:
    """All exact counts of a table of people: every histogram and every table, each as a vector, in people."""

    def __init__(self, kept: PeopleTable, codebook: Codebook, rows: int = 5) -> None:
        settings = PrivacySettings(epsilon=1.0)
        full = VIEW.with_steps(codebook)
        budget = plan_tables(settings, VIEW.schema, (), weighting_of(MOST))
        plan = plan_aggregates(settings, VIEW.schema, full, budget, 60.0, measured=VIEW.measured_pairs())
        groups = [np.minimum(np.arange(code.num_levels), 3) for code in full.codes]
        candidates = list(itertools.combinations(range(len(VIEW.schema.columns)), 3))
        profile = Tally(VIEW.schema)
        pairs = LevelTally(codebook, AggregateTally(full, plan), VIEW.step_places)
        triples = LevelTally(codebook, TripleTally(groups, candidates), VIEW.step_places)
        for block in kept.blocks(VIEW.schema, rows):
            profile.add(block)
            pairs.add(block)
            triples.add(block)
        self.vectors = [histogram.counts.astype(float) for _, histogram in profile.questions]
        second, blocks = pairs.counts._pairs()[0], full.blocks
        for (i, one), (j, other) in itertools.combinations(enumerate(blocks), 2):
            if plan.pair_noise[i, j] > 0:
                self.vectors.append(second[one.start : one.stop, other.start : other.stop].ravel())
        self.vectors += [counts.astype(float) for counts in triples.counts._triples()]

    def away(self, other: "Counted") -> list[float]:
        """The squared distance in every table."""
        return [
            float(((mine - theirs) ** 2).sum()) / WHOLE**2
            for mine, theirs in zip(self.vectors, other.vectors, strict=True)
        ]


def counted(
    people: dict[str, Person], codebook: Codebook, rng: np.random.Generator | None = None, rows: int = 5
) -> Counted:
    with gathered(table_of(people, rng)) as kept:
        return Counted(kept, codebook, rows)


def test_no_person_changes_a_table_by_more_than_is_accounted(codebook: Codebook) -> None:
    rng, largest = np.random.default_rng(0), dict.fromkeys(Neighbours, 0.0)
    others = {f"p{number}": random_person(rng, 1 + number % 6) for number in range(9)}
    without = counted(others, codebook)
    for number, again in itertools.product([1, 2, 3, 4, 5, 9], [1, 4, 7]):
        one, other = random_person(rng, number), random_person(rng, again)
        present = counted(others | {"one": one}, codebook, rng)
        replaced = counted(others | {"one": other}, codebook, rng)
        for relation in Neighbours:
            far = present.away(without if relation.cells_changed == 1 else replaced)
            assert max(far) <= relation.cells_changed + 1e-12
            largest[relation] = max(largest[relation], *far)
    one, other = [("a", "x", 1)], [("b", "y", 5)]
    far = counted(others | {"one": one}, codebook).away(counted(others | {"one": other}, codebook))
    largest[Neighbours.REPLACE_ONE] = max(largest[Neighbours.REPLACE_ONE], *far)
    assert largest == {relation: pytest.approx(relation.cells_changed, abs=1e-6) for relation in Neighbours}


def test_scores_of_the_second_round_move_by_no_more_than_a_record(codebook: Codebook) -> None:
    rng = np.random.default_rng(1)
    others = {f"p{number}": random_person(rng, 1 + number % 6) for number in range(9)}
    without = counted(others, codebook)
    for number in range(1, 8):
        present = counted(others | {"one": random_person(rng, number)}, codebook)
        moved = [
            np.abs(mine - theirs).sum() / WHOLE for mine, theirs in zip(present.vectors, without.vectors, strict=True)
        ]
        assert max(moved) <= 1.0


def test_counts_depend_neither_on_the_order_of_rows_nor_on_blocks(codebook: Codebook) -> None:
    rng = np.random.default_rng(2)
    people = {f"p{number}": random_person(rng, 1 + number % 7) for number in range(25)}
    first = counted(people, codebook)
    for rows in (1, 3, 1000):
        again = counted(people, codebook, rng, rows)
        assert all((mine == theirs).all() for mine, theirs in zip(first.vectors, again.vectors, strict=True))


def test_a_persons_rows_may_be_in_several_files(codebook: Codebook, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = {f"p{number}": random_person(rng, 1 + number % 7) for number in range(25)}
    table = table_of(people, rng)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        pq.write_table(table.take(pa.array(np.arange(number, table.num_rows, 3))), path)
    with gathered([str(path) for path in paths]) as kept:
        apart = Counted(kept, codebook)
    together = counted(people, codebook)
    assert all((mine == theirs).all() for mine, theirs in zip(apart.vectors, together.vectors, strict=True))


def test_who_is_kept_is_drawn_by_lot_and_by_nothing_else() -> None:
    many: Person = [("a", "x", day % 10) for day in range(10)] + [("b", "y", 3)] * 10
    chosen = []
    for number in range(100):
        with gathered(table_of({"one": many, "other": [("c", "y", 0)]}), key=bytes([number])) as kept:
            rows = kept.tables[MOST].to_pylist()
            chosen.append(sum(row["kind"] == "b" for row in rows))
    mean, spread = np.mean(chosen), np.std(chosen)
    assert abs(mean - MOST / 2) < 0.25  # equal rows are drawn one by one: none goes with another
    assert 0.7 < spread < 1.2


def test_rows_of_a_person_follow_each_other_in_their_order() -> None:
    with gathered(table_of({"one": [("a", "x", 7), ("b", "x", 2), ("c", "y", 3)]})) as kept:
        rows = kept.tables[3].to_pylist()
    assert [(row["kind"], row[VIEW.gap], row["first row"], row["first day"]) for row in rows] == [
        ("b", 1, True, 2),
        ("c", 4, False, 2),
        ("a", None, False, 2),
    ]


def test_an_order_that_is_no_number_is_refused_and_one_too_wide_is_told_without_values() -> None:
    day = Column(name="day", kind="float", missing=False)
    with pytest.raises(TableError, match="the order of rows is missing in 1 of them"):
        order_numbers(pa.array([1.0, float("nan")]), day)
    far, whole = np.array([-(2.0**62), 2.0**62 + 2.0**61]), Column(name="day", kind="integer", missing=False)
    two = SimpleNamespace(place=np.array([0, 1]), siblings=np.array([2, 2]))
    with pytest.raises(TableError, match="farther apart than it can hold") as error:
        gaps(far, two, whole)  # type: ignore[arg-type]
    assert "115292" not in str(error.value)
    assert error.value.__suppress_context__


def test_rows_of_nobody_are_counted_and_refused() -> None:
    table = table_of({"one": [("a", "x", 1)], "other": [("b", "y", 2)]})
    holes = table.set_column(0, "who", pa.array(["one", None]))
    with pytest.raises(TableError, match="1 of 2 rows have no 'who'"), gathered(holes):
        pass


WHO = 20_230_000_001


def stored(keys: pa.Array) -> pa.Table:
    return table_of({"one": [("a", "x", 1), ("b", "y", 2)]}).set_column(0, "who", keys)


@pytest.mark.parametrize(
    "elsewhere",
    [
        pa.array([WHO, WHO], pa.float64()),
        pa.array([WHO, WHO]).cast(pa.decimal128(21, 2)),
        pa.array([WHO] * 2).cast("uint64"),
    ],
    ids=lambda keys: str(keys.type),
)
def test_a_person_is_one_however_files_store_the_key(elsewhere: pa.Array, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    for path, keys in zip(paths, (pa.array([WHO, WHO]), elsewhere), strict=True):
        pq.write_table(stored(keys), path)
    with gathered(paths) as kept:
        assert kept.num_rows == 1


def test_keys_of_different_sorts_are_refused(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    for path, keys in zip(paths, (pa.array([7, 7]), pa.array(["007", "007"])), strict=True):
        pq.write_table(stored(keys), path)
    with pytest.raises(TableError, match="of texts here and of numbers elsewhere"), gathered(paths):
        pass


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (pa.array([1.0, float("nan")]), "1 of 2 rows have no 'who'"),
        (pa.array(["one", ""]), "1 of 2 rows have no 'who'"),
        (pa.array([1.0, 1.5]), "whole numbers"),
        (pa.array([2.0**53, 1.0]), "whole numbers"),
    ],
    ids=["nan", "empty", "broken", "large"],
)
def test_no_two_people_become_one_by_their_keys(keys: pa.Array, said: str) -> None:
    with pytest.raises(TableError, match=said), gathered(stored(keys)):
        pass


SPELLINGS = {
    "leading zeros": ("17", "017"),
    "blanks": ("17", "17 "),
    "decimals": ("17", "17.0"),
    "a blank of another kind": ("17", "17\u202f"),
    "a blank without width": ("17", "\ufeff17"),
    "a nought with a sign": ("00", "-00.0"),
    "signs": ("17", "+17"),
    "no-break space": ("17", "17\u00a0"),
    "capitals": ("ab-1", "AB-1"),
    "accents": ("J\u00e9", "Je\u0301"),
}


@pytest.mark.parametrize("keys", SPELLINGS.values(), ids=SPELLINGS)
def test_one_key_in_two_spellings_is_refused_and_counted_but_not_shown(keys: tuple[str, str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = table_of({key: random_person(rng, 2) for key in (*keys, "other", "oth-er")})
    book = tmp_path / "book.json"
    how = {"epsilon": 1, "delta": 1e-3, "ledger": book, "dataset": "ward", "anyway": True}
    with pytest.raises(TableError, match="1 of the keys in 'who' are spelled in several ways") as refused:
        mt.release(table, SCHEMA, output=tmp_path / "a.release", **how)
    assert not any(key.strip() in str(refused.value) for key in keys)
    assert list(tmp_path.iterdir()) == []


def test_keys_that_differ_in_more_than_spelling_are_different_people() -> None:
    with gathered(
        table_of({key: [("a", "x", 1)] for key in ("17", "170", "1.7", "17.01", "A17", "A017", "-17")})
    ) as kept:
        assert kept.num_rows == 7


WHOLE_KEYS = replace(SCHEMA, aside=(Aside(name="who", action=Action.SURROGATE, dtype="int64"),))


def test_keys_that_are_declared_whole_numbers_are_read_as_these_however_they_are_spelled(tmp_path: Path) -> None:
    one = [("a", "x", 1), ("b", "y", 2)]
    with gathered(table_of(dict.fromkeys(("17", "017", " 17 ", "17.0", "18"), one)), WHOLE_KEYS) as kept:
        assert kept.num_rows == 2
    paths = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    for path, keys in zip(paths, (pa.array([17, 17]), pa.array(["017", "17.0"])), strict=True):
        pq.write_table(stored(keys), path)
    with gathered(paths, WHOLE_KEYS) as kept:
        assert kept.num_rows == 1
    with (
        pytest.raises(TableError, match="declared to be a whole number, and 2 of its values are none") as refused,
        gathered(table_of({"MARKER": one, "17": one}), WHOLE_KEYS),
    ):
        pass
    assert "MARKER" not in str(refused.value)


def test_what_is_declared_constant_and_is_not_is_refused() -> None:
    schema = Schema(columns=SCHEMA.columns, unit=Unit(key="who", constant=("kind", "ward")))
    people = {"one": [("a", "x", 1), ("b", "y", 1)]}
    with (
        pytest.raises(TableError, match=r"'kind' is declared constant.*\n.*'ward'"),
        gathered(table_of(people), schema),
    ):
        pass


def test_nothing_is_left_on_disk_and_no_key_is_ever_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with gathered(table_of({"MARKER-1": [("a", "x", 1)] * 3, "MARKER-2": [("b", "y", 2)]})):
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert all(b"MARKER" not in path.read_bytes() for path in files)
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (0.7, False), (1.4, False)])
def test_noise_of_weighted_counts_has_its_scale(factor: float, fits: bool) -> None:
    column = Column(name="age", kind="integer", bounds=(0, 90), missing=False)
    histogram: DenseHistogram = bucket_histogram(column)
    histogram.add(pa.array([5, 7]), WHOLE // 3)
    noise = histogram.noisy(factor * 2.5, np.random.default_rng(4), DIGITS) - np.ldexp(histogram.counts, -DIGITS)
    assert (abs(noise.std() / 2.5 - 1.0) < 0.05) == fits
    assert abs(noise.mean()) < 0.2


def test_rows_and_people_of_a_table_are_not_released_under_one_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table, book = table_of({f"p{n}": random_person(rng, 1 + n % 3) for n in range(40)}), tmp_path / "book.json"
    how = {"epsilon": 1.0, "delta": 1e-3, "ledger": book, "dataset": "ward", "anyway": True}
    mt.release(table, SCHEMA, output=tmp_path / "people.release", **how)
    with pytest.raises(BudgetError, match=r"unit 'who'\), and this one would protect each row by itself"):
        mt.release(table, replace(SCHEMA, unit=None), output=tmp_path / "rows.release", **how)
    assert not (tmp_path / "rows.release").exists()
