"""Noisy rows that many machines make: the noise of a release made here, once for each record, in random order."""

import math
import pickle
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare, kstest

from microtome.accounting import Ledger
from microtome.errors import MicrotomeError, TableError
from microtome.private import RunSettings, SystemRandomness
from microtome.private.engines import shared_key, spark_rows
from microtome.private.engines.shared_key import handed_out, whole_key
from microtome.private.engines.spark_rows import RowTask, checked, committed, written_shards
from microtome.private.passes import Shard
from microtome.private.randomness import GRID, KeyedRandomness
from microtome.private.sliced_rows import levels_of
from microtome.published import RecordsRelease, Release
from microtome.published.shards import shard_name
from spark_here import Pieces, in_partitions, sent_by
from support import people, people_schema, publish

SMALL = RunSettings(threads=1, block_entries=1 << 12, bin_entries=1 << 12, force=True)
"""Blocks of 95 rows and shards of as many, so that there are several of each."""
KEY = KeyedRandomness(bytes(range(32)))


@pytest.fixture(scope="module", autouse=True)
def _shards_of_small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_rows, "_LEAST_PIECE", 8)
        yield


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[RecordsRelease, RowTask]:
    """A release of 700 people in three partitions, and what executors were told."""
    tasks: list[RowTask] = []

    def look(pieces: Pieces, task: RowTask, key: KeyedRandomness) -> Pieces:
        tasks.append(task)
        return pieces

    table = in_partitions(people(700), 250, between=look)
    made = publish(table, people_schema(), tmp_path_factory.mktemp("spark") / "town.release", run=SMALL)
    assert isinstance(made, RecordsRelease)
    return made, tasks[0]


def written(
    pieces: Pieces, folder: Path, task: RowTask, key: KeyedRandomness = KEY, attempt: int = 0
) -> list[dict[str, Any]]:
    ordered = sorted(pieces, key=lambda piece: (piece["shard"], piece["partition"], piece["block"]))
    batch = pa.RecordBatch.from_pylist(ordered)
    return [row for one in written_shards([batch], str(folder), task, key, attempt) for row in one.to_pylist()]


def test_every_record_has_a_row_and_the_release_reads_like_any_other(released: tuple[RecordsRelease, RowTask]) -> None:
    made, task = released
    assert made.rows().shape == (700, made.directions.shape[1])
    assert made.manifest.contents.shards is not None
    assert len(made.manifest.contents.shards) == task.num_shards > 1
    again = Release.load(made.path)
    assert isinstance(again, RecordsRelease)
    assert np.array_equal(again.rows(150, 420), made.rows()[150:420])


def test_the_noise_is_that_of_a_release_made_here(released: tuple[RecordsRelease, RowTask]) -> None:
    """In steps of the grid, of standard deviation 256: the right scale is accepted, 0.7 and 1.4 times it are not."""
    _, told = released
    task = replace(told, num_shards=1)
    table = people(2000, seed=3)
    pieces = sent_by([table.slice(0, 900), table.slice(900)], 0, task, KEY)
    noisy = np.concatenate([np.frombuffer(piece["rows"], np.int16) for piece in pieces])
    bare = task.noisy(KEY).slicing.project(task.codebook.encode(levels_of(table.combine_chunks(), task.codebook)))
    noise = noisy.reshape(bare.shape) / GRID - bare / task.noise_scale
    assert kstest(noise.ravel(), "norm").pvalue > 1e-3
    for wrong in (0.7, 1.4):
        assert kstest(noise.ravel() * wrong, "norm").pvalue < 1e-9


