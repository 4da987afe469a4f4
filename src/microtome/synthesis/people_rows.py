"""Rows of people, one after the other: a first row given what all rows share, then each from the one before it.

    first row ~ P(row | shared, number of rows, first)
    next row  ~ P(next levels | shared, number of rows, row),   its time = the time before + the gap

All people who have a row of the same number are drawn at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.schema import Codebook, ColumnCode
from microtome.schema.cells import CategoryCells, NumberCells, numbers_to_arrow
from microtome.schema.scale import Scale
from microtome.schema.view import View
from microtome.synthesis.dealing import dealt
from microtome.synthesis.given import GivenMixture
from microtome.synthesis.rule_keeping import RuleKeeper, with_rows

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Levels = dict[int, Ints]
_PIECE_WEIGHTS = 1 << 24
"""Weights that are held at once: every row has one for each component."""
_LEAST = np.float32(1e-12)
_ROUNDS = 12
"""Rounds in which sums over people are met."""
_FEW = 64
"""People of a group below whom what they have together is mostly chance."""
_CROWD = 3
"""Rows of a person past the end of all times up to which they are put between the row before and the end."""
_TRIES = 8
"""How often a row that breaks a rule is drawn anew, given the same."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleRows:
    """Draws the rows of people of whom it is known what all their rows share.

    Attributes:
        mixture: The model of the view.
        codebook: Its codes, steps included.
        view: What was measured.
        keeper: Of the rules that every row has to keep, if there are any.
    """

    mixture: GivenMixture
    codebook: Codebook
    view: View
    keeper: RuleKeeper | None

    def draw(self, shared: pa.Table, numbers: Ints, rng: np.random.Generator) -> tuple[Ints, pa.Table]:
        """Whose each row is, and the rows; those of a person stand next to each other, in their order.

        Args:
            shared: The values of all columns that are known beforehand, a row for each person.
            numbers: How many rows each has.
            rng: Draws them.
        """
        given = {self._place(name): self._levels_of(self._place(name), shared.column(name)) for name in self.view.given}
        above = {
            self._place(one.column): self._levels_of(self._place(one.column), shared.column(one.above))
            for one in self.view.same
        }
        owners, tables = [], []
        people, levels, before = np.flatnonzero(numbers > 0), dict[int, Ints](), dict[str, pa.Array]()
        number = 0
        while len(people):
            known = {column: found[people] for column, found in given.items()}
            alike = {column: found[people] for column, found in above.items()}
            fixed = {name: _whole(shared.column(name)).take(pa.array(people)) for name in self.view.given}
            started = before.get(str(self.view.start))
            wave = _Wave(
                rows=self,
                given=known,
                above=alike,
                fixed=fixed,
                before=levels,
                times=self._times(before),
                started=started,
                rng=rng,
            )
            levels, table = wave.drawn()
            owners.append(people)
            tables.append(table)
            number += 1
            going = numbers[people] > number
            people = people[going]
            levels = {column: found[going] for column, found in levels.items()}
            before = {name: _whole(table.column(name)).filter(pa.array(going)) for name in table.column_names}
        if not owners:
            return np.zeros(0, np.int64), self._empty()
        whose, rows = self._fitting(owners, tables, rng)
        times = np.arange(len(whose)) if self.view.order is None else self._numbers(self.view.order, rows)
        order = np.lexsort((times, whose))
        return whose[order], rows.take(pa.array(order))

    def _fitting(self, owners: list[Ints], tables: list[pa.Table], rng: np.random.Generator) -> tuple[Ints, pa.Table]:
        """All rows, and whose each is; where gaps lead past the end of all times, all of a person's are shortened.

        Rows that were put between the one before and the end would crowd there: the more, the more rows somebody has.
        Where there are rules, rows stay where these were looked at.
        """
        whose, rows, view = np.concatenate(owners), pa.concat_tables(tables), self.view
        if view.order is None or view.gap is None or self.keeper is not None:
            return whose, rows
        code = self.codebook.codes[self._place(view.order)]
        high = (code.column.number_bounds() or _ends(code))[1]
        number = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
        order = np.lexsort((number, whose))
        whose, rows = whose[order], rows.take(pa.array(order))
        times, gaps = self._numbers(view.order, rows), self._numbers(view.gap, rows)
        first = np.flatnonzero(np.diff(whose, prepend=-1))
        place = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(whose))))
        passed = np.cumsum(gaps) - gaps
        passed -= passed[first][place]
        last = np.append(first[1:], len(whose)) - 1
        room, wanted, later = high - times[first], passed[last], np.maximum(last - first, 1)
        parts = room * rng.random(len(first)) ** (1.0 / later) / np.maximum(wanted, 1e-300)
        beyond = np.add.reduceat(passed > room[place], first)
        shortened = (beyond > _CROWD)[place]
        fitted = np.where(shortened, times[first][place] + passed * parts[place], times)
        whole = np.floor(fitted) if code.column.kind.is_integral else fitted
        values = numbers_to_arrow(code.column, whole, None).cast(code.column.storage_type)
        return whose, rows.set_column(rows.column_names.index(view.order), view.order, values)

    def _times(self, before: Mapping[str, pa.Array]) -> Floats | None:
        """When the rows before were, and how far it is to the next ones (2 × rows)."""
        if not before or self.view.order is None or self.view.gap is None:
            return None
        rows = pa.table(before)
        return np.stack([self._numbers(self.view.order, rows), self._numbers(self.view.gap, rows)])

    def _numbers(self, name: str, rows: pa.Table) -> Floats:
        column, values = self.codebook.codes[self._place(name)].column, _whole(rows.column(name))
        counted = column.kind.facts.counted_as
        numbers = values.cast(counted) if column.kind.is_temporal else values
        found: Floats = np.nan_to_num(np.asarray(numbers.cast(pa.float64()).fill_null(0.0)))
        return found

    def _place(self, name: str) -> int:
        return self.places[name]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every column."""
        return {code.column.name: place for place, code in enumerate(self.codebook.codes)}

    def _levels_of(self, place: int, values: pa.ChunkedArray | pa.Array) -> Ints:
        code = self.codebook.codes[place]
        return code.levels[Scale.of(code.column, {}).locate(_whole(values), code.cells)]

    def _empty(self) -> pa.Table:
        codes = self.codebook.codes[: len(self.view.schema.columns)]
        return pa.table({code.column.name: pa.array([], code.column.storage_type) for code in codes})

    def values(self, place: int, levels: Ints, rng: np.random.Generator) -> pa.Array:
        """Values of a column for its levels."""
        code = self.codebook.codes[place]
        if code.column.name in self._never_missing and code.margins[:-1].any():
            code = replace(code, margins=np.append(code.margins[:-1], 0.0))
        return code.draw(levels, rng)

    @cached_property
    def _never_missing(self) -> set[str]:
        """Columns that have a value in every row that there is; a gap is looked at where there is a next row."""
        return {*self.view.certain, *([] if self.view.gap is None else [self.view.gap])}

    @cached_property
    def barred(self) -> dict[int, int]:
        """The level of missing values of these columns, where it holds nothing else."""
        found = {}
        for name in self._never_missing:
            code = self.codebook.codes[self.places[name]]
            if code.cells.missing and (code.levels == code.levels[-1]).sum() == 1:
                found[self.places[name]] = int(code.levels[-1])
        return found

    @cached_property
    def own(self) -> list[int]:
        """Columns that are drawn for every row; what says whether one has the value of another comes before it."""
        shared = {*self.view.given, self.view.first, self.view.start}
        first = [one.name for one in self.view.same]
        return [self.places[name] for name in dict.fromkeys([*first, *self.view.schema.names]) if name not in shared]

    @cached_property
    def same(self) -> dict[int, tuple[int, Ints]]:
        """For a column that may have the value of one above, the column that says so, and the level that says yes."""
        found = {}
        for one in self.view.same:
            place = self.places[one.name]
            found[self.places[one.column]] = place, self._levels_of(place, pa.array([True]))
        return found

    def is_same(self, column: int, known: Levels) -> NDArray[np.bool_]:
        """In which rows a column has the value of the one above."""
        place, yes = self.same[column]
        return np.asarray(known[place] == yes)

    def as_above(self, column: int, shares: Singles, above: Ints, known: Levels) -> Singles:
        """Shares of a column where it is known whether it has the value of the one above, which has these levels.

        Where it has not, it has another level, as far as levels tell values apart.
        """
        sizes = np.bincount(self.codebook.codes[column].levels, minlength=shares.shape[1])
        same, left = self.is_same(column, known), shares.copy()
        other = np.flatnonzero(~same & (sizes == 1)[above])
        left[other, above[other]] = 0.0
        left = np.where((left.sum(axis=1) > 0.0)[:, None], left, shares)
        left[same] = 0.0
        left[same, above[same]] = 1.0
        return left

    @cached_property
    def steps(self) -> dict[int, int]:
        """For every column that steps, where its level in the next row is."""
        first = len(self.view.schema.columns)
        return {self.places[name]: first + number for number, name in enumerate(self.view.steps)}

    @cached_property
    def goes_on(self) -> NDArray[np.float32]:
        """How likely there is a next row in each component."""
        shares = [self.mixture.levels[:, self.codebook.blocks[place].stop - 1] for place in self.steps.values()]
        return np.asarray(1.0 - np.mean(shares, axis=0), dtype=np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Wave:
    """The rows of one number, of all people who have so many."""

    rows: PeopleRows
    given: Levels
    above: Levels
    fixed: Mapping[str, pa.Array]
    before: Levels
    times: Floats | None
    started: pa.Array | None
    rng: np.random.Generator

    def drawn(self) -> tuple[Levels, pa.Table]:
        """Levels and values of the rows, all of which keep the rules."""
        levels, table = self._attempt(np.arange(self._count_of(self.given)))
        keeper = self.rows.keeper
        if keeper is None:
            return levels, table
        table, broken = keeper.settled(table)
        for _ in range(_TRIES):
            places = np.flatnonzero(broken)
            if not len(places):
                break
            again, fresh = self._attempt(places)
            fresh, still = keeper.settled(fresh)
            good = places[~still]
            for column, found in levels.items():
                found[good] = again[column][~still]
            table, broken[good] = with_rows(table, good, fresh.filter(pa.array(~still))), False
        places = np.flatnonzero(broken)
        if len(places):
            table = with_rows(table, places, keeper.mended(table.take(pa.array(places))))
        return self._relocated(levels, table, keeper.columns), table

    def _relocated(self, levels: Levels, table: pa.Table, changed: Sequence[str]) -> Levels:
        """Levels of what the rules have made of the rows."""
        for name in changed:
            place = self.rows.places[name]
            levels[place] = self.rows._levels_of(place, table.column(name))
        return levels

    def _attempt(self, places: Ints) -> tuple[Levels, pa.Table]:
        """The rows of some people, drawn once."""
        rows = self.rows
        known = {column: levels[places] for column, levels in self.given.items()}
        before = {column: levels[places] for column, levels in self.before.items()}
        settled = dict[str, pa.Array]()
        if not before and rows.view.start is not None:
            known |= self._started(known)
        if rows.view.first is not None:
            place = rows.places[rows.view.first]
            values = pa.array(np.full(len(places), not before))
            settled[rows.view.first], known[place] = values, rows._levels_of(place, values)
        if rows.view.start is not None and self.started is not None:
            place = rows.places[rows.view.start]
            known[place] = before[place]
            settled[rows.view.start] = self.started.take(pa.array(places))
        if rows.view.order is not None and rows.view.start is not None:
            place, start = rows.places[rows.view.order], rows.places[rows.view.start]
            if not before:
                settled[rows.view.start] = settled[rows.view.order] = rows.values(start, known[start], self.rng)
            elif self.times is not None:
                settled[rows.view.order] = self._timed(rows.codebook.codes[place], self.times[:, places])
            known[place] = rows._levels_of(place, settled[rows.view.order])
        left = [column for column in rows.own if column not in known]
        pieces = self._pieces(len(places))
        above = {column: levels[places] for column, levels in self.above.items()}
        found = [self._piece(left, _cut(known, piece), _cut(before, piece), _cut(above, piece)) for piece in pieces]
        known |= {column: np.concatenate([piece[column] for piece in found]) for column in left}
        return known, self._table(known, settled, places)

    def _piece(self, left: Sequence[int], known: Levels, before: Levels, above: Levels) -> Levels:
        """Levels of the columns that are left, one after the other: each by the row so far, and by the row before.

        With both, P(x | row, before) ∝ P(x | row)·P(next x | before)/P(next x), everything given what all rows of a
        person share. What steps say counts only as far as it hangs on the row before: of what a row has to do with all
        else the tables of rows know more.
        All people together keep what is known of such rows: a product of two noisy tables would drift from it, further
        with every row.
        """
        rows, mixture, rng = self.rows, self.rows.mixture, self.rng
        stepping = set(rows.steps) & set(left) if before else set[int]()
        alone = mixture.weights_given(self._shared(known), self._count_of(known))
        weights = mixture.told(alone.copy(), self._unshared(known))
        if stepping:
            going = alone * (rows.goes_on + _LEAST)
            start, after = weights.copy(), mixture.told(going.copy(), self._unshared(before))
        found: Levels = {}
        for column in left:
            shares = self._present(column, mixture.shares(weights, column))
            if column in stepping:
                shares *= self._lift(rows.steps[column], after, going)
                wanted = self._present(column, mixture.shares(start, column))
                shares = balanced(shares, wanted, known.get(rows.places.get(str(rows.view.rows), -1)))
            if column in above:
                shares = rows.as_above(column, shares, above[column], found)
            beside = [*known.values(), *found.values(), *([before[column]] if column in stepping else [])]
            found[column] = dealt(shares, beside, rng)
            mixture.tell(weights, column, found[column])
        return found

    def _lift(self, step: int, after: Singles, going: Singles) -> Singles:
        """How much likelier each level is in the next row given the row before, of rows that have a next one."""
        mixture = self.rows.mixture
        given, usual = (mixture.shares(weights, step)[:, :-1] for weights in (after, going))
        sums = [shares.sum(axis=1, keepdims=True) + _LEAST for shares in (given, usual)]
        lift: Singles = (given / sums[0] + _LEAST) / (usual / sums[1] + _LEAST)
        return lift

    def _pieces(self, count: int) -> list[slice]:
        """So many rows in pieces that are weighed at once."""
        rows = max(_PIECE_WEIGHTS // len(self.rows.mixture.weights), 1)
        return [slice(start, start + rows) for start in range(0, count, rows)]

    def _shared(self, known: Levels) -> Levels:
        return {column: levels for column, levels in known.items() if column in self.given}

    def _unshared(self, known: Levels) -> Levels:
        return {column: levels for column, levels in known.items() if column not in self.given}

    def _present(self, column: int, shares: Singles) -> Singles:
        """Shares without those of a missing value, where there is none in a row that is there."""
        if column in self.rows.barred and shares.shape[1] > 1:
            shares[:, self.rows.barred[column]] = 0.0
        return shares

    def _started(self, known: Levels) -> Levels:
        """When the first row is, given what all rows share."""
        place = self.rows.places[str(self.rows.view.start)]
        pieces = self._pieces(self._count_of(known))
        return {place: np.concatenate([self._piece([place], _cut(known, piece), {}, {})[place] for piece in pieces])}

    def _timed(self, code: ColumnCode, times: Floats) -> pa.Array:
        """Times after those before, by the gap; where that is past the end, somewhere on the way to it."""
        before, gap = times
        high = (code.column.number_bounds() or _ends(code))[1]
        after = before + gap
        past = after > high
        after[past] = before[past] + self.rng.random(int(past.sum())) * np.maximum(high - before[past], 0.0)
        whole = np.floor(after) if code.column.kind.is_integral else after
        return numbers_to_arrow(code.column, whole, None).cast(code.column.storage_type)

    @staticmethod
    def _count_of(known: Levels) -> int:
        return len(next(iter(known.values())))

    def _table(self, levels: Levels, settled: Mapping[str, pa.Array], places: Ints) -> pa.Table:
        rows, arrays = self.rows, {}
        for name in rows.view.schema.names:
            if name in self.fixed:
                arrays[name] = self.fixed[name].take(pa.array(places))
            elif name in settled:
                arrays[name] = settled[name]
            else:
                arrays[name] = rows.values(rows.places[name], levels[rows.places[name]], self.rng)
        for one in rows.view.same:
            same = pa.array(rows.is_same(rows.places[one.column], levels))
            arrays[one.column] = pc.if_else(same, arrays[one.above], arrays[one.column])
        return pa.table(arrays)


def balanced(shares: Singles, wanted: Singles, groups: Ints | None) -> Singles:
    """Shares with a factor for each level, by which people of a group have together what is wanted of them.

    Groups are people with as many rows. Where they are few, what they have together is chance, and weighs less.
    """
    shares = shares / (shares.sum(axis=1, keepdims=True) + _LEAST)
    wanted = wanted / (wanted.sum(axis=1, keepdims=True) + _LEAST)
    for group in [slice(None)] if groups is None else [groups == one for one in np.unique(groups)]:
        part, sums = shares[group], wanted[group].sum(axis=0)
        factors = np.ones(part.shape[1], np.float32)
        for _ in range(_ROUNDS):
            now = part * factors
            now /= now.sum(axis=1, keepdims=True) + _LEAST
            factors *= (sums + _LEAST) / (now.sum(axis=0) + _LEAST)
        shares[group] = part * factors ** np.float32(min(len(part) / _FEW, 1.0))
    return shares


def _ends(code: ColumnCode) -> tuple[float, float]:
    match code.cells:
        case NumberCells(edges=edges):
            return float(edges[0]), float(edges[-1])
        case CategoryCells():
            return -np.inf, np.inf


def _cut(levels: Levels, piece: slice) -> Levels:
    return {column: found[piece] for column, found in levels.items()}


def _whole(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
