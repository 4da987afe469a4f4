"""Files as people have them: dialects, formats and dirt, from draft to release, and back as they were written."""

import bz2
import codecs
import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from microtome.errors import SchemaError, TableError
from microtome.private import draft_schema, open_table
from microtome.private.draft import draft
from microtome.schema import Dialect, Kind, Schema

ROWS = 60


def text_of(columns: dict[str, Callable[[random.Random], str]], separator: str = ",", end: str = "\n") -> str:
    rng = random.Random(1)
    lines = [separator.join(columns)]
    lines += [separator.join(make(rng) for make in columns.values()) for _ in range(ROWS)]
    return end.join(lines) + end


def pick(*values: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(values)


def drafted_column(tmp_path: Path, name: str, *values: str, separator: str = "|") -> Any:
    path = tmp_path / "t.csv"
    path.write_text(text_of({name: pick(*values), "other": pick("a", "b")}, separator), encoding="utf-8")
    found = draft(path)
    return found.schema[name], found.remarks, found.schema.file


def rows_of(path: Path, schema: Schema) -> dict[str, list[Any]]:
    table = open_table(path, schema.file)
    return pa.concat_tables(list(table.blocks(schema, 7))).to_pydict()


GERMAN = {"Größe": pick("1,75", "2,10", "0,5"), "Ort": pick("Köln", "Münster"), "Tag": pick("31.01.2024", "01.12.2023")}


@pytest.mark.parametrize(
    ("name", "pack", "encoding", "expected"),
    [
        ("t.csv", bytes, "utf-8", "utf-8"),
        ("t.csv", bytes, "utf-8-sig", "utf-8-sig"),
        ("t.csv", bytes, "cp1252", "cp1252"),
        ("t.txt", bytes, "utf-16", "utf-16"),
        ("t.csv.gz", gzip.compress, "cp1252", "cp1252"),
        ("t.csv.bz2", bz2.compress, "utf-8", "utf-8"),
        ("t.csv.zst", lambda data: pa.compress(data, "zstd", asbytes=True), "utf-8", "utf-8"),
    ],
)
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_dialects_are_found_and_read(
    name: str, pack: Callable[[bytes], bytes], encoding: str, expected: str, separator: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(text_of(GERMAN, separator, "\r\n").encode(encoding)))
    schema = draft_schema(path)
    assert schema.file == Dialect(separator=separator, encoding=expected, decimal=",")
    assert [column.kind for column in schema.columns] == [Kind.FLOAT, Kind.CATEGORICAL, Kind.DATE]
    assert schema["Tag"].format == "%d.%m.%Y"
    read = rows_of(path, schema)
    assert set(read["Größe"]) == {1.75, 2.1, 0.5}
    assert set(read["Ort"]) == {"Köln", "Münster"}


def test_a_tsv_file_needs_no_word_and_options_force_what_is_guessed(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(text_of({"a": pick("1.5", "2"), "b": pick("x;y", "z")}, "\t"))
    assert draft_schema(path).file == Dialect(separator="\t")
    assert list(open_table(path).types) == ["a", "b"]
    path = tmp_path / "t.csv"
    path.write_text(text_of({"a": pick("1,234", "2,345"), "b": pick("x", "y")}, ";"))
    assert draft_schema(path)["a"].kind is Kind.FLOAT
    as_point = draft_schema(path, decimal=".")
    assert (as_point["a"].kind, as_point["a"].format) == (Kind.INTEGER, "#,##0")
    assert draft_schema(path, encoding="cp1252").file == Dialect(separator=";", encoding="cp1252", decimal=",")
    with pytest.raises(TableError, match="Expected 1 columns"):
        draft_schema(path, separator=",")


def test_options_of_another_kind_of_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="text files"):
        draft_schema(pa.table({"a": [1]}), separator=";")
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match="workbooks"):
        draft_schema(path, sheet="one")


@pytest.mark.parametrize(
    ("values", "kind", "form"),
    [
        (("$1,234.50", "$7.00", "-$3.25"), Kind.FLOAT, "$#,##0.00"),
        (("1.234,50 €", "7,00 €"), Kind.FLOAT, "#.##0,00 €"),
        (("CHF 1'234.50", "CHF 7.00"), Kind.FLOAT, "CHF #'##0.00"),
        (("12.5%", "7%", "100%"), Kind.FLOAT, "0.##%"),
        (("12,345", "7", "999"), Kind.INTEGER, "#,##0"),
        (("1/31/2024", "12/1/2023"), Kind.DATE, "%-m/%-d/%Y"),
        (("31/01/2024", "01/12/2023"), Kind.DATE, "%d/%m/%Y"),
        (("31-Jan-24", "01-Dec-23"), Kind.DATE, "%d-%b-%y"),
        (("2024-01-31", "2023-12-01"), Kind.DATE, None),
        (("2024-01-31 10:00", "2023-12-01 23:59"), Kind.DATETIME, "%Y-%m-%d %H:%M"),
        (("2024-01-31T10:00:00+02:00", "2023-12-01T23:59:00-05:00"), Kind.DATETIME, "%Y-%m-%dT%H:%M:%S%:z"),
        (("2024-01-31T10:00:00+0200", "2023-12-01T23:59:00-0500"), Kind.DATETIME, "%Y-%m-%dT%H:%M:%S%z"),
        (("1/31/2024 2:05 PM", "12/1/2023 11:59 AM"), Kind.DATETIME, "%-m/%-d/%Y %-I:%M %p"),
        (("14:05", "23:59"), Kind.TIME, "%H:%M"),
        (("TRUE", "FALSE"), Kind.BOOLEAN, "FALSE/TRUE"),
        (("true", "false"), Kind.BOOLEAN, None),
        (("02134", "10001"), Kind.CATEGORICAL, None),
        (("A11", "A12"), Kind.CATEGORICAL, None),
        (("1.2.3", "4.5.6"), Kind.CATEGORICAL, None),
    ],
)
def test_formats_are_found(values: tuple[str, ...], kind: Kind, form: str | None, tmp_path: Path) -> None:
    column, _, file = drafted_column(tmp_path, "x", *values)
    assert (column.kind, column.format) == (kind, form)
    path = tmp_path / "t.csv"
    schema = Schema(columns=(column,), file=file)
    read = rows_of(path, schema)["x"]
    assert None not in read
    assert len(set(read)) == len(values)


