"""From a messy file to synthetic rows in its own dialect, and the verbs that write a schema on the way."""

import io
import json
import random
from pathlib import Path

import pytest
from cli_support import Command

from microtome.schema import Schema

HEADER = ["MRN", "Geschlecht", "Alter", "Aufnahme", "Uhr", "Betrag", "Raucher", "Temp", "Notizen", "zuletzt"]


def clinic(folder: Path, rows: int = 150) -> Path:
    rng = random.Random(1)
    lines = [";".join(HEADER)]
    for number in range(rows):
        record = [
            f"MR{500000 + 7 * number}",
            rng.choice("MF"),
            str(rng.randrange(18, 95)),
            f"{rng.randrange(1, 29):02}.{rng.randrange(1, 13):02}.2024",
            f"{rng.randrange(24):02}:{rng.choice(['00', '30'])}",
            f"{rng.randrange(1, 9)}.{rng.randrange(100, 999)},50 €",
            rng.choice(["Ja", "Nein"]),
            rng.choice(["36,5", "37,1", "?"]),
            f'"müde; Anruf um {number}"',
            f"2024-03-{rng.randrange(1, 29):02}T10:00:00Z",
        ]
        lines.append(";".join(record))
    path = folder / "klinik.csv"
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))
    return path


def test_a_messy_file_comes_back_as_it_was_written(microtome: Command, tmp_path: Path) -> None:
    table, schema = clinic(tmp_path), tmp_path / "s.yaml"
    released, model, rows = tmp_path / "k.release", tmp_path / "k.model", tmp_path / "rows.csv"
    outcome = microtome("schema", "draft", table, "-o", schema, "--target", "Raucher")
    assert outcome.code == 0, outcome.err
    assert "MRN: set aside (surrogate)" in outcome.err
    assert "Notizen: set aside (drop)" in outcome.err
    refused = microtome("release", table, "--schema", schema, "--epsilon", 3, "-o", released, "--anyway")
    assert refused.code == 1
    assert "schema confirm" in refused.err
    assert microtome("schema", "confirm", schema).code == 0
    assert microtome("release", table, "--schema", schema, "--epsilon", 3, "-o", released, "--anyway").code == 0
    assert microtome("fit", released, "-o", model, "--steps", 2, "--seed", 1).code == 0
    assert microtome("sample", model, "-n", 40, "-o", rows, "--seed", 1).code == 0
    lines = rows.read_bytes().decode("cp1252").splitlines()
    assert lines[0].replace('"', "") == ";".join(name for name in HEADER if name != "Notizen")
    first = dict(zip(lines[0].replace('"', "").split(";"), lines[1].replace('"', "").split(";"), strict=True))
    assert first["MRN"] == "MR000001"
    assert len({line.split(";")[0] for line in lines}) == 41
    assert first["Raucher"] in ("Ja", "Nein")
    assert first["Betrag"].endswith("€") or not first["Betrag"]
    assert b"Notizen" not in released.read_bytes()
    page = tmp_path / "page.html"
    outcome = microtome("report", table, rows, "--schema", schema, "-o", page)
    assert outcome.code == 0, outcome.err


def test_options_force_the_dialect_of_a_release(microtome: Command, tmp_path: Path) -> None:
    table, schema, released = clinic(tmp_path), tmp_path / "s.yaml", tmp_path / "k.release"
    assert microtome("schema", "draft", table, "-o", schema).code == 0
    document = schema.read_text(encoding="utf-8")
    start, end = document.index("file:"), document.index("target:")
    schema.write_text((document[:start] + document[end:]).replace("drafted: true\n", ""), encoding="utf-8")
    plain = ["release", table, "--schema", schema, "--epsilon", 3, "-o", released, "--anyway"]
    outcome = microtome(*plain)
    assert outcome.code == 1
    assert "--encoding" in outcome.err
    outcome = microtome(*plain, "--encoding", "cp1252")
    assert outcome.code == 1
    assert "--separator" in outcome.err
    outcome = microtome(*plain, "--encoding", "cp1252", "--separator", ";", "--decimal", ";")
    assert outcome.code == 1
    assert "must differ" in outcome.err
    outcome = microtome(*plain, "--encoding", "cp1252", "--separator", ";", "--decimal", ",")
    assert "'?'" in outcome.err or "?" in outcome.err
    assert not released.exists()


def test_confirm_drops_suggestions_if_asked(microtome: Command, tmp_path: Path) -> None:
    table, schema = clinic(tmp_path), tmp_path / "s.yaml"
    assert microtome("schema", "draft", table, "-o", schema).code == 0
    assert Schema.load(schema)["Alter"].bounds == (0, 120)
    outcome = microtome("schema", "confirm", schema, "--suggestions", "drop")
    assert outcome.code == 0
    assert Schema.load(schema)["Alter"].bounds is None
    assert Schema.load(schema)["Raucher"].categories is None
    assert not Schema.load(schema).drafted


