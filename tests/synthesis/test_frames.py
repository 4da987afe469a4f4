"""Drawn frames are held as the real ones were: types, categories, units, the name of the index; in any library."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microtome as mt
from microtome.errors import ModelError, ParameterError, SchemaError
from microtome.schema import Schema

pytestmark = pytest.mark.filterwarnings("ignore::microtome.errors.PoorReleaseWarning")  # ε is large on purpose

ROWS = 400


def every_type() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": pd.Categorical(rng.choice(["Bern", "Köln"], ROWS)),
            "grade": pd.Categorical(rng.choice([1, 2, 3], ROWS)),
            "name": pd.array(rng.choice(["a", "b"], ROWS), dtype="string"),
            "text": rng.choice(["x", "y"], ROWS),
            "age": rng.integers(18, 90, ROWS).astype("int8"),
            "rooms": pd.array(rng.integers(1, 5, ROWS), dtype="UInt16"),
            "owner": rng.random(ROWS) < 0.5,
            "moved": pd.array(np.where(rng.random(ROWS) < 0.2, None, True), dtype="boolean"),
            "pay": rng.gamma(2.0, 1000.0, ROWS),
            "rent": rng.gamma(2.0, 500.0, ROWS).astype("float32"),
            "tax": pd.array(rng.gamma(2.0, 100.0, ROWS), dtype="Float64"),
            "born": pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 9000, ROWS), "D"),
        }
    )
    frame["seen"] = frame["born"].astype("datetime64[s]")
    frame.index.name = "person"
    return frame


def fitted(table: object) -> mt.Synthesizer:
    schema = mt.draft_schema(table).confirm()
    release = mt.release(table, schema, epsilon=50, delta=1e-6)
    return mt.Synthesizer(mt.FitSettings(steps=5), random_state=0).fit(release)


@pytest.fixture(scope="module")
def model() -> mt.Synthesizer:
    return fitted(every_type())


def names(frame: pd.DataFrame) -> dict[str, str]:
    return {str(column): str(dtype) for column, dtype in frame.dtypes.items()}


def test_types_and_the_name_of_the_index_come_back(model: mt.Synthesizer) -> None:
    real, drawn = every_type(), model.sample(50)
    assert names(drawn) == names(real)
    assert drawn.index.name == "person"
    assert isinstance(drawn.index, pd.RangeIndex)


def test_they_survive_the_files(model: mt.Synthesizer, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = mt.Synthesizer.load(tmp_path / "m")
    assert names(again.sample(10)) == names(every_type())
    document = model.model.schema.to_yaml()  # type: ignore[union-attr]
    (tmp_path / "s.yaml").write_text(document, encoding="utf-8")
    assert Schema.load(tmp_path / "s.yaml") == model.model.schema
    for line in ("frame: category", "frame: string", "frame: UInt16", "frame: datetime64[ns]", "index: person"):
        assert line in document
    assert "frame: int8" not in document


def test_a_parquet_file_of_a_frame_is_no_different(model: mt.Synthesizer, tmp_path: Path) -> None:
    every_type().to_parquet(tmp_path / "t.parquet")
    assert mt.draft_schema(tmp_path / "t.parquet") == mt.draft_schema(every_type())
    model.sample_to_file(tmp_path / "drawn.parquet", 20)
    drawn = pd.read_parquet(tmp_path / "drawn.parquet")
    real = names(pd.read_parquet(tmp_path / "t.parquet"))
    assert names(drawn) == real
    assert real["grade"] == "int64"  # Parquet itself keeps categories of text only


def test_all_categories_are_there_whether_drawn_or_not(model: mt.Synthesizer) -> None:
    drawn = model.sample_conditions({"town": "Bern"}, 5)
    assert set(drawn["town"].cat.categories) >= {"Bern", "Köln"}
    assert set(drawn["grade"].cat.categories) == {1, 2, 3}


def test_frames_of_other_libraries(model: mt.Synthesizer) -> None:
    wanted = model.sample(30, random_state=1)
    arrow = model.sample(30, random_state=1, as_="arrow")
    assert isinstance(arrow, pa.Table)
    assert pa.types.is_dictionary(arrow.schema.field("town").type)
    assert arrow.schema.field("born").type == pa.timestamp("ns")
    polars = model.sample(30, random_state=1, as_="polars")
    assert isinstance(polars, pl.DataFrame)
    assert polars.schema["town"] == pl.Categorical
    assert polars.schema["age"] == pl.Int8
    for column in ("town", "age", "name"):
        assert wanted[column].tolist() == arrow.column(column).to_pylist() == polars[column].to_list()


def test_polars_in_and_polars_out() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"town": rng.choice(["Bern", "Köln"], ROWS), "age": rng.integers(18, 90, ROWS)})
    frame = frame.with_columns(pl.col("town").cast(pl.Categorical), pl.col("age").cast(pl.Int16))
    frame = frame.with_columns(pl.lit(dt.datetime(2020, 1, 1)).dt.cast_time_unit("ns").alias("seen"))
    assert fitted(frame).sample(5, as_="polars").schema == frame.schema


def test_ordered_categories_keep_their_order() -> None:
    grades = ("low", "middling", "high")
    column = mt.Column(name="grade", kind="ordered", categories=grades, missing=False, frame="category")
    table = pa.table({"grade": ["low", "high"] * 100})
    release = mt.release(table, mt.Schema(columns=(column,)), epsilon=5, delta=1e-6)
    drawn = mt.Synthesizer(mt.FitSettings(steps=2), random_state=0).fit(release).sample(5)
    assert drawn["grade"].cat.ordered
    assert tuple(drawn["grade"].cat.categories) == grades


def test_nanoseconds_hold_the_earliest_and_latest_times_there_can_be() -> None:
    bounds = (dt.datetime(1685, 1, 1), dt.datetime(2255, 1, 1))
    column = mt.Column(name="at", kind="datetime", bounds=bounds, frame="datetime64[ns]")
    table = pa.table({"at": pa.array([bounds[0], bounds[1], None] * 50, pa.timestamp("us"))})
    release = mt.release(table, mt.Schema(columns=(column,)), epsilon=50, delta=1e-6)
    drawn = mt.Synthesizer(mt.FitSettings(steps=2), random_state=0).fit(release).sample(200)
    assert drawn["at"].dtype == np.dtype("datetime64[ns]")
    assert drawn["at"].isna().any()
    assert drawn["at"].min() >= pd.Timestamp(bounds[0])
    assert drawn["at"].max() <= pd.Timestamp(bounds[1])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "integer", "frame": "Int8"}, "frame is 'Int8'; for dtype int64"),
        ({"kind": "integer", "frame": "category"}, "kind: categorical"),
        ({"kind": "categorical", "frame": "object"}, "one of category, string"),
    ],
)
def test_frame_types_that_do_not_fit_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        mt.Column(name="x", **options)  # type: ignore[arg-type]


def test_an_unknown_library_is_refused(model: mt.Synthesizer) -> None:
    with pytest.raises(ParameterError, match="'modin'; it must be one of pandas, polars, arrow"):
        model.sample(5, as_="modin")


def test_an_index_that_is_a_column_of_the_real_frame_only_gives_its_name() -> None:
    frame = every_type()[["age", "town"]].set_index("town")
    drafted = mt.draft_schema(frame)
    assert drafted.names == ["age"]
    assert drafted.index == "town"
    assert mt.draft_schema(every_type().set_index(["age", "town"])).index is None


@pytest.mark.parametrize("given", [every_type(), pl.DataFrame({"a": [1]}), pa.table({"a": [1]}), {"a": [1]}])
def test_fit_on_a_table_says_what_to_do_instead(given: object) -> None:
    with pytest.raises(ParameterError, match=r"fit takes a release, not a \w+.*mt\.release\(table, schema"):
        mt.Synthesizer().fit(given)  # type: ignore[arg-type]


def test_fit_on_the_path_of_a_table_does_too(tmp_path: Path) -> None:
    every_type().to_csv(tmp_path / "t.csv")
    with pytest.raises(Exception, match="'microtome release' makes a release of a private table"):
        mt.Synthesizer().fit(tmp_path / "t.csv")


def test_images_have_no_frames(tmp_path: Path) -> None:
    from microtome.synthesis.draw import Draw
    from microtome.synthesis.image_model import ImageModel

    with pytest.raises((ParameterError, ModelError), match="as_ is for tables"):
        ImageModel.draw(None, Draw(number=1, conditions={}, seed=0, as_="polars"))  # type: ignore[arg-type]


def test_report_reads_drawn_parquet(model: mt.Synthesizer, tmp_path: Path) -> None:
    model.sample_to_file(tmp_path / "drawn.parquet", 200)
    assert pq.read_table(tmp_path / "drawn.parquet").num_rows == 200
    made = mt.report(every_type(), tmp_path / "drawn.parquet", sample=200)
    assert made.figures.columns
