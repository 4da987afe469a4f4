"""How a column is understood, whatever it is stored as: all that is particular to a kind stands in its entry here.

A kind without an entry is an error wherever it is asked for anything, and never taken for another.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from microtome.errors import SchemaError

DTYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "bool": pa.bool_(),
    **{f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "time": pa.time64("us"),
}
"""Storage types by the names a schema uses."""
_FLOATS = frozenset({"float32", "float64"})
_DAY = 86_400e6


@dataclass(frozen=True, kw_only=True)
class KindFacts:
    """What is particular to a kind.

    Attributes:
        dtype: How its values are usually stored.
        dtypes: All ways in which they can be.
        counted_as: The type of the numbers that values are measured in; ``None`` where they are listed.
        is_number: Whether they are plain numbers.
        is_integral: Whether they are whole numbers of something (units, days, microseconds).
        is_ordered: Whether listed values have an order, which has to be declared.
        values: The categories or bounds of whoever declares none; ``None`` if there are no usual ones.
        day: A day in its numbers, where these count from 1970; ``None`` for others.
        has_zone: Whether its values may be given back in a time zone.
    """

    dtype: str
    dtypes: frozenset[str]
    counted_as: pa.DataType | None = None
    is_number: bool = False
    is_integral: bool = False
    is_ordered: bool = False
    values: tuple[bool, bool] | tuple[dt.time, dt.time] | None = None
    day: float | None = None
    has_zone: bool = False


class Kind(StrEnum):
    """How a column is understood, whatever it is stored as."""

    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"

    @property
    def facts(self) -> KindFacts:
        """What is particular to it."""
        try:
            return _FACTS[self]
        except KeyError:
            raise SchemaError(f"nothing is known of the kind {str(self)!r}") from None

    @property
    def is_categorical(self) -> bool:
        """Whether its values are listed rather than measured."""
        return self.facts.counted_as is None

    @property
    def is_integral(self) -> bool:
        """Whether its values are whole numbers of something (units, days, microseconds)."""
        return self.facts.is_integral

    @property
    def is_number(self) -> bool:
        """Whether its values are plain numbers."""
        return self.facts.is_number

    @property
    def is_temporal(self) -> bool:
        """Whether its values are days or times."""
        return not (self.is_categorical or self.is_number)


_FACTS = {
    Kind.CATEGORICAL: KindFacts(dtype="string", dtypes=frozenset(DTYPES)),
    Kind.ORDERED: KindFacts(dtype="string", dtypes=frozenset(DTYPES), is_ordered=True),
    Kind.BOOLEAN: KindFacts(dtype="bool", dtypes=frozenset({"bool"}), values=(False, True)),
    Kind.INTEGER: KindFacts(
        dtype="int64",
        dtypes=_FLOATS | {name for name in DTYPES if "int" in name},
        counted_as=pa.int64(),
        is_number=True,
        is_integral=True,
    ),
    Kind.FLOAT: KindFacts(dtype="float64", dtypes=_FLOATS, counted_as=pa.float64(), is_number=True),
    Kind.DATE: KindFacts(dtype="date", dtypes=frozenset({"date"}), counted_as=pa.int32(), is_integral=True, day=1.0),
    Kind.DATETIME: KindFacts(
        dtype="datetime",
        dtypes=frozenset({"datetime"}),
        counted_as=pa.int64(),
        is_integral=True,
        day=_DAY,
        has_zone=True,
    ),
    Kind.TIME: KindFacts(
        dtype="time",
        dtypes=frozenset({"time"}),
        counted_as=pa.int64(),
        is_integral=True,
        values=(dt.time.min, dt.time.max),
    ),
}
