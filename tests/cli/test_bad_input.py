"""Bad input through the command: a clear message, a code that is not 0, nothing written, nothing spent."""

import errno
import fcntl
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from cli_support import Command, Desk

from microtome.accounting import Ledger
from microtome.published import Release, ReleaseKind, container
from support import people, people_schema

EXPLAINED, USAGE, INTERRUPTED = 1, 2, 130


def refused(microtome: Command, desk: Desk, *said: str, code: int = EXPLAINED, **changes: object) -> None:
    outcome = microtome("release", *desk.arguments(**changes))
    assert outcome.code == code
    words = " ".join(outcome.err.split())
    for part in said:
        assert part in words, words
    assert "Traceback" not in outcome.err
    if code == EXPLAINED:
        assert any(line.startswith("error: ") for line in outcome.err.splitlines())
        assert outcome.out == ""
    nothing_is_spent(desk)


def nothing_is_spent(desk: Desk) -> None:
    """No file is left, and no book but one in which nothing counts."""
    assert set(desk.left_behind()) <= {"people.csv.ledger.json", "people.csv.ledger.json.lock"}
    if desk.ledger.exists():
        assert [entry.status for entry in Ledger(desk.ledger).entries()] == ["cancelled"]
        assert Ledger(desk.ledger).spent("people.csv", delta=1e-6) == 0.0


def rewrite(desk: Desk, **columns: Any) -> None:
    table = people()
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pacsv.write_csv(table, desk.table)


def redeclare(desk: Desk, **changes: dict[str, Any]) -> None:
    desk.schema.write_text(people_schema(**changes).to_yaml(), encoding="utf-8")


def test_it_works_when_nothing_is_wrong(microtome: Command, desk: Desk) -> None:
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == 0
    assert {line.partition(":")[2] for line in outcome.err.splitlines()} == {" 400 of 400 rows"}
    assert outcome.err.endswith("slices: 400 of 400 rows\n")
    assert "differentially private" in outcome.out
    assert desk.left_behind() == ["people.csv.ledger.json", "people.csv.ledger.json.lock", "people.release"]
    assert Release.load(desk.output).manifest.promise.private


def test_aggregates_are_what_is_released_by_default(microtome: Command, desk: Desk) -> None:
    given = ["--schema", desk.schema, "--epsilon", 5, "--output", desk.output]
    assert microtome("release", desk.table, *given).code == 0
    assert Release.load(desk.output).manifest.kind is ReleaseKind.AGGREGATES
    outcome = microtome("release", desk.table, *given, "--subsample", 0.5, "--force")
    assert outcome.code == EXPLAINED
    assert "subsample is for records" in outcome.err
    assert "kind records" in outcome.err


def test_missing_table(microtome: Command, desk: Desk) -> None:
    desk.table.unlink()
    refused(microtome, desk, str(desk.table), "no such file")


def test_missing_schema(microtome: Command, desk: Desk) -> None:
    desk.schema.unlink()
    refused(microtome, desk, str(desk.schema), "no such file", "schema draft")


@pytest.mark.parametrize(("lines", "said"), [(0, "the file is empty"), (1, "no rows"), (2, "only one row")])
def test_empty_and_tiny_tables(lines: int, said: str, microtome: Command, desk: Desk) -> None:
    text = desk.table.read_text().splitlines(keepends=True)
    desk.table.write_text("".join(text[:lines]))
    refused(microtome, desk, str(desk.table), said)


def test_unknown_column(microtome: Command, desk: Desk) -> None:
    desk.table.write_text(desk.table.read_text().replace('"income"', '"wage"', 1))
    refused(microtome, desk, "'income'", "wage")


def test_category_outside_the_declared(microtome: Command, desk: Desk) -> None:
    rewrite(desk, grade=["low"] * 399 + ["sky-high"])
    refused(microtome, desk, "'grade'", "'sky-high'", "clamp")
    redeclare(desk, grade={"outside": "clamp"})
    assert microtome("release", *desk.arguments()).code == 0


