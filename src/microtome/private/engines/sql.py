"""A query of a database as a private table: the database counts its own rows, and gives counts.

    query ─► cells and levels as CASE … END ─► GROUP BY ─► counts; empty cells filled here ─► the tally of a pass

All queries of a release see the table as it was at the first of them: one transaction, read only, on the connection of
whoever asks. The reservation in the ledger comes before it; what is asked earlier are the types of columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import MicrotomeError, TableError, together
from microtome.private.aggregating import AggregateTally
from microtome.private.engines.sql_asked import checked_query, dialect_of
from microtome.private.engines.sql_dialect import DUCKDB, SqlDialect
from microtome.private.engines.sql_people import PeopleInSql
from microtome.private.engines.sql_queries import Questions
from microtome.private.engines.sql_questions import ENDLESS, MISSING, TOO_LARGE, problem_of
from microtome.private.histograms import (
    NUM_BUCKETS,
    ByBucket,
    ByCategory,
    ByCell,
    ByNumber,
    ByRounding,
    Histogram,
)
from microtome.private.key_texts import refuse_spellings, refuse_unlike_numbers
from microtome.private.level_tally import LevelTally, PairsAndTriples
from microtome.private.passes import TableTally, Told
from microtome.private.people import refuse_changed, refuse_nobodys, refuse_unordered, unit_of
from microtome.private.profile import Tally
from microtome.private.searching import SearchTally
from microtome.private.second_round import TripleTally
from microtome.private.table import Gathered, PrivateTable
from microtome.schema import Codebook, Column, Schema
from microtome.schema.view import View

ORIGIN = "the query"
_SETS_AT_ONCE = 64
"""Tables of levels that one query asks for."""

Parts = list[pa.Array]
Rows = list[tuple[Any, ...]]


def sql_table(connection: Any, query: str) -> PrivateTable:
    """A table that stays in the database: only its counts come here.

    Args:
        connection: An open connection of ``duckdb`` or ``psycopg``, in no transaction.
        query: One SELECT, or the name of a table. Every row that it gives is a record.
    """
    dialect = dialect_of(connection)
    counter = SqlCounter(connection=connection, query=checked_query(query, dialect), dialect=dialect)
    return PrivateTable(
        origin=ORIGIN,
        types=dict.fromkeys(counter.families(), pa.null()),
        num_rows=None,
        stream=_refuse_streaming,
        counter=counter,
        gatherer=SqlGatherer(counter=counter),
    )


@dataclass(frozen=True, kw_only=True)
class SqlCounter:
    """Has a database count the rows of a query.

    Attributes:
        connection: Where to ask.
        query: What gives the rows.
        dialect: How to ask.
        asked: Called after every question.
        people: Whose rows are kept, and which, where they are of people: the schema, what is measured of it, and the
            key of the lots.
    """

    connection: Any
    query: str
    dialect: SqlDialect
    asked: Callable[[], None] = lambda: None
    people: tuple[Schema, View, bytes] | None = None

    def num_rows(self) -> None:
        """Nothing is asked of the rows before the promise is reserved."""

    def families(self) -> dict[str, str | None]:
        """Names of the columns, and the families of their types."""
        with self._transaction(()):
            found = self._described(f"SELECT * FROM ({self.query}) AS asked LIMIT 0")
        names = [name for name, _ in found]
        repeated = [name for place, name in enumerate(names) if name in names[:place]]
        if repeated:
            raise TableError(f"{ORIGIN}: column {repeated[0]!r} occurs twice; rename one of them")
        return {name: self.dialect.types.get(kind) for name, kind in found}

    @contextmanager
    def held(self) -> Iterator[None]:
        """The table as it is now, for as long as a release takes."""
        with self._transaction(self.dialect.begin):
            if self.people is not None:
                self._check_people(self._people(*self.people))
            yield

    def fill(self, tally: TableTally, schema: Schema, block_rows: int, told: Told) -> int:
        """Count all rows; gives their number."""
        del block_rows  # the database takes as many at a time as it likes
        queries = 1 + _num_queries(tally)
        rows = replace(self, asked=_steps(told, queries))._fill(tally, schema)
        told(queries, queries)
        return rows

    def _fill(self, tally: TableTally, schema: Schema) -> int:
        questions = self._questions(schema)
        rows, records = map(int, self._ask(questions.rows)[0])
        match tally:
            case SearchTally():
                parts = self._histograms(questions, tally.questions)
            case Tally():
                parts = [pa.array([rows]), *self._histograms(questions, tally.questions)]
            case LevelTally(codebook=codebook, counts=AggregateTally() as pairs, steps=steps):
                parts = [pa.array([rows]), self._pairs(questions, codebook, pairs, steps)]
            case LevelTally(codebook=codebook, counts=TripleTally() as triples):
                parts = [self._triples(questions, codebook, triples)]
            case LevelTally(codebook=codebook, counts=PairsAndTriples(pairs=pairs, triples=triples), steps=steps):
                parts = [pa.array([rows]), self._pairs(questions, codebook, pairs, steps)]
                parts += [self._triples(questions, codebook, triples)]
            case _:
                raise MicrotomeError(f"{type(tally).__name__} is not counted in a database; nothing is released")
        tally.add_parts(iter(parts))
        return records

    def _questions(self, schema: Schema) -> Questions:
        if self.people is not None:
            return Questions.of_people(self._people(*self.people))
        return Questions.of(self.query, schema, self._families_now(schema.names), self.dialect)

    def _people(self, schema: Schema, view: View, key: bytes) -> PeopleInSql:
        families = self._families_now([*schema.names, unit_of(schema).key])
        return PeopleInSql.of(self.query, schema, view, families, key, self.dialect)

    def _check_people(self, people: PeopleInSql) -> None:
        """Refuse what rows of people are refused for, before any noise is drawn."""
        unit = people.unit
        rows, nobodys, broken = map(int, self._ask(people.unowned())[0])
        if people.has_numbers_as_text:
            refuse_unlike_numbers(broken, unit.key, ORIGIN)
        if broken:
            raise TableError(
                f"{ORIGIN}: column {unit.key!r} is a key, and not all of its values can be: keys are texts, whole "
                "numbers below 2^53, days or times"
            )
        refuse_nobodys(nobodys, rows, unit.key, ORIGIN)
        if people.has_spellings:
            refuse_spellings(int(self._ask(people.several_spellings())[0][0]), unit.key, ORIGIN)
        if unit.order is not None:
            refuse_unordered(int(self._ask(people.unordered())[0][0]), unit.order)
        refuse_changed([name for name in unit.constant if int(self._ask(people.changes(name))[0][0])])

    def _families_now(self, names: Sequence[str]) -> list[str | None]:
        """Types within the transaction; columns that are gone by now are refused."""
        found = dict(self._described(f"SELECT * FROM ({self.query}) AS asked LIMIT 0"))
        absent = [repr(name) for name in names if name not in found]
        if absent:
            raise TableError(f"{ORIGIN} gives no column {', '.join(absent)} any more; start again")
        return [self.dialect.types.get(found[name]) for name in names]

    def _histograms(self, questions: Questions, asked: Sequence[tuple[int, Histogram]]) -> Parts:
        parts: Parts = []
        with together() as attempts:
            for place, histogram in asked:
                with attempts:
                    parts += self._histogram(questions, place, histogram)
        return parts

    def _histogram(self, questions: Questions, place: int, histogram: Histogram) -> Parts:
        one = questions.columns[place]
        match histogram.by:
            case ByCell(column=column, cells=cells):
                found = self._ask(questions.dense(questions.cell(place, cells)))
                return [pa.array(_dense(found, column, len(cells)))]
            case ByRounding(column=column, classes=classes):
                found = self._ask(questions.dense(one.rounding(classes)))
                return [pa.array(_dense(found, column, len(classes)))]
            case ByBucket(column=column):
                return [pa.array(_dense(self._ask(questions.dense(one.bucket(NUM_BUCKETS))), column, NUM_BUCKETS))]
            case ByCategory(column=column):
                return _sparse(self._ask(questions.categories(one)), column, column.arrow_type)
            case ByNumber(column=column, chosen=chosen):
                found = self._ask(questions.numbers(one, chosen)) if chosen.any() else []
                return _sparse(found, column, pa.float64())
            case _:
                raise MicrotomeError("a histogram is not counted in a database; nothing is released")

    def _pairs(self, questions: Questions, codebook: Codebook, tally: AggregateTally, steps: Sequence[int]) -> pa.Array:
        plan, full = tally.plan, tally.codebook
        starts = [block.start for block in full.blocks]
        counts = np.zeros((plan.num_parts, full.dim, full.dim), np.int64)
        if plan.focus is not None:
            part = _mapped(f"level_{plan.focus}", plan.groups)
        else:
            part = "0" if plan.pivot is None else f"level_{plan.pivot}"
        levels = [questions.cell(place, code.cells, code.levels) for place, code in enumerate(codebook.codes)]
        for group in _chunks(_pair_sets(full)):
            for places, values, number in self._tables(
                questions, levels, part, group, [(place, codebook.codes[place].num_levels) for place in steps]
            ):
                *own, last = (starts[place] + value for place, value in zip(places, values[1:], strict=True))
                first = own[0] if own else last
                counts[values[0], first, last] = counts[values[0], last, first] = number
        return pa.array(counts.ravel())

    def _triples(self, questions: Questions, codebook: Codebook, tally: TripleTally) -> pa.Array:
        size, place_of = tally.size, {triple: place for place, triple in enumerate(tally.candidates)}
        counts = np.zeros((len(tally.candidates), size**3), np.int64)
        levels = [
            questions.cell(place, code.cells, tally.groups[place][code.levels])
            for place, code in enumerate(codebook.codes)
        ]
        for group in _chunks(list(tally.candidates)):
            for places, (_, a, b, c), number in self._tables(questions, levels, "0", group):
                counts[place_of[places[0], places[1], places[2]], (a * size + b) * size + c] = number
        return pa.array(counts.ravel())

    def _tables(
        self,
        questions: Questions,
        levels: list[str],
        part: str,
        sets: Sequence[tuple[int, ...]],
        steps: Sequence[tuple[int, int]] = (),
    ) -> Iterator[tuple[tuple[int, ...], list[int], int]]:
        """Cells of some tables of levels that are not empty: columns, part and levels, and their number."""
        used = sorted({place for one in sets for place in one})
        for row in self._ask(questions.tables(levels, part, sets, used, steps)):
            found = [(place, int(level)) for place, level in zip(used, row[1:-1], strict=True) if level is not None]
            wrong = [(place, level) for place, level in found if level < 0]
            if wrong:
                place = [*range(len(levels)), *(base for base, _ in steps)][wrong[0][0]]
                raise problem_of(questions.columns[place].column, wrong[0][1])
            yield tuple(place for place, _ in found), [int(row[0]), *(level for _, level in found)], int(row[-1])

    @contextmanager
    def _transaction(self, statements: Sequence[str]) -> Iterator[None]:
        """A transaction that ends as if it had not been; nobody else's is joined, or ended."""
        if self._is_busy():
            raise TableError(f"{ORIGIN}: the connection is in a transaction, or lost; commit it, or open another one")
        if self.dialect is DUCKDB or self.connection.autocommit:
            self._execute("BEGIN TRANSACTION")
        try:
            for statement in statements:
                self._execute(statement)
            yield
        finally:
            with suppress(Exception):  # nothing was changed: a connection that is lost by now loses nothing
                self.connection.rollback()

    def _is_busy(self) -> bool:
        """Whether the connection is in a transaction; DuckDB gives every statement outside of one a number of its own.

        To begin another one there would end the first.
        """
        if self.dialect is not DUCKDB:
            return bool(self.connection.info.transaction_status.name != "IDLE")
        first, second = (self._ask("SELECT txid_current()") for _ in range(2))
        return first == second

    def _ask(self, statement: str) -> Rows:
        with _told():
            rows: Rows = self._execute(statement).fetchall()
        self.asked()
        return rows

    def _described(self, statement: str) -> list[tuple[str, str]]:
        with _told():
            return [(str(entry[0]), str(entry[1])) for entry in self._execute(statement).description]

    def _execute(self, statement: str) -> Any:
        with _told():
            return self.connection.execute(statement)


