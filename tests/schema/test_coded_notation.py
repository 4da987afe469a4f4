"""Measurements in a format, and codes among them, are read and given back as they are written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import microtome as mt
from microtome.schema import Dialect

CODES = ("n.b.", ">200")


def lab(decimal: str = ",") -> mt.Schema:
    columns = (
        mt.Column(name="crp", kind="float", bounds=(0, 200), codes=CODES),
        mt.Column(name="seen", kind="date", bounds=("2020-01-01", "2021-12-31"), format="%d.%m.%Y", codes=("unknown",)),
    )
    return mt.Schema(columns=columns, file=Dialect(separator=";", decimal=decimal))


def test_both_are_read_and_written() -> None:
    crp, seen = lab().columns
    for column, texts, values in (
        (crp, ["1,4", " >200", None, "n.b.", "12"], ["1.4", ">200", None, "n.b.", "12"]),
        (seen, ["31.01.2020", "unknown", None], ["2020-01-31", "unknown", None]),
    ):
        assert column.notation is not None
        read = column.notation.read(pa.array(texts), pa.string())
        assert [value if value in (None, *column.code_texts) else value.rstrip("0.") for value in read.to_pylist()] == [
            value if value in (None, *column.code_texts) else value.rstrip("0.") for value in values
        ]
        back = column.notation.write(read).to_pylist()
        assert back == [text if text is None else text.strip() for text in texts]
        assert column.notation.fits(pa.array([*texts, "else"])).to_pylist()[-1] is False


def test_numbers_among_codes_have_the_decimal_sign_of_their_file() -> None:
    assert (lab().columns[0].format, lab(".").columns[0].format) == ("0,##", None)
    assert mt.Schema.from_dict(lab().to_dict()) == lab()


def test_a_table_of_both_goes_all_the_way(tmp_path: Path) -> None:
    path = tmp_path / "lab.csv"
    rows = [("1,5", "31.01.2020"), ("120,25", "unknown"), (">200", "01.12.2021"), ("n.b.", "")]
    path.write_text("crp;seen\n" + "\n".join(";".join(row) for row in rows * 500) + "\n", encoding="utf-8")
    release = mt.release(path, lab(), epsilon=20, anyway=True)
    made = mt.Synthesizer(random_state=0).fit(release)
    output = tmp_path / "made.csv"
    made.sample_to_file(output, 500)
    crp, seen = zip(*(line.replace('"', "").split(";") for line in output.read_text().splitlines()[1:]), strict=True)
    assert set(CODES) < set(crp)
    assert {"unknown", ""} < set(seen)
    assert not any("." in value for value in crp if value not in CODES)
    assert any(value.endswith(".12.2021") for value in seen)
    report = mt.report(path, output, schema=lab())
    assert report.figures.verdict.columns > 0.7


@pytest.mark.parametrize("frame", [pa.table({"crp": [1.5, None, 120.25] * 50, "seen": ["unknown"] * 150})])
def test_numbers_of_a_frame_are_numbers_whatever_a_file_would_write(frame: pa.Table) -> None:
    assert mt.release(frame, lab(), epsilon=5, anyway=True).num_records == 150