def test_value_outside_the_bounds(microtome: Command, desk: Desk) -> None:
    rewrite(desk, age=[33] * 399 + [121])
    refused(microtome, desk, "'age'", "121", "[0, 120]", "clamp")
    redeclare(desk, age={"outside": "clamp"})
    assert microtome("release", *desk.arguments()).code == 0
    code = Release.load(desk.output).codebook.codes[3]
    assert code.column.bounds == (0, 120)


def test_date_outside_the_bounds(microtome: Command, desk: Desk) -> None:
    desk.table.write_text(desk.table.read_text().replace("2021-0", "1921-0", 1))
    refused(microtome, desk, "'joined'", "1921-0", "2020-01-01")


@pytest.mark.parametrize("bad", ["inf", "-inf"])
def test_infinite_values(bad: str, microtome: Command, desk: Desk) -> None:
    rewrite(desk, income=["1.5"] * 399 + [bad])
    refused(microtome, desk, "'income'", bad, "finite")


def test_missing_values_where_none_are_declared(microtome: Command, desk: Desk) -> None:
    rewrite(desk, income=["1.5"] * 399 + ["nan"])
    redeclare(desk, income={"missing": False})
    refused(microtome, desk, "'income'", "NaN", "missing: never")


def test_mixed_types(microtome: Command, desk: Desk) -> None:
    rewrite(desk, income=["1.5"] * 399 + ["lots"])
    refused(microtome, desk, "column 'income', line 401", "'lots' is not a number", "codes: ['lots']")


def test_mixed_types_in_parquet(microtome: Command, desk: Desk) -> None:
    table = people()
    table = table.set_column(3, "age", pa.array(["33"] * 399 + ["old"]))
    path = desk.folder / "people.parquet"
    pq.write_table(table, path)
    desk.table.unlink()
    outcome = microtome("release", *Desk(desk.folder, path, desk.schema, desk.output).arguments())
    assert outcome.code == EXPLAINED
    said = " ".join(outcome.err.split())
    assert "column 'age'" in said
    assert "'old' is not a whole number" in said
    assert "codes: ['old']" in said
    assert not desk.output.exists()
    assert Ledger(desk.folder / "people.parquet.ledger.json").spent("people.parquet", delta=1e-6) == 0.0


def test_repeated_column_names(microtome: Command, desk: Desk) -> None:
    desk.table.write_text(desk.table.read_text().replace('"income"', '"age"', 1))
    refused(microtome, desk, "'age'", "twice")


def test_truncated_gzip(microtome: Command, desk: Desk) -> None:
    path = desk.folder / "people.csv.gz"
    path.write_bytes(gzip.compress(desk.table.read_bytes())[:-2000])
    outcome = microtome("release", *Desk(desk.folder, path, desk.schema, desk.output).arguments())
    assert outcome.code == EXPLAINED
    assert str(path) in outcome.err
    assert desk.left_behind() == ["people.csv.gz"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon": 0}, ("epsilon", "0.0")),
        ({"epsilon": -1}, ("epsilon", "-1.0")),
        ({"epsilon": "nan"}, ("epsilon", "nan")),
        ({"delta": 0}, ("delta", "0.0")),
        ({"delta": 1}, ("delta", "1.0")),
        ({"delta": -1e-6}, ("delta", "-1e-06")),
        ({"delta": 0.0025}, ("delta", "0.0025", "1/400", "--allow-large-delta")),
        ({"profile_share": 1}, ("profile_share", "1.0")),
        ({"subsample": 1.5}, ("subsample", "1.5")),
        ({"slice_dim": 0}, ("slice_dim", "0")),
        ({"num_slices": -3}, ("num_slices", "-3")),
        ({"threads": 0}, ("threads", "0")),
        ({"neighbours": "add-remove"}, ("capacity",)),
        ({"neighbours": "add-remove", "capacity": 399}, ("399",)),
        ({"capacity": 500}, ("capacity", "blank-one")),
        ({"kind": "aggregates", "slice_dim": 2}, ("slice_dim", "records")),
        ({"kind": "aggregates", "pivot": "nobody"}, ("nobody", "not a column")),
        ({"pivot": "town"}, ("pivot", "aggregates")),
        ({"accountant": "theorem1"}, ("theorem1", "gaussian")),
    ],
)
def test_parameters_out_of_range(changes: dict, said: tuple[str, ...], microtome: Command, desk: Desk) -> None:
    refused(microtome, desk, *said, **changes)


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": "much"}, {"neighbours": "friends"}, {"directions": "fixed"}, {"accountant": "prop3"}, {"bogus": 1}],
)
def test_wrong_usage(changes: dict, microtome: Command, desk: Desk) -> None:
    refused(microtome, desk, f"--{next(iter(changes))}", code=USAGE, **changes)


