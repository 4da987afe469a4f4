"""A table of several that belong together: its schema, its key, and the table whose rows it hangs on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from microtome.choice import Choice
from microtome.errors import SchemaError, together
from microtome.schema.aside import Aside
from microtome.schema.document import Schema

MAX_ROWS = 8
"""Rows of a parent that are kept where nobody says how many there may be."""
_LARGEST_MAX_ROWS = 256


class Cardinality(StrEnum):
    """How many rows of a table hang on a row of its parent, and the other way round.

    ``m:n`` is the table beyond a link table: its parent is the link, whose foreign key names its rows, and each of them
    belongs to the one link that owns it.
    """

    ONE = "1:1"
    MANY = "1:n"
    SHARED = "m:n"

    @property
    def default_rows(self) -> int:
        """Rows of a parent that are kept where nobody says how many there may be."""
        match self:
            case Cardinality.ONE | Cardinality.SHARED:
                return 1
            case Cardinality.MANY:
                return MAX_ROWS

    @property
    def is_many(self) -> bool:
        """Whether a parent may have several rows."""
        return self.default_rows > 1

    @property
    def is_held_by_parent(self) -> bool:
        """Whether the foreign key is a column of the parent."""
        match self:
            case Cardinality.ONE | Cardinality.MANY:
                return False
            case Cardinality.SHARED:
                return True


def _parent_error(parent: Parent, what: str) -> SchemaError:
    return SchemaError(what)


@dataclass(frozen=True, kw_only=True)
class Parent:
    """What a table's rows hang on.

    Attributes:
        table: The parent's name.
        foreign_key: The column with the parent's key; for ``m:n`` the column of the parent, a link table, with this
            table's key.
        cardinality: ``1:1`` (one row of a parent at most), ``1:n`` or ``m:n``.
        min_rows: Rows that every parent has at least, as everybody knows.
        max_rows: Rows of a parent at most. Where a parent has more, the others are not counted.
        order: The column that puts a parent's rows in order, if they are a sequence.
        owner: For ``m:n``: column and value of the link that owns a row, such as ``("role", "owner")``. Everything
            behind the row counts as the owner's.
    """

    table: str
    foreign_key: str
    cardinality: Choice[Cardinality] = Choice(Cardinality, Cardinality.MANY, error=_parent_error)
    min_rows: int = 0
    max_rows: int | None = None
    order: str | None = None
    owner: tuple[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.max_rows is None:
            object.__setattr__(self, "max_rows", self.cardinality.default_rows)
        with together() as attempts:
            with attempts:
                self._check_rows()
            with attempts:
                self._check_owner()

    @property
    def most(self) -> int:
        """Rows of a parent at most."""
        return self.cardinality.default_rows if self.max_rows is None else self.max_rows

    def _check_rows(self) -> None:
        if not _is_whole(self.max_rows) or not 1 <= self.most <= _LARGEST_MAX_ROWS:
            raise SchemaError(
                f"max_rows is {self.max_rows!r}; it must be a whole number from 1 to {_LARGEST_MAX_ROWS}: with none a "
                "parent would have no rows at all"
            )
        if self.most > 1 and not self.cardinality.is_many:
            raise SchemaError(f"max_rows is {self.max_rows}, but {self.cardinality} means one row at most; write '1:n'")
        if not _is_whole(self.min_rows) or not 0 <= self.min_rows <= self.most:
            raise SchemaError(
                f"min_rows is {self.min_rows!r}; it must be a whole number from 0 to max_rows, {self.most}"
            )
        if self.order is not None and self.most == 1:
            raise SchemaError(f"order is {self.order!r}, but a parent has one row at most; leave it out")

    def _check_owner(self) -> None:
        match self.cardinality, self.owner:
            case Cardinality.SHARED, None:
                raise SchemaError(
                    "m:n needs 'owner', a value of the link that owns the row, such as {role: owner}: a row that "
                    "belonged to several people would be protected for none of them"
                )
            case ((Cardinality.ONE | Cardinality.MANY), (name, value)):
                raise SchemaError(f"owner is {{{name}: {value}}}, which is for m:n only")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class LinkedTable:
    """A private table of several.

    Keys and foreign keys stand among the columns as surrogates (``action: surrogate``): none is released, and sampled
    rows have keys of the same type that are made up.

    Attributes:
        name: The table's name: its file's, without the suffix, or its key in a dictionary of frames.
        schema: What is public about its columns.
        key: The column that tells its rows apart. A table that nothing hangs on needs none.
        parent: What its rows hang on; the people's table hangs on nothing.
        references: Columns that hold keys of a public table, and the names of these tables.
    """

    name: str
    schema: Schema
    key: str | None = None
    parent: Parent | None = None
    references: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with together() as attempts:
            if self.schema.unit is not None:
                attempts.errors.append(self.error("it has a unit; the people of linked tables are the root's rows"))
            if self.key is not None:
                with attempts:
                    self.key_column(self.key, "key")
            if self.parent is not None:
                with attempts:
                    self._check_parent(self.parent)

    def _check_parent(self, parent: Parent) -> None:
        if not parent.cardinality.is_held_by_parent:
            self.key_column(parent.foreign_key, "foreign key")
        elif self.key is None:
            raise self.error(f"m:n needs 'key', the column that {parent.table}.{parent.foreign_key} holds")
        if parent.order is not None and parent.order not in self.schema.names:
            raise self.error(f"order is {parent.order!r}; released columns are {', '.join(self.schema.names)}")
        if parent.order is not None and self.schema[parent.order].kind.is_categorical:
            raise self.error(f"order is {parent.order!r}, whose categories have none; take a date, a time or a number")
        if parent.order is not None and self.schema[parent.order].missing:
            raise self.error(f"order is {parent.order!r}, which may be missing; only 'missing: never' has a place")

    def key_column(self, name: str, role: str) -> Aside:
        """A column of keys, which must stand aside as a surrogate."""
        for one in self.schema.aside:
            if one.name == name and not one.is_dropped:
                return one
        if name in [*self.schema.names, *self.schema.names_aside]:
            raise self.error(f"{role} {name!r} would be released or dropped; give it 'action: surrogate'")
        raise self.error(f"{role} {name!r} is no column; give it an entry under 'columns' with 'action: surrogate'")

    def confirm(self) -> LinkedTable:
        """The same with types that are as they are whatever records the table holds."""
        return replace(self, schema=self.schema.confirm())

    def error(self, what: str) -> SchemaError:
        """An error with the table's name."""
        return SchemaError(f"table {self.name!r}: {what}")
