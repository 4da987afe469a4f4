"""People of a query: the database brings the rows of each together, and keeps those that ``row_choice`` keeps.

    query ─► whose a row is, and a hash of what is in it ─► its lot ─► the first lots of every person ─► what stands
    beside a row: how many there are, when the first was, how far it is to the next ─► its part of a person

Lots are those of ``row_choice``, digit by digit: SHA-256 of the same texts under the same key. The key is in the text
of the queries. The promise does not lean on its being secret: whatever it is, what is kept of a person depends on that
person's rows alone (``docs/privacy.md``, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from microtome.errors import TableError
from microtome.private.engines.sql_dialect import SqlDialect
from microtome.private.engines.sql_questions import ColumnInSql, named, numbered
from microtome.private.key_texts import PLAIN_WHOLE
from microtome.private.people import key_of, unit_of
from microtome.private.row_choice import DIGITS, LOT, ROW, VALUE, missing_digits
from microtome.private.weighting import WHOLE
from microtome.schema import Schema
from microtome.schema.unit import Unit
from microtome.schema.view import View

_KEYS = ("text", "whole", "double", "boolean", "date", "timestamp", "timestamptz", "time")
"""Families of types that keys may be of."""
_LARGEST_WHOLE = 2.0**53
_PERSON = "PARTITION BY person ORDER BY place"


@dataclass(frozen=True, kw_only=True)
class PeopleInSql:
    """How the rows of people are asked for.

    Attributes:
        query: What gives all rows.
        schema: What is public about them.
        view: What is measured of them.
        columns: The columns of the schema.
        family: Of which family the key's type is.
        key: Of the lots.
        dialect: How the database writes.
    """

    query: str
    schema: Schema
    view: View
    columns: tuple[ColumnInSql, ...]
    family: str
    key: bytes
    dialect: SqlDialect

    @classmethod
    def of(
        cls, query: str, schema: Schema, view: View, families: Sequence[str | None], key: bytes, dialect: SqlDialect
    ) -> PeopleInSql:
        """Those of a schema; the last family is that of the key."""
        *own, family = families
        if family not in _KEYS:
            found = family or "a type that is not known here"
            raise TableError(
                f"column {unit_of(schema).key!r} is a key, and the database has it as {found}: keys are texts, whole "
                "numbers, days or times; cast it in the query"
            )
        columns = ColumnInSql.all_of(schema, own, dialect)
        return cls(query=query, schema=schema, view=view, columns=columns, family=str(family), key=key, dialect=dialect)

    @property
    def unit(self) -> Unit:
        """Whose rows these are."""
        return unit_of(self.schema)

    @property
    def has_spellings(self) -> bool:
        """Whether keys are texts, of which some may be one in several spellings."""
        return self.family == "text" and not self.has_numbers_as_text

    @property
    def has_numbers_as_text(self) -> bool:
        """Whether keys are texts that the schema declares to be whole numbers."""
        return self.family == "text" and key_of(self.schema).is_number

    @cached_property
    def view_columns(self) -> tuple[ColumnInSql, ...]:
        """Columns of the table, and those that are derived."""
        families = [one.family for one in self.columns]
        for column in self.view.schema.columns[len(self.columns) :]:
            match column.name:
                case self.view.rows:
                    families.append("whole")
                case self.view.start:
                    families.append(self._order.family)
                case self.view.first:
                    families.append("boolean")
                case _:
                    families.append("whole" if column.kind.is_integral else "double")
        return ColumnInSql.all_of(self.view.schema, families, self.dialect)

    @cached_property
    def source(self) -> str:
        """The rows that are kept, with the columns of the view, and ``person``, ``place`` and ``weight``."""
        own = ", ".join(one.value for one in self.columns)
        derived = "".join(
            f", {self._derived(one.column.name)} AS {one.value}" for one in self.view_columns[len(self.columns) :]
        )
        weight = f"CAST(FLOOR(CAST({WHOLE} AS {self.dialect.double}) / siblings) AS {self.dialect.whole})"
        beside = f"SELECT {own}{derived}, person, place, {weight} AS weight FROM ({self._kept}) AS kept"
        return numbered(beside, self.view_columns)

    @cached_property
    def owned(self) -> str:
        """All rows, with whose they are and a hash of what is in them."""
        key = self.dialect.identifier(self.unit.key)
        values = named(self.query, self.columns, f", {key} AS whose")
        row = self._hash(ROW, " || ".join(self.digits(one) for one in self.columns))
        return f"SELECT named.*, {self._person} AS person, {row} AS likeness FROM ({values}) AS named"

    def digits(self, one: ColumnInSql) -> str:
        """The hash of a value."""
        missing = self.dialect.text(missing_digits(self.key))
        value = self._hash(VALUE, one.as_plain_text)
        return f"CASE WHEN {one.is_missing} THEN {missing} ELSE COALESCE({value}, {missing}) END"

    def number_of_rows(self) -> str:
        """How many rows are kept, and of how many people."""
        return f"SELECT COUNT(*), {_number_of('place = 1')} FROM ({self._kept}) AS kept"

    def unowned(self) -> str:
        """How many rows there are, how many of them are nobody's, and how many keys are no keys."""
        key = self.dialect.identifier(self.unit.key)
        whose = f"SELECT {key} AS whose FROM ({self.query}) AS asked"
        inner = f"SELECT {self._person} AS person, {self._broken} AS broken FROM ({whose}) AS named"
        nobodys, broken = (
            f"COALESCE(SUM(CASE WHEN {what} THEN 1 ELSE 0 END), 0)" for what in ("person IS NULL", "broken")
        )
        return f"SELECT COUNT(*), {nobodys}, {broken} FROM ({inner}) AS owned"

    def several_spellings(self) -> str:
        """How many keys stand there in several spellings."""
        key, plain = self.dialect.identifier(self.unit.key), self.dialect.plain_spelling("whose")
        whose = f"SELECT {key} AS whose FROM ({self.query}) AS asked"
        spelled = f"SELECT {self._person} AS person, {self.dialect.as_text(plain)} AS plain FROM ({whose}) AS named"
        alike = f"SELECT plain FROM ({spelled}) AS spelled GROUP BY plain HAVING COUNT(DISTINCT person) > 1"
        return f"SELECT COUNT(*) FROM ({alike}) AS alike"

    def changes(self, name: str) -> str:
        """How many people have several values of a column."""
        one = next(one for one in self.columns if one.column.name == name)
        values = f"SELECT person, {self.digits(one)} AS digits FROM ({self.owned}) AS owned"
        inner = f"SELECT person FROM ({values}) AS digested GROUP BY person HAVING COUNT(DISTINCT digits) > 1"
        return f"SELECT COUNT(*) FROM ({inner}) AS changed"

    def unordered(self) -> str:
        """How many rows have no place in the order of a person's rows."""
        return f"SELECT COUNT(*) FROM ({self.owned}) AS owned WHERE {self._order.is_missing}"

    @property
    def _order(self) -> ColumnInSql:
        return next(one for one in self.columns if one.column.name == self.unit.order)

    @property
    def _kept(self) -> str:
        """Rows that are kept, each with its place among those of its person."""
        twins = "ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1"
        counted = f"SELECT owned.*, {twins} AS twin FROM ({self.owned}) AS owned"
        lot = self.dialect.as_text(self._hash(LOT, f"likeness || CAST(twin AS {self.dialect.varchar})"))
        drawn = f"SELECT counted.*, {lot} AS lot FROM ({counted}) AS counted"
        ranked = f"SELECT drawn.*, ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw FROM ({drawn}) AS drawn"
        order = "" if self.unit.order is None else f"{self._order.as_number}, "
        place = f"ROW_NUMBER() OVER (PARTITION BY person ORDER BY {order}lot)"
        siblings = "COUNT(*) OVER (PARTITION BY person)"
        return (
            f"SELECT ranked.*, {siblings} AS siblings, {place} AS place FROM ({ranked}) AS ranked "
            f"WHERE draw <= {self.unit.max_rows}"
        )

    def _derived(self, name: str) -> str:
        """What is measured beside the columns of the table."""
        match name:
            case self.view.rows:
                return "siblings"
            case self.view.start:
                return f"FIRST_VALUE({self._order.value}) OVER ({_PERSON})"
            case self.view.first:
                return "(place = 1)"
            case self.view.gap:
                number = self._order.as_number
                kind = self.dialect.whole if self.view.schema[name].kind.is_integral else self.dialect.double
                return f"CAST(LEAD({number}) OVER ({_PERSON}) - {number} AS {kind})"
            case _:
                raise TableError(f"nothing is known of the column {name!r} of people's rows; nothing is released")

    @property
    def _person(self) -> str:
        """Whose a row is: the same for the same key, null for none."""
        match self.family:
            case "text":
                text = self.dialect.plain_spelling("whose") if self.has_numbers_as_text else "whose"
                return f"CASE WHEN {self._is_blank} THEN NULL ELSE {self.dialect.as_text(text)} END"
            case "double":
                return f"CASE WHEN NOT {self.dialect.is_nan('whose')} THEN whose + {self.dialect.number(0.0)} END"
            case _:
                return "whose"

    @property
    def _broken(self) -> str:
        """Whether a number may stand for several, or is none that a key can be."""
        if self.has_numbers_as_text:
            plain = self.dialect.plain_spelling("whose")
            left = f"regexp_replace({plain}, {self.dialect.text(PLAIN_WHOLE)}, '')"
            return f"(NOT {self._is_blank} AND {self.dialect.as_text(left)} <> {self._nothing})"
        if self.family != "double":
            return "(1 = 0)"
        large = f"abs(whose) >= {self.dialect.number(_LARGEST_WHOLE)}"
        return f"(NOT {self.dialect.is_nan('whose')} AND ({large} OR whose <> floor(whose)))"

    @property
    def _is_blank(self) -> str:
        return f"({self.dialect.as_text(self.dialect.without_blanks('whose'))} = {self._nothing})"

    @property
    def _nothing(self) -> str:
        return self.dialect.as_text(self.dialect.text(""))

    def _hash(self, tag: bytes, text: str) -> str:
        start = self.dialect.text(self.key.hex() + tag.decode())
        return f"substr({self.dialect.sha256(f'{start} || {text}')}, 1, {DIGITS})"


def _number_of(condition: str) -> str:
    return f"COALESCE(SUM(CASE WHEN {condition} THEN 1 ELSE 0 END), 0)"
