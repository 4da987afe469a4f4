"""The code between values and vectors: round trips of odd tables, norms, weights, files."""

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from microtome.accounting import Neighbours
from microtome.errors import SchemaError
from microtome.private.profile_budget import ProfileBudget
from microtome.schema import (
    OTHER,
    CategoryCells,
    CellCounts,
    Codebook,
    Column,
    ColumnCode,
    Kind,
    NumberCells,
    Outside,
    Schema,
    code_from_counts,
)
from microtome.schema.category_code import _json_type
from microtome.schema.grid import initial_cells
from microtome.schema.margins import project_to_simplex
from support import FixedRandomness, levels_of, people, people_schema, searched

LOUD, QUIET = 0.05, 50.0


def learn(table: pa.Table, schema: Schema, *, mu: float = QUIET, centred: bool = True, seed: int = 0) -> Codebook:
    budget = ProfileBudget(mu=mu, threshold_delta=1e-6, neighbours=Neighbours.BLANK_ONE)
    tally, left = searched(table, schema, budget, FixedRandomness(seed))
    return tally.publish(left, FixedRandomness(seed), centred=centred).codebook


days = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)) | st.dates()
times = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
measures = st.one_of(
    st.just(0.0),
    st.floats(-10.0, 10.0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e-310, -1e300, 2.0**-30, 1e18, -0.0]),
)
VALUES = {
    "string": texts,
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint8": st.integers(0, 255),
    "int64": st.integers(-(2**62), 2**62) | st.integers(-3, 3),
    "float64": measures,
    "date": days,
    "datetime": times,
    "time": st.times(),
    "bool": st.booleans(),
}


def are_bounds(kind: Kind, low: Any, high: Any) -> bool:
    """Whether a schema would take these as bounds."""
    if kind.is_temporal:
        return low < high
    largest = 2.0**53 if kind is Kind.INTEGER else 1e307
    return low < high and max(abs(low), abs(high)) < largest


@st.composite
def odd_columns(draw: st.DrawFn, name: str, num_rows: int) -> tuple[Column, pa.Array]:
    kind = draw(st.sampled_from(list(Kind)))
    dtype = {
        Kind.BOOLEAN: st.just("bool"),
        Kind.INTEGER: st.sampled_from(["int16", "uint8", "int64", "float64"]),
        Kind.FLOAT: st.just("float64"),
        Kind.DATE: st.just("date"),
        Kind.DATETIME: st.just("datetime"),
        Kind.TIME: st.just("time"),
    }.get(kind, st.sampled_from(["string", "int16", "float64", "date", "bool"]))
    dtype = draw(dtype)
    values = VALUES[dtype]
    if kind is Kind.INTEGER and dtype == "float64":
        values = st.integers(-(2**40), 2**40).map(float)
    pool = draw(st.lists(values, min_size=1, max_size=5, unique=True))
    missing = draw(st.booleans())
    options = [*pool, None] if missing else pool
    data = draw(st.lists(st.sampled_from(options), min_size=num_rows, max_size=num_rows))
    declared = kind is Kind.ORDERED or draw(st.booleans())
    entries: dict = {"missing": missing, "bins": draw(st.integers(2, 8)), "weight": draw(st.floats(0.1, 10.0))}
    if kind.is_categorical and declared:
        entries["categories"] = tuple({value + 0 if dtype == "float64" else value: None for value in pool})
    elif declared and are_bounds(kind, min(pool), max(pool)):
        entries["bounds"] = (min(pool), max(pool))
    column = Column(name=name, kind=kind, dtype=dtype, **entries)
    return column, pa.array(data, type=column.arrow_type)


@st.composite
def odd_tables(draw: st.DrawFn) -> tuple[Schema, pa.Table]:
    num_rows = draw(st.integers(2, 40))
    columns = [draw(odd_columns(f"c{index}", num_rows)) for index in range(draw(st.integers(1, 4)))]
    schema = Schema(columns=tuple(column for column, _ in columns))
    return schema, pa.table([array for _, array in columns], names=schema.names)


