"""One verdict on a synthetic table, in words, from the same two figures whether real rows were seen or not.

How alike its columns are, one by one, and how much it has kept of what pairs of columns have to do with each other: the
mean of both is the score. Against a release, noise counts as error, and what the release cannot tell is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from microtome.evaluation.dependence import Kept
from microtome.evaluation.distributions import ColumnFigures
from microtome.evaluation.pairs import AllPairs
from microtome.evaluation.values import whole_percent

_UNSEEN = 0.05
"""By so much the lower end allows for what a release cannot show (codes taken for numbers, shapes within a bin)."""
_NAMED = 6
"""So many doubtful columns are named."""


class Level(StrEnum):
    """How good a synthetic table is."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    LITTLE = "little"

    @classmethod
    def of(cls, score: float) -> Level:
        """The level that a score has reached."""
        return next(level for level, least in _LEAST.items() if score >= least)

    @property
    def in_words(self) -> str:
        """What it means for whoever wants to use the table."""
        return _WORDS[self]


_LEAST = {Level.GOOD: 0.85, Level.FAIR: 0.65, Level.POOR: 0.45, Level.LITTLE: -np.inf}
_WORDS = {
    Level.GOOD: "A good likeness of the real table.",
    Level.FAIR: "A fair likeness of the real table: use it with care.",
    Level.POOR: "A poor likeness of the real table: good for trying out programs, not for learning about the data.",
    Level.LITTLE: "Hardly anything of the real table is left: conclude nothing from these rows.",
}
_UNTOLD = Kept(value=0.0, band=(0.0, 1.0))
"""Of pairs that the noise hides."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What to think of a synthetic table.

    Attributes:
        level: In a word.
        score: Mean of ``columns`` and ``kept``; where there is no dependence to keep, 1 less twice the columns' error.
        band: Where the score may be on the real rows; both ends the same where these were seen.
        columns: How alike columns are on average; 1 is alike.
        kept: Dependence kept, between 0 and 1; ``None`` where there is none to keep.
        sentences: The verdict, a sentence each.
    """

    level: Level
    score: float
    band: tuple[float, float]
    columns: float
    kept: float | None
    sentences: tuple[str, ...]


def judge(columns: Sequence[ColumnFigures], pairs: AllPairs | str, *, from_real_rows: bool) -> Verdict:
    """The verdict on columns and pairs."""
    alike = [
        float(np.mean([column.alike(score) for column, score in zip(columns, scores, strict=True)]))
        for scores in zip(*(_scores(column) for column in columns), strict=True)
    ]
    kept = _kept(columns, pairs, from_real_rows=from_real_rows)
    if kept is None:
        # Columns are all there is to be right about: an error of theirs counts in full, not by half as beside pairs.
        score, low, high = (max(2.0 * share - 1.0, 0.0) for share in alike)
    else:
        shares = [min(max(share, 0.0), 1.0) for share in (kept.value, *kept.band)]
        score, low, high = ((one + other) / 2.0 for one, other in zip(alike, shares, strict=True))
    low = low if from_real_rows else max(low - _UNSEEN, 0.0)
    level = Level.of(score)
    independent = not isinstance(pairs, str) and bool(pairs.pairs)
    sentences = [level.in_words, _in_figures(alike[0], kept, independent=independent)]
    if not from_real_rows:
        sentences.append(
            f"This is judged from the release alone, whose noise counts as error: {score:.2f} on a scale from 0 to 1, "
            f"and by the real rows perhaps anything from {low:.2f} to {high:.2f}."
        )
    return Verdict(
        level=level,
        score=score,
        band=(low, high),
        columns=alike[0],
        kept=None if kept is None else min(max(kept.value, 0.0), 1.0),
        sentences=(*sentences, *_doubtful(columns)),
    )


def _scores(column: ColumnFigures) -> tuple[float | None, float | None, float | None]:
    """Score, and where it may be."""
    return (column.score, *(column.band or (column.score, column.score)))


def _kept(columns: Sequence[ColumnFigures], pairs: AllPairs | str, *, from_real_rows: bool) -> Kept | None:
    """Dependence kept. What a release cannot tell is not kept: its noise would have hidden it from a model."""
    found = None if isinstance(pairs, str) else pairs.kept
    if found is None and not from_real_rows and len(columns) > 1:
        return _UNTOLD
    return found


def _in_figures(alike: float, kept: Kept | None, *, independent: bool) -> str:
    says = f"Its columns, one by one, are {whole_percent(alike)} alike on average"
    if kept is None and independent:
        return f"{says}; pairs of columns have nothing to do with each other that chance alone would not make."
    if kept is None:
        return f"{says}."
    if kept is _UNTOLD:
        return f"{says}; whether pairs of columns have kept what they have to do with each other cannot be told."
    share = min(max(kept.value, 0.0), 1.0)
    return f"{says}; of what pairs of columns have to do with each other it has kept {whole_percent(share)}."


def _doubtful(columns: Sequence[ColumnFigures]) -> list[str]:
    names = [column.name for column in columns if column.doubt is not None]
    if not names:
        return []
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return [f"The release hardly knows {len(names)} of {len(columns)} columns: {named}."]
