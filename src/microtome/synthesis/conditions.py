"""Conditions on sampled rows: which cells of a column they allow, and how much of each.

A condition is a value (``None`` for a missing one), a list of values, or, on a measured column, a pair (low, high)
with ``None`` for an open end, or a list of those. It is turned into the share of every cell that it allows (1 for a
cell inside, a fraction for a bin that it cuts), and from that into the probability of being met given a level of
the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from microtome.errors import ModelError, SchemaError
from microtome.schema import CategoryCells, Codebook, ColumnCode, NumberCells

_SHOWN = 10
"""Categories that a refusal names."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Condition:
    """What a condition leaves of a column.

    Attributes:
        column: Position of the column.
        code: The column's code with margins and cells cut to what is allowed.
        met: Probability that a value of each level meets the condition.
        allowed: Which cells of ``code`` meet it, likely or not.
    """

    column: int
    code: ColumnCode
    met: Floats
    allowed: NDArray[np.bool_]


def parse_conditions(codebook: Codebook, wanted: Mapping[str, Any]) -> list[Condition]:
    """Conditions by column name; an error that says why for one that cannot be met."""
    names = [code.column.name for code in codebook.codes]
    conditions = []
    for name, value in wanted.items():
        if name not in names:
            raise ModelError(f"no column {name!r} to set a condition on; columns are {', '.join(names)}")
        conditions.append(_condition(names.index(name), codebook.codes[names.index(name)], value))
    return conditions


def conditions_from_text(codebook: Codebook, texts: Iterable[str]) -> dict[str, Any]:
    """Conditions as a person writes them: ``sex=female``, ``town=A|B``, ``age=30..40``, ``income=`` for missing."""
    codes = {code.column.name: code for code in codebook.codes}
    return {name: _value_from_text(codes[name], value) for name, value in split_conditions(texts, list(codes))}


