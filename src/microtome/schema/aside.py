"""Columns of the table that are not released: left out, or replaced by keys that are made up anew.

Identifiers and free text cannot be protected by noise, and nothing can be learnt from them. A table often needs a key
all the same: a surrogate has the column's name and place, and keys that stand for nobody.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from microtome.choice import Choice
from microtome.errors import SchemaError

UUID = "uuid"
_KEY_DTYPES = ("string", "int64", "int32", "uint64", "uint32")
_TEMPLATE = re.compile(r"[^#]*#+[^#]*")


class Action(StrEnum):
    """What becomes of a column that is not released as it is."""

    DROP = "drop"
    SURROGATE = "surrogate"
    CATEGORIES = "categories"


def _aside_error(column: Aside, what: str) -> SchemaError:
    return SchemaError(f"column {column.name!r}: {what}")


@dataclass(frozen=True, kw_only=True)
class Aside:
    """A column of the table that no release reads.

    Attributes:
        name: The column's name in the table.
        action: ``drop``, or ``surrogate`` for keys made up when rows are drawn.
        place: Its place among all columns of the table, from 0.
        dtype: How surrogate keys are stored: ``string``, ``int64``, …
        keys: How keys of dtype ``string`` look: a run of ``#`` is a running number with zeros in front ("P-#####"),
            or ``uuid``.
    """

    name: str
    action: Choice[Action] = Choice(Action, error=_aside_error)
    place: int = 0
    dtype: str = "string"
    keys: str | None = None

    def __post_init__(self) -> None:
        match self.action:
            case Action.CATEGORIES:
                raise self._error("a column that is released as categories is not set aside; give it kind categorical")
            case Action.DROP:
                object.__setattr__(self, "dtype", "string")
                object.__setattr__(self, "keys", None)
            case Action.SURROGATE:
                self._check_keys()

    def _check_keys(self) -> None:
        if self.dtype not in _KEY_DTYPES:
            raise self._error(f"keys cannot be stored as {self.dtype}; dtype must be one of {', '.join(_KEY_DTYPES)}")
        if self.dtype == "string" and self.keys is None:
            object.__setattr__(self, "keys", "#######")
        if self.dtype != "string" and self.keys is not None:
            raise self._error(f"keys is {self.keys!r}, which is for dtype string; numbers are 1, 2, 3 …")
        if self.keys is not None and not self._is_template(self.keys):
            raise self._error(f"keys is {self.keys!r}; write {UUID!r}, or text with one run of #, such as 'P-#####'")

    @property
    def is_dropped(self) -> bool:
        """Whether nothing stands in its place."""
        match self.action:
            case Action.DROP:
                return True
            case Action.SURROGATE | Action.CATEGORIES:
                return False

    @property
    def is_number(self) -> bool:
        """Whether its keys are whole numbers."""
        return self.dtype != "string"

    @staticmethod
    def _is_template(keys: object) -> bool:
        return isinstance(keys, str) and (keys == UUID or _TEMPLATE.fullmatch(keys) is not None)

    def made_up(self, first: int, count: int, rng: np.random.Generator) -> pa.Array:
        """The keys of ``count`` rows from the row numbered ``first`` (from 0) on, no two of one table alike."""
        numbers = range(first + 1, first + count + 1)
        if self.keys is None:
            return pa.array(numbers, pa.int64()).cast(pa.type_for_alias(self.dtype))
        if self.keys == UUID:
            return pa.array([str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in numbers], pa.string())
        before, run, behind = re.split("(#+)", self.keys)
        return pa.array([f"{before}{number:0{len(run)}d}{behind}" for number in numbers], pa.string())

    def _error(self, what: str) -> SchemaError:
        return _aside_error(self, what)