def test_import_and_its_errors(microtome: Command, tmp_path: Path) -> None:
    book, schema = tmp_path / "book.json", tmp_path / "s.yaml"
    book.write_text(json.dumps({"age": {"type": "integer", "min": 0, "max": 99}, "id": {"type": "id"}}))
    outcome = microtome("schema", "import", book, "-o", schema, "--target", "age")
    assert outcome.code == 0
    assert "id: not released" in outcome.err
    assert Schema.load(schema)["age"].bounds == (0, 99)
    assert microtome("schema", "import", book, "-o", schema).code == 1
    book.write_text(json.dumps({"age": {"type": "intger"}}))
    outcome = microtome("schema", "import", book, "-o", schema, "--force")
    assert outcome.code == 1
    assert "intger" in outcome.err
    assert Schema.load(schema)["age"].bounds == (0, 99)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_edit_changes_what_is_asked_and_writes_once(
    microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, schema = clinic(tmp_path), tmp_path / "s.yaml"
    assert microtome("schema", "draft", table, "-o", schema).code == 0
    typed(
        monkeypatch,
        *["Alter", "bounds 18, 99", "missing never", "bounds 99, 18", ""],
        *["Geschlecht", "categories [F, M, D]", ""],
        *["1", "action drop", ""],
        *["Temp", "kind categorical", "categories 36.5, 37.1", "outside clamp", ""],
        *["Wohnort", "target Raucher", "target Raucherin", "confirm"],
    )
    outcome = microtome("schema", "edit", schema)
    assert outcome.code == 0, outcome.err
    assert "not in order" in outcome.err
    assert "'Wohnort'" in outcome.err
    assert "'Raucherin'" in outcome.err
    changed = Schema.load(schema)
    assert (changed["Alter"].bounds, changed["Alter"].missing) == ((18, 99), False)
    assert changed["Geschlecht"].categories == ("F", "M", "D")
    assert {one.name: one.action for one in changed.aside} == {"MRN": "drop", "Notizen": "drop"}
    assert (changed["Temp"].categories, str(changed["Temp"].outside)) == ((36.5, 37.1), "clamp")
    assert (changed.target, changed.drafted) == ("Raucher", False)
    assert changed["Raucher"].weight > 1.0


def test_edit_without_save_leaves_the_file(microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema = clinic(tmp_path), tmp_path / "s.yaml"
    assert microtome("schema", "draft", table, "-o", schema).code == 0
    before = schema.read_text(encoding="utf-8")
    typed(monkeypatch, "Alter", "bounds 1, 2", "", "quit")
    assert microtome("schema", "edit", schema).code == 0
    typed(monkeypatch, "Alter", "bounds 1, 2")
    outcome = microtome("schema", "edit", schema)
    assert outcome.code == 1
    assert "nothing was saved" in outcome.err
    assert schema.read_text(encoding="utf-8") == before


RULED = """\
microtome-schema: 1
drafted: true
columns:
  - {name: age, kind: integer, bounds: [0, 99], missing: never}
  - {name: marital, kind: categorical, categories: [N, M], missing: never}
  - {name: district, kind: categorical, categories: [A, B], missing: never}
  - {name: density, kind: float, bounds: [0, 500], missing: never}
rules:
  - if age < 15: marital = N
  - density: {from: district, file: density.csv}
"""


def test_check_and_confirm_read_rules_and_the_files_beside_them(microtome: Command, tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(RULED)
    missing = microtome("schema", "check", path)
    assert missing.code == 1
    assert "rule of column 'density': " in missing.err
    (tmp_path / "density.csv").write_text("district,density\nA,120\nB,85.5\n")
    assert "4 columns and 2 rules that can hold together, no errors" in microtome("schema", "check", path).out
    confirmed = microtome("schema", "confirm", path)
    assert confirmed.code == 0
    assert "rule: if age < 15: marital = N" in confirmed.out
    assert path.read_text() == RULED.replace("drafted: true\n", "")


def test_check_names_typos_and_clashes_of_rules(microtome: Command, tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    head = RULED.partition("rules:")[0]
    path.write_text(f"{head}rules:\n  - if agee < 15: marital = N\n  - density < 1000\n")
    wrong = microtome("schema", "check", path)
    assert wrong.code == 1
    assert "there is no column 'agee'; did you mean 'age'?" in wrong.err
    assert "1000 is outside the bounds of 'density', 0 … 500" in wrong.err
    path.write_text(f"{head}rules:\n  - if age < 15: marital = N\n  - never: age < 10 and marital = N\n  - age < 10\n")
    clash = microtome("schema", "check", path)
    assert clash.code == 1
    assert "rules 'if age < 15: marital = N' and 'never: age < 10 and marital = N' and 'age < 10' clash" in clash.err
    assert "Traceback" not in wrong.err + clash.err