@dataclass(frozen=True, kw_only=True)
class SqlGatherer:
    """Has a database bring the rows of people together, in every query anew."""

    counter: SqlCounter

    @contextmanager
    def people(
        self, schema: Schema, view: View, key: bytes, told: Told, *, count_is_public: bool
    ) -> Iterator[Gathered]:
        """The rows that are kept; nothing is asked of them before the promise is reserved."""
        yield Gathered(counter=replace(self.counter, people=(schema, view, key)), writer=None, num_people=None)


def _num_queries(tally: TableTally) -> int:
    """How often the database is asked for a tally, beside the number of rows."""
    match tally:
        case SearchTally():
            return len(tally.questions)
        case Tally():
            return len(tally.questions)
        case LevelTally(counts=AggregateTally() as pairs):
            return len(_chunks(_pair_sets(pairs.codebook)))
        case LevelTally(counts=TripleTally() as triples):
            return len(_chunks(list(triples.candidates)))
        case LevelTally(counts=PairsAndTriples(pairs=pairs, triples=triples)):
            return len(_chunks(_pair_sets(pairs.codebook))) + len(_chunks(list(triples.candidates)))
        case _:
            raise MicrotomeError(f"{type(tally).__name__} is not counted in a database; nothing is released")


def _steps(told: Told, total: int) -> Callable[[], None]:
    """Tells of one step more each time, but for the last: whoever has taken all of them says so."""
    numbers = count(1)
    return lambda: told(min(next(numbers), total - 1), total)


