"""``microtome report`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from cli_support import Command

from microtome import release as publish
from microtome.demo import population, population_schema

ROWS = 1_500


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a real table, a synthetic one (another town of the same kind), held-out rows and a release."""
    folder = tmp_path_factory.mktemp("office")
    pacsv.write_csv(population(ROWS, seed=1), folder / "people.csv")
    pq.write_table(population(ROWS, seed=2), folder / "made.parquet")
    pacsv.write_csv(population(ROWS, seed=3), folder / "others.csv")
    (folder / "schema.yaml").write_text(population_schema().to_yaml(), encoding="utf-8")
    publish(
        folder / "people.csv",
        folder / "schema.yaml",
        epsilon=5,
        delta=1e-6,
        kind="aggregates",
        anyway=True,
        output=folder / "people.release",
    )
    return folder


def test_two_files_make_a_page(office: Path, tmp_path: Path, microtome: Command) -> None:
    page = tmp_path / "report.html"
    done = microtome("report", office / "people.csv", office / "made.parquet", "--target", "insured", "-o", page)
    assert done.code == 0, done.err
    assert "not itself private" in done.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"], "nothing half-written is left"
    assert "report: 8 of 8 parts" in done.err


def test_everything_at_once_as_json(office: Path, tmp_path: Path, microtome: Command) -> None:
    done = microtome(
        "report", office / "people.csv", office / "made.parquet", "--release", office / "people.release",
        "--holdout", office / "others.csv", "--sample", 500, "--seed", 3, "--json", "-o", tmp_path / "r.html",
    )  # fmt: skip
    assert done.code == 0, done.err
    figures = json.loads(done.out)
    assert figures["from_real_rows"] is True
    assert figures["free_to_publish"] is False
    assert figures["promise"]["epsilon"] == 5.0
    assert figures["target"] == "insured"
    assert figures["tables"]["holdout"] == {"origin": "others.csv", "rows": ROWS, "model_rows": 500}
    assert set(figures["metrics"]["synthetic"]) == {
        "KSComplement", "TVComplement", "ContingencySimilarity", "CorrelationSimilarity", "BinaryLogisticRegression",
    }  # fmt: skip
    assert set(figures["utility"]["scores"]) == {"logistic regression", "gradient boosting"}
    assert figures["attacks"]["membership"]
    assert "at most 500 rows" in done.err, "that tables were sampled is said"
    assert "at most 500 rows" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_release_in_place_of_the_table_makes_a_page_to_publish(
    office: Path, tmp_path: Path, microtome: Command
) -> None:
    page = tmp_path / "public.html"
    arguments = ("report", office / "made.parquet", "--release", office / "people.release", "-o", page)
    done = microtome(*arguments)
    assert done.code == 0, done.err
    assert "Free to publish" in done.out
    text = page.read_text(encoding="utf-8")
    assert "Free to publish" in text
    assert "ε = 5" in text
    assert "people.csv" not in text
    again = microtome(*arguments)
    assert again.code == 1
    assert "--force" in again.err
    assert microtome(*arguments, "--force").code == 0


def test_the_same_seed_gives_the_same_figures(office: Path, tmp_path: Path, microtome: Command) -> None:
    found = []
    for name in ("a.html", "b.html"):
        done = microtome(
            "report", office / "people.csv", office / "made.parquet", "--sample", 300, "--json", "-o", tmp_path / name
        )
        figures = json.loads(done.out)
        found.append({key: value for key, value in figures.items() if key != "created"})
    assert found[0] == found[1]


def test_the_same_table_twice_is_remarked_on(office: Path, tmp_path: Path, microtome: Command) -> None:
    done = microtome("report", office / "people.csv", office / "people.csv", "-o", tmp_path / "r.html")
    assert done.code == 0
    assert "are the same. Is one of the two a mistake?" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["made.parquet"], "give REAL and SYNTHETIC, or SYNTHETIC and --release"),
        (["people.csv", "made.parquet", "others.csv"], "3 tables given"),
        (["people.csv", "no.csv"], "no.csv: no such file"),
        (["people.csv", "made.parquet", "--target", "wealth"], "target 'wealth' is not a column"),
        (["people.csv", "made.parquet", "--sample", "10"], "sample=10 must be at least 100"),
        (["people.csv", "made.parquet", "--schema", "people.csv"], "cannot be read as YAML"),
        (["people.csv", "made.parquet", "--release", "schema.yaml"], "not a release"),
        (["people.csv", "made.parquet", "--holdout", "people.csv"], "the held-out rows are the real table itself"),
        (["people.csv", "schema.yaml"], "give one of the files .csv"),
        (["made.parquet", "--release", "people.release", "--target", "insured"], "a release brings its own schema"),
        (["people.csv", "other-columns.csv"], "no column 'age', 'sex'"),
        (["people.csv", "text-ages.csv"], "column 'age' is string"),
    ],
    ids=lambda value: "-" if isinstance(value, list) else None,
)
def test_bad_input_is_refused_with_a_reason(
    office: Path, tmp_path: Path, microtome: Command, arguments: list[str], message: str
) -> None:
    (office / "other-columns.csv").write_text("a,b\n1,2\n")
    aged = population(5).to_pandas().assign(age="old")
    aged.to_csv(office / "text-ages.csv", index=False)
    given = [office / word if "." in word else word for word in arguments]
    done = microtome("report", *given, "-o", tmp_path / "r.html")
    assert done.code == 1
    assert message in done.err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []
