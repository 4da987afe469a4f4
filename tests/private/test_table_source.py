"""The one door, whole: neighbours through it, the ledger before it, nobody else reading rows."""

import math
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import microtome
import microtome as mt
from microtome import release
from microtome.accounting import Accountant, DirectionKind, Ledger, Neighbours, delta, epsilon
from microtome.errors import BudgetError, OutputError, ParameterError, TableError
from microtome.private import PrivacySettings, RunSettings, SystemRandomness, open_table, table_source
from microtome.private.randomness import GRID
from microtome.private.table import PrivateTable
from microtome.published import AggregatesRelease, Release, ReleaseKind, promise_in_words, summary
from microtome.schema import Codebook, Column, Kind, Schema
from support import (
    FixedRandomness,
    SilentRandomness,
    WatchedRandomness,
    levels_of,
    people,
    people_schema,
    publish,
    sorted_rows,
)

SMALL = RunSettings(threads=2, block_entries=1 << 12, piece_entries=1 << 11, bin_entries=1 << 12)
"""Many blocks, pieces and bins even for small tables."""
PACKAGE = Path(microtome.__file__).parent


STEADY = Schema(
    columns=(
        Column(name="town", kind=Kind.CATEGORICAL, categories=("Åbo", "Bern", "Köln"), missing=False),
        Column(name="grade", kind=Kind.ORDERED, categories=("low", "mid", "high")),
        Column(name="owner", kind=Kind.BOOLEAN, missing=False),
    )
)
"""Columns whose levels do not depend on one record more or less."""


def steps(opened: Release) -> np.ndarray:
    return np.round(opened.rows() / opened.manifest.mechanism.grid_step).astype(np.int64)


def changed_rows(one: Release, two: Release) -> np.ndarray:
    """Difference of the rows that the two files do not share, one record being changed."""
    apart = (one.rows() - two.rows())[np.abs(steps(one) - steps(two)).max(axis=1) > 0]
    assert len(apart) == 1
    return apart[0]


def slack(opened: Release) -> float:
    return math.sqrt(opened.directions.shape[1]) * opened.manifest.mechanism.grid_step


@pytest.mark.parametrize("directions", ["orthogonal", "gaussian"])
def test_replaced_record_changes_one_row_by_at_most_its_distance(directions: str, tmp_path: Path) -> None:
    """Two neighbouring tables, the same randomness, the whole path: count, profile, slice, noise, shuffle."""
    table = people(700)
    pair = pa.concat_tables([table.slice(300, 1), table.slice(5, 1)])
    assert pair.select(STEADY.names).slice(0, 1) != pair.select(STEADY.names).slice(1, 1)
    other = pa.concat_tables([table.slice(0, 300), pair.slice(1, 1), table.slice(301)])
    options: dict[str, Any] = {"neighbours": Neighbours.REPLACE_ONE, "directions": DirectionKind(directions)}
    one = publish(table, STEADY, tmp_path / "one.release", run=SMALL, **options)
    two = publish(other, STEADY, tmp_path / "two.release", run=SMALL, **options)
    assert (one.directions == two.directions).all()
    apart = changed_rows(one, two)
    encoded = one.codebook.encode(levels_of(pair.select(STEADY.names), one.codebook))
    wanted = (encoded[0] - encoded[1]) @ one.directions
    assert np.abs(apart - wanted).max() <= one.manifest.mechanism.grid_step * (1 + 1e-6)
    distance = one.manifest.mechanism.row_distance
    assert distance == math.sqrt(2)
    assert 0.3 < np.linalg.norm(encoded[0] - encoded[1]) <= distance
    if directions == "orthogonal":
        assert np.linalg.norm(apart) <= distance + slack(one)


