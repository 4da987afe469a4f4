"""Whom a table protects where a person may have several rows: the column that says whose a row is.

The promise is then about everything that a person contributed. Each person counts once: rows are weighted so that those
of a person sum to one, at most ``max_rows`` of them, and how many there are is measured like any other attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from microtome.errors import SchemaError
from microtome.schema.aside import Action, Aside
from microtome.schema.column import Column

MOST_ROWS = 8
"""Rows of a person that are kept unless told otherwise."""
_LARGEST = 256
"""Rows of a person that may be kept: each then has a weight far above the smallest that there is."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Whose rows a table holds.

    Attributes:
        key: The column that says whose a row is. It is never published; synthetic tables have keys made up anew.
        max_rows: Rows of a person that are kept at most; others are left out, by lot. Public, so it must not be read
            off the table.
        order: The column by which the rows of a person follow each other, such as the date of a visit.
        constant: Columns that are the same in all rows of a person, such as their sex.
    """

    key: str
    max_rows: int = MOST_ROWS
    order: str | None = None
    constant: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise SchemaError("\n".join(problems))

    def _problems(self) -> Iterator[str]:
        if not isinstance(self.key, str) or not self.key:
            yield f"the unit's key is {self.key!r}; it must be the name of a column"
        whole = isinstance(self.max_rows, int) and not isinstance(self.max_rows, bool)
        if not (whole and 1 <= self.max_rows <= _LARGEST):
            yield f"the unit's max_rows is {self.max_rows!r}; it must be a whole number from 1 to {_LARGEST}"
        if not (self.order is None or isinstance(self.order, str)):
            yield f"the unit's order is {self.order!r}; it must be the name of a column"
        if not all(isinstance(name, str) for name in self.constant):
            yield f"the unit's constant is {list(self.constant)!r}; it must be a list of names of columns"

    @classmethod
    def from_entry(cls, entry: Any) -> Self:
        """A unit as a document has it: the name of its key, or that and more."""
        if isinstance(entry, str):
            return cls(key=entry)
        known = [field.name for field in fields(cls)]
        if not isinstance(entry, Mapping) or "key" not in entry or set(entry) - set(known):
            raise SchemaError(f"'unit' is {entry!r}; it must be the name of a column, or {', '.join(known)} of one")
        constant = entry.get("constant") or ()
        if not isinstance(constant, Sequence) or isinstance(constant, str):
            raise SchemaError(f"the unit's constant is {constant!r}; it must be a list of names of columns")
        return cls(**{**entry, "constant": tuple(constant)})

    def to_entry(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "key": self.key,
            "max_rows": self.max_rows,
            **({} if self.order is None else {"order": self.order}),
            **({"constant": list(self.constant)} if self.constant else {}),
        }

    def check(self, columns: Sequence[Column]) -> None:
        """Refuse columns that do not fit it, all at once."""
        named, problems = {column.name: column for column in columns}, []
        if self.key in named:
            problems.append(
                f"the unit's key {self.key!r} is never published, so it is no column to release; write "
                "'action: surrogate' in place of its kind"
            )
        for name in [*self.constant, *([] if self.order is None else [self.order])]:
            if name not in named:
                problems.append(f"the unit speaks of {name!r}, which is no column; columns are {', '.join(named)}")
        if self.order in named:
            problems += self._problems_of_order(named[self.order])
        if problems:
            raise SchemaError("\n".join(problems))

    def _problems_of_order(self, column: Column) -> Iterator[str]:
        if column.name in self.constant:
            yield f"the unit's order {column.name!r} cannot be constant"
        if column.kind.is_categorical or column.codes:
            yield f"the unit's order {column.name!r} must be measured: dates, times or numbers, without codes"
        if column.missing:
            yield f"the unit's order {column.name!r} must be known of every row; declare 'missing: never'"

    def keyed(self, aside: Sequence[Aside]) -> tuple[Aside, ...]:
        """Columns that stand aside, among which the key has made-up values: in front of all if it was not listed."""
        if self.key not in [one.name for one in aside]:
            shifted = [_moved(one) for one in aside]
            return Aside(name=self.key, action=Action.SURROGATE), *shifted
        return tuple(_made_up(one) if one.name == self.key else one for one in aside)


def _moved(aside: Aside) -> Aside:
    return Aside(name=aside.name, action=aside.action, place=aside.place + 1, dtype=aside.dtype, keys=aside.keys)


def _made_up(aside: Aside) -> Aside:
    return Aside(name=aside.name, action=Action.SURROGATE, place=aside.place) if aside.is_dropped else aside