def can_name_other(code: ColumnCode) -> bool:
    """Whether every cell has values of its own in the column's type."""
    return not isinstance(code.cells, CategoryCells) or not code.cells.other or code.column.dtype == "string"


@settings(max_examples=150)
@given(odd=odd_tables(), mu=st.sampled_from([LOUD, QUIET]), centred=st.booleans(), seed=st.integers(0, 9))
def test_round_trip_of_odd_tables(odd: tuple[Schema, pa.Table], mu: float, centred: bool, seed: int) -> None:
    schema, table = odd
    codebook = learn(table, schema, mu=mu, centred=centred, seed=seed)
    levels = levels_of(table, codebook)
    rows = codebook.encode(levels)
    several = [index for index, code in enumerate(codebook.codes) if code.num_levels > 1]
    assert (codebook.decode(rows)[:, several] == levels[:, several]).all()
    drawn = codebook.draw(levels, np.random.default_rng(seed))
    assert drawn.schema.names == schema.names
    assert [field.type for field in drawn.schema] == [column.arrow_type for column in schema.columns]
    for index, code in enumerate(codebook.codes):
        _check_drawn(code, drawn.column(index).combine_chunks(), levels[:, index])
        assert code.level_margins.sum() == pytest.approx(1.0)
        assert (code.margins >= 0).all()


def _check_drawn(code: ColumnCode, values: pa.Array, levels: NDArray[np.int64]) -> None:
    column = code.column
    if can_name_other(code):
        assert column.missing or values.null_count == 0
        again = levels_of(pa.table([values], names=[column.name]), Codebook(codes=(code,), centred=True))
        assert (again[:, 0] == levels).all()
    present = values.drop_null().to_pylist()
    if isinstance(code.cells, CategoryCells):
        allowed = {*code.cells.categories, *([OTHER] if code.cells.other else [])}
        assert set(present) <= allowed
    elif column.bounds is not None:
        assert all(column.bounds[0] <= value <= column.bounds[1] for value in present)
    if column.kind is Kind.INTEGER:
        assert all(float(value).is_integer() for value in present)


@settings(max_examples=60)
@given(odd=odd_tables(), centred=st.booleans())
def test_encoded_rows_lie_in_the_unit_ball(odd: tuple[Schema, pa.Table], centred: bool) -> None:
    schema, table = odd
    codebook = learn(table, schema, centred=centred)
    rows = codebook.encode(levels_of(table, codebook))
    assert (np.linalg.norm(rows, axis=1) <= 1.0 + 1e-12).all()
    informative = [code.column.weight**2 for code in codebook.codes if code.num_levels > 1]
    for block, code in zip(codebook.blocks, codebook.codes, strict=True):
        part = rows[:, block.start : block.stop]
        weight = code.column.weight / math.sqrt(sum(informative)) if code.num_levels > 1 else 0.0
        assert np.allclose(np.linalg.norm(part, axis=1), weight, atol=1e-12)
        if centred:
            assert np.allclose(part.sum(axis=1), 0.0, atol=1e-12)
        else:
            assert (part >= 0).all()


def test_weights_share_out_the_unit_ball() -> None:
    table = people()
    schema = people_schema(age={"weight": 3.0}, town={"weight": 0.5})
    codebook = learn(table, schema)
    norms = {
        block.name: float(np.linalg.norm(codebook.encode(levels_of(table, codebook))[0, block.start : block.stop]))
        for block in codebook.blocks
    }
    assert norms["age"] / norms["grade"] == pytest.approx(3.0)
    assert norms["town"] / norms["grade"] == pytest.approx(0.5)
    assert sum(norm**2 for norm in norms.values()) == pytest.approx(1.0)


