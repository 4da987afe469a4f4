"""A look at the table for whoever drafts its schema: what each column's values are like.

Nothing of this is public and nothing of it is released: it stays with the table's holder. Kinds and formats go into the
draft, which nobody's release takes before they are confirmed; what else is seen is told to the holder alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import TableError
from microtome.private.meanings import MISSING_MARKS, MOST_MISFIT_ROWS, Meaning, day_first, meanings
from microtome.private.naming import Values, tokens
from microtome.private.opening import open_table
from microtome.private.table import PrivateTable
from microtome.schema import Column, Dialect, Kind

MOST_ROWS = 1_000_000
"""Rows that a draft looks at."""
_HEAD_ROWS = 50_000
_MOST_VALUES = 2000
_SAMPLE = 1000
_CODE = re.compile(r"-?(9{2,}|8{2,}|7{2,})|-[1-9]")
_FEWEST_OTHERS = 2


@dataclass
class Look:
    """What was seen of one column.

    Attributes:
        name: The column's name.
        arrow_type: How the source stores it.
        decimal: The file's decimal sign.
        rows: Values that are not missing.
        head: The first of them.
        meanings: The ways in which its texts can be understood.
        values: All different values with their numbers, as long as they are not too many.
        low: The smallest number.
        high: The largest number.
        whole: Whether all numbers are whole.
        seen: Whether its values were looked at; types that say all by themselves are not.
    """

    name: str
    arrow_type: pa.DataType
    decimal: str = "."
    rows: int = 0
    head: list[pa.Array] = field(default_factory=list)
    meanings: list[Meaning] | None = None
    values: Counter[Any] | None = field(default_factory=Counter)
    low: float = float("inf")
    high: float = float("-inf")
    whole: bool = True
    seen: bool = False

    def add(self, array: pa.Array) -> None:
        """Look at some more values."""
        self.seen = True
        array = array.drop_null()
        held = sum(map(len, self.head))
        if held < _HEAD_ROWS:
            self.head.append(array.slice(0, _HEAD_ROWS - held))
        self.rows += len(array)
        counted = pc.value_counts(array)
        different, counts = counted.field("values"), counted.field("counts")
        if self.values is not None:
            for value, count in zip(different.to_pylist(), counts.to_pylist(), strict=True):
                self.values[value] += count
            self.values = self.values if len(self.values) <= _MOST_VALUES else None
        if pa.types.is_string(array.type) and len(different):
            self._read(different, counts)
        elif pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            self._measure(different)

    def _read(self, texts: pa.Array, counts: pa.Array) -> None:
        if self.meanings is None:
            self.meanings = meanings(texts.to_pylist(), tokens(self.name), self.decimal)
        for one in self.meanings:
            one.add(texts, counts)
        self.meanings = [one for one in self.meanings if not one.is_dead]
        best = self.best
        if best is not None and best.kind.is_number:
            self._measure(best.notation.read(texts.filter(best.notation.fits(texts)), pa.float64()))

    def _measure(self, numbers: pa.Array) -> None:
        found = np.asarray(numbers.cast(pa.float64(), safe=False))
        found = found[np.isfinite(found)]
        if len(found):
            self.low, self.high = min(self.low, float(found.min())), max(self.high, float(found.max()))
            self.whole = self.whole and bool((found == np.floor(found)).all())

    @property
    def best(self) -> Meaning | None:
        """The way in which most texts can be understood; ``None`` for plain text."""
        alive = [one for one in self.meanings or () if not one.is_dead]
        found = min(alive, key=lambda one: one.misfits.total(), default=None)
        marks = 0 if found is None else sum(found.misfits[mark] for mark in MISSING_MARKS)
        if found is None or found.misfits.total() - marks > MOST_MISFIT_ROWS * (self.rows - marks):
            return None
        return found

    @property
    def is_ambiguous(self) -> bool:
        """Whether days and months could as well be the other way round."""
        best = self.best
        order = None if best is None else day_first(best.format)
        return best is not None and any(
            day_first(one.format) is (not order) and one.misfits.total() == best.misfits.total()
            for one in self.meanings or ()
            if order is not None
        )

    def codes_far_off(self) -> list[float]:
        """Numbers at the ends that look like codes, 9999 or −99, farther from the others than these are apart."""
        numbers = self._numbers(self._first())
        different, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
        found = []
        for sign in (1.0, -1.0):
            order = np.argsort(sign * different)
            while len(order) > _FEWEST_OTHERS and counts[order[-1]] > 1:
                last, next_to_it, first = (float(different[order[place]]) for place in (-1, -2, 0))
                if 2.0 * abs(last - next_to_it) <= abs(last - first) or not _CODE.fullmatch(f"{last:.10g}"):
                    break
                found.append(last)
                order = order[:-1]
        return found

    def _first(self) -> pa.Array:
        head = pa.chunked_array(self.head, self.arrow_type).combine_chunks()
        return head if isinstance(head, pa.Array) else pa.concat_arrays(head.chunks)

    def judged(self, kind: Kind) -> Values:
        """What the first rows tell of whether these are identifiers."""
        head = self._first()
        sample = tuple(map(str, pc.unique(head.slice(0, _SAMPLE)).to_pylist()))
        whole = kind is Kind.INTEGER
        numbers = self._numbers(head) if whole else np.zeros(0)
        return Values(
            rows=len(head),
            distinct=pc.count_distinct(head).as_py(),
            sample=sample,
            whole_numbers=whole,
            rising=len(numbers) > 1 and bool((np.diff(numbers) > 0).all()),
            spread=float(np.ptp(numbers)) if len(numbers) else float("inf"),
        )

    def _numbers(self, head: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
        best = self.best
        if best is not None:
            head = best.notation.read(head.filter(best.notation.fits(head)), pa.float64())
        return np.asarray(head.cast(pa.float64(), safe=False))


def look(source: Any, dialect: Dialect | None) -> tuple[PrivateTable, list[Look]]:
    """Look at all columns of a table, text files and workbooks cell by cell."""
    table = open_table(source, dialect)
    in_text = isinstance(source, str | Path) and table.num_rows is None
    decimal = "." if dialect is None else dialect.decimal
    looks = [Look(name, pa.string() if in_text else _plain(kind), decimal) for name, kind in table.types.items()]
    wanted = [one for one in looks if in_text or _can_be_seen(one.arrow_type)]
    for batch in _batches(table, [one.name for one in wanted]):
        for one in wanted:
            one.add(_without_dictionary(batch.column(one.name), one.arrow_type))
    return table, looks


def _batches(table: PrivateTable, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The first rows, everything that can be text as text."""
    seen = 0
    for batch in table.stream([Column(name=name, kind=Kind.CATEGORICAL) for name in names]):
        yield batch.slice(0, MOST_ROWS - seen)
        seen += batch.num_rows
        if seen >= MOST_ROWS:
            return
    if not seen:
        raise TableError(f"{table.origin}: there are no rows")


def _plain(kind: pa.DataType) -> pa.DataType:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if kind in (pa.large_string(), pa.string_view()) else kind


def _can_be_seen(kind: pa.DataType) -> bool:
    return any(is_one(kind) for is_one in (pa.types.is_string, pa.types.is_integer, pa.types.is_floating))


def _without_dictionary(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return array.dictionary.cast(kind).take(array.indices)  # text views cannot be taken from
    return array.cast(kind)