def test_a_large_delta_may_be_insisted_on(microtome: Command, desk: Desk) -> None:
    assert microtome("release", *desk.arguments(delta=0.0025, allow_large_delta=True)).code == 0


def test_overspent_ledger(microtome: Command, desk: Desk) -> None:
    assert microtome("ledger", "set-budget", desk.ledger, "people.csv", "--epsilon", 4, "--delta", 1e-6).code == 0
    before = desk.ledger.read_bytes()
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == EXPLAINED
    assert "budget" in outcome.err
    assert "nothing was spent" in outcome.err
    assert desk.ledger.read_bytes() == before
    assert not desk.output.exists()
    assert microtome("release", *desk.arguments(epsilon=3)).code == 0
    assert microtome("release", *desk.arguments(epsilon=3, output=desk.folder / "again.release")).code == EXPLAINED
    assert len(Ledger(desk.ledger).entries()) == 1
    assert Ledger(desk.ledger).spent("people.csv", delta=1e-6) <= 3.0


def test_damaged_ledger(microtome: Command, desk: Desk) -> None:
    desk.ledger.write_text("{half a boo")
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == EXPLAINED
    assert str(desk.ledger) in outcome.err
    assert desk.left_behind() == ["people.csv.ledger.json"]


def test_a_budget_is_not_spent_twice_through_a_link_to_the_table(microtome: Command, desk: Desk) -> None:
    assert microtome("ledger", "set-budget", desk.ledger, "people.csv", "--epsilon", 6, "--delta", 1e-6).code == 0
    assert microtome("release", *desk.arguments()).code == 0
    away = desk.folder.parent / "away"
    away.mkdir()
    link = away / "alias.csv"
    link.symlink_to(desk.table)
    outcome = microtome("release", link, *desk.arguments(output=away / "again.release")[1:])
    assert outcome.code == EXPLAINED
    assert "budget" in outcome.err
    assert [path.name for path in away.iterdir()] == ["alias.csv"]
    assert Ledger(desk.ledger).datasets() == ["people.csv"]


def test_a_ledger_behind_a_link_that_leads_nowhere(microtome: Command, desk: Desk) -> None:
    desk.ledger.symlink_to(desk.folder / "unplugged.json")
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == EXPLAINED
    assert "does not exist" in outcome.err
    assert not desk.output.exists()
    assert microtome("ledger", "show", desk.ledger).code == EXPLAINED


def test_a_ledger_that_cannot_be_locked(microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == EXPLAINED
    assert "No locks available" in outcome.err
    assert not desk.output.exists()
    assert not desk.ledger.exists()


def test_output_that_exists(microtome: Command, desk: Desk) -> None:
    desk.output.write_text("precious")
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == EXPLAINED
    assert "--force" in outcome.err
    assert desk.output.read_text() == "precious"
    assert not desk.ledger.exists()
    assert microtome("release", *desk.arguments(force=True)).code == 0
    assert Release.load(desk.output).num_rows == 400


def test_output_that_is_a_directory(microtome: Command, desk: Desk) -> None:
    desk.output.mkdir()
    for changes in ({}, {"force": True}):
        outcome = microtome("release", *desk.arguments(**changes))
        assert outcome.code == EXPLAINED
        assert "directory" in outcome.err
        assert desk.left_behind() == ["people.release"]


def test_output_directory_that_is_missing(microtome: Command, desk: Desk) -> None:
    refused(microtome, desk, "absent", "not a directory", output=desk.folder / "absent" / "t.release")


@pytest.mark.parametrize("kind", ["records", "aggregates"])
def test_disk_without_room(kind: str, microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 100, 100))
    refused(microtome, desk, "MiB free", kind=kind)