def test_point_mass_at_zero_keeps_its_own_level() -> None:
    table, schema = people(2000), people_schema()
    codebook = learn(table, schema)
    levels = levels_of(table, codebook)[:, schema.names.index("income")]
    income = table.column("income").to_pylist()
    at_zero = {level for level, value in zip(levels, income, strict=True) if value == 0.0}
    elsewhere = {level for level, value in zip(levels, income, strict=True) if value not in (0.0, None)}
    missing = {level for level, value in zip(levels, income, strict=True) if value is None}
    assert len(at_zero) == len(missing) == 1
    assert not (at_zero & elsewhere)
    assert not (missing & (elsewhere | at_zero))
    drawn = codebook.codes[schema.names.index("income")].draw(np.full(500, at_zero.pop()), np.random.default_rng(0))
    assert set(drawn.to_pylist()) == {0.0}


def test_bins_are_quantiles() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"x": pa.array(rng.lognormal(3.0, 1.0, 20_000))})
    code = learn(table, Schema(columns=(Column(name="x", kind=Kind.FLOAT, bins=8, missing=False),))).codes[0]
    assert 6 <= code.num_levels <= 8
    shares = np.bincount(levels_of(table, Codebook(codes=(code,), centred=True))[:, 0]) / 20_000
    assert np.allclose(shares, code.level_margins, atol=0.01)
    assert shares.max() < 0.25


def test_rare_categories_are_pooled_and_told_apart_again() -> None:
    values = ["common"] * 900 + ["usual"] * 80 + ["a"] * 10 + ["b"] * 10
    column = Column(name="x", kind=Kind.CATEGORICAL, categories=("common", "usual", "a", "b"), missing=False)
    cells = CategoryCells(categories=("common", "usual", "a", "b"), other=False, missing=False)
    exact = np.array([900.0, 80.0, 10.0, 10.0])
    code = code_from_counts(cells, CellCounts(column=column, counts=exact, noise_scale=10.0, total=1000.0))
    assert code.num_levels == 3
    assert code.levels[2] == code.levels[3]
    drawn = code.draw(np.full(400, code.levels[2]), np.random.default_rng(0)).to_pylist()
    assert set(drawn) == {"a", "b"}
    assert 140 < drawn.count("a") < 260
    assert len(values) == 1000


@pytest.mark.parametrize("dtype", ["string", "int64", "date"])
def test_nothing_learnt_still_draws(dtype: str) -> None:
    column = Column(name="x", kind=Kind.CATEGORICAL, dtype=dtype, missing=False)
    cells = CategoryCells(categories=(), other=True, missing=False)
    code = code_from_counts(cells, CellCounts(column=column, counts=np.array([30.0]), noise_scale=9.0, total=30.0))
    drawn = code.draw(np.zeros(5, np.int64), np.random.default_rng(0))
    assert drawn.type == column.arrow_type
    assert set(drawn.to_pylist()) == {OTHER if dtype == "string" else None}


def test_other_without_a_name_is_drawn_as_a_named_category() -> None:
    column = Column(name="x", kind=Kind.CATEGORICAL, dtype="int64", categories=(1, 2), outside=Outside.CLAMP)
    cells = CategoryCells(categories=(1, 2), other=True, missing=True)
    counts = np.array([60.0, 20.0, 15.0, 5.0])
    code = code_from_counts(cells, CellCounts(column=column, counts=counts, noise_scale=0.1, total=100.0))
    drawn = code.draw(np.full(1000, code.levels[2]), np.random.default_rng(0)).to_pylist()
    assert set(drawn) == {1, 2}
    assert drawn.count(1) > 2 * drawn.count(2)


