"""What is public about one column: its name, its type, and whatever its holder declares.

Nothing here is ever read off the data. What is not declared is learnt from the table with privacy budget
(see ``microtome.private.profile``), and a column says which of the two holds for it.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa

from microtome.choice import Choice
from microtome.errors import SchemaError
from microtome.schema.coded_notation import CodedNotation
from microtome.schema.frame_type import CATEGORY, frame_types
from microtome.schema.kind import DTYPES, Kind
from microtome.schema.notation import Notation, notation_of

Value = str | bool | int | float | dt.date | dt.datetime | dt.time
"""A cell's value as the user knows it."""

_EPOCH = dt.datetime(1970, 1, 1)
_LARGEST_EXACT = 2**53
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_MICROSECOND = dt.timedelta(microseconds=1)


class Outside(StrEnum):
    """What to do with a value outside the declared bounds or categories."""

    REFUSE = "refuse"
    CLAMP = "clamp"

    @property
    def is_refused(self) -> bool:
        """Whether such a value is an error, and not counted as the nearest bound or as another category."""
        match self:
            case Outside.REFUSE:
                return True
            case Outside.CLAMP:
                return False


def _column_error(column: Column, what: str) -> SchemaError:
    return SchemaError(f"column {column.name!r}: {what}")


def _kind_error(column: Column, what: str) -> SchemaError:
    hint = "free text and identifiers cannot be released: write 'action: drop' or 'action: surrogate' instead"
    return _column_error(column, f"{what}; {hint}")


