"""Files that try something: control characters in names, files of another kind, formulas in cells, signals halfway."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from cli_support import Command, Outcome

from fit_support import planted, planted_release, quick
from microtome.cli.screen import console, visible
from microtome.published import ReleaseKind
from microtome.schema import Column, Kind, Schema
from microtome.synthesis import Synthesizer
from support import publish

EVIL = "a\x1b[31m\x1b]0;title\x07\x9b2J\x7f\u202ecba\u2066[bold]:warning:"
ESCAPED = "a\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\x7f\\u202ecba\\u2066[bold]:warning:"
EXPLAINED, INTERRUPTED, TERMINATED = 1, 130, 143


def is_clean(text: str) -> bool:
    return all(letter in "\n\t" or letter == visible(letter) for letter in text)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, a model, tables and a schema full of what a terminal would act on."""
    folder = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    names = (f"{EVIL}1", f"{EVIL}2", f"{EVIL}3")
    values = (f"{EVIL}x", f"{EVIL}y")
    columns = tuple(Column(name=name, kind=Kind.CATEGORICAL, categories=values, missing=False) for name in names)
    schema = Schema(columns=columns, target=names[0])
    table = pa.table({name: rng.choice(values, 500) for name in names})
    kind = ReleaseKind.AGGREGATES
    publish(table, schema, folder / f"{EVIL}.release", kind=kind, pivot=names[0], epsilon=60.0)
    fitted = Synthesizer(quick(steps=2, network=type(quick().network)()), random_state=0)
    records = publish(table, schema, folder / "records.release", epsilon=60.0)
    fitted.fit(records).save(folder / f"{EVIL}.model")
    pq.write_table(table, folder / f"{EVIL}.parquet")
    pq.write_table(table.slice(0, 300), folder / "other.parquet")
    (folder / f"{EVIL}.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    return folder


def test_what_is_escaped() -> None:
    assert visible(EVIL) == ESCAPED
    assert visible("Köln, 100 %\n\tε = 3 – “x” 日本 👩") == "Köln, 100 %\n\tε = 3 – “x” 日本 👩"
    assert visible("\ud800") == "\\ud800"


def test_nothing_that_verbs_print_of_a_file_acts_on_the_terminal(
    evil: Path, microtome: Command, tmp_path: Path
) -> None:
    release, table, schema = (evil / f"{EVIL}.{ending}" for ending in ("release", "parquet", "yaml"))
    model, other = evil / f"{EVIL}.model", evil / "other.parquet"
    page = tmp_path / f"{EVIL}.html"
    commands: list[tuple[int, list[object]]] = [
        (0, ["inspect", release]),
        (0, ["inspect", release, "--json"]),
        (0, ["inspect", release, "--statement"]),
        (0, ["schema", "check", schema]),
        (0, ["sample", model, "-n", 5, "-o", tmp_path / f"{EVIL}.csv"]),
        (1, ["sample", model, "-n", 5, "-o", tmp_path / "x.csv", "--where", f"{EVIL}1={EVIL}"]),
        (1, ["sample", model, "-n", 5, "-o", tmp_path / "x.csv", "--where", f"{EVIL}9=1"]),
        (0, ["report", table, other, "--schema", schema, "-o", page, "--json"]),
        (0, ["report", table, other, "--schema", schema, "-o", page, "--force"]),
        (1, ["report", table, other, "--target", f"{EVIL}9", "-o", page, "--force"]),
        (0, ["schema", "draft", table, "-o", tmp_path / f"{EVIL}.yaml"]),
        (1, ["schema", "draft", table, "-o", tmp_path / "x.yaml", "--skip", f"{EVIL}9"]),
        (1, ["inspect", table]),
        (1, ["fit", table, "-o", tmp_path / "x"]),
        (1, ["schema", "check", evil / f"{EVIL}.absent"]),
        (1, ["release", table, "--schema", schema, "--epsilon", 3, "--pivot", EVIL, "-o", tmp_path / "x"]),
        (0, ["release", table, "--schema", schema, "--epsilon", 3, "--anyway", "-o", tmp_path / f"{EVIL}r"]),
        (0, ["ledger", "show", evil / f"{EVIL}.parquet.ledger.json"]),
        (0, ["ledger", "show", evil / f"{EVIL}.parquet.ledger.json", "--json"]),
        (0, ["fit", release, "--steps", 2, "-o", tmp_path / f"{EVIL}m"]),
    ]
    for code, arguments in commands:
        outcome = microtome(*arguments)
        assert outcome.code == code, (arguments, outcome)
        assert is_clean(outcome.out + outcome.err), arguments
        if "--json" in arguments:
            json.loads(outcome.out)


def test_names_are_shown_as_they_are_and_not_as_markup(
    evil: Path, microtome: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "width", 400, raising=False)
    shown = " ".join(microtome("inspect", evil / f"{EVIL}.release").out.split())
    assert f"{ESCAPED}1" in shown
    assert ":warning:" in shown
    said = json.loads(microtome("inspect", evil / f"{EVIL}.release", "--json").out)
    assert said["columns"][0]["name"] == f"{EVIL}1"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of every kind that somebody may mistake for another."""
    folder = tmp_path_factory.mktemp("kinds")
    release = planted_release(folder / "a.release", table=planted(400))
    Synthesizer(quick(steps=2), random_state=0).fit(release).save(folder / "a.model")
    pacsv.write_csv(planted(50), folder / "a.csv")
    pq.write_table(planted(50), folder / "a.parquet")
    (folder / "a.yaml").write_text(release.schema.to_yaml(), encoding="utf-8")
    (folder / "a.json").write_text("{}")
    (folder / "a.bin").write_bytes(np.random.default_rng(0).bytes(5000))
    (folder / "a.empty").touch()
    (folder / "a.deep").write_text("[" * 100_000)
    np.savez(folder / "a.npz", images=np.zeros((3, 4, 4), np.uint8))
    (folder / "a.folder").mkdir()
    return {path.suffix[1:]: path for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("verb", "kind", "said"),
    [
        ("fit", "csv", "it is a table (CSV) or other text, not a release; 'microtome release' makes a release"),
        ("fit", "parquet", "it is a table (Parquet), not a release; 'microtome release' makes a release"),
        ("fit", "model", "it is a model, not a release; give the release that it was fitted to"),
        ("fit", "yaml", "it is a schema, not a release"),
        ("fit", "empty", "it is an empty file, not a release"),
        ("tune", "csv", "it is a table (CSV) or other text, not a release"),
        ("inspect", "model", "it is a model, not a release"),
        ("inspect", "npz", "it is an archive (NPZ or ZIP), not a release"),
        ("sample", "release", "it is a release, not a model; 'microtome fit' makes a model of a release"),
        ("sample", "csv", "it is a table (CSV) or other text, not a model"),
    ],
)
def test_a_file_of_another_kind_is_named(
    verb: str, kind: str, said: str, kinds: dict[str, Path], microtome: Command, tmp_path: Path
) -> None:
    outcome = run_on(verb, kinds[kind], microtome, tmp_path)
    assert outcome.code == EXPLAINED
    assert f"{kinds[kind]}: {said}" in outcome.err


def run_on(verb: str, path: Path, microtome: Command, folder: Path, **others: Path) -> Outcome:
    """A verb with the file where it does most harm; ``others`` are in order, for what else the verb needs."""
    table, schema, release = (others.get(name, path) for name in ("table", "schema", "release"))
    out = folder / "out"
    commands: dict[str, list[object]] = {
        "inspect": ["inspect", path],
        "fit": ["fit", path, "--steps", 1, "-o", out],
        "fit settings": ["fit", release, "--settings", path, "--steps", 1, "-o", out],
        "tune": ["tune", path, "-o", out],
        "sample": ["sample", path, "-n", 3, "-o", folder / "out.csv"],
        "report": ["report", path, path, "-o", folder / "out.html"],
        "report release": ["report", "--release", path, table, "-o", folder / "out.html"],
        "release": [
            "release",
            path,
            "--schema",
            schema,
            "--epsilon",
            3,
            "--anyway",
            "--ledger",
            folder / "book",
            "-o",
            out,
        ],
        "release schema": ["release", table, "--schema", path, "--epsilon", 3, "--ledger", folder / "book", "-o", out],
        "schema check": ["schema", "check", path],
        "schema draft": ["schema", "draft", path, "-o", out],
    }
    return microtome(*commands[verb])


VERBS = ("inspect", "fit", "fit settings", "tune", "sample", "report", "report release", "release", "release schema")
VERBS += ("schema check", "schema draft")


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_a_verb_is_given_it_works_or_explains(
    verb: str, kinds: dict[str, Path], microtome: Command, tmp_path: Path
) -> None:
    others = {"table": kinds["csv"], "schema": kinds["yaml"], "release": kinds["release"]}
    for kind, path in kinds.items():
        if (verb, kind) == ("tune", "release"):
            continue
        folder = tmp_path / kind
        folder.mkdir()
        outcome = run_on(verb, path, microtome, folder, **others)
        assert outcome.code in (0, EXPLAINED, 2), (kind, outcome)
        assert "Traceback" not in outcome.err
        if outcome.code == EXPLAINED:
            assert outcome.err.splitlines()[-1].strip()
            assert {one.name for one in folder.iterdir()} <= {"book.lock"}, kind


def test_formulas_in_cells_can_be_kept_from_spreadsheets(microtome: Command, tmp_path: Path) -> None:
    values = ("=1+1", "+1", "-1", "@x", "\tx", "plain", "a=b")
    columns = (
        Column(name="=cmd", kind=Kind.CATEGORICAL, categories=values, missing=True),
        Column(name="n", kind=Kind.INTEGER, bounds=(-9, 9), missing=False),
    )
    rng = np.random.default_rng(0)
    table = pa.table({"=cmd": rng.choice([*values, None], 900), "n": rng.integers(-9, 10, 900)})
    release = publish(table, Schema(columns=columns), tmp_path / "r", epsilon=60.0)
    Synthesizer(quick(steps=2), random_state=0).fit(release).save(tmp_path / "m")
    arguments = ["sample", tmp_path / "m", "-n", 500, "--seed", 0, "-o"]
    assert microtome(*arguments, tmp_path / "plain.csv").code == 0
    assert microtome(*arguments, tmp_path / "safe.csv", "--spreadsheet-safe").code == 0
    options = {"parse_options": pacsv.ParseOptions(newlines_in_values=True)}
    plain, safe = (pacsv.read_csv(tmp_path / f"{name}.csv", **options) for name in ("plain", "safe"))
    assert safe.column_names == ["'=cmd", "n"]
    assert safe["n"].to_pylist() == plain["n"].to_pylist()
    pairs = set(zip(plain["=cmd"].to_pylist(), safe["'=cmd"].to_pylist(), strict=True))
    assert pairs == {*((value, f"'{value}") for value in values[:5]), ("plain", "plain"), ("a=b", "a=b"), ("", "")}
    outcome = microtome(*arguments, tmp_path / "x.parquet", "--spreadsheet-safe")
    assert (outcome.code, "is for text files" in outcome.err) == (EXPLAINED, True), outcome.err


def test_releases_are_signed_and_verified(kinds: dict[str, Path], microtome: Command, tmp_path: Path) -> None:
    key = tmp_path / "holder.key"
    assert "keep it secret" in microtome("key", "make", key).out
    given = [kinds["csv"], "--schema", kinds["yaml"], "--epsilon", 3, "--anyway", "--ledger", tmp_path / "book", "-o"]
    assert microtome("release", *given, tmp_path / "r", "--sign", key).code == 0
    outcome = microtome("inspect", tmp_path / "r", "--verify", f"{key}.pub")
    assert (outcome.code, "(verified)" in outcome.out.splitlines()[-1]) == (0, True)
    assert "not verified: give --verify" in microtome("inspect", tmp_path / "r").out
    assert json.loads(microtome("inspect", tmp_path / "r", "--json").out)["signature"]["verified"] is False
    outcome = microtome("inspect", kinds["release"], "--verify", f"{key}.pub")
    assert (outcome.code, "not signed" in outcome.err, outcome.out) == (EXPLAINED, True, "")
    assert "not signed" in microtome("inspect", kinds["release"]).out
    before = (tmp_path / "book").read_bytes()
    outcome = microtome("release", *given, tmp_path / "s", "--sign", tmp_path / "absent.key")
    assert (outcome.code, "microtome key make" in outcome.err) == (EXPLAINED, True)
    assert (tmp_path / "book").read_bytes() == before
    assert microtome("key", "make", key).code == EXPLAINED
    assert microtome("inspect", tmp_path / "r", "--verify", f"{key}.pub", "--no-verify").code == EXPLAINED


SLOW = """
import sys, time
{patch}
from microtome.cli.main import run
sys.argv = ["microtome", *sys.argv[1:]]
run()
"""
PATCHES = {
    "sample": """
        from microtome.synthesis import synthetic_rows
        synthetic_rows.PIECE_ROWS, synthetic_rows.CHUNK_PIECES = 10, 1
        draw = synthetic_rows.SyntheticRows._pool
        def slowly(*arguments):
            print("working", flush=True)
            time.sleep(0.05)
            return draw(*arguments)
        synthetic_rows.SyntheticRows._pool = slowly
    """,
    "report": """
        from microtome.evaluation import reporting
        made = reporting.compare_pairs
        def slowly(*arguments, **options):
            print("working", flush=True)
            time.sleep(30)
        reporting.compare_pairs = slowly
    """,
    "fit": """
        from microtome.training import Loop
        advance = Loop.advance
        def slowly(self):
            print("working", flush=True)
            time.sleep(0.05)
            advance(self)
        Loop.advance = slowly
    """,
    "tune": """
        from microtome.training import Loop
        advance = Loop.advance
        def slowly(self):
            print("working", flush=True)
            time.sleep(0.05)
            advance(self)
        Loop.advance = slowly
    """,
    "audit": """
        from microtome.auditing import session
        print("working", flush=True)
    """,
}


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", PATCHES)
def test_signals_halfway_say_what_is_there(
    verb: str, by: signal.Signals, kinds: dict[str, Path], tmp_path: Path
) -> None:
    given: dict[str, list[object]] = {
        "sample": [kinds["model"], "-n", 100_000, "-o", tmp_path / "out.csv"],
        "report": [kinds["csv"], kinds["parquet"], "-o", tmp_path / "out.html"],
        "fit": [kinds["release"], "-o", tmp_path / "out"],
        "tune": [kinds["release"], "-o", tmp_path / "out"],
        "audit": ["--budget-seconds", 120, "-o", tmp_path / "out"],
    }
    code = SLOW.format(patch=textwrap.dedent(PATCHES[verb]))
    command = [sys.executable, "-c", code, verb, *map(str, given[verb])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while process.stdout.readline() not in ("working\n", ""):
        pass
    time.sleep(6.0 if verb == "audit" else 0.3)
    process.send_signal(by)
    out, err = process.communicate(timeout=120)
    assert process.returncode == (TERMINATED if by is signal.SIGTERM else INTERRUPTED), (out, err)
    assert "Traceback" not in err
    there = sorted(path.name for path in tmp_path.iterdir())
    said = out + err
    if verb in ("sample", "report"):
        assert "what was not complete is discarded" in err
        assert there == []
    elif verb == "fit":
        assert "interrupted: this is the best model so far; --resume goes on" in said
        assert there == ["out", "out.checkpoint"]
    elif verb == "tune":
        assert "no settings were written; 0 trials of this run are kept" in said
        assert there == ["out.trials.sqlite3"]
    else:
        assert "interrupted: " in said
        assert there == ["out"]
