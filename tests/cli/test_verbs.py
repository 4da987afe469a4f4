"""Every verb: help, output for people, output for programs."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import typer
from cli_support import Command, Desk

from microtome.accounting import Accountant, GaussianEvent, Ledger, Neighbours
from microtome.cli import demo
from microtome.cli.main import app
from microtome.cli.screen import size_in_words, watch
from microtome.published import Release
from microtome.schema import Schema
from support import people

VERBS = [
    ("release",),
    ("inspect",),
    ("budget",),
    ("demo",),
    ("schema",),
    ("schema", "draft"),
    ("schema", "check"),
    ("schema", "confirm"),
    ("ledger",),
    ("ledger", "show"),
    ("ledger", "set-budget"),
]


def all_verbs() -> set[tuple[str, ...]]:
    root = typer.main.get_command(app)
    found: set[tuple[str, ...]] = set()
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        found.add((name,))
        found |= {(name, inner) for inner in getattr(command, "commands", {})}
    return found


@pytest.mark.parametrize("verb", sorted(all_verbs()))
def test_every_verb_has_help(verb: tuple[str, ...], microtome: Command) -> None:
    outcome = microtome(*verb, "--help")
    assert outcome.code == 0
    assert "Usage" in outcome.out
    assert len(outcome.out.splitlines()) > 5


def test_no_verb_is_missing() -> None:
    assert set(VERBS) <= all_verbs()


def test_version_and_bare_command(microtome: Command) -> None:
    assert microtome("--version").out.startswith("microtome 0.")
    assert "Usage" in microtome().out + microtome().err
    assert microtome("no-such-verb").code == 2


def budget(microtome: Command, *arguments: object) -> dict[str, Any]:
    outcome = microtome("budget", "--json", *arguments)
    assert outcome.code == 0
    return json.loads(outcome.out)


CHECK_VALUES = [
    (20, 50, 1.0, 9.080, 6.243),
    (100, 200, 5.1, 1.553, 1.268),
    (100, 1000, 8.1, 2.191, 1.889),
    (784, 1000, 5.1, 1.185, 0.995),
]


@pytest.mark.parametrize(("dim", "count", "epsilon", "theorem1", "exact"), CHECK_VALUES)
def test_budget_gives_the_check_values(
    dim: int, count: int, epsilon: float, theorem1: float, exact: float, microtome: Command
) -> None:
    promise: list[object] = ["--delta", 1e-5, "--dim", dim, "--directions", "gaussian", "--num-directions", count]
    found = budget(microtome, "--epsilon", epsilon, *promise)
    assert list(found) == ["sigma"]
    assert {"exact", "renyi", "theorem1"} <= set(found["sigma"])
    assert found["sigma"]["exact"] == pytest.approx(exact, abs=6e-4)
    assert found["sigma"]["theorem1"] == pytest.approx(theorem1, abs=6e-4)
    assert found["sigma"]["exact"] < found["sigma"]["renyi"] < found["sigma"]["theorem1"]
    back = budget(microtome, "--sigma", found["sigma"]["exact"], *promise)
    assert list(back) == ["epsilon"]
    assert back["epsilon"]["exact"] == pytest.approx(epsilon, rel=1e-4)
    assert back["epsilon"]["exact"] <= epsilon


def test_budget_counts_relation_and_sampling(microtome: Command) -> None:
    promise: list[object] = ["--epsilon", 2, "--delta", 1e-6, "--dim", 50]
    usual = budget(microtome, *promise)["sigma"]["exact"]
    assert budget(microtome, *promise, "--neighbours", "replace-one")["sigma"]["exact"] == pytest.approx(
        usual * 2**0.5, rel=1e-4
    )
    assert budget(microtome, *promise, "--subsample", 0.25)["sigma"]["exact"] < usual


def test_budget_for_people(microtome: Command) -> None:
    outcome = microtome("budget", "--epsilon", 2, "--delta", 1e-6, "--dim", 50)
    assert outcome.code == 0
    assert "exact" in outcome.out
    assert "does not apply" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--delta", 1e-6, "--dim", 5], "--epsilon"),
        (["--delta", 1e-6, "--dim", 5, "--epsilon", 1, "--sigma", 1], "--sigma"),
        (["--delta", 1e-6, "--dim", 5, "--epsilon", -1], "epsilon"),
        (["--delta", 2, "--dim", 5, "--epsilon", 1], "delta"),
        (["--delta", 1e-6, "--dim", 0, "--epsilon", 1], "dim"),
        (["--delta", 1e-6, "--dim", 5, "--epsilon", 1, "--slice-dim", 0], "dimension 0"),
        (["--delta", 1e-6, "--dim", 5, "--epsilon", 1, "--slice-dim", 3], "dimension 3"),
        (["--delta", 1e-6, "--dim", 5, "--epsilon", 1, "--num-directions", 0], "0"),
        (["--delta", 1e-6, "--dim", 5, "--sigma", 0], "sigma|noise"),
        (["--delta", 1e-6, "--dim", 5, "--epsilon", 1, "--subsample", 2], "subsample|rate"),
    ],
)
def test_budget_refuses_nonsense(arguments: list, said: str, microtome: Command) -> None:
    outcome = microtome("budget", *arguments)
    assert outcome.code == 1
    assert any(part in outcome.err for part in said.split("|"))
    assert outcome.out == ""


def test_inspect_for_programs_and_people(microtome: Command, desk: Desk) -> None:
    assert microtome("release", *desk.arguments(neighbours="replace-one")).code == 0
    outcome = microtome("inspect", desk.output, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    figures = json.loads(outcome.out)
    assert figures["promise"]["private"] is True
    assert figures["promise"]["neighbours"] == "replace-one"
    assert figures["fingerprint"] == Release.load(desk.output).fingerprint
    text = microtome("inspect", desk.output).out
    for part in ("ε = 5", "replaced by any other", "400", "income", "learnt", "(target)", figures["fingerprint"]):
        assert part in text
    assert "not verified" in microtome("inspect", desk.output, "--no-verify").out


def test_inspect_refuses_a_damaged_file(microtome: Command, desk: Desk) -> None:
    assert microtome("release", *desk.arguments()).code == 0
    content = bytearray(desk.output.read_bytes())
    content[-5] ^= 1
    desk.output.write_bytes(content)
    outcome = microtome("inspect", desk.output)
    assert outcome.code == 1
    assert "altered" in outcome.err
    assert outcome.out == ""
    assert microtome("inspect", desk.table).code == 1


def test_a_drafted_schema_is_checked_confirmed_and_released(microtome: Command, desk: Desk) -> None:
    drafted = desk.folder / "draft.yaml"
    assert microtome("schema", "draft", desk.table, "-o", drafted, "--target", "owner").code == 0
    assert microtome("schema", "check", drafted).code == 0
    assert Schema.load(drafted).target == "owner"
    text = drafted.read_text(encoding="utf-8")
    assert "to be learnt with budget" in text
    assert "Köln" not in text
    outcome = microtome("release", *desk.arguments(schema=drafted))
    assert outcome.code == 1
    assert "schema confirm" in outcome.err
    assert not desk.ledger.exists()
    drafted.write_text(text.replace("missing: allowed", "missing: allowed  # by law"), encoding="utf-8")
    outcome = microtome("schema", "confirm", drafted)
    assert outcome.code == 0, outcome.err
    assert "age: integer (int64), may be missing" in outcome.out
    assert "# by law" in drafted.read_text(encoding="utf-8")
    assert "confirmed before" in microtome("schema", "confirm", drafted).out
    outcome = microtome("release", *desk.arguments(schema=drafted))
    assert outcome.code == 0, outcome.err
    assert microtome("schema", "draft", desk.table, "-o", drafted).code == 1
    assert microtome("schema", "draft", desk.table, "-o", drafted, "--force").code == 0
    outcome = microtome("release", *desk.arguments(schema=drafted, force=True, types_are_public=True))
    assert outcome.code == 0, outcome.err


def test_identifiers_and_free_text_are_all_set_aside_at_once(microtome: Command, desk: Desk) -> None:
    table = people().append_column("person_id", pa.array(range(400)))
    words = pa.array([f"free text number {number} of somebody" for number in range(400)])
    pacsv.write_csv(table.append_column("notes", words), desk.table)
    drafted = desk.folder / "draft.yaml"
    outcome = microtome("schema", "draft", desk.table, "-o", drafted)
    assert outcome.code == 0
    assert "person_id: set aside (surrogate)" in outcome.err
    assert "notes: set aside (drop)" in outcome.err
    assert {one.name: one.action for one in Schema.load(drafted).aside} == {"person_id": "surrogate", "notes": "drop"}
    outcome = microtome("schema", "draft", desk.table, "-o", drafted, "--skip", "person_id", "--force")
    assert outcome.code == 0
    assert "person_id" not in drafted.read_text(encoding="utf-8")


def test_schema_check_names_what_is_wrong(microtome: Command, tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text("microtome-schema: 1\ncolumns: [{name: income, kind: float, bounds: [5, 1]}]")
    outcome = microtome("schema", "check", path)
    assert outcome.code == 1
    assert "'income'" in outcome.err
    assert "[5, 1]" in outcome.err


def test_ledger_says_what_was_spent_and_what_is_left(microtome: Command, desk: Desk) -> None:
    assert microtome("ledger", "show", desk.ledger).code == 1
    assert microtome("ledger", "set-budget", desk.ledger, "people.csv", "--epsilon", 9, "--delta", 1e-6).code == 0
    assert microtome("release", *desk.arguments()).code == 0
    outcome = microtome("ledger", "show", desk.ledger, "--json")
    (account,) = json.loads(outcome.out)
    assert account["dataset"] == "people.csv"
    assert account["spent"]["epsilon"] == pytest.approx(5.0, rel=1e-3)
    assert account["spent"]["epsilon"] <= 5.0
    assert account["left"]["epsilon"] > 4.0
    assert [entry["status"] for entry in account["entries"]] == ["released"]
    text = microtome("ledger", "show", desk.ledger).out
    for part in ("people.csv", "records", "blank-one", "budget ε = 9"):
        assert part in text


def test_release_says_what_the_data_set_has_cost_in_all(microtome: Command, desk: Desk) -> None:
    assert "people.csv: spent ε = 5 at δ = 1e-06 in all" in microtome("release", *desk.arguments()).out
    second = microtome("release", *desk.arguments(output=desk.folder / "second.release")).out
    (account,) = json.loads(microtome("ledger", "show", desk.ledger, "--json").out)
    assert 5.0 < account["spent"]["epsilon"] < 10.0
    assert f"spent ε = {account['spent']['epsilon']:.4g}" in second
    assert "no budget is set" in second


def test_a_budget_below_what_is_spent_freezes(microtome: Command, desk: Desk) -> None:
    def budget(epsilon: float) -> str:
        outcome = microtome("ledger", "set-budget", desk.ledger, "people.csv", "--epsilon", epsilon, "--delta", 1e-6)
        assert outcome.code == 0
        return outcome.out

    assert microtome("release", *desk.arguments()).code == 0
    assert "frozen" in budget(1)
    again = desk.arguments(output=desk.folder / "second.release", epsilon=0.1)
    outcome = microtome("release", *again)
    assert outcome.code == 1
    assert "frozen" in outcome.err
    shown = microtome("ledger", "show", desk.ledger).out
    assert "spent ε = 5" in shown
    assert "frozen" in shown
    (account,) = json.loads(microtome("ledger", "show", desk.ledger, "--json").out)
    assert account["frozen"]
    assert "frozen" not in budget(9)
    assert microtome("release", *again).code == 0
    assert "budget before: ε = 1 at" in microtome("ledger", "show", desk.ledger).out
    (account,) = json.loads(microtome("ledger", "show", desk.ledger, "--json").out)
    assert [change["epsilon"] for change in account["budgets"]] == [1.0, 9.0]


def test_ledger_says_which_reservations_were_never_settled(microtome: Command, desk: Desk) -> None:
    book = Ledger(desk.ledger)
    how: dict[str, Any] = {"neighbours": Neighbours.BLANK_ONE, "accountant": Accountant.EXACT}
    crashed = book.reserve("people.csv", [GaussianEvent(mu=0.5)], purpose="release", **how)
    book.cancel(book.reserve("people.csv", [GaussianEvent(mu=5.0)], purpose="release", **how))
    text = microtome("ledger", "show", desk.ledger).out
    assert "1 reservation was never settled" in text
    assert "they count" in text
    assert "cancelled" in text
    (account,) = json.loads(microtome("ledger", "show", desk.ledger, "--json").out)
    assert account["unsettled"] == [crashed]
    assert [entry["status"] for entry in account["entries"]] == ["reserved", "cancelled"]
    assert account["spent"]["epsilon"] == book.spent("people.csv", delta=1e-6) < account["entries"][1]["epsilon"]


def test_ledger_of_a_data_set_that_is_not_in_it(microtome: Command, desk: Desk) -> None:
    microtome("ledger", "set-budget", desk.ledger, "people.csv", "--epsilon", 9, "--delta", 1e-6)
    outcome = microtome("ledger", "show", desk.ledger, "--dataset", "peple.csv")
    assert outcome.code == 1
    assert "no data set 'peple.csv'; it has 'people.csv'" in outcome.err


def test_a_table_in_place_of_its_ledger_is_no_damaged_ledger(microtome: Command, desk: Desk) -> None:
    microtome("ledger", "set-budget", desk.ledger, "people.csv", "--epsilon", 9, "--delta", 1e-6)
    budget = ["set-budget", desk.table, "people.csv", "--epsilon", 9, "--delta", 1e-6]
    for asked in (["show", desk.table], budget):
        outcome = microtome("ledger", *asked)
        assert outcome.code == 1
        assert "it is a table" in outcome.err
        assert "its ledger is people.csv.ledger.json, beside it" in outcome.err


def test_names_with_brackets_are_shown_whole(microtome: Command, desk: Desk) -> None:
    name = "[red]people[/]"
    assert microtome("release", *desk.arguments(dataset=name)).code == 0
    assert name in microtome("ledger", "show", desk.ledger).out


def test_demo_up_to_the_release(microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for later_step in ("fit_verb", "sample_verb", "report_verb"):
        monkeypatch.setattr(demo, later_step, Mock(), raising=False)
    folder = tmp_path / "demo"
    outcome = microtome("demo", "-o", folder, "--people", 1500)
    assert outcome.code == 0, outcome.err
    assert {"people.csv", "schema.yaml", "people.release"} <= {path.name for path in folder.iterdir()}
    assert Release.load(folder / "people.release").manifest.promise.private
    assert "differentially private" in outcome.out
    assert microtome("demo", "-o", folder, "--people", 1500).code == 1
    (folder / "diary.txt").write_text("dear diary")
    assert microtome("demo", "-o", folder, "--people", 1500, "--force").code == 0
    assert (folder / "diary.txt").read_text() == "dear diary"
    assert microtome("demo", "-o", folder / "diary.txt", "--force").code == 1


@pytest.mark.slow
def test_demo_end_to_end(microtome: Command, tmp_path: Path) -> None:
    outcome = microtome("demo", "-o", tmp_path / "demo", "--people", 1500, "--kind", "records")
    assert outcome.code == 0, outcome.err
    assert Release.load(tmp_path / "demo" / "people.release").num_rows == 1500


def test_progress_goes_to_stderr_as_lines(microtome: Command, desk: Desk) -> None:
    path = desk.folder / "people.parquet"
    pq.write_table(people(), path)
    outcome = microtome("release", *Desk(desk.folder, path, desk.schema, desk.output).arguments())
    lines = outcome.err.splitlines()
    assert lines[-2:] == ["profile: 400 of 400 rows", "slices: 400 of 400 rows"]
    assert set(lines[:-2]) == {"search: 400 of 400 rows"}
    assert "KiB" in outcome.out
    assert "profile:" not in outcome.out


def test_a_stage_of_many_passes_is_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    with watch("rows") as progress:
        for _ in range(20):
            progress("profile", 200, 400)
            progress("profile", 400, 400)
        progress("counts", 400, 400)
    assert capsys.readouterr().err.splitlines() == ["profile: 400 of 400 rows", "counts: 400 of 400 rows"]


@pytest.mark.parametrize(("size", "said"), [(10, "0.1 KiB"), (2_048, "2.0 KiB"), (3 << 20, "3.0 MiB")])
def test_sizes_are_told_in_units_that_show_them(size: int, said: str) -> None:
    assert size_in_words(size) == said