def _pair_sets(codebook: Codebook) -> list[tuple[int, ...]]:
    """The tables of levels of aggregates: of each column, and of each two."""
    columns = range(len(codebook.codes))
    return [*((column,) for column in columns), *combinations(columns, 2)]


def _dense(rows: Rows, column: Column, size: int) -> NDArray[np.int64]:
    """Counts of all cells, empty ones too."""
    counts = np.zeros(size, np.int64)
    for cell, number in rows:
        if cell is None:
            continue
        if int(cell) < 0:
            raise problem_of(column, int(cell))
        counts[int(cell)] += int(number)
    return counts


def _sparse(rows: Rows, column: Column, arrow_type: pa.DataType) -> Parts:
    """Values and their counts; refuses values that there may not be."""
    values = [bytes(value).decode() if isinstance(value, bytes | memoryview) else value for value, _ in rows]
    if None in values and not column.missing:
        raise problem_of(column, MISSING)
    if any(isinstance(value, float) and math.isinf(value) for value in values):
        raise problem_of(column, ENDLESS)
    try:
        return [pa.array(values, arrow_type), pa.array([int(number) for _, number in rows], pa.int64())]
    except (pa.ArrowInvalid, OverflowError):
        raise problem_of(column, TOO_LARGE) from None


def _mapped(level: str, groups: NDArray[np.int64]) -> str:
    cases = " ".join(f"WHEN {level} = {place} THEN {group}" for place, group in enumerate(groups.tolist()))
    return f"CASE {cases} ELSE 0 END"


def _chunks(sets: Sequence[tuple[int, ...]]) -> list[Sequence[tuple[int, ...]]]:
    return [sets[first : first + _SETS_AT_ONCE] for first in range(0, len(sets), _SETS_AT_ONCE)]


def _refuse_streaming(_: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    raise TableError(f"{ORIGIN} is counted in the database; its rows are not read here")


@contextmanager
def _told() -> Iterator[None]:
    """What a database refuses, without its trace."""
    try:
        yield
    except MicrotomeError:
        raise
    except Exception as error:  # drivers share no class of errors
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise TableError(f"{ORIGIN}: the database says: {first}; nothing was written") from error
