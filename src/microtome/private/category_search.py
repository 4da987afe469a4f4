"""The search for categories that nobody has declared.

They are counted under much noise, which is enough for those that most records have. The profile counts them again, and
shows all that stand out by then: where hardly any is missing it needs little budget for that, and where many are it has
what the other columns leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from microtome.errors import MicrotomeError
from microtome.private.domain import Answer, Domain, Question
from microtome.private.histograms import category_histogram
from microtome.schema import CategoryCells, Column
from microtome.schema.column import Value

_CERTAIN = 2.0
"""Standard deviations of the noise that are added to what is missing."""
_HARDLY_ANY = 0.03
"""Share of all records that may then be missing, for the categories to be taken for all there are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CategoryFinding:
    """What the search knows of one column of categories.

    Attributes:
        index: The column's place.
        column: Its description.
        categories: Those that are shown.
        noise: Of the histogram, once it is counted.
        left: About which share of all records has another category; 0 if that is hardly any.
    """

    index: int
    column: Column
    categories: tuple[Value, ...] = ()
    noise: tuple[float, ...] = ()
    left: float = 1.0

    def questions(self) -> list[Question]:
        """All categories, once."""
        return [] if self.noise else [Question("categories", category_histogram(self.column))]

    def answered(self, name: str, answer: Answer, scale: float, total: float | None) -> CategoryFinding:
        """The categories that are shown by now."""
        if name != "categories":
            raise MicrotomeError(f"the search for categories has no question {name!r}; nothing is released")
        return replace(self, categories=tuple(answer.values), noise=(scale,), left=_left(answer, scale, total))

    def domain(self) -> Domain:
        """What the profile is to know."""
        cells = CategoryCells(categories=self.categories, other=True, missing=self.column.missing)
        return Domain(cells=cells, search_noise=self.noise, left=self.left)


def _left(answer: Answer, scale: float, total: float | None) -> float:
    """The share of all records that have no shown category, at the upper end of its error; 1 without their number."""
    if total is None:
        return 1.0
    left = total - float(answer.counts.sum()) + _CERTAIN * scale * math.sqrt(len(answer.counts))
    return min(left / total, 1.0) if left > _HARDLY_ANY * total else 0.0
