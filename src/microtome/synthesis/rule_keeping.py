"""Rules of the schema, kept in every row that is drawn.

1. Columns that follow from others, by a sum or a table, are computed from them.
2. A row that breaks a rule first has its numbers drawn anew within their levels, which leaves every table that the
   model has learnt as it is: two dates in one month come out in order half of the time.
3. What is still broken gives way to another row of the model, under the same conditions (rejection): the model's own
   distribution, given the rules.
4. After ``_MOST_DRAWS`` rows for one, the row itself is mended (``rule_mending``): what the broken rule says last is
   made true with the nearest value, or the likeliest category.
5. If mending has no end, another row that keeps the rules is taken twice, or else one that the search for clashes has
   found. Only if there is none either, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import ModelError
from microtome.schema import ColumnCode
from microtome.schema.formula import Bools
from microtome.schema.notation import NumberNotation
from microtome.schema.rule_clash import example
from microtome.schema.rules import Rules
from microtome.schema.time_format import TimeFormat
from microtome.synthesis.rule_mending import Mending
from microtome.synthesis.synthetic_rows import PIECE_ROWS, SyntheticRows

_REDRAWS = 0x72756C65
"""Keeps the redraws apart from the rows, which have the same seed."""
_WITHIN_LEVELS = 6
"""How often numbers are drawn anew within their levels."""
_MOST_DRAWS = 16
"""Rows of the model that are drawn at most, on average, for one that breaks a rule."""
_LEAST_DRAWS = 4096
"""Rows that are drawn however few are needed, and at most where not even one in ``_MOST_DRAWS`` has kept the rules."""
_DONORS = 1024


def kept(rows: SyntheticRows, num_rows: int, rules: Rules) -> Iterator[pa.Table]:
    """Rows in pieces, all of which keep the rules."""
    if not rules:
        return rows.tables(num_rows)
    keeper = RuleKeeper(rows, rules)
    return (keeper.kept(table) for table in rows.tables(num_rows))


class RuleKeeper:
    """Puts rows that keep the rules in place of those that do not.

    Args:
        rows: Where rows come from.
        rules: What they have to keep.
    """

    def __init__(self, rows: SyntheticRows, rules: Rules) -> None:
        self._rows, self._rules = rows, rules
        self._codes = {code.column.name: code for code in rows.codes}
        self._conditions = [one for one in rows.conditions if one.code.column.name in rules.columns]
        computed = {one.column for one in rules.computed}
        self._written = [name for name in rules.columns if self._codes[name].column.notation is not None]
        self._measured = [
            name for name in rules.columns if name not in computed and not self._codes[name].column.kind.is_categorical
        ]
        self._mending = Mending(rules=rules, codes=self._codes)
        self._rng = np.random.default_rng([rows.seed, _REDRAWS])
        self._spare: pa.Table | None = None
        self._donors: pa.Table | None = None
        self._drawn, self._good = 2, 1

    @property
    def columns(self) -> Sequence[str]:
        """The columns that the rules are about."""
        return self._rules.columns

    def kept(self, table: pa.Table) -> pa.Table:
        """The same number of rows, all of which keep the rules."""
        table, broken = self.settled(table)
        places = np.flatnonzero(broken)
        self._count(broken)
        if not broken.all():
            self._donors = table.filter(pa.array(~broken)).slice(0, _DONORS)
        return table if not len(places) else with_rows(table, places, self._replacements(table.take(places)))

    def _count(self, broken: Bools) -> None:
        """Remember how many rows are good at once."""
        self._drawn += len(broken)
        self._good += int(len(broken) - broken.sum())

    def _replacements(self, failed: pa.Table) -> pa.Table:
        """As many rows as failed, from the model; mended where the model hardly ever keeps the rules."""
        wanted = failed.num_rows
        found = failed.slice(0, 0) if self._spare is None else self._spare
        hopeless = self._drawn > _LEAST_DRAWS and self._good * _MOST_DRAWS < self._drawn
        left = _LEAST_DRAWS if hopeless else max(_MOST_DRAWS * wanted, _LEAST_DRAWS)
        while found.num_rows < wanted and left > 0:
            lacking = wanted - found.num_rows
            count = int(np.clip(1.1 * lacking * self._drawn / self._good + 16, 64, min(PIECE_ROWS, left + 64)))
            fresh, broken = self.settled(self._fresh(count))
            self._count(broken)
            found = pa.concat_tables([found, fresh.filter(pa.array(~broken))])
            left -= count
        self._spare = found.slice(wanted)
        found = found.slice(0, wanted)
        if found.num_rows:
            self._donors = found.slice(0, _DONORS)
        lacking = wanted - found.num_rows
        return found if not lacking else pa.concat_tables([found, self.mended(failed.slice(0, lacking))])

    def _fresh(self, count: int) -> pa.Table:
        return pa.concat_tables(self._rows.tables(count, seed=int(self._rng.integers(2**62))))

    def settled(self, table: pa.Table) -> tuple[pa.Table, Bools]:
        """Rows with computed columns, and numbers drawn anew within levels where rules are broken; what still is."""
        table, broken = self._computed(table)
        places = self._movable(table, np.flatnonzero(broken))
        for _ in range(_WITHIN_LEVELS):
            places = places[broken[places]]
            if not len(places):
                break
            again, still = self._computed(self._redrawn(table.take(places)))
            table = with_rows(table, places[~still], again.filter(pa.array(~still)))
            broken[places] = still
        return table, broken

    def _movable(self, table: pa.Table, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows that other numbers could put right: no rule is broken that is about categories alone."""
        measured = set(self._measured)
        named = [rule for rule in self._rules.checks if not measured & set(rule.columns)]
        if not measured or not len(places):
            return places[:0]
        if not named:
            return places
        columns = list(dict.fromkeys(name for rule in named for name in rule.columns))
        extents = self._rules.extents(table.select(columns).take(places), columns)
        stuck: Bools = np.logical_or.reduce([rule.fails(extents) for rule in named])
        return places[~stuck]

    def _computed(self, table: pa.Table) -> tuple[pa.Table, Bools]:
        """Rows with the columns that follow from others, as they will be written, and which of them are broken."""
        for name in self._written:
            table = _put(table, name, _as_written(_whole(table, name), self._codes[name]))
        extents = self._rules.extents(table)
        broken = np.zeros(table.num_rows, dtype=bool)
        for one in self._rules.computed:
            places, missing, wrong = one.computed(extents)
            values = one.target.values(places, missing | wrong)
            if one.column in self._written:
                values = _as_written(values, self._codes[one.column])
            table = _put(table, one.column, values)
            extents[one.column] = one.target.extent(values)
            broken |= wrong
        return table, broken | self._rules.broken(extents) | self._unmet(table)

    def _unmet(self, table: pa.Table) -> Bools:
        """Rows that do not meet the conditions of the draw any more."""
        unmet = np.zeros(table.num_rows, dtype=bool)
        for one in self._conditions:
            unmet |= ~one.allowed[self._cells(one.code, table)]
        return unmet

    def _cells(self, code: ColumnCode, table: pa.Table) -> NDArray[np.int64]:
        """The cells of a column's values."""
        name = code.column.name
        return self._rules.scales[name].locate(_whole(table, name), code.cells)

    def _redrawn(self, table: pa.Table) -> pa.Table:
        """Rows with their numbers drawn anew within their levels."""
        for name in self._measured:
            code = self._codes[name]
            levels = code.levels[self._cells(code, table)]
            table = _put(table, name, code.draw(levels, self._rng))
        return table

    def mended(self, failed: pa.Table) -> pa.Table:
        """Rows that break rules, made to keep them."""
        table, broken = self._computed(failed)
        for turn in range(self._mending.turns):
            places = np.flatnonzero(broken)
            if not len(places):
                return table
            again, still = self._computed(self._mending.mended(table.take(places), turn))
            table = with_rows(table, places, again)
            broken[places] = still
        places = np.flatnonzero(broken)
        if not len(places):
            return table
        donors = self._donors if self._donors is not None else self._example(table.slice(int(places[0]), 1))
        return with_rows(table, places, donors.take(pa.array(np.arange(len(places)) % donors.num_rows)))

    def _example(self, row: pa.Table) -> pa.Table:
        """A row with the values that the search for clashes has found; an error if it is none either."""
        found = example(self._rules, self._rules.all).row or {}
        for name, place in found.items():
            values = self._rules.scales[name].values(np.array([place or 0.0]), np.array([place is None]))
            row = _put(row, name, values)
        row, broken = self._computed(row)
        if broken.any():
            texts = "; ".join(rule.text for rule in self._rules.all)
            under = " that also meets the conditions" if self._rows.conditions else ""
            raise ModelError(f"no row{under} was found that keeps the rules of the schema: {texts}. Do they clash?")
        return row


def _as_written(values: pa.Array, code: ColumnCode) -> pa.Array:
    """Values with the digits that their format keeps: rules hold in the file too."""
    if code.column.has_text_codes:
        return values
    match code.column.notation:
        case NumberNotation(places=int() as places) if pa.types.is_floating(values.type):
            return pc.round(values, ndigits=places)
        case TimeFormat() as times:
            return times.read(times.write(values), values.type)
        case _:
            return values


def with_rows(table: pa.Table, places: NDArray[np.int64], others: pa.Table) -> pa.Table:
    """The table with other rows in some places."""
    index = np.arange(table.num_rows)
    index[places] = table.num_rows + np.arange(len(places))
    return pa.concat_tables([table, others]).take(pa.array(index)).combine_chunks()


def _whole(table: pa.Table, name: str) -> pa.Array:
    found = table.column(name).combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _put(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), table.schema.field(name), values)
