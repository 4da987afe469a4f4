"""From values to cells: every value is checked on the way, and the refusal names column and value."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest

from microtome.errors import TableError
from microtome.private.cell_index import cell_counts, cell_indices, numbers_within_bounds
from microtome.private.plan import plan_profile
from microtome.private.profile import Tally
from microtome.private.searching import start_search
from microtome.schema import Column, Kind, Outside, Schema, initial_cells
from microtome.settings import PrivacySettings


def locate(values: list, column: Column) -> list[int]:
    cells = initial_cells(column)
    assert cells is not None
    return cell_indices(pa.array(values, type=column.arrow_type), column, cells).tolist()


def test_categories_missing_and_other() -> None:
    refusing = Column(name="x", kind=Kind.CATEGORICAL, categories=("b", "a"))
    assert locate(["a", None, "b"], refusing) == [1, 2, 0]
    clamping = Column(name="x", kind=Kind.CATEGORICAL, categories=("b", "a"), outside=Outside.CLAMP)
    assert locate(["a", "z", None], clamping) == [1, 2, 3]


_TEXTS = pa.array([None, "b", "a", "b", None, "z", "a"] * 3)
_AS_OTHER = Column(name="x", kind=Kind.CATEGORICAL, categories=("b", "a"), outside=Outside.CLAMP)


@pytest.mark.parametrize(
    ("array", "column"),
    [
        (_TEXTS, _AS_OTHER),
        (_TEXTS.dictionary_encode(), _AS_OTHER),
        (_TEXTS.dictionary_encode().slice(3, 11), _AS_OTHER),
        (pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 2, 1]), pa.array(["a", "z", "a"])), _AS_OTHER),
        (_TEXTS.slice(0, 0).dictionary_encode(), _AS_OTHER),
        (pa.array([True, None, False, True, True]).slice(1, 3), Column(name="x", kind=Kind.BOOLEAN)),
        (pa.array([True, True]), Column(name="x", kind=Kind.BOOLEAN, missing=False, categories=(True,))),
        (
            pa.array([-0.0, 1.5, None, 0.0]),
            Column(name="x", kind=Kind.CATEGORICAL, dtype="float64", categories=(0, 1.5)),
        ),
        (pa.array([0, 9, None, 3], pa.int64()), Column(name="x", kind=Kind.INTEGER, bounds=(0, 9))),
    ],
)
def test_what_is_counted_once_a_block_is_what_every_value_counts_for(array: pa.Array, column: Column) -> None:
    cells = initial_cells(column)
    assert cells is not None
    each = np.bincount(cell_indices(array, column, cells), minlength=len(cells))
    assert cell_counts(array, column, cells).tolist() == each.tolist()


def test_a_listed_text_counts_for_nothing_unless_it_occurs() -> None:
    column = Column(name="x", kind=Kind.CATEGORICAL, categories=("b", "a"), missing=False)
    cells = initial_cells(column)
    assert cells is not None
    listed = pa.array(["a", "z", None])
    assert cell_counts(pa.DictionaryArray.from_arrays(pa.array([0, 0]), listed), column, cells).tolist() == [0, 2]
    with pytest.raises(TableError, match="'z' is not among the declared categories"):
        cell_counts(pa.DictionaryArray.from_arrays(pa.array([0, 1]), listed), column, cells)
    with pytest.raises(TableError, match="missing value"):
        cell_counts(pa.DictionaryArray.from_arrays(pa.array([0, None]), listed), column, cells)


def test_nan_is_missing() -> None:
    column = Column(name="x", kind=Kind.FLOAT, bounds=(0.0, 1.0))
    cells = initial_cells(column)
    assert cells is not None
    assert locate([math.nan, None, 0.0], column) == [len(cells) - 1, len(cells) - 1, 0]


def test_values_outside_are_clamped_where_that_is_declared() -> None:
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), outside=Outside.CLAMP)
    assert locate([-5, 0, 9, 10**15], column) == [0, 0, 9, 9]
    day = Column(name="x", kind=Kind.DATE, bounds=("2020-01-01", "2020-01-03"), outside=Outside.CLAMP)
    assert locate([dt.date(1900, 1, 1), dt.date(2020, 1, 2), dt.date(2100, 1, 1)], day) == [0, 1, 2]


@pytest.mark.parametrize(
    ("column", "values", "value"),
    [
        (Column(name="my x", kind=Kind.CATEGORICAL, categories=("a",)), ["a", "z"], "'z'"),
        (Column(name="my x", kind=Kind.BOOLEAN, categories=(True,)), [True, False], "False"),
        (Column(name="my x", kind=Kind.CATEGORICAL, dtype="int8", categories=(1,)), [1, 7], "7"),
        (Column(name="my x", kind=Kind.FLOAT, bounds=(0, 1)), [0.5, 1.25], "1.25"),
        (Column(name="my x", kind=Kind.FLOAT, bounds=(0, 1)), [0.5, -0.25], "[0, 1]"),
        (Column(name="my x", kind=Kind.INTEGER, bounds=(0, 9)), [None, 11], "11"),
        (Column(name="my x", kind=Kind.INTEGER, dtype="float64"), [1.0, 2.5], "2.5"),
        (Column(name="my x", kind=Kind.FLOAT), [1.0, math.inf], "inf"),
        (Column(name="my x", kind=Kind.FLOAT, bounds=(0, 1), outside=Outside.CLAMP), [-math.inf], "-inf"),
        (Column(name="my x", kind=Kind.INTEGER, dtype="float64"), [math.inf], "inf"),
        (Column(name="my x", kind=Kind.DATE, bounds=("2020-01-01", "2020-02-01")), [dt.date(2021, 1, 1)], "2021-01-01"),
        (Column(name="my x", kind=Kind.FLOAT, missing=False), [1.0, None], "missing"),
        (Column(name="my x", kind=Kind.FLOAT, missing=False), [1.0, math.nan], "missing"),
        (Column(name="my x", kind=Kind.BOOLEAN, missing=False), [None], "missing"),
        (Column(name="my x", kind=Kind.CATEGORICAL, dtype="float64"), [1.0, math.inf], "inf"),
        (Column(name="my x", kind=Kind.CATEGORICAL, missing=False), ["a", None], "missing"),
    ],
)
def test_refusal_names_column_and_value(column: Column, values: list, value: str) -> None:
    plan = plan_profile(PrivacySettings(epsilon=1.0, delta=1e-6), Schema(columns=(column,)))
    counting = start_search(Schema(columns=(column,)), plan.budget, lambda *_: Tally(Schema(columns=(column,))))  # type: ignore
    with pytest.raises(TableError) as refused:
        counting.add(pa.table({"my x": pa.array(values, type=column.arrow_type)}))
    assert "'my x'" in str(refused.value)
    assert value in str(refused.value)


def test_cells_of_a_whole_block_agree_with_one_value_at_a_time() -> None:
    column = Column(name="x", kind=Kind.FLOAT, bounds=(-1e5, 1e5))
    values = np.random.default_rng(0).normal(0, 1e4, 500).tolist()
    assert locate(values, column) == [locate([value], column)[0] for value in values]


INCOME = Column(name="my x", kind=Kind.INTEGER, bounds=(0, 9), codes=("N", ">200", 9999))


def test_codes_are_cells_between_numbers_and_missing_values() -> None:
    texts = pa.array(["N", " 3", ">200", "9999", None, "9", "4.0"])
    cells = initial_cells(INCOME)
    assert cells is not None
    assert len(cells) == 10 + 3 + 1
    assert cell_indices(texts, INCOME, cells).tolist() == [10, 3, 11, 12, 13, 9, 4]
    assert numbers_within_bounds(texts, INCOME).tolist() == [3.0, 9.0, 4.0]


def test_codes_of_the_columns_own_type_need_no_text() -> None:
    score = Column(name="my x", kind=Kind.FLOAT, bounds=(0.0, 1.0), codes=(9999, -1), missing=False)
    assert score.storage_type == pa.float64()
    cells = initial_cells(score)
    assert cells is not None
    found = cell_indices(pa.array([0.0, 9999.0, -1.0]), score, cells)
    assert found.tolist() == [0, len(cells) - 2, len(cells) - 1]
    day = Column(name="my x", kind=Kind.DATE, codes=("9999-12-31",))
    assert day.storage_type == pa.date32()
    assert day.codes == (dt.date(9999, 12, 31),)


@pytest.mark.parametrize("text", ["n", "refused", "3.5", "2020-01-01"])
def test_a_text_that_is_neither_number_nor_code_is_refused(text: str) -> None:
    cells = initial_cells(INCOME)
    assert cells is not None
    with pytest.raises(TableError, match="'my x'"):
        cell_indices(pa.array(["3", text]), INCOME, cells)