def test_a_task_that_is_run_again_repeats_itself(released: tuple[RecordsRelease, RowTask], tmp_path: Path) -> None:
    _, task = released
    parts = [people(300).slice(0, 120), people(300).slice(120)]
    first, second = (sent_by(parts, 30, task, KEY) for _ in range(2))
    assert first == second
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    told = [written(first, tmp_path / "one", task), written(list(reversed(second)), tmp_path / "two", task)]
    assert told[0] == told[1]
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == task.num_shards
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_a_late_attempt_changes_no_shard_that_was_taken(
    released: tuple[RecordsRelease, RowTask], tmp_path: Path
) -> None:
    """The frame gave other records to the attempt that came second, before and after the first one's was taken."""
    _, task = released
    first, second = (sent_by([people(300, seed=seed)], 0, task, KEY) for seed in (0, 1))
    taken = written(first, tmp_path, task, attempt=4)
    late = written(second, tmp_path, task, attempt=7)
    assert taken[0]["digest"] != late[0]["digest"]
    shards = committed(taken, task.num_shards, 300, tmp_path)
    names = [shard_name(number) for number in range(task.num_shards)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    before = [(tmp_path / name).read_bytes() for name in names]
    written(second, tmp_path, task, attempt=9)
    assert [(tmp_path / name).read_bytes() for name in names] == before
    assert [shard.digest for shard in shards] == [one["digest"] for one in taken]


def test_no_two_rows_share_their_noise(released: tuple[RecordsRelease, RowTask]) -> None:
    """The same record everywhere: rows that were alike would have the same noise."""
    _, task = released
    same = people(1).take(pa.array([0] * 400))
    pieces = sent_by([same.slice(0, 200), same.slice(200)], 150, task, KEY)
    pieces += sent_by([same.slice(0, 200)], 0, task, KeyedRandomness(bytes(32)))
    rows = np.concatenate([np.frombuffer(piece["rows"], np.int16) for piece in pieces]).reshape(750, -1)
    assert len(np.unique(rows, axis=0)) == 750


def test_null_rows_pad_to_the_capacity(tmp_path: Path) -> None:
    table = in_partitions(people(300), 120)
    made = publish(
        table, people_schema(), tmp_path / "t.release", run=SMALL, neighbours="add-remove", capacity=500, epsilon=1e3
    )
    assert isinstance(made, RecordsRelease)
    assert made.rows().shape[0] == 500
    near_zero = np.sum(made.encoded_rows() ** 2, axis=1) < 0.5
    assert near_zero.sum() == 200


def test_rows_are_those_of_the_records(tmp_path: Path) -> None:
    """With next to no noise every row is next to its record, and every record has one."""
    table = people(300)
    made = publish(in_partitions(table, 110), people_schema(), tmp_path / "there", epsilon=1000.0, run=SMALL)
    assert isinstance(made, RecordsRelease)
    levels = levels_of(table.combine_chunks(), made.codebook)
    bare = made.codebook.encode(levels)
    nearest = [int(np.argmin(((bare - row) ** 2).sum(axis=1))) for row in made.encoded_rows()]
    assert Counter(map(tuple, levels[nearest].tolist())) == Counter(map(tuple, levels.tolist()))


def test_rows_are_in_random_order(
    released: tuple[RecordsRelease, RowTask], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Three records, two shards: all six orders are alike, over keys; without the permutation they are not."""
    shards: list[np.ndarray] = []
    monkeypatch.setattr(spark_rows, "write_shard", lambda place, rows: shards.append(rows) or "")
    task, table = replace(released[1], num_shards=2, noise_scale=0.02), people(50)
    three = table.take(pa.array([table["town"].to_pylist().index(town) for town in ("Bern", "Köln", "Åbo")]))
    bare = task.noisy(KEY).slicing.project(task.codebook.encode(levels_of(three.combine_chunks(), task.codebook)))

    def order(rows: np.ndarray) -> tuple[int, ...]:
        steps = rows.reshape(-1, bare.shape[1])
        return tuple(int(np.argmin(np.abs(bare / task.noise_scale * GRID - row).sum(axis=1))) for row in steps)

    shuffled, dealt = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for number in range(300):
        key = KeyedRandomness(number.to_bytes(32, "little"))
        pieces = sent_by([three], 0, task, key)
        dealt[order(np.concatenate([np.frombuffer(piece["rows"], np.int16) for piece in pieces]))] += 1
        shards.clear()
        written(pieces, tmp_path, task, key)
        shuffled[order(np.concatenate(shards))] += 1
    assert len(shuffled) == math.factorial(3)
    assert chisquare(list(shuffled.values())).pvalue > 1e-3
    assert chisquare([dealt[one] for one in shuffled]).pvalue < 1e-9


def in_another_order(pieces: Pieces, task: RowTask, key: KeyedRandomness) -> Pieces:
    """Partition 1 is lost after shard 0 had it, and run again on rows in another order for the others."""
    table = people(700).slice(250, 250)
    again = sent_by([people(0), table.take(pa.array(range(249, -1, -1)))], 0, task, key)
    kept = [piece for piece in pieces if piece["partition"] != 1 or piece["shard"] == 0]
    return kept + [piece for piece in again if piece["partition"] == 1 and piece["shard"] != 0]


def with_one_more(pieces: Pieces, task: RowTask, key: KeyedRandomness) -> Pieces:
    return pieces + sent_by([people(0)] * 3 + [people(1)], 0, task, key)


def twice(pieces: Pieces, task: RowTask, key: KeyedRandomness) -> Pieces:
    return pieces + [piece for piece in pieces if piece["partition"] == 2]


def without_a_shard(pieces: Pieces, task: RowTask, key: KeyedRandomness) -> Pieces:
    return [piece for piece in pieces if piece["shard"] != 2]


def with_a_wrong_value(pieces: Pieces, task: RowTask, key: KeyedRandomness) -> Pieces:
    wrong = people(5).set_column(3, "age", pa.array([700] * 5))
    return pieces + sent_by([people(0)] * 3 + [wrong], 0, task, key)


@pytest.mark.parametrize(
    ("between", "told"),
    [
        (in_another_order, "in another order, when a task was run again"),
        (with_one_more, "changed while it was read"),
        (twice, "sent a block twice"),
        (without_a_shard, "not written every shard once"),
        (with_a_wrong_value, "column 'age': value 700"),
    ],
)
def test_what_is_not_one_set_of_all_rows_is_refused_and_stays_charged(between: Any, told: str, tmp_path: Path) -> None:
    book, output = Ledger(tmp_path / "book.json"), tmp_path / "no.release"
    with pytest.raises(MicrotomeError, match=told) as raised:
        publish(in_partitions(people(700), 250, between=between), people_schema(), output, run=SMALL, ledger=book)
    assert "stays charged in the ledger" in "".join(raised.value.__notes__)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.json", "book.json.lock"]
    assert book.account("people", delta=1e-5).spent > 0


def test_shards_that_saw_different_blocks_are_refused() -> None:
    one = {"shard": 0, "rows": 2, "digest": "a", "seen": b"x", "file": "f", "problem": None}
    assert checked([one], 1, 2) == [Shard(num_rows=2, digest="a")]
    with pytest.raises(TableError, match="another order"):
        checked([one, {**one, "shard": 1, "seen": b"y"}], 2, 4)


def test_a_frame_cannot_be_sampled_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="leave subsample out"):
        publish(in_partitions(people(300), 100), people_schema(), tmp_path / "no", subsample=0.5)


@pytest.mark.parametrize("source", [SystemRandomness(), KEY], ids=["system", "key"])
def test_a_secret_is_not_written_down(source: KeyedRandomness) -> None:
    with pytest.raises(MicrotomeError, match="not written down"):
        pickle.dumps(source)
    secret = source.require_secret()
    assert secret.hex() not in repr(source)
    assert source.subkey("rows") != source.subkey("other")
    assert secret not in source.subkey("rows")


def test_a_key_is_had_by_whoever_has_half_of_it_and_by_nobody_else() -> None:
    key = bytes(range(32))
    with handed_out(key, "127.0.0.1") as (half, port):
        with handed_out(key, "127.0.0.1") as (other, _):
            assert half != other, "halves are drawn anew"
        assert whole_key(half, "127.0.0.1", port) == key
        with pytest.raises(MicrotomeError, match="does not give the key"):
            whole_key(bytes(32), "127.0.0.1", port)
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(32))
            assert asking.recv(100) == b""
        assert whole_key(half, "127.0.0.1", port) == key
    with pytest.raises(MicrotomeError, match="cannot reach the driver"):
        whole_key(half, "127.0.0.1", port)


def test_what_is_sent_tells_nothing_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The half that travels is drawn by the system, whatever the key is; the other is their difference."""
    monkeypatch.setattr(shared_key.secrets, "token_bytes", lambda size: bytes([7] * size))
    for key in (bytes(32), bytes(range(32))):
        with handed_out(key, "127.0.0.1") as (half, _):
            assert half == bytes([7] * 32)
