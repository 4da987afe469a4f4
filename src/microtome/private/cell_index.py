"""From private values to public cells, with every value checked on the way."""

from __future__ import annotations

import math
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.schema import CategoryCells, Cells, Column, NumberCells

_MOST_TOLD = 5
"""Wrong values of a column that are named."""


def cell_indices(
    array: pa.Array, column: Column, cells: Cells, outputs: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """The cell of every value of a column, or what stands for it; an error that names column and value without one."""
    array = checked(array, column)
    outputs = np.arange(len(cells)) if outputs is None else outputs
    match cells:
        case CategoryCells():
            return _locate_categories(array, column, cells, outputs)
        case NumberCells():
            found = _locate_measured(array, column, cells, outputs)
        case never:
            assert_never(never)
    if array.null_count:
        found[_mask(array)] = outputs[-1]
    return found


def cell_counts(array: pa.Array, column: Column, cells: Cells) -> NDArray[np.int64]:
    """How many values of a column are in each cell; those that occur again and again are looked up once each."""
    if not column.kind.is_categorical:
        return np.bincount(cell_indices(array, column, cells), minlength=len(cells))
    values, numbers = _distinct(array)
    counts = np.zeros(len(cells), np.int64)
    np.add.at(counts, cell_indices(values, column, cells), numbers)
    return counts


def _distinct(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Values of a column, each once where that is at hand, and how often each occurs."""
    if pa.types.is_boolean(array.type):
        true, present = array.true_count, len(array) - array.null_count
        values, numbers = pa.array([False, True, None]), np.array([present - true, true, array.null_count])
    elif pa.types.is_dictionary(array.type):
        size = len(array.dictionary)
        values = pa.concat_arrays([array.dictionary, pa.nulls(1, array.dictionary.type)])
        places = array.indices.fill_null(size) if array.indices.null_count else array.indices
        numbers = np.bincount(np.asarray(places), minlength=size + 1)
    else:
        return array, np.ones(len(array), np.int64)
    occurring = np.flatnonzero(numbers)
    return values.take(pa.array(occurring)), numbers[occurring]


def _locate_measured(
    array: pa.Array, column: Column, cells: NumberCells, outputs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The cells of numbers and codes; those of missing values are any."""
    if not column.codes:
        return _locate_numbers(array, column, cells, outputs)
    numbers, codes = _without_codes(array, column)
    found = _locate_numbers(numbers, column, cells, outputs)
    found[codes >= 0] = outputs[cells.num_values + codes[codes >= 0]]
    return found


def numbers_within_bounds(array: pa.Array, column: Column) -> NDArray[np.float64]:
    """The numbers of a measured column that are neither codes nor missing, as its cells count them."""
    low, high = column.number_bounds() or (-np.inf, np.inf)
    numbers, _ = _without_codes(checked(array, column), column)
    return np.clip(_numbers(_counted(numbers.drop_null(), column), column), low, high)


def checked(array: pa.Array, column: Column) -> pa.Array:
    """The values with NaN as missing; refuses what is declared not to occur, and categories without end."""
    if pa.types.is_floating(array.type) and pc.any(nowhere := pc.is_nan(array)).as_py():
        array = pc.if_else(nowhere, pa.scalar(None, array.type), array)
    if array.null_count and not column.missing:
        raise TableError(
            f"column {column.name!r} has a missing value (null or NaN) though the schema says "
            "'missing: never'; declare 'missing: allowed' or fill it in"
        )
    if column.kind.is_categorical and pa.types.is_floating(array.type):
        endless = np.asarray(pc.is_inf(array).fill_null(False))
        if endless.any():
            raise _outside_error(array, column, int(np.argmax(endless)))
        array = pc.add(array, pa.scalar(0.0, array.type))  # −0 is the category 0
    return array


def _without_codes(array: pa.Array, column: Column) -> tuple[pa.Array, NDArray[np.int64]]:
    """The measurements of a column, null for codes; and which code each value is, −1 for none."""
    if not column.codes:
        return array, np.full(len(array), -1)
    if not pa.types.is_string(array.type):
        index = pc.index_in(array, value_set=_own_codes(column, array.type))
        return pc.if_else(index.is_valid(), pa.scalar(None, array.type), array), _places(index)
    texts = pc.utf8_trim_whitespace(array)
    index = pc.index_in(texts, value_set=pa.array(column.code_texts))
    rest = pc.if_else(index.is_valid(), pa.scalar(None, pa.string()), texts)
    return _parsed(rest, column), _places(index)


def _own_codes(column: Column, arrow_type: pa.DataType) -> pa.Array:
    """The codes that values of this type can be."""
    return pa.array([code for code in column.codes if not isinstance(code, str)], type=arrow_type)


def _places(index: pa.Array) -> NDArray[np.int64]:
    places: NDArray[np.int64] = np.asarray(index.fill_null(-1)).astype(np.int64)
    return places


def _parsed(texts: pa.Array, column: Column) -> pa.Array:
    """Texts as numbers, dates or times; an error that names some that are none."""
    wanted = column.arrow_type if column.kind.facts.day is not None else pa.float64()
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:
        wrong = [text for text in texts.unique().drop_null().to_pylist() if not _can_parse(text, wanted)]
        raise TableError(
            f"column {column.name!r}: {_listed(wrong)} neither {column.kind} nor among its codes "
            f"({', '.join(column.code_texts)}); add {_them(wrong)} to 'codes', or correct {_them(wrong)}"
        ) from None


def _listed(values: list[Any]) -> str:
    """Some values, as the subject of a sentence."""
    if len(values) == 1:
        return f"value {values[0]!r} is"
    more = f" and {len(values) - _MOST_TOLD} more" if len(values) > _MOST_TOLD else ""
    return f"values {', '.join(map(repr, values[:_MOST_TOLD]))}{more} are"


def _them(values: list[Any]) -> str:
    return "it" if len(values) == 1 else "them"


def _can_parse(text: str, wanted: pa.DataType) -> bool:
    try:
        pa.scalar(text).cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def _mask(array: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = np.asarray(array.is_null())
    return mask


def _locate_categories(
    array: pa.Array, column: Column, cells: CategoryCells, outputs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What stands for each category; listed values, and true and false, are looked up once each."""
    if pa.types.is_dictionary(array.type):
        listed, places = array.dictionary, array.indices
    elif pa.types.is_boolean(array.type):
        listed, places = pa.array([False, True]), array.cast(pa.uint8())
    else:
        listed, places = array, None
    among = np.asarray(pc.index_in(listed, value_set=pa.array(list(cells.categories), type=listed.type)).fill_null(-1))
    unknown = among < 0
    if places is not None and array.null_count:
        places, unknown = places.fill_null(len(among)), np.append(unknown, False)
        among = np.append(among, len(cells) - 1)
    elif array.null_count:
        missing = _mask(array)
        unknown &= ~missing
        among = np.where(missing, len(cells) - 1, among)
    if unknown.any():
        _refuse_unknown(array, column, cells, unknown if places is None else unknown[np.asarray(places)])
        among = np.where(unknown, len(cells.categories) if cells.other else 0, among)  # no value is a 0 of these
    found: NDArray[np.int64] = outputs[among]
    return found if places is None else np.take(found, np.asarray(places))


def _refuse_unknown(array: pa.Array, column: Column, cells: CategoryCells, unknown: NDArray[np.bool_]) -> None:
    """Refuse values that are not declared, if any is, unless they count as other."""
    if unknown.any() and not cells.other:
        values = array.filter(pa.array(unknown)).unique().to_pylist()
        raise TableError(
            f"column {column.name!r}: {_listed(values)} not among the declared categories; "
            f"add {_them(values)}, or say 'outside: clamp' to count such values as other"
        )


def _locate_numbers(
    array: pa.Array, column: Column, cells: NumberCells, outputs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What stands for the cell of each number; for missing values, anything."""
    low, high = column.number_bounds() or (-np.inf, np.inf)
    counted = _counted(array, column)
    listed = _listed_outputs(counted, cells, low, high, outputs)
    if listed is not None:
        return listed
    numbers = _numbers(counted, column)
    if len(numbers) and not (low <= numbers.min() and numbers.max() <= high and np.isfinite(numbers).all()):
        outside = (numbers < low) | (numbers > high)
        wrong = ~np.isfinite(numbers)
        if column.outside.is_refused and column.is_declared:
            wrong |= outside
        if array.null_count:
            wrong &= ~_mask(array)
        if wrong.any():
            raise _outside_error(array, column, int(np.argmax(wrong)))
        numbers = np.clip(numbers, low, high)
    return outputs[cells.locate(numbers)]


def _listed_outputs(
    counted: pa.Array, cells: NumberCells, low: float, high: float, outputs: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """What stands for whole numbers where all within the bounds are listed; ``None`` where any of these is not."""
    listed = cells.of_whole_numbers
    if listed is None or not pa.types.is_integer(counted.type) or pa.types.is_uint64(counted.type):
        return None
    first, places = listed
    least, most = math.ceil(max(first, low)), math.floor(min(first + len(places) - 1, high))
    numbers = np.asarray(counted.cast(pa.int64()).fill_null(least))
    if len(numbers) and (numbers.min() < least or numbers.max() > most):
        return None
    found: NDArray[np.int64] = outputs[places][numbers - first]
    return found


def _counted(array: pa.Array, column: Column) -> pa.Array:
    """Measured values as the numbers that they are counted as."""
    if column.kind.is_categorical:
        raise TableError(f"column {column.name!r}: a {column.kind} column has no numbers")
    return array.cast(column.kind.facts.counted_as) if column.kind.is_temporal else array


def _numbers(array: pa.Array, column: Column) -> NDArray[np.float64]:
    numbers = np.asarray(array.fill_null(0)).astype(np.float64, copy=False)
    if column.kind.is_integral and pa.types.is_floating(array.type):
        broken = numbers != np.floor(numbers)
        broken &= np.isfinite(numbers)
        if broken.any():
            value = numbers[int(np.argmax(broken))]
            raise TableError(f"column {column.name!r}: value {value} is not a whole number; use kind float")
    return numbers


def _outside_error(array: pa.Array, column: Column, row: int) -> TableError:
    value = array[row].as_py()
    if isinstance(value, float) and not np.isfinite(value):
        return TableError(f"column {column.name!r}: value {value} is not a finite number; replace or drop it")
    if column.kind.is_integral and isinstance(value, float):
        value = int(value)  # among codes, numbers are read as floats
    bounds = ", ".join(str(bound) for bound in column.bounds or ())
    return TableError(
        f"column {column.name!r}: value {value} is outside the declared bounds [{bounds}]; "
        "widen them, or say 'outside: clamp'"
    )