def test_disk_that_fills_up(microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite, written = os.pwrite, []

    def fill_up(file: int, data: Any, place: int) -> int:
        written.append(len(data))
        if len(written) > 3:
            raise OSError(28, "No space left on device")
        return pwrite(file, data, place)

    monkeypatch.setattr(container.os, "pwrite", fill_up)
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == EXPLAINED
    assert f"{desk.output} cannot be written: No space left on device" in " ".join(outcome.err.split())
    assert desk.left_behind() == ["people.csv.ledger.json", "people.csv.ledger.json.lock"]
    # Noise was drawn, so it stays debited: a crash may overcharge, never undercharge.
    assert [entry.status for entry in Ledger(desk.ledger).entries()] == ["reserved"]


def test_messages_with_brackets_are_printed_as_they_are(microtome: Command, desk: Desk) -> None:
    rewrite(desk, grade=["low"] * 399 + ["[bold]x[/nonsense]"])
    refused(microtome, desk, "'[bold]x[/nonsense]'")
    desk.schema.write_text("microtome-schema: 1\ncolumns: [{name: age, kind: integer, bounds: [1]}]")
    refused(microtome, desk, "[smallest, largest]")


def test_tables_that_do_not_fit_the_disk(microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for aggregates, whose file is written in one go."""

    def fill_up(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.os, "pwrite", fill_up)
    outcome = microtome("release", *desk.arguments(kind="aggregates"))
    assert outcome.code == EXPLAINED
    assert f"{desk.output} cannot be written: No space left on device" in " ".join(outcome.err.split())
    assert desk.left_behind() == ["people.csv.ledger.json", "people.csv.ledger.json.lock"]
    assert [entry.status for entry in Ledger(desk.ledger).entries()] == ["reserved"]


def test_interruption_says_so(microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(container.os, "pread", interrupt, raising=True)
    monkeypatch.setattr(container.os, "preadv", interrupt, raising=False)
    outcome = microtome("release", *desk.arguments())
    assert outcome.code == INTERRUPTED
    assert "interrupted\nNo release was written, but its noise was drawn: ε = 5" in outcome.err
    assert desk.left_behind() == ["people.csv.ledger.json", "people.csv.ledger.json.lock"]


SLOW_RELEASE = """
import sys, time
import microtome.private.slicing as slicing
call = slicing.SlicingMechanism.__call__
def slowly(self, rows, block):
    print("working", flush=True)
    time.sleep(0.2)
    return call(self, rows, block)
slicing.SlicingMechanism.__call__ = slowly
from microtome.cli.main import run
sys.argv = ["microtome", *sys.argv[1:]]
run()
"""


def test_ctrl_c_halfway(desk: Desk) -> None:
    """A process of its own that gets the signal while rows are being noised."""
    pacsv.write_csv(pa.concat_tables([people(seed=seed) for seed in range(50)]), desk.table)
    command = [sys.executable, "-c", SLOW_RELEASE, "release", *map(str, desk.arguments())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "interrupted" in err
    assert "Traceback" not in err
    assert desk.left_behind() == ["people.csv.ledger.json", "people.csv.ledger.json.lock"]
    assert [entry.status for entry in Ledger(desk.ledger).entries()] == ["reserved"]


def test_no_permission(microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container.os, "access", lambda path, mode: mode != os.W_OK)
    refused(microtome, desk, "not writable")


def test_paths_of_this_repository_are_not_in_the_release(microtome: Command, desk: Desk) -> None:
    """Where the table lies is nobody's business."""
    assert microtome("release", *desk.arguments()).code == 0
    assert str(desk.folder).encode() not in desk.output.read_bytes()
    assert Path.home().name.encode() + b"/" not in desk.output.read_bytes()[:100_000]
