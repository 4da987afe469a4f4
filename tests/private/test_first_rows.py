"""What the holder may look at: the number of rows, and the first of them as the file has them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from microtome.private.draft import draft
from microtome.private.first_rows import first_rows, number_of_rows


def test_first_rows_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id;name;sum\n" + "".join(f"{n};{'x' * 90 if n == 1 else 'y'};{n},5\n" for n in range(40)))
    schema = draft(path).schema
    seen = first_rows(path, schema, 3)
    assert seen.names == ("id", "name", "sum")
    assert [row[0] for row in seen.rows] == ["0", "1", "2"]
    assert len(seen.rows[1][1]) == 60
    assert seen.rows[2][2] == "2,5"
    assert number_of_rows(path, schema) == 40


def test_a_table_may_have_fewer_rows_and_gaps(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": [1, None], "who": ["x", "y"]}), path)
    schema = draft(path).schema
    assert first_rows(path, schema, 10).rows == (("1", "x"), ("", "y"))
    assert number_of_rows(path, schema) == 2
