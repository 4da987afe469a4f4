"""Rounding: how round numbers are counted, and that drawn ones are as round."""

import dataclasses
import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microtome.accounting import Neighbours
from microtome.errors import SchemaError
from microtome.private.profile_budget import ProfileBudget
from microtome.schema import Codebook, Column, ColumnCode, Kind, NumberCells, NumberCode, Schema, rounding_classes
from microtome.schema.rounding import Rounding
from microtome.schema.rounding_classes import RoundingClasses
from support import FixedRandomness, searched

CHAIN = RoundingClasses(units=1, steps=(1, 5, 10, 50, 100), magnitudes=(1.0, 10.0, 100.0), between=False)


def step_of(number: int) -> int:
    return max(place for place, step in enumerate(CHAIN.steps) if number % step == 0)


def learnt(column: Column, values: pa.Array, mu: float = 20.0) -> ColumnCode:
    """The code of a column from a profile with hardly any noise."""
    schema = Schema(columns=(column,))
    budget = ProfileBudget(mu=mu, threshold_delta=1e-6, neighbours=Neighbours.BLANK_ONE)
    tally, left = searched(pa.table({column.name: values}), schema, budget, FixedRandomness())
    return tally.publish(left, FixedRandomness(), centred=True).codebook.codes[0]


def drawn(code: ColumnCode, rows: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(5)
    levels = rng.choice(code.num_levels, size=rows, p=code.level_margins)
    return code.draw(levels, rng).to_numpy(zero_copy_only=False)


def test_a_number_is_in_the_class_of_its_magnitude_and_largest_step() -> None:
    found = CHAIN.count(np.array([7.0, -35.0, 40.0, 300.0, 0.0, 155.0])).reshape(CHAIN.shape)
    wanted = np.zeros(CHAIN.shape)
    for magnitude, step in [(0, 0), (1, 1), (1, 2), (2, 4), (2, 1)]:
        wanted[magnitude, step] += 1
    assert np.array_equal(found, wanted)


@given(low=st.integers(-500, 500), width=st.integers(1, 300))
def test_numbers_of_a_cell_are_those_that_are_there_in_order(low: int, width: int) -> None:
    cells = NumberCells(edges=np.array([low, low + width], dtype=float), integral=True, missing=False)
    there = [number for number in range(low, low + width) if number != 0]
    counts = CHAIN.numbers_within(cells)[0]
    for step in range(len(CHAIN.steps)):
        wanted = [number for number in there if step_of(number) == step]
        assert counts[step] == len(wanted)
        # Zero is passed over by the count alone: in a cell with others it may be drawn in place of the last of them.
        if low <= 0 < low + width and step == len(CHAIN.steps) - 1:
            continue
        places = np.arange(len(wanted), dtype=float)
        found = CHAIN.draw(np.full(len(wanted), float(low)), np.full(len(wanted), step), places)
        assert found.tolist() == wanted


@pytest.mark.parametrize(
    "column",
    [
        Column(name="x", kind=Kind.INTEGER, bounds=(0, 120)),
        Column(name="x", kind=Kind.DATE),
        Column(name="x", kind=Kind.BOOLEAN),
        Column(name="x", kind=Kind.CATEGORICAL),
    ],
    ids=["few whole numbers", "dates", "boolean", "categories"],
)
def test_no_rounding_where_cells_tell_all(column: Column) -> None:
    assert rounding_classes(column) is None


@pytest.mark.parametrize("bounds", [(-20_000, 1_500_000), None])
def test_incomes_are_as_round_as_they_were(bounds: tuple[int, int] | None) -> None:
    rng = np.random.default_rng(0)
    odd = rng.lognormal(10, 1, 30_000)
    step = rng.choice([10, 100, 1000, 10_000], size=len(odd), p=[0.05, 0.25, 0.5, 0.2])
    incomes = (np.rint(odd / step) * step).astype(np.int64)
    made = drawn(learnt(Column(name="income", kind=Kind.INTEGER, bounds=bounds, missing=False), pa.array(incomes)))
    assert (made % 10 == 0).mean() > 0.999
    for size in (50, 100, 500, 1000, 5000, 10_000):
        assert (made % size == 0).mean() == pytest.approx((incomes % size == 0).mean(), abs=0.02)
    # The commonest incomes are multiples of 10,000, and stand out as much as they did.
    for common in (10_000, 20_000, 30_000):
        assert (made == common).mean() == pytest.approx((incomes == common).mean(), rel=0.25)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_prices_keep_their_decimals(dtype: str, decimals: int) -> None:
    prices = np.round(np.random.default_rng(0).gamma(2.0, 30.0, 20_000), decimals).astype(dtype)
    column = Column(name="price", kind=Kind.FLOAT, dtype=dtype, bounds=(0, 1000), missing=False)
    made = drawn(learnt(column, pa.array(prices)))
    assert made.dtype == dtype
    assert (np.round(made, decimals) == made).mean() > 0.995
    if decimals:
        assert (np.round(made, decimals - 1) == made).mean() == pytest.approx(0.1, abs=0.02)


def test_what_is_not_round_stays_odd() -> None:
    weights = np.random.default_rng(0).gamma(2.0, 30.0, 20_000)
    column = Column(name="weight", kind=Kind.FLOAT, bounds=(0, 1000), missing=False)
    assert (np.round(drawn(learnt(column, pa.array(weights))), 6) == 0).mean() < 0.001


def test_times_are_on_the_minute() -> None:
    minutes = np.random.default_rng(0).integers(26_000_000, 26_500_000, 20_000)
    times = pa.array(minutes * 60_000_000).cast(pa.timestamp("us"))
    made = drawn(learnt(Column(name="seen", kind=Kind.DATETIME, missing=False), times)).astype("datetime64[us]")
    assert (made.astype(np.int64) % 60_000_000 == 0).mean() > 0.999
    assert dt.datetime(2019, 1, 1) < made.min().astype(object) < made.max().astype(object) < dt.datetime(2021, 1, 1)


def test_what_is_lost_in_noise_changes_nothing() -> None:
    """With much noise no class stands out, and numbers are drawn evenly from their cells."""
    incomes = pa.array(np.arange(200) * 1000)
    code = learnt(Column(name="income", kind=Kind.INTEGER, bounds=(0, 1_500_000), missing=False), incomes, mu=0.01)
    assert code.rounding is not None
    assert (code.rounding.rates == 1.0).all()


def test_floats_of_which_nothing_is_known_have_all_their_digits() -> None:
    prices = pa.array(np.round(np.linspace(1, 900, 200), 2))
    code = learnt(Column(name="price", kind=Kind.FLOAT, bounds=(0, 1000), missing=False), prices, mu=0.01)
    made = drawn(code, rows=1000)
    assert (made == np.round(made, 6)).mean() < 0.05


@pytest.mark.parametrize("bounds", [(-8e307, 8e307), (0, 1e-300), (1e15, 1e16)])
def test_numbers_of_any_size(bounds: tuple[float, float]) -> None:
    values = np.linspace(*bounds, 2000)
    code = learnt(Column(name="x", kind=Kind.FLOAT, bounds=bounds, missing=False), pa.array(values))
    made = drawn(code, rows=1000)
    assert ((made >= bounds[0]) & (made <= bounds[1])).all()
    assert np.quantile(made, 0.9) / bounds[1] == pytest.approx(np.quantile(values, 0.9) / bounds[1], abs=0.05)


def test_a_cell_without_numbers_of_a_class_that_occurs_is_empty() -> None:
    """Asked for all the same it gives what it has; of a magnitude where nothing is known, any number may be."""
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 100_000), missing=False)
    classes = rounding_classes(column)
    assert classes is not None
    cells = NumberCells(edges=np.array([0.0, 1.0, 1001.0, 1999.0, 2001.0]), integral=True, missing=False)
    counts = classes.count(np.full(1000, 2000.0)).astype(float)
    margins = np.array([0.1, 0.1, 0.1, 0.7])
    rounding = Rounding.from_counts(column, counts, 1.0, cells=cells, margins=margins, total=1000.0)
    assert rounding.possible(cells, margins).tolist() == pytest.approx([1 / 9, 1 / 9, 0, 7 / 9])
    code = NumberCode(
        column=column,
        cells=cells,
        counts=1000 * margins,
        noise_scale=1.0,
        margins=margins,
        levels=np.arange(4),
        rounding=rounding,
    )
    made = code.draw(np.repeat(np.arange(4), 100), np.random.default_rng(0)).to_numpy().reshape(4, 100)
    assert (made[0] == 0).all()
    assert ((made[1] >= 1) & (made[1] <= 1000)).all()
    assert ((made[2] > 1000) & (made[2] < 1999)).all()
    assert (made[3] == 2000).all()


def test_a_file_keeps_it_and_an_older_one_does_without() -> None:
    column = Column(name="price", kind=Kind.FLOAT, bounds=(0, 1000), missing=False)
    code = learnt(column, pa.array(np.round(np.random.default_rng(0).gamma(2.0, 30.0, 5000), 2)))
    schema, book = Schema(columns=(column,)), Codebook(codes=(code,), centred=True)
    parts, arrays = book.to_parts()
    again = Codebook.from_parts(schema, parts, arrays).codes[0]
    assert np.array_equal(drawn(again), drawn(code))
    older, _ = Codebook(codes=(dataclasses.replace(code, rounding=None),), centred=True).to_parts()
    assert Codebook.from_parts(schema, older, arrays).codes[0].rounding is None
    with pytest.raises(SchemaError, match="rounding"):
        Codebook.from_parts(schema, parts, {**arrays, "profile/0/rates": arrays["profile/0/rates"][:-1]})