def split_conditions(texts: Iterable[str], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Column and value of every text ``column=value``, each column once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or name not in columns:
            raise ModelError(
                f"condition {text!r}: write column=value, column=a|b or column=low..high with one of the columns "
                f"{', '.join(columns)}"
            )
        if name in found:
            raise ModelError(f"condition {text!r}: column {name!r} has one already; write {name}=a|b for either of two")
        found[name] = value
    return list(found.items())


def _value_from_text(code: ColumnCode, text: str) -> Any:
    if not text:
        return None
    match code.cells:
        case CategoryCells(categories=categories):
            by_name = {str(category): category for category in categories}
            parts = [text] if text in by_name else text.split("|")
            return [by_name.get(part, by_name.get(part.capitalize(), part)) for part in parts]
        case NumberCells():
            codes = dict(zip(code.column.code_texts, code.column.codes, strict=True))
            parts = [text] if text in codes else text.split("|")
            return [codes[part] if part in codes else _range_from_text(code, part) for part in parts]
        case never:
            assert_never(never)


def _range_from_text(code: ColumnCode, text: str) -> tuple[Any, Any]:
    low, dots, high = text.partition("..")
    ends = (low, high) if dots else (low, low)
    if code.column.kind.is_temporal:
        return ends[0] or None, ends[1] or None
    try:
        return float(ends[0]) if ends[0] else None, float(ends[1]) if ends[1] else None
    except ValueError:
        raise ModelError(f"column {code.column.name!r}: {text!r} is not a number, nor low..high") from None


def _condition(column: int, code: ColumnCode, value: Any) -> Condition:
    several = isinstance(value, list) or (isinstance(value, tuple) and code.column.kind.is_categorical)
    values = [_plain(one) for one in value] if several else [_plain(value)]
    if None in values and not code.cells.missing:
        raise ModelError(f"column {code.column.name!r} has no missing values: the condition is impossible")
    cut = _cut(code, values)
    total = code.level_margins
    left = np.bincount(cut.levels, weights=cut.margins, minlength=code.num_levels)
    met = np.divide(left, total, out=np.zeros_like(total), where=total > 0)
    if not met.any():
        raise ModelError(f"column {code.column.name!r} is never {value!r} in this model: the condition is impossible")
    even = replace(code, margins=np.ones(len(code.cells)))
    return Condition(column=column, code=cut, met=met, allowed=_cut(even, values).margins > 0)


def _plain(value: Any) -> Any:
    """A value without numpy's types around it, and ``None`` for any sign of a missing one."""
    if isinstance(value, tuple):
        return tuple(_plain(end) for end in value)
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is pd.NA or value != value else value


def _cut(code: ColumnCode, values: list[Any]) -> ColumnCode:
    match code.cells:
        case CategoryCells() as categories:
            return _cut_categories(code, categories, values)
        case NumberCells() as numbers:
            return _cut_numbers(code, numbers, values)
        case never:
            assert_never(never)


def _cut_categories(code: ColumnCode, cells: CategoryCells, values: list[Any]) -> ColumnCode:
    allowed = np.zeros(len(cells))
    for one in values:
        if one is None:
            allowed[-1] = 1.0
        elif one in cells.categories:
            allowed[cells.categories.index(one)] = 1.0
        else:
            more = ", …" if len(cells.categories) > _SHOWN else ""
            shown = ", ".join(map(repr, cells.categories[:_SHOWN])) + more or "none, as none was learnt"
            raise ModelError(f"column {code.column.name!r} has no category {one!r}; it has {shown}")
    return replace(code, margins=code.margins * allowed)


def _cut_numbers(code: ColumnCode, cells: NumberCells, values: list[Any]) -> ColumnCode:
    """Margins inside any of the ranges, after cutting cells at their ends."""
    codes = [code.column.codes.index(one) for one in values if one in code.column.codes]
    ranges = [_interval(code, one) for one in values if one is not None and one not in code.column.codes]
    inside = [end for interval in ranges for end in interval if cells.edges[0] < end < cells.edges[-1]]
    finer = replace(cells, edges=np.unique(np.concatenate([cells.edges, inside])))
    allowed = np.zeros(len(finer), dtype=bool)
    for first, last in ranges:
        allowed[: finer.num_values] |= (finer.edges[:-1] >= first) & (finer.edges[1:] <= last)
    allowed[[finer.num_values + place for place in codes]] = True
    if finer.missing:
        allowed[-1] = None in values
    cut = _split(code, cells, finer)
    return replace(cut, margins=np.where(allowed, cut.margins, 0.0))


def _interval(code: ColumnCode, value: Any) -> tuple[float, float]:
    """The half-open interval [first, last) of the numbers that a value or a pair (low, high) stands for."""
    if isinstance(value, tuple) and len(value) != 2:
        raise ModelError(f"column {code.column.name!r}: {value!r} is not a pair (low, high)")
    low, high = value if isinstance(value, tuple) else (value, value)
    try:
        first = -math.inf if low is None else code.column.to_number(low)
        last = math.inf if high is None else code.column.to_number(high)
    except SchemaError as error:
        raise ModelError(str(error)) from None
    if code.column.kind.is_integral:
        return float(np.ceil(first)), float(np.floor(last)) + 1.0
    return first, float(np.nextafter(last, np.inf))


def _split(code: ColumnCode, cells: NumberCells, finer: NumberCells) -> ColumnCode:
    """The same column on finer cells, their margins in proportion to the widths."""
    parent = np.searchsorted(cells.edges, finer.edges[:-1], side="right") - 1
    share = np.diff(finer.edges) / np.diff(cells.edges)[parent]
    tail = np.arange(cells.num_values, len(cells))
    origin = np.concatenate([parent, tail])
    return replace(
        code,
        cells=finer,
        counts=code.counts[origin],
        margins=code.margins[origin] * np.concatenate([share, np.ones(len(tail))]),
        levels=code.levels[origin],
    )