@dataclass(frozen=True, kw_only=True)
class Column:
    """The public description of one column.

    Attributes:
        name: The column's name in the table.
        kind: How its values are understood, a ``Kind`` or its name.
        dtype: How they are stored, a key of ``DTYPES``; by default the usual one of the kind.
        categories: The declared categories, or ``None`` to learn them with budget.
        bounds: The declared smallest and largest value, or ``None`` to learn them with budget.
        codes: Values of a measured column that are no measurements, such as ``"refused"``, ``">200"`` or ``9999``: each
            is a level of its own, and is given back as it is written here.
        missing: Whether values may be missing.
        outside: Policy for values outside what is declared: refuse the table, or clamp (a category outside
            the declared ones is then counted as "(other)").
        weight: Length of this column's block relative to the others; ``None`` lets the schema choose, 1 for all
            columns but the target.
        bins: Quantile bins of a measured column, common values counted among them; ``None`` for 16 to 32, the more
            the weaker the noise.
        pool: Share below which categories are coded together with their neighbours in order; drawn values are told
            apart again by the profile.
        unit: Free text for people.
        frame: How a data frame holds it, where that is not the usual type for ``dtype``: pandas' name, such as
            ``category``, ``string``, ``Int8`` or ``datetime64[ns]``. Sampled frames have it again.
        format: How its values are written in a text file, where that is not the usual way: ``"%d.%m.%Y"``,
            ``"$#,##0.00"``, ``"FALSE/TRUE"`` (see ``microtome.schema.notation``).
        zone: The time zone that datetimes are given back in; they are counted, and their bounds stated, in UTC.
        suggested: In a draft: which entry of the public catalogue its categories or bounds are from.

    Example:
        >>> from microtome import Column
        >>> age = Column(name="age", kind="integer", bounds=(18, 99), missing=False)
        >>> age.dtype, age.is_declared
        ('int64', True)
        >>> Column(name="district", kind="categorical").is_declared  # its values will be learnt with budget
        False
        >>> Column(name="age", kind="integer", bounds=(99, 18))
        Traceback (most recent call last):
            ...
        microtome.errors.SchemaError: column 'age': bounds ...
    """

    name: str
    kind: Choice[Kind] = Choice(Kind, error=_kind_error)
    dtype: str = ""
    categories: tuple[Value, ...] | None = None
    bounds: tuple[Value, Value] | None = None
    codes: tuple[Value, ...] = ()
    missing: bool = True
    outside: Choice[Outside] = Choice(Outside, Outside.REFUSE, error=_column_error)
    weight: float | None = None
    bins: int | None = None
    pool: float | None = None
    unit: str | None = None
    frame: str | None = None
    format: str | None = None
    zone: str | None = None
    suggested: str | None = None

    def __post_init__(self) -> None:
        if not self.dtype:
            object.__setattr__(self, "dtype", self.kind.facts.dtype)
        if self.dtype not in DTYPES:
            raise self._error(f"dtype is {self.dtype!r}; it must be one of {', '.join(DTYPES)}")
        if self.dtype not in self.kind.facts.dtypes:
            raise self._error(f"kind {self.kind} cannot be stored as {self.dtype}")
        if self.frame is not None and self.frame not in frame_types(self.dtype):
            known = ", ".join(frame_types(self.dtype))
            raise self._error(f"frame is {self.frame!r}; for dtype {self.dtype} it is left out or one of {known}")
        if self.frame == CATEGORY and not self.kind.is_categorical:
            raise self._error(f"frame is {CATEGORY!r}, which holds no {self.kind}; write 'kind: categorical'")
        if self.kind.is_categorical and self.bounds is not None:
            raise self._error(f"bounds are for measured columns; a {self.kind} column declares categories")
        if not self.kind.is_categorical and self.categories is not None:
            raise self._error(f"categories are for categorical columns; a {self.kind} column declares bounds")
        if self.weight is not None and not (math.isfinite(self.weight) and self.weight > 0):
            raise self._error(f"weight is {self.weight}; it must be a positive number")
        if self.bins is not None and not 2 <= self.bins <= 1024:
            raise self._error(f"bins is {self.bins}; it must be between 2 and 1024")
        if self.pool is not None and not 0 <= self.pool < 1:
            raise self._error(f"pool is {self.pool}; it must be at least 0 and below 1")
        self._settle_categories()
        self._settle_bounds()
        self._settle_codes()
        self._check_zone()
        if self.format is not None and self.notation is None:
            raise self._error(f"format is {self.format!r}; it must be text")

    @property
    def is_declared(self) -> bool:
        """Whether categories or bounds are declared, so that nothing but counts has to be learnt."""
        return (self.categories if self.kind.is_categorical else self.bounds) is not None

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of its storage."""
        return DTYPES[self.dtype]

    @property
    def storage_type(self) -> pa.DataType:
        """The Arrow type of its values in a table: text, if a code is no value of its own type."""
        return pa.string() if self.has_text_codes else self.arrow_type

    @property
    def has_text_codes(self) -> bool:
        """Whether a code is no value of its own type."""
        return any(isinstance(code, str) for code in self.codes)

    @property
    def code_texts(self) -> list[str]:
        """Its codes as they are written."""
        return [code.isoformat() if isinstance(code, dt.date) else str(code) for code in self.codes]

    @property
    def type_in_text(self) -> pa.DataType:
        """The type that a text file is read in: text where its values have a format of their own, or codes are text."""
        if self.notation is not None or self.has_text_codes:
            return DTYPES["string"]
        return self.arrow_type if self.zone is None else pa.timestamp("us", tz="UTC")

    @property
    def described(self) -> str:
        """Its type in words, for messages."""
        return self.dtype if self.format is None else f"{self.dtype} in the format {self.format!r}"

    @cached_property
    def notation(self) -> Notation | None:
        """How its values are written as text, where that is not the usual way."""
        if not isinstance(self.format, str):
            return None
        try:
            plain = notation_of(self.kind, self.format)
        except ValueError as error:
            raise self._error(str(error)) from None
        if not self.has_text_codes:
            return plain
        return CodedNotation(inner=plain, codes=tuple(self.code_texts), measured=self.arrow_type)

    def number_bounds(self) -> tuple[float, float] | None:
        """The declared bounds as numbers: units, days or microseconds since 1970."""
        if self.bounds is None:
            return None
        low, high = (self.to_number(value) for value in self.bounds)
        return low, high

    def to_number(self, value: Value) -> float:
        """A measured value as a number: itself as it is stored, or days or microseconds since 1970."""
        match self.kind:
            case Kind.DATE:
                return float((self._as_datetime(value) - _EPOCH).days)
            case Kind.DATETIME:
                return float((self._as_datetime(value) - _EPOCH) // _MICROSECOND)
            case Kind.TIME:
                return float((dt.datetime.combine(_EPOCH, self._as_time(value)) - _EPOCH) // _MICROSECOND)
            case Kind.INTEGER | Kind.FLOAT:
                return self._plain_number(value)
            case Kind.CATEGORICAL | Kind.ORDERED | Kind.BOOLEAN:
                raise self._error(f"{value!r} of a {self.kind} column is not measured")

    def _plain_number(self, value: Value) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(f"{value!r} is not a number")
        if isinstance(value, int) and abs(value) > _LARGEST_FLOAT:
            raise self._error("a bound is larger than any number that can be stored")
        return float(np.float32(value)) if self.dtype == "float32" else float(value)

    def _settle_categories(self) -> None:
        if self.kind.is_categorical and self.categories is None:
            object.__setattr__(self, "categories", self.kind.facts.values)
        if self.categories is None:
            if self.kind.facts.is_ordered:
                raise self._error("an ordered column needs its categories declared, in order")
            return
        if not self.categories:
            raise self._error("categories is empty; list at least one, or write 'learn'")
        try:
            values = self._stored(list(self.categories))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise self._error(f"its declared categories are not all of dtype {self.dtype}: {error}") from error
        plain = tuple(values.to_pylist())
        if values.null_count:
            raise self._error("a missing value is not a category; use 'missing: allowed'")
        endless = [value for value in plain if isinstance(value, float) and not math.isfinite(value)]
        if endless:
            raise self._error(f"category {endless[0]} is not a finite number")
        cut = [given for given, stored in zip(self.categories, plain, strict=True) if given != stored]
        if cut and pa.types.is_integer(self.arrow_type):
            raise self._error(f"category {cut[0]!r} is not of dtype {self.dtype}")
        if len(set(plain)) < len(plain):
            twice = next(value for value in plain if plain.count(value) > 1)
            raise self._error(f"category {twice!r} is declared twice")
        object.__setattr__(self, "categories", plain)

    def _settle_codes(self) -> None:
        """Codes of the column's own type where they can be read as such, texts otherwise; none twice."""
        if isinstance(self.codes, str):
            raise self._error(f"codes is {self.codes!r}; it must be a list")
        if self.codes and self.kind.is_categorical:
            raise self._error(f"codes are for measured columns; in a {self.kind} column they are categories")
        object.__setattr__(self, "codes", tuple(map(self._code, self.codes)))
        twice = [text for place, text in enumerate(self.code_texts) if text in self.code_texts[:place]]
        if twice:
            raise self._error(f"code {twice[0]!r} is listed twice")

    def _code(self, code: Value) -> Value:
        if isinstance(code, bool) or not isinstance(code, str | int | float | dt.date):
            raise self._error(f"code {code!r} is neither a text nor a number; put it in quotes")
        if isinstance(code, str) and not code.strip():
            raise self._error("a code is empty; an empty value is a missing one: say 'missing: allowed'")
        own: Value = code.strip() if isinstance(code, str) else code
        if isinstance(own, str) and self.kind.is_number:
            own = _as_number(own)
        try:
            settled: Value | None = self._stored([own])[0].as_py()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            settled = None
        if settled is not None and not isinstance(own, str | dt.date) and settled != own:
            settled = None
        if settled is None and not isinstance(own, str):
            raise self._error(f"code {code!r} is not of dtype {self.dtype}; choose a larger one, or put it in quotes")
        if isinstance(settled, float) and settled.is_integer():
            return int(settled)  # as people write it
        return own if settled is None else settled

    def _stored(self, values: list[Value]) -> pa.Array:
        """Values in the column's storage type; dates and times may come as text, as documents have them."""
        if pa.types.is_temporal(self.arrow_type) and all(isinstance(value, str) for value in values):
            return pa.array(values, type=pa.string()).cast(self.arrow_type)
        return pa.array(values, type=self.arrow_type)

    def _settle_bounds(self) -> None:
        if not self.kind.is_categorical and self.bounds is None:
            object.__setattr__(self, "bounds", self.kind.facts.values)
        if self.bounds is None:
            return
        if isinstance(self.bounds, str) or len(self.bounds) != 2:
            raise self._error(f"bounds is {self.bounds!r}; it must be the smallest and the largest value")
        low, high = (self.to_number(value) for value in self.bounds)
        self._check_bounds(low, high)
        if self.kind.is_temporal:
            settled = pa.array([int(low), int(high)]).cast(self.kind.facts.counted_as).cast(self.arrow_type).to_pylist()
            object.__setattr__(self, "bounds", tuple(settled))
        else:
            object.__setattr__(self, "bounds", tuple(self.bounds))

    def _check_bounds(self, low: float, high: float) -> None:
        assert self.bounds is not None
        if not math.isfinite(high - low):
            raise self._error(f"bounds {list(self.bounds)} are not finite, or too far apart")
        if not low < high:
            raise self._error(f"bounds {list(self.bounds)} are not in order, smallest first")
        if self.kind.is_integral and max(abs(low), abs(high)) >= _LARGEST_EXACT:
            raise self._error(f"bounds {list(self.bounds)} exceed 2^53")
        if self.kind.is_integral and not (low.is_integer() and high.is_integer()):
            raise self._error(f"bounds {list(self.bounds)} of a {self.kind} column must be whole numbers")

    def _as_datetime(self, value: Value) -> dt.datetime:
        if isinstance(value, dt.datetime):
            return value.replace(tzinfo=None)
        if isinstance(value, dt.date):
            return dt.datetime(value.year, value.month, value.day)
        if isinstance(value, str):
            try:
                return dt.datetime.fromisoformat(value).replace(tzinfo=None)
            except ValueError:
                pass
        raise self._error(f"{value!r} is not a date; write it as 2026-01-31 or 2026-01-31T12:00:00")

    def _as_time(self, value: Value) -> dt.time:
        if isinstance(value, dt.time):
            return value.replace(tzinfo=None)
        if isinstance(value, str):
            try:
                return dt.time.fromisoformat(value).replace(tzinfo=None)
            except ValueError:
                pass
        raise self._error(f"{value!r} is not a time of day; write it in quotes, as '08:30' or '08:30:15'")

    def _check_zone(self) -> None:
        if self.zone is None:
            return
        if not self.kind.facts.has_zone:
            raise self._error(f"zone is for datetime columns, not for {self.kind}")
        try:
            ZoneInfo(self.zone)
        except (ValueError, OSError, ZoneInfoNotFoundError):
            raise self._error(f"zone {self.zone!r} is not known; write a name such as UTC or Europe/Berlin") from None

    def _error(self, what: str) -> SchemaError:
        return _column_error(self, what)
        return SchemaError(f"column {self.name!r}: {what}")


def _as_number(text: str) -> str | int | float:
    """The number that a text is, if it is a plain one."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text
