"""``microtome sample``: any number of rows, to CSV or Parquet, with conditions."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from cli_support import Command

from fit_support import quick
from microtome.synthesis import Synthesizer, table_file
from support import people, people_schema, publish

EXPLAINED, USAGE = 1, 2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    release = publish(people(600), people_schema(), folder / "people.release", epsilon=60.0)
    Synthesizer(quick(steps=5, batch_size=32), random_state=0).fit(release).save(folder / "people.model")
    return folder / "people.model"


def test_csv_and_parquet_hold_the_same_rows(model: Path, microtome: Command, tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.parquet"):
        outcome = microtome("sample", model, "-n", 200, "-o", tmp_path / name, "--seed", 5, "--no-card")
        assert outcome.code == 0
        assert outcome.out == f"{tmp_path / name}: 200 rows\n"
        assert outcome.err == "sample: 200 of 200 rows\n"
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.schema.equals(people(5).schema)
    frame = pd.read_csv(tmp_path / "rows.csv", parse_dates=["seen"])
    assert frame["town"].tolist() == table["town"].to_pylist()
    assert frame["age"].tolist() == table["age"].to_pylist()
    assert frame["income"].isna().sum() == table["income"].null_count
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.parquet"]


def test_a_card_is_beside_every_file_unless_it_is_not_wanted(model: Path, microtome: Command, tmp_path: Path) -> None:
    outcome = microtome("sample", model, "-n", 20, "-o", tmp_path / "rows.csv")
    assert outcome.out == f"{tmp_path / 'rows.csv'}: 20 rows; beside it .card.md and .croissant.json say what it is\n"
    names = ["rows.csv", "rows.csv.card.md", "rows.csv.croissant.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    (tmp_path / "rows.csv").unlink()
    outcome = microtome("sample", model, "-n", 20, "-o", tmp_path / "rows.csv")
    assert outcome.code == EXPLAINED
    assert "rows.csv.card.md" in outcome.err
    assert not (tmp_path / "rows.csv").exists()
    assert microtome("sample", model, "-n", 20, "-o", tmp_path / "rows.csv", "--force").code == 0


def test_seeds(model: Path, microtome: Command, tmp_path: Path) -> None:
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        microtome("sample", model, "-n", 50, "-o", tmp_path / f"{name}.csv", "--seed", seed)
        contents.append((tmp_path / f"{name}.csv").read_text())
    assert contents[0] == contents[1] != contents[2]


def test_many_rows_are_streamed(model: Path, microtome: Command, tmp_path: Path) -> None:
    assert microtome("sample", model, "-n", 140_000, "-o", tmp_path / "rows.parquet").code == 0
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    assert file.metadata.num_rows == 140_000
    assert file.metadata.num_row_groups == 3


def test_conditions(model: Path, microtome: Command, tmp_path: Path) -> None:
    given = ["town=Bern|Köln", "age=30..40", "income=", "joined=2020-06-01.."]
    wheres = [part for text in given for part in ("--where", text)]
    outcome = microtome("sample", model, "-n", 100, "-o", tmp_path / "rows.csv", *wheres)
    assert outcome.code == 0
    frame = pd.read_csv(tmp_path / "rows.csv")
    assert set(frame["town"]) <= {"Bern", "Köln"}
    assert frame["age"].between(30, 40).all()
    assert frame["income"].isna().all()
    assert (frame["joined"] >= "2020-06-01").all()


@pytest.mark.parametrize(
    ("more", "said", "code"),
    [
        (["-n", 0, "-o", "rows.csv"], "num_rows is 0", EXPLAINED),
        (["-n", -5, "-o", "rows.csv"], "num_rows is -5", EXPLAINED),
        (["-n", "many", "-o", "rows.csv"], "-n", USAGE),
        (["-n", 5, "-o", "rows.xlsx"], "must end in .csv, .tsv, .tab, .txt, these also", EXPLAINED),
        (["-n", 5, "-o", "nowhere/rows.csv"], "is not a directory", EXPLAINED),
        (["-n", 5, "-o", "rows.csv", "--seed", -1], "random_state is -1", EXPLAINED),
        (["-n", 5, "-o", "rows.csv", "--where", "town=Mars"], "no category 'Mars'", EXPLAINED),
        (["-n", 5, "-o", "rows.csv", "--where", "planet=Mars"], "write column=value", EXPLAINED),
        (["-n", 5, "-o", "rows.csv", "--where", "age=500"], "impossible", EXPLAINED),
        (["-n", 5, "-o", "rows.csv", "--where", "age=1", "--where", "age=2"], "has one already", EXPLAINED),
    ],
)
def test_bad_input(
    more: list[object],
    said: str,
    code: int,
    model: Path,
    microtome: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = microtome("sample", model, *more)
    assert outcome.code == code
    assert said in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_missing_and_foreign_models(model: Path, microtome: Command, tmp_path: Path) -> None:
    outcome = microtome("sample", tmp_path / "none.model", "-n", 5, "-o", tmp_path / "rows.csv")
    assert (outcome.code, "no such file" in outcome.err) == (EXPLAINED, True)
    outcome = microtome("sample", model.with_name("people.release"), "-n", 5, "-o", tmp_path / "rows.csv")
    assert (outcome.code, "it is a release, not a model" in outcome.err) == (EXPLAINED, True)
    assert list(tmp_path.iterdir()) == []


def test_existing_output_is_kept_unless_forced(model: Path, microtome: Command, tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    output.write_text("mine")
    assert microtome("sample", model, "-n", 5, "-o", output).code == EXPLAINED
    assert output.read_text() == "mine"
    assert microtome("sample", model, "-n", 5, "-o", output, "--force").code == 0
    assert output.read_text().count("\n") == 6


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_full_disk_and_interrupt_leave_nothing(
    suffix: str, model: Path, microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, code, said in (
        (OSError(28, "No space left on device"), EXPLAINED, "No space left"),
        (KeyboardInterrupt(), 130, "what was not complete is discarded"),
    ):
        module, name = (table_file.pacsv, "CSVWriter") if suffix == ".csv" else (table_file.pq, "ParquetWriter")
        writer = getattr(module, name)

        class Failing(writer):  # type: ignore[misc, valid-type]
            written = 0

            def write_table(self, table: object, error: BaseException = error) -> None:
                super().write_table(table)
                Failing.written += 1
                if Failing.written == 2:
                    raise error

        with monkeypatch.context() as patch:
            patch.setattr(module, name, Failing)
            outcome = microtome("sample", model, "-n", 70_000, "-o", tmp_path / f"rows{suffix}")
        assert outcome.code == code
        assert said in outcome.err
        assert list(tmp_path.iterdir()) == []