@pytest.mark.parametrize(
    ("name", "values", "categories"),
    [
        ("smoker", ("Yes", "No"), ("No", "Yes")),
        ("smoker", ("y", "n"), ("n", "y")),
        ("insured", ("T", "F"), ("F", "T")),
        ("sex", ("male", "female"), ("female", "male")),
        ("GENDER", ("M", "F"), ("F", "M")),
        ("birth_month", ("JAN", "FEB"), None),
        ("weekday", ("Mon", "Sun"), None),
        ("State", ("CA", "NY"), None),
        ("country", ("DE", "FR"), None),
    ],
)
def test_lists_are_suggested_as_they_are_spelled(
    name: str, values: tuple[str, ...], categories: tuple[str, ...] | None, tmp_path: Path
) -> None:
    column, remarks, _ = drafted_column(tmp_path, name, *values)
    assert column.suggested
    assert set(values) <= set(column.categories)
    assert categories is None or column.categories == categories
    assert not [remark for remark in remarks if "but the table" in remark]


@pytest.mark.parametrize(
    ("name", "bounds"),
    [("age", (0, 120)), ("patientAge", (0, 120)), ("hour", (0, 23))],
)
def test_bounds_are_suggested_by_name_alone(name: str, bounds: tuple[int, int], tmp_path: Path) -> None:
    few, _, _ = drafted_column(tmp_path, name, "3", "4")
    many, _, _ = drafted_column(tmp_path, name, "0", "17", "22")
    assert few.bounds == many.bounds == bounds


@pytest.mark.parametrize("name", ["lat", "longitude"])
def test_bounds_that_a_region_does_not_fill_are_told_and_left_to_be_learnt(name: str, tmp_path: Path) -> None:
    column, remarks, _ = drafted_column(tmp_path, name, "47.5", "48.25")
    assert (column.kind, column.bounds, column.suggested) == ("float", None, None)
    assert any("those of the region" in remark for remark in remarks)


def test_a_contradiction_is_told_and_changes_nothing(tmp_path: Path) -> None:
    """Whoever confirms the draft publishes the catalogue's bounds, whether or not one record is outside."""
    without, _, _ = drafted_column(tmp_path, "age", "30", "40", "50")
    with_one, remarks, _ = drafted_column(tmp_path, "age", "30", "40", "131")
    assert without == with_one
    assert any("131" in remark for remark in remarks)
    states = {f"s{number}" for number in range(9)} | {"CA"}
    other, _, _ = drafted_column(tmp_path, "state", *states)
    assert other.categories is None


@pytest.mark.parametrize("name", ["duration_in_month", "number_of_hours", "mileage", "state_of_mind", "stage"])
def test_names_that_only_resemble_get_no_suggestion(name: str, tmp_path: Path) -> None:
    assert drafted_column(tmp_path, name, "30", "40")[0].suggested is None


def test_no_value_of_the_table_gets_into_the_draft(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text_of({"age": pick("77", "131"), "town": pick("Atlantis", "Avalon"), "pay": pick("13371", "8")}))
    text = draft_schema(path).to_yaml()
    assert not [secret for secret in ("77", "131", "Atlantis", "Avalon", "13371") if secret in text]


def test_signs_of_missing_values_among_numbers(tmp_path: Path) -> None:
    column, remarks, file = drafted_column(tmp_path, "x", "1", "2", "?", "-", "")
    assert column.kind is Kind.INTEGER
    assert {"?", "-", ""} <= set(file.missing_values)
    assert any("missing value" in remark for remark in remarks)
    read = rows_of(tmp_path / "t.csv", Schema(columns=(column,), file=file))["x"]
    assert set(read) == {1, 2, None}


def test_days_and_months_that_could_be_either_are_pointed_out(tmp_path: Path) -> None:
    column, remarks, _ = drafted_column(tmp_path, "x", "01/02/2024", "03/04/2024")
    assert column.kind is Kind.DATE
    assert any("other way round" in remark for remark in remarks)