def test_an_outlier_alone_does_not_move_learnt_bounds() -> None:
    rng = np.random.default_rng(0)
    usual = rng.uniform(10.0, 20.0, 2000)
    schema = Schema(columns=(Column(name="x", kind=Kind.FLOAT, missing=False),))
    without = learn(pa.table({"x": usual}), schema, mu=1.0)
    outlier = np.append(usual[:-1], 1e9)
    with_it = learn(pa.table({"x": outlier}), schema, mu=1.0)
    cells, cells_with = without.codes[0].cells, with_it.codes[0].cells
    assert isinstance(cells, NumberCells)
    assert isinstance(cells_with, NumberCells)
    assert (cells.edges[[0, -1]] == cells_with.edges[[0, -1]]).all()
    assert cells.edges[0] >= 9.0
    assert cells.edges[-1] <= 22.0
    many = np.append(usual[:1900], np.full(100, 1e9))
    moved = learn(pa.table({"x": many}), schema, mu=1.0).codes[0].cells
    assert isinstance(moved, NumberCells)
    assert moved.edges[-1] > 1e9


def test_codebook_survives_a_file() -> None:
    table = people()
    columns = (
        *people_schema().columns,
        Column(name="when", kind=Kind.CATEGORICAL, dtype="datetime"),
        Column(name="day", kind=Kind.CATEGORICAL, dtype="date", categories=(dt.date(2020, 1, 1), dt.date(2020, 1, 2))),
        Column(name="ratio", kind=Kind.CATEGORICAL, dtype="float32"),
    )
    stamp = dt.datetime(2020, 1, 1, 2, 3, 4, 5)
    table = table.append_column("when", pa.array([stamp] * len(table), pa.timestamp("us")))
    table = table.append_column("day", pa.array([dt.date(2020, 1, 1)] * len(table)))
    table = table.append_column("ratio", pa.array([0.1] * len(table), pa.float32()))
    schema = Schema(columns=columns)
    codebook = learn(table, schema)
    parts, arrays = codebook.to_parts()
    again = Codebook.from_parts(Schema.from_dict(schema.to_dict()), parts, arrays)
    levels = levels_of(table, codebook)
    assert (levels_of(table, again) == levels).all()
    assert (again.encode(levels) == codebook.encode(levels)).all()
    assert again.draw(levels, np.random.default_rng(0)).equals(codebook.draw(levels, np.random.default_rng(0)))
    assert _json_type(pa.date32()) == pa.string()


def test_codebook_of_another_schema_is_refused() -> None:
    schema = people_schema()
    parts, arrays = learn(people(), schema).to_parts()
    with pytest.raises(SchemaError, match="7 coded columns for 1"):
        Codebook.from_parts(Schema(columns=schema.columns[:1]), parts, arrays)
    arrays["profile/0/levels"] = arrays["profile/0/levels"][:-1]
    with pytest.raises(SchemaError, match="'town'"):
        Codebook.from_parts(schema, parts, arrays)


def test_categories_have_no_rounding() -> None:
    column, cells = Column(name="x", kind=Kind.CATEGORICAL), CategoryCells(categories=("a",), other=True, missing=False)
    given = CellCounts(column=column, counts=np.array([3.0, 4.0]), noise_scale=1.0, total=7.0)
    with pytest.raises(SchemaError, match="categories are not rounded"):
        code_from_counts(cells, given, rounding=(np.array([1.0]), 1.0))


def test_cells_that_the_noise_hides_are_averaged() -> None:
    column = Column(name="amount", kind=Kind.FLOAT, bounds=(0.0, 60_000.0), missing=False)
    cells = initial_cells(column)
    assert isinstance(cells, NumberCells)
    rng, noise = np.random.default_rng(0), 10.0
    low, high = cells.edges[:-1], cells.edges[1:]
    exact = np.where((low >= 5_000) & (high <= 35_000), 8.0, 0.0) * (high - low) / np.diff(cells.edges).max()
    given = CellCounts(
        column=column,
        counts=exact + rng.normal(0.0, noise, len(exact)),
        noise_scale=noise,
        total=float(exact.sum()),
    )
    code = code_from_counts(cells, given)
    middle = (low >= 10_000) & (high <= 30_000)
    raw = project_to_simplex(given.counts, given.total)
    assert (raw[middle] > 0).mean() < 0.8 < (code.margins[middle] > 0).mean()
