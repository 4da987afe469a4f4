"""The search for what nobody has declared, bounds, categories and common numbers: some passes before the profile.

Every pass counts histograms, *questions*, whose noisy answers settle what the next one asks (``number_search``,
``category_search``). A record adds at most 1 to each histogram, so one with noise σ costs s/σ². All of them come out of
the profile's μ², and what they leave is the profile's: whatever is found, the sum is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self, assert_never

import numpy as np
import pyarrow as pa

from microtome.errors import together
from microtome.private import number_search
from microtome.private.category_search import CategoryFinding
from microtome.private.domain import WEIGHTS, Answer, Domain, Finding, Question
from microtome.private.histograms import DenseHistogram, Histogram, SparseHistogram, cell_histogram
from microtome.private.passes import Pass, Published
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import Randomness
from microtome.private.value_search import ValueFinding
from microtome.private.weighting import TableBlock, rows_of
from microtome.schema import Column, Schema, initial_cells, rounding_classes
from microtome.schema.grid import number_cells

SEARCH_HISTOGRAMS = 3 + number_search.REFINEMENTS
"""The most histograms of a column's search, that of rounding not counted: scale, buckets, numbers, and finer cells."""
VALUE_HISTOGRAMS = 2
"""The most of a column with declared bounds: buckets and numbers."""
_NUMBERS_A_COLUMN = 3

Declared = dict[int, DenseHistogram]
"""Histograms of declared columns, by their places."""
Following = Callable[[dict[int, Domain], ProfileBudget, Declared], Pass]
"""What follows the search: told what it has found, what it leaves of the budget, and what it has counted on the way."""


def is_searched(column: Column) -> bool:
    """Whether a column's numbers or categories have to be searched for."""
    return not column.is_declared


def is_looked_through(column: Column) -> bool:
    """Whether numbers that many records share have to be searched for: its cells are declared, and hold many each."""
    return column.is_declared and rounding_classes(column) is not None


def search_weight(column: Column) -> float:
    """The most that the search for a column is sure to have; what it does not need is the profile's."""
    if is_looked_through(column):
        return WEIGHTS["buckets"] + WEIGHTS["values"]
    if not is_searched(column):
        return 0.0
    if column.kind.is_categorical:
        return WEIGHTS["categories"]
    once = sum(WEIGHTS[name] for name in ("scale", "rounding", "buckets", "values"))
    return once + number_search.REFINEMENTS * WEIGHTS["finer"]


def chances_to_show(column: Column) -> int:
    """How many histograms of search and profile show values of a column that nobody has declared."""
    if not is_searched(column):
        return int(is_looked_through(column))
    return 2 if column.kind.is_categorical else 1


class SearchTally:
    """Exact counts of one round of questions. Never leaves this package.

    Args:
        findings: What is known, and so what is asked.
        declared: Of columns whose cells are declared, whose values are checked and counted on the way.
    """

    def __init__(self, findings: Sequence[Finding], declared: Declared | None = None) -> None:
        self._findings, self.declared = findings, declared or {}
        self.asked = [finding.questions() for finding in findings]

    def __reduce__(self) -> tuple[type[SearchTally], tuple[Sequence[Finding], Declared]]:
        return SearchTally, (self._findings, self.declared)

    @property
    def questions(self) -> list[tuple[int, Histogram]]:
        """All histograms, each with the place of its column."""
        pairs = zip(self._findings, self.asked, strict=True)
        asked = [(finding.index, question.histogram) for finding, asked in pairs for question in asked]
        return [*self.declared.items(), *asked]

    @property
    def columns(self) -> set[str]:
        """Columns whose values are looked at."""
        return {histogram.by.column.name for _, histogram in self.questions}

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block."""
        rows, weight = rows_of(block)
        with together() as attempts:
            for _, histogram in self.questions:
                with attempts:
                    histogram.add(rows.column(histogram.by.column.name).combine_chunks(), weight)

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        return [part for _, histogram in self.questions for part in histogram.parts()]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same questions has sent."""
        for _, histogram in self.questions:
            histogram.add_parts(parts)

    def merge(self, other: SearchTally) -> None:
        """Add what another of the same questions has counted."""
        for (_, mine), (_, theirs) in zip(self.questions, other.questions, strict=True):
            mine.merge(theirs)


class SearchPass:
    """One round of questions.

    The first one also looks at all other columns: what a table is refused for is found before any noise is drawn. They
    are counted on the way, so that the profile does not look at them again.
    """

    stage = "search"

    def __init__(
        self,
        budget: ProfileBudget,
        following: Following,
        findings: Sequence[Finding],
        number: int = 0,
        *,
        asked: Declared | None = None,
        counted: Declared | None = None,
    ) -> None:
        self._budget, self._following, self._findings, self._round = budget, following, findings, number
        self._counted = counted or {}
        self.tally = SearchTally(findings, asked)
        self.width = _NUMBERS_A_COLUMN * max(len(self.tally.columns), 1)

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block."""
        self.tally.add(block)

    def merge(self, other: Self) -> None:
        """Add what another round of the same questions has counted."""
        self.tally.merge(other.tally)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The answers under noise settle what is asked next; when no question is left the profile follows."""
        total = None if self._budget.neighbours.protects_count else float(num_records)
        findings = []
        for finding, asked in zip(self._findings, self.tally.asked, strict=True):
            answered = finding
            for question in asked:
                stream = randomness.stream(f"search {question.name} {self._round}", finding.index)
                scale = self._budget.noise_of(WEIGHTS[question.name])
                answered = answered.answered(question.name, self._answer(question, scale, stream), scale, total)
            findings.append(answered)
        budget = self._budget.less(sum(WEIGHTS[question.name] for asked in self.tally.asked for question in asked))
        counted = self._counted | self.tally.declared
        following = SearchPass(budget, self._following, findings, self._round + 1, counted=counted)
        return Published(events=(), arrays={}, following=following.next_pass())

    def next_pass(self) -> Pass:
        """This round, or what follows the search if no question is left."""
        if any(self.tally.asked):
            return self
        domains = {finding.index: finding.domain() for finding in self._findings}
        return self._following(domains, self._budget, self._counted)

    def _answer(self, question: Question, scale: float, stream: np.random.Generator) -> Answer:
        digits = self._budget.weighting.digits
        match question.histogram:
            case SparseHistogram() as sparse:
                values, counts = sparse.shown(scale, self._budget.threshold(scale), stream, digits=digits)
                return Answer(counts=counts, values=values)
            case DenseHistogram() as dense:
                return Answer(counts=dense.noisy(scale, stream, digits))
            case never:
                assert_never(never)


def start_search(schema: Schema, budget: ProfileBudget, following: Following) -> Pass:
    """The first round, or what follows the search if there is nothing to be searched for."""
    findings = [start_finding(place, column) for place, column in enumerate(schema.columns)]
    declared = {
        place: cell_histogram(column, cells)
        for place, column in enumerate(schema.columns)
        if (cells := initial_cells(column)) is not None
    }
    return SearchPass(budget, following, [one for one in findings if one is not None], asked=declared).next_pass()


def start_finding(place: int, column: Column) -> Finding | None:
    """What the search for a column begins with; ``None`` where there is nothing to be found."""
    if is_looked_through(column) and (cells := number_cells(column)) is not None:
        return ValueFinding(index=place, column=column, cells=cells)
    if not is_searched(column):
        return None
    if column.kind.is_categorical:
        return CategoryFinding(index=place, column=column)
    return number_search.start(place, column)
