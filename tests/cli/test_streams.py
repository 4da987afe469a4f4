"""Standard input and output, and packed files: nothing of a private table stays behind."""

import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from cli_support import Command, Desk

from fit_support import quick
from microtome.accounting import Ledger
from microtome.errors import OutputError, TableError
from microtome.private.spool import read_again
from microtome.published import Release
from microtome.synthesis import Synthesizer
from microtome.whole_file import STANDARD
from support import fill_disk, people, people_schema, publish

RUN = [sys.executable, "-c", "from microtome.cli.main import run; run()"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    release = publish(people(), people_schema(), output=folder / "r")
    Synthesizer(quick(steps=2), random_state=0).fit(release).save(folder / "m")
    return folder / "m"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's place for temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def as_bytes(kind: str) -> bytes:
    sink = io.BytesIO()
    if kind == "Parquet":
        pq.write_table(people(), sink)
    else:
        pacsv.write_csv(people(), sink)
    return gzip.compress(sink.getvalue()) if kind == "gzip" else sink.getvalue()


@pytest.mark.parametrize("kind", ["CSV", "gzip", "Parquet"])
def test_a_release_of_standard_input(
    kind: str, microtome: Command, desk: Desk, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_input(monkeypatch, as_bytes(kind))
    book = desk.folder / "book.json"
    piped = Desk(desk.folder, STANDARD, desk.schema, desk.output)
    outcome = microtome("release", *piped.arguments(ledger=book, dataset="town"))
    assert outcome.code == 0, outcome.err
    assert Release.load(desk.output).num_records == people().num_rows
    assert Ledger(book).spent("town", delta=1e-6) > 0
    assert list(temporary.iterdir()) == []


def test_a_pipe_has_no_book_of_its_own(microtome: Command, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, as_bytes("CSV"))
    piped = Desk(desk.folder, STANDARD, desk.schema, desk.output)
    outcome = microtome("release", *piped.arguments())
    assert outcome.code == 1
    assert "--ledger and --dataset" in outcome.err
    outcome = microtome("release", *piped.arguments(ledger=desk.folder / "book.json"))
    assert "give --dataset," in outcome.err
    assert desk.left_behind() == []


def test_a_schema_is_drafted_from_a_pipe(desk: Desk, temporary: Path) -> None:
    command = [*RUN[:2], RUN[2], "schema", "draft", "-", "-o", str(desk.folder / "drafted.yaml")]
    done = subprocess.run(command, input=as_bytes("CSV"), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (desk.folder / "drafted.yaml").exists()
    assert list(temporary.iterdir()) == []


def test_errors_call_it_standard_input(
    microtome: Command, desk: Desk, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_input(monkeypatch, b"age,town\n1,Bern\n2\n")
    outcome = microtome("schema", "draft", "-", "-o", desk.folder / "drafted.yaml")
    assert outcome.code == 1
    assert "standard input: " in outcome.err
    assert str(temporary) not in outcome.err
    assert list(temporary.iterdir()) == []


def test_a_terminal_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(TableError, match="terminal"), read_again(STANDARD):
        pass


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_copy_is_for_its_owner_alone_and_goes_with_any_error(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_input(monkeypatch, b"age\n1\n")

    def interrupted() -> None:
        with read_again(STANDARD) as path:
            assert path.read_bytes() == b"age\n1\n"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(temporary.iterdir()) == []


def test_files_are_read_where_they_are(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age\n1\n")
    with read_again(path) as same:
        assert same == path
        assert list(temporary.iterdir()) == []


def test_a_named_pipe_can_be_read_again(tmp_path: Path, temporary: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = [sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('age\\n1\\n')"]
    with subprocess.Popen(writer), read_again(pipe) as copy:
        assert copy.read_text() == copy.read_text() == "age\n1\n"
    assert list(temporary.iterdir()) == []


def test_a_full_disk_is_explained_and_leaves_nothing(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, b"age\n1\n")
    fill_disk(monkeypatch)
    with pytest.raises(OutputError, match="No space left"), read_again(STANDARD):
        pass
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_signal_leaves_private_rows(number: signal.Signals, desk: Desk, temporary: Path) -> None:
    """Ctrl-C and SIGTERM remove the copy; what a kill leaves, the next command removes."""
    command = [*RUN, "schema", "draft", "-", "-o", str(desk.folder / "drafted.yaml")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(as_bytes("CSV"))
        process.stdin.flush()
        for _ in range(600):
            if list(temporary.iterdir()):
                break
            time.sleep(0.1)
        process.send_signal(number)
        process.wait(timeout=60)
    left = list(temporary.iterdir())
    assert bool(left) == (number == signal.SIGKILL)
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o700 for one in left)
    subprocess.run(command, input=as_bytes("CSV"), capture_output=True, check=True)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "parquet"])
def test_rows_are_packed_as_the_name_says(ending: str, microtome: Command, model: Path, tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.csv", tmp_path / f"rows.{ending}"
    for path in (plain, packed):
        assert microtome("sample", model, "-n", 500, "-o", path, "--seed", 3).code == 0
    if ending == "parquet":
        assert pq.read_table(packed).num_rows == 500
        return
    assert ending == "csv" or packed.stat().st_size < plain.stat().st_size / 2
    with pa.input_stream(packed) as stream:
        assert stream.read() == plain.read_bytes()


@pytest.mark.parametrize("name", ["rows.parquet.gz", "rows.gz", "rows"])
def test_other_endings_are_refused(name: str, microtome: Command, model: Path, tmp_path: Path) -> None:
    outcome = microtome("sample", model, "-n", 5, "-o", tmp_path / name)
    assert outcome.code == 1
    assert "the output must end in .csv" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_rows_to_standard_output_are_the_same_and_nothing_else(model: Path, tmp_path: Path) -> None:
    command = [*RUN, "sample", str(model), "-n", "50", "--seed", "3", "-o"]
    done = subprocess.run([*command, "-"], capture_output=True, cwd=tmp_path, check=True)
    subprocess.run([*command, "rows.csv"], capture_output=True, cwd=tmp_path, check=True)
    assert done.stdout == (tmp_path / "rows.csv").read_bytes()
    assert len(pd.read_csv(io.BytesIO(done.stdout))) == 50


def test_a_reader_who_leaves_early_is_no_error_to_be_told(model: Path) -> None:
    command = [*RUN, "sample", str(model), "-n", "1e5", "-o", "-", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_only_rows_go_to_standard_output(microtome: Command, desk: Desk) -> None:
    outcome = microtome("release", *desk.arguments(output="-"))
    assert outcome.code == 1
    assert "standard output" in outcome.err
    assert desk.left_behind() == []