def test_empty_and_constant_columns_do_not_stop_the_draft(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text_of({"void": pick(""), "same": pick("x"), "n": pick("NA", "null"), "y": pick("1", "2")}))
    found = draft(path)
    assert {one.name: one.action for one in found.schema.aside} == {"void": "drop", "n": "drop"}
    assert found.schema.names == ["same", "y"]
    assert any(remark.startswith("same: has one value only") for remark in found.remarks)


def test_what_pandas_writes_with_its_index(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",age\n" + "".join(f"{number},{20 + number % 9}\n" for number in range(90)))
    schema = draft_schema(path)
    assert [(one.name, one.action) for one in schema.aside] == [("column_1", "surrogate")]
    assert rows_of(path, schema)["age"][:3] == [20, 21, 22]


def test_a_file_without_names_is_refused_before_a_record_is_published(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("39,State-gov,13\n50,Private,9\n")
    with pytest.raises(SchemaError, match="names are published"):
        draft_schema(path)
    path.write_text("country,2019,2020\nDE,1,2\n")
    assert draft_schema(path).names == ["country", "2019", "2020"]


def test_quotes_separators_and_line_ends_within_values(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"a;x";"b"\r\n' + '"one; two\r\nlines ""q""";1,5\r\n"ü";2,5\r\n' * 20, encoding="cp1252")
    schema = draft_schema(path, skip=())
    assert schema.names == ["a;x", "b"]
    assert rows_of(path, schema)["a;x"][:2] == ['one; two\r\nlines "q"', "ü"]


def test_files_without_rows_or_with_ragged_ones(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    with pytest.raises(TableError, match="no rows"):
        draft_schema(path)
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(TableError, match="Expected 2 columns"):
        draft_schema(path)
    path.write_text("Sales of 2024\n\na,b\n1,2\n")
    with pytest.raises(TableError, match="no title above it"):
        draft_schema(path)
    path.write_bytes(codecs.BOM_UTF8)
    with pytest.raises(TableError):
        draft_schema(path)


def test_the_separator_is_hinted_at_where_a_schema_says_another(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age;town\n1;x\n")
    with pytest.raises(TableError, match="--separator"):
        open_table(path).check_columns(draft_schema(path))


def test_a_workbook(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    import datetime as dt

    book = openpyxl.Workbook()
    book.active.title = "cover"
    sheet = book.create_sheet("data")
    sheet.append(["age", "seen", "paid", "town", "size"])
    for number in range(40):
        sheet.append([20 + number % 9, dt.datetime(2024, 1, 1 + number % 28), number % 2 == 0, "Köln", number / 4])
    sheet.append(["?", None, None, None, None])
    book.save(tmp_path / "t.xlsx")
    schema = draft_schema(tmp_path / "t.xlsx", sheet="data")
    kinds = [Kind.INTEGER, Kind.DATE, Kind.BOOLEAN, Kind.CATEGORICAL, Kind.FLOAT]
    assert [column.kind for column in schema.columns] == kinds
    read = rows_of(tmp_path / "t.xlsx", schema)
    assert read["age"][:2] == [20, 21]
    assert read["age"][-1] is None
    assert read["seen"][0] == dt.date(2024, 1, 1)
    assert read["size"][1] == 0.25
    with pytest.raises(SchemaError, match="no sheet 'dta'; it has cover, data"):
        draft_schema(tmp_path / "t.xlsx", sheet="dta")


def test_a_records_values_do_not_depend_on_the_records_around_it(tmp_path: Path) -> None:
    """With one record more or less all others read as they did: in a dialect, in formats, with odd values beside."""
    made = {"pay": pick("1.234,50 €", "7,00 €"), "day": pick("31.01.24", "01.12.23"), "x": pick("1,5", "", "?")}
    lines = text_of(made, ";").splitlines(keepends=True)
    path = tmp_path / "t.csv"
    path.write_text("".join(lines), encoding="utf-8")
    schema = draft_schema(path)
    whole = rows_of(path, schema)
    for gone in (1, 17, len(lines) - 1):
        path.write_text("".join(lines[:gone] + lines[gone + 1 :]), encoding="utf-8")
        for name, values in rows_of(path, schema).items():
            assert values == whole[name][: gone - 1] + whole[name][gone:]


def test_points_in_sentences_do_not_decide_on_the_decimal_sign(tmp_path: Path) -> None:
    lines = [f"{1000 + place},{place % 100:02d};said {place / 7}" for place in range(300)]
    (tmp_path / "costs.csv").write_text("\n".join(["cost;remark", *lines]))
    drafted = draft(tmp_path / "costs.csv").schema
    assert drafted.file is not None
    assert drafted.file.decimal == ","
    assert [(column.name, column.kind) for column in drafted.columns] == [("cost", Kind.FLOAT)]


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"%PDF-1.7\n", b"\x89PNG\r\n", b"PAR1"])
def test_a_file_that_is_something_else_is_not_read_as_text(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(start + b"a,b\n1,2\n")
    with pytest.raises(TableError, match="whatever its name says"):
        draft(path)