def test_blanked_record_changes_one_row_by_at_most_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The null record is a zero row: realised here by blanking the encoding of one record."""
    table, schema = people(700), people_schema()
    one = publish(table, schema, tmp_path / "one.release", run=SMALL)
    record = levels_of(table.slice(300, 1), one.codebook)
    encode, blanked = Codebook.encode, []

    def encode_but_one(self: Codebook, levels: np.ndarray) -> np.ndarray:
        rows = encode(self, levels)
        found = np.flatnonzero((levels == record).all(axis=1))
        if len(found) and not blanked:
            rows[found[0]] = 0.0
            blanked.append(found[0])
        return rows

    monkeypatch.setattr(Codebook, "encode", encode_but_one)
    two = publish(table, schema, tmp_path / "two.release", run=SMALL)
    assert len(blanked) == 1
    apart = np.linalg.norm(changed_rows(one, two))
    assert 1.0 - slack(one) <= apart <= one.manifest.mechanism.row_distance + slack(one) == 1.0 + slack(one)


def test_removed_record_is_a_padding_row(tmp_path: Path) -> None:
    """Without noise, the rows of neighbours under add-remove differ in one row, which is null in one of them."""
    table = people(200)
    options: dict[str, Any] = {"neighbours": Neighbours.ADD_REMOVE, "capacity": 300, "randomness": SilentRandomness()}
    one = publish(table, STEADY, tmp_path / "one.release", **options)
    two = publish(table.slice(0, 199), STEADY, tmp_path / "two.release", **options)
    assert one.num_rows == two.num_rows == 300
    assert one.path.stat().st_size == two.path.stat().st_size
    ours, theirs = sorted_rows(steps(one)).tolist(), sorted_rows(steps(two)).tolist()
    assert ours.count([0] * len(ours[0])) == 100
    assert theirs.count([0] * len(ours[0])) == 101


@pytest.mark.parametrize("neighbours", Neighbours)
def test_released_rows_are_the_encoded_records_in_another_order(neighbours: Neighbours, tmp_path: Path) -> None:
    table, schema = people(500), people_schema()
    capacity = 620 if neighbours.protects_count else None
    options: dict[str, Any] = {"neighbours": neighbours, "capacity": capacity, "run": SMALL}
    opened = publish(table, schema, tmp_path / "t.release", randomness=SilentRandomness(), **options)
    encoded = opened.codebook.encode(levels_of(table, opened.codebook))
    wanted = np.rint(encoded @ opened.directions / opened.manifest.mechanism.grid_step)
    padded = np.concatenate([wanted, np.zeros((opened.num_rows - 500, wanted.shape[1]))])
    apart = [np.abs(steps(opened) - row).max(axis=1).min() for row in padded]  # rounding may change the order of two
    assert max(apart) <= 1
    assert np.abs(padded - steps(opened)).max() > 1
    assert opened.num_rows == (capacity or 500)


@pytest.mark.parametrize("extra", [{}, {"subsample": 0.4}, {"neighbours": Neighbours.ADD_REMOVE, "capacity": 900}])
def test_no_noise_is_ever_used_twice(extra: dict, tmp_path: Path) -> None:
    randomness = FixedRandomness()
    publish(people(700), people_schema(), tmp_path / "t.release", randomness=randomness, run=SMALL, **extra)
    assert len([label for label in randomness.asked if label[0] == "noise"]) > 3
    assert len(set(randomness.asked)) == len(randomness.asked)


def test_work_settings_do_not_change_what_is_released(tmp_path: Path) -> None:
    """Without noise, blocks, pieces, bins and threads decide the order of the rows and nothing else."""
    table, schema = people(700), people_schema()
    one = publish(table, schema, tmp_path / "one.release", randomness=SilentRandomness(), run=SMALL)
    two = publish(table, schema, tmp_path / "two.release", randomness=SilentRandomness(), run=RunSettings(threads=1))
    assert (sorted_rows(steps(one)) == sorted_rows(steps(two))).all()


def test_subsample_is_padded_to_a_public_size(tmp_path: Path) -> None:
    table, schema = people(600), people_schema()
    sizes, shown = set(), []
    for seed in range(8):
        opened = publish(
            table, schema, tmp_path / f"{seed}.release", randomness=SilentRandomness(seed), subsample=0.3, run=SMALL
        )
        sizes.add(opened.num_rows)
        shown.append(int((np.abs(steps(opened)).max(axis=1) > 0).sum()))
    assert len(sizes) == 1
    assert 180 < sizes.pop() < 600
    assert len(set(shown)) > 1
    assert abs(np.mean(shown) - 180) < 5 * math.sqrt(600 * 0.3 * 0.7 / 8)
    assert opened.null_share == pytest.approx(1 - 180 / opened.num_rows)


def test_injected_randomness_is_marked_everywhere(tmp_path: Path) -> None:
    opened = publish(people(), people_schema(), tmp_path / "t.release")
    assert opened.manifest.promise.private is False
    assert "NOT PRIVATE" in " ".join(promise_in_words(opened))
    assert summary(opened)["promise"]["private"] is False
    assert b'private\\":false' in opened.path.read_bytes()

    class Disguised(SystemRandomness):
        """A subclass could do anything: it counts as injected too."""

    disguised = publish(people(), people_schema(), tmp_path / "d.release", randomness=Disguised())
    assert disguised.manifest.promise.private is False


def test_a_release_of_its_own_randomness_is_private_and_never_the_same(tmp_path: Path) -> None:
    table, schema = people(), people_schema()
    one, two = (release(table, schema, epsilon=3.0, delta=1e-5, kind="records", anyway=True) for _ in range(2))
    assert one.manifest.promise.private
    assert "NOT PRIVATE" not in " ".join(promise_in_words(one))
    assert not np.allclose(one.directions[:2, :2], two.directions[:2, :2])


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("extra", [{}, {"subsample": 0.5}, {"directions": DirectionKind.GAUSSIAN}, {"num_slices": 7}])
def test_the_whole_release_keeps_its_promise(neighbours: Neighbours, extra: dict, tmp_path: Path) -> None:
    """Profile, slices and all failures together, recomputed from the file by the exact accountant."""
    capacity = 500 if neighbours.protects_count else None
    options = {"neighbours": neighbours, "capacity": capacity, **extra}
    opened = publish(people(), people_schema(), tmp_path / "t.release", epsilon=2.0, delta=1e-6, **options)
    events = opened.manifest.promise.events
    assert delta(events, 2.0) <= 1e-6
    assert delta(events, 2.0) > 0.98e-6
    assert epsilon(events, 1e-6) <= 2.0
    scales = [code.noise_scale for code in opened.codebook.codes]
    changed = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    assert sum(changed / scale**2 for scale in scales) <= events[0].mu ** 2 * (1 + 1e-9)  # type: ignore[union-attr]


@pytest.mark.parametrize("accountant", [Accountant.RENYI, Accountant.THEOREM1])
def test_other_accountants_never_add_less_noise(accountant: Accountant, tmp_path: Path) -> None:
    options: dict[str, Any] = {"directions": DirectionKind.GAUSSIAN, "epsilon": 2.0}
    exact = publish(people(), people_schema(), tmp_path / "e.release", **options)
    other = publish(people(), people_schema(), tmp_path / "o.release", accountant=accountant, **options)
    assert other.noise_scale >= exact.noise_scale
    assert epsilon(other.manifest.promise.events, 1e-5, accountant) <= 2.0


# The ledger


def test_the_whole_promise_is_reserved_before_the_first_row_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    seen: list[tuple[str, list[str]]] = []

    def watch(purpose: str, block: int) -> None:
        seen.append((purpose, [entry.status for entry in Ledger(path).entries("people")]))

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        watch("rows", 0)
        yield from open_table(people()).stream(columns)

    rows = people()
    table = PrivateTable(origin="watched", types=open_table(rows).types, num_rows=rows.num_rows, stream=stream)
    publish(table, people_schema(), tmp_path / "t.release", randomness=WatchedRandomness(watch), ledger=Ledger(path))
    assert {purpose for purpose, _ in seen} >= {"rows", "profile", "directions", "noise", "shuffle"}
    assert all(statuses == ["reserved"] for _, statuses in seen)
    (entry,) = Ledger(path).entries()
    assert (entry.status, entry.purpose) == ("released", "release of records")
    assert entry.artefact == Release.load(tmp_path / "t.release").fingerprint
    assert Ledger(path).spent("people", delta=1e-5) == pytest.approx(5.0, rel=1e-5)


@pytest.mark.parametrize("crash_at", ["profile", "noise", "shuffle"])
def test_a_crash_leaves_what_was_reserved_counted_and_no_file(crash_at: str, tmp_path: Path) -> None:
    def watch(purpose: str, block: int) -> None:
        if purpose == crash_at:
            raise RuntimeError("power cut")

    ledger = Ledger(tmp_path / "ledger.json")
    with pytest.raises(RuntimeError, match="power cut") as raised:
        publish(people(), people_schema(), tmp_path / "t.release", randomness=WatchedRandomness(watch), ledger=ledger)
    assert "stays charged" in raised.value.__notes__[0]
    again = Ledger(tmp_path / "ledger.json")
    assert [entry.status for entry in again.entries()] == ["reserved"]
    assert again.spent("people", delta=1e-5) == pytest.approx(5.0, rel=1e-5)
    assert [path.name for path in tmp_path.iterdir() if "ledger" not in path.name] == []


def test_an_overspent_budget_refuses_before_anything_is_drawn_or_written(tmp_path: Path) -> None:
    ledger, randomness = Ledger(tmp_path / "ledger.json"), FixedRandomness()
    ledger.set_budget("people", epsilon=4.9, delta=1e-5)
    before = (tmp_path / "ledger.json").read_bytes()
    with pytest.raises(BudgetError, match="nothing was spent"):
        publish(people(), people_schema(), tmp_path / "t.release", ledger=ledger, randomness=randomness)
    assert randomness.asked == []
    assert (tmp_path / "ledger.json").read_bytes() == before
    assert not (tmp_path / "t.release").exists()


def test_a_budget_of_exactly_one_release_allows_exactly_one(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.set_budget("people", epsilon=5.0, delta=1e-5)
    publish(people(), people_schema(), tmp_path / "one.release", ledger=ledger)
    with pytest.raises(BudgetError):
        publish(people(), people_schema(), tmp_path / "two.release", ledger=ledger, epsilon=0.1)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("extra", [{}, {"directions": DirectionKind.GAUSSIAN}, {"subsample": 0.25}, {"num_slices": 5}])
def test_a_second_release_is_made_whole_or_not_at_all(extra: dict, tmp_path: Path) -> None:
    """Asking for about what the ledger says is left must never spend the profile and then refuse the slices."""
    ledger = Ledger()
    ledger.set_budget("people", epsilon=6.0, delta=1e-5)
    publish(people(), people_schema(), tmp_path / "one.release", ledger=ledger, epsilon=3.0, **extra)
    left = ledger.remaining("people")
    assert left is not None
    for attempt, share in enumerate((1.02, 1.0, 0.999, 0.98)):
        before = len(ledger.entries())
        try:
            publish(
                people(),
                people_schema(),
                tmp_path / f"{attempt}.release",
                ledger=ledger,
                epsilon=share * left.epsilon,
                **extra,
            )
        except BudgetError:
            assert len(ledger.entries()) == before
        else:
            assert len(ledger.entries()) == before + 1
            assert ledger.spent("people", delta=1e-5) <= 6.0
            return
    raise AssertionError("nearly what is left was refused")


def test_mixed_relations_under_a_budget_are_refused(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.set_budget("people", epsilon=9.0, delta=1e-5)
    publish(people(), people_schema(), tmp_path / "one.release", ledger=ledger, epsilon=1.0)
    with pytest.raises(BudgetError, match="neighbouring relation"):
        publish(
            people(),
            people_schema(),
            tmp_path / "two.release",
            ledger=ledger,
            epsilon=1.0,
            neighbours=Neighbours.REPLACE_ONE,
        )
    assert len(ledger.entries()) == 1


# Nobody else reads rows


def innermost_of_ours(frame: FrameType | None) -> Path | None:
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if PACKAGE in path.parents:
            return path.relative_to(PACKAGE)
        frame = frame.f_back
    return None


WRITTEN_FORMS = {"schema/dialect.py", "schema/sheet.py", "schema/notation.py", "schema/time_format.py"}
"""How files and values are written, which reports read in the same way. They belong to the first tier of the core."""


def may_see_rows(file: Path) -> bool:
    return file.parts[0] == "private" or file.as_posix() in WRITTEN_FORMS


class RowsReadElsewhere(AssertionError):
    pass


def guarded(table: PrivateTable) -> PrivateTable:
    """A table whose rows can be pulled by ``microtome/private`` only."""

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        for batch in table.stream(columns):
            reader = innermost_of_ours(sys._getframe(1))
            if reader is None or not may_see_rows(reader):
                raise RowsReadElsewhere(f"rows were read by {reader}")
            yield batch

    return PrivateTable(origin="guarded", types=table.types, num_rows=table.num_rows, stream=stream)


def watch_arguments(frame: FrameType, event: str, argument: Any) -> None:
    """A profiling hook: no function of ours outside ``private`` may be handed Arrow data."""
    if event != "call":
        return
    path = Path(frame.f_code.co_filename)
    if PACKAGE not in path.parents or may_see_rows(path.relative_to(PACKAGE)):
        return
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    for name in names:
        if isinstance(frame.f_locals.get(name), pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
            raise RowsReadElsewhere(f"{path.name}:{frame.f_code.co_name} was handed rows as {name!r}")


@pytest.fixture
def watched() -> Iterator[None]:
    threading.setprofile(watch_arguments)
    sys.setprofile(watch_arguments)
    yield
    sys.setprofile(None)
    threading.setprofile(None)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("extra", [{}, {"subsample": 0.5}])
def test_rows_are_read_inside_private_only(extra: dict, tmp_path: Path) -> None:
    opened = publish(guarded(open_table(people())), people_schema(), tmp_path / "t.release", run=SMALL, **extra)
    summary(opened)


@pytest.mark.usefixtures("watched")
def test_files_are_opened_inside_private_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    pacsv.write_csv(people(), path)
    open_csv, readers = pacsv.open_csv, []

    def watch(*arguments: Any, **options: Any) -> Any:
        readers.append(innermost_of_ours(sys._getframe(1)))
        return open_csv(*arguments, **options)

    monkeypatch.setattr(pacsv, "open_csv", watch)
    publish(path, people_schema(), tmp_path / "t.release")
    assert len(readers) >= 2
    assert all(reader is not None and may_see_rows(reader) for reader in readers)


def test_the_guard_catches_readers_elsewhere() -> None:
    table = guarded(open_table(people(5)))
    with pytest.raises(RowsReadElsewhere):
        next(table.stream(people_schema().columns))
    code = compile(
        "def peek(table, columns):\n    return next(table.stream(columns))", str(PACKAGE / "published/x.py"), "exec"
    )
    names: dict[str, Any] = {}
    exec(code, names)
    with pytest.raises(RowsReadElsewhere, match=r"published.x\.py"):
        names["peek"](table, people_schema().columns)


@pytest.mark.usefixtures("watched")
def test_the_watch_catches_rows_handed_elsewhere() -> None:
    code = compile("def peek(rows):\n    return rows", str(PACKAGE / "published" / "x.py"), "exec")
    names: dict[str, Any] = {}
    exec(code, names)
    with pytest.raises(RowsReadElsewhere, match="peek"):
        names["peek"](pa.array([1]))


# What is refused, and what it leaves behind


def refused(error: type[Exception], message: str, folder: Path, source: Any, schema: Schema, **settings: Any) -> None:
    ledger, randomness = Ledger(), FixedRandomness()
    with pytest.raises(error, match=message):
        publish(source, schema, folder / "t.release", ledger=ledger, randomness=randomness, **settings)
    assert ledger.entries() == []
    assert randomness.asked == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("num_rows", "settings", "error", "message"),
    [
        (0, {}, TableError, "no rows"),
        (1, {}, TableError, "only one row"),
        (400, {"delta": 1 / 400}, ParameterError, "1/400"),
        (400, {"delta": 0.5}, ParameterError, "0.5"),
        (400, {"neighbours": Neighbours.ADD_REMOVE, "capacity": 399}, TableError, "capacity of 399"),
        (400, {"neighbours": Neighbours.ADD_REMOVE, "capacity": 500_000, "delta": 1e-5}, ParameterError, "1/500000"),
    ],
)
def test_bad_sizes_spend_nothing(
    num_rows: int, settings: dict, error: type[Exception], message: str, tmp_path: Path
) -> None:
    refused(error, message, tmp_path, people(400).slice(0, num_rows), people_schema(), **settings)


def test_a_large_delta_is_taken_if_insisted_on(tmp_path: Path) -> None:
    opened = publish(people(), people_schema(), tmp_path / "t.release", delta=0.01, allow_large_delta=True)
    assert opened.manifest.promise.delta == 0.01


def test_too_large_a_table_does_not_say_how_large(tmp_path: Path) -> None:
    with pytest.raises(TableError) as error:
        publish(people(413), people_schema(), tmp_path / "t.release", neighbours=Neighbours.ADD_REMOVE, capacity=400)
    assert "413" not in str(error.value)


def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    lengths = iter([300, 300, 301])

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        yield from people(400).slice(0, next(lengths)).select([column.name for column in columns]).to_batches()

    source = PrivateTable(origin="t", types=open_table(people()).types, num_rows=None, stream=stream)
    with pytest.raises(TableError, match="changed while it was read"):
        publish(source, people_schema(), tmp_path / "t.release")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"epsilon": 0.0}, "0.0"),
        ({"epsilon": -1.0}, "-1.0"),
        ({"epsilon": math.nan}, "nan"),
        ({"epsilon": math.inf}, "inf"),
        ({"delta": 0.0}, "0.0"),
        ({"delta": 1.0}, "1.0"),
        ({"delta": math.nan}, "nan"),
        ({"profile_share": 0.0}, "profile_share"),
        ({"profile_share": 1.0}, "profile_share"),
        ({"num_slices": 0}, "num_slices"),
        ({"slice_dim": 0}, "slice_dim"),
        ({"subsample": 0.0}, "subsample"),
        ({"subsample": 1.0}, "subsample"),
        ({"neighbours": Neighbours.ADD_REMOVE}, "capacity"),
        ({"capacity": 50}, "capacity"),
        ({"neighbours": Neighbours.ADD_REMOVE, "capacity": 1}, "capacity"),
        ({"directions": DirectionKind.FIXED}, "fixed"),
        ({"accountant": Accountant.PROP3}, "prop3"),
        ({"accountant": Accountant.THEOREM1}, "theorem1"),
    ],
)
def test_settings_out_of_range_are_refused_by_name_and_value(settings: dict, value: str) -> None:
    with pytest.raises(ParameterError) as error:
        PrivacySettings(**{"epsilon": 1.0, "delta": 1e-6, "kind": "records", **settings})
    assert next(iter(settings)) in str(error.value) or value in str(error.value)
    assert value in str(error.value)


def test_unknown_options_list_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="neighbours is 'friends'; it must be one of blank-one"):
        release(people(), people_schema(), epsilon=1.0, delta=1e-6, neighbours="friends")
    with pytest.raises(ParameterError, match="threads is 0"):
        RunSettings(threads=0)


# Output


def test_output_is_checked_before_a_row_is_read(tmp_path: Path) -> None:
    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        raise AssertionError("a row was read")

    source = PrivateTable(origin="t", types=open_table(people()).types, num_rows=300, stream=stream)
    (tmp_path / "there").write_text("precious")
    for output, message in (
        (tmp_path / "there", "exists"),
        (tmp_path / "absent" / "t.release", "not a directory"),
        (tmp_path, "directory"),
    ):
        with pytest.raises(OutputError, match=message):
            publish(source, people_schema(), output)
    with pytest.raises(OutputError, match="directory"):
        publish(source, people_schema(), tmp_path, run=RunSettings(force=True))
    assert (tmp_path / "there").read_text() == "precious"


def test_force_replaces_the_output_only_when_it_is_complete(tmp_path: Path) -> None:
    output = tmp_path / "t.release"
    output.write_text("precious")

    def watch(purpose: str, block: int) -> None:
        assert output.read_text() == "precious"

    run = RunSettings(force=True)
    publish(people(), people_schema(), output, run=run, randomness=WatchedRandomness(watch))
    assert Release.load(output).num_rows == 400


@pytest.mark.parametrize("stage", ["search", "profile", "slices"])
def test_an_interruption_leaves_nothing_behind(stage: str, tmp_path: Path) -> None:
    def interrupt(at: str, done: int, total: int | None) -> None:
        if at == stage and done > 100:
            raise KeyboardInterrupt

    ledger = Ledger()
    run = RunSettings(threads=2, block_entries=1 << 12, progress=interrupt)
    with pytest.raises(KeyboardInterrupt) as raised:
        publish(people(), people_schema(), tmp_path / "t.release", run=run, ledger=ledger)
    assert list(tmp_path.iterdir()) == []
    early = stage == "search"
    assert [entry.status for entry in ledger.entries()] == ["cancelled" if early else "reserved"]
    assert (ledger.spent("people", delta=1e-5) == 0.0) is early
    assert ("Nothing was spent" if early else "stays charged") in raised.value.__notes__[0]


def test_what_the_table_is_refused_for_gives_the_reservation_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json")
    declared = people_schema(age={"bounds": (0, 5)})
    with pytest.raises(TableError, match="outside the declared bounds") as raised:
        publish(people(), declared, tmp_path / "t.release", ledger=ledger)
    assert raised.value.__notes__ == ["Nothing was spent, and no release was written."]
    assert ledger.spent("people", delta=1e-5) == 0.0
    assert [entry.status for entry in ledger.entries()] == ["cancelled"]


def test_an_interruption_of_a_declared_tables_profile_costs_nothing(tmp_path: Path) -> None:
    def interrupt(at: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    ledger, schema = Ledger(), Schema(columns=(people_schema()["age"],))
    with pytest.raises(KeyboardInterrupt):
        publish(people(), schema, tmp_path / "t.release", run=RunSettings(progress=interrupt), ledger=ledger)
    assert [entry.status for entry in ledger.entries()] == ["cancelled"]


def test_a_disk_too_small_for_what_will_be_written_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = publish(people(), people_schema(), tmp_path / "t.release").path.stat().st_size
    usage = SimpleNamespace(free=int(0.9 * whole))
    monkeypatch.setattr(shutil, "disk_usage", lambda directory: usage)
    ledger, randomness = Ledger(), FixedRandomness()
    with pytest.raises(OutputError, match="free"):
        publish(people(), people_schema(), tmp_path / "u.release", ledger=ledger, randomness=randomness)
    assert randomness.asked == []
    assert ledger.spent("people", delta=1e-5) == 0.0


def test_tables_that_do_not_fit_into_memory_are_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microtome.private.memory.available_memory", lambda: 10_000)
    ledger, randomness = Ledger(), FixedRandomness()
    with pytest.raises(TableError, match="GiB of memory"):
        publish(
            people(), people_schema(), tmp_path / "t.release", ledger=ledger, randomness=randomness, kind="aggregates"
        )
    assert randomness.asked == []
    assert ledger.spent("people", delta=1e-5) == 0.0


def test_a_ledger_that_cannot_be_closed_is_said_and_the_release_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Ledger, entry: str, *, artefact: str) -> None:
        raise OutputError("disk full")

    monkeypatch.setattr(Ledger, "settle", broken)
    with pytest.raises(OutputError, match="disk full") as raised:
        publish(people(), people_schema(), tmp_path / "t.release")
    assert "is written and whole" in raised.value.__notes__[0]
    assert Release.load(tmp_path / "t.release").num_rows == 400


def test_temporary_releases_go_with_their_object() -> None:
    opened = release(people(), people_schema(), epsilon=3.0, delta=1e-5, kind="records", anyway=True)
    folder = opened.path.parent
    assert opened.rows(0, 5).shape[0] == 5
    assert folder.exists()
    del opened
    assert not folder.exists()


def test_a_failed_temporary_release_leaves_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(TableError):
        release(people(1), people_schema(), epsilon=3.0, delta=1e-5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [lambda table: table.to_pandas(), lambda table: table])
def test_release_from_python_reads_like_the_documentation(make: Callable[[pa.Table], Any], tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(people_schema().to_yaml(), encoding="utf-8")
    ledger = tmp_path / "ledger.json"
    opened = mt.release(
        make(people()), tmp_path / "schema.yaml", epsilon=5, delta=1e-6, anyway=True, ledger=ledger, dataset="people"
    )
    assert opened.schema == people_schema()
    assert mt.Ledger(ledger).datasets() == ["people"]
    opened.save(tmp_path / "kept.release")
    kept = mt.Release.load(tmp_path / "kept.release")
    assert isinstance(kept, AggregatesRelease)
    assert kept.num_records == 400


def test_constant_and_single_columns_can_be_released(tmp_path: Path) -> None:
    constant = pa.table({"x": ["same"] * 50, "y": pa.array([3] * 50), "z": pa.array([None] * 50, pa.float64())})
    schema = Schema(
        columns=(
            Column(name="x", kind=Kind.CATEGORICAL, categories=("same",), missing=False),
            Column(name="y", kind=Kind.INTEGER),
            Column(name="z", kind=Kind.FLOAT),
        )
    )
    opened = publish(constant, schema, tmp_path / "t.release")
    assert opened.rows().shape[0] == 50
    single = Schema(columns=schema.columns[:1])
    assert publish(constant, single, tmp_path / "s.release").codebook.dim == 1
    assert round(opened.noise_scale / opened.manifest.mechanism.grid_step) == GRID


def test_the_output_never_replaces_the_table_or_its_ledger(tmp_path: Path) -> None:
    table, ledger = tmp_path / "people.parquet", tmp_path / "people.ledger.json"
    pq.write_table(people(50), table)
    before = table.read_bytes()
    for output in (table, tmp_path / "." / "people.parquet", ledger):
        with pytest.raises(OutputError, match="schema or ledger"):
            release(
                table, people_schema(), epsilon=1.0, delta=1e-4, output=output, ledger=ledger,
                run=RunSettings(force=True),
            )  # fmt: skip
    assert table.read_bytes() == before
    assert not ledger.exists()


def test_the_output_never_replaces_an_open_ledger_or_the_schema(tmp_path: Path) -> None:
    book, document = tmp_path / "book.json", tmp_path / "schema.yaml"
    ledger = Ledger(book)
    ledger.set_budget("table", epsilon=9.0, delta=1e-4)
    document.write_text(people_schema().to_yaml(), encoding="utf-8")
    for output in (book, document):
        with pytest.raises(OutputError, match="schema or ledger"):
            release(
                people(50), document, epsilon=1.0, delta=1e-4, output=output, ledger=ledger, run=RunSettings(force=True)
            )
    assert ledger.budget("table") is not None
    assert Schema.load(document) == people_schema()


@pytest.mark.parametrize("kind", ["records", "aggregates"])
def test_room_is_judged_by_public_facts_and_the_number_of_records(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked of the disk, and said if there is too little, tells nothing of the records."""
    asked: list[int] = []
    monkeypatch.setattr(table_source, "check_space", lambda directory, size: asked.append(size))
    for number, seed in enumerate((1, 2)):
        publish(people(400, seed), people_schema(), tmp_path / f"{number}.release", kind=ReleaseKind(kind))
    assert len(set(asked)) == 1
    assert asked[0] > (tmp_path / "0.release").stat().st_size
