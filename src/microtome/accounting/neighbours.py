"""The neighbouring relations: which two tables a promise makes hard to tell apart.

A figure for ε means nothing without its relation, so each has a name, a sentence for people to read, and the numbers
that every sensitivity is made of (``docs/privacy.md``, section 1). They stand here and nowhere else: a relation that
has none is an error wherever it is used, and never the cheapest of those that have.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from microtome.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class _Relation:
    """What a relation does to a table.

    Attributes:
        describes: The relation in one sentence.
        describes_people: The same where a person may have several rows, all of which are protected together.
        records_changed: Records that differ: one that is there or is not, or two, the old one and the new.
        protects_count: Whether the number of records is protected too.
    """

    describes: str
    describes_people: str
    records_changed: int
    protects_count: bool


class Neighbours(StrEnum):
    """Which change of one record the promise covers."""

    BLANK_ONE = "blank-one"
    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @property
    def describes(self) -> str:
        """The relation in one sentence."""
        return self._relation.describes

    def described(self, *, people: bool) -> str:
        """The relation in one sentence, of records or of people with everything that they contributed."""
        return self._relation.describes_people if people else self._relation.describes

    @property
    def protects_count(self) -> bool:
        """Whether the number of records is protected too."""
        return self._relation.protects_count

    @property
    def cells_changed(self) -> int:
        """Cells of a table of counts that change by 1. A record is in one, so this is the squared sensitivity too.

        It also bounds ‖rrᵀ − r'r'ᵀ‖² of second moments, r in the unit ball, and the squared change of a number between
        0 and 1 that is summed by class.
        """
        return self._relation.records_changed

    @property
    def symmetric(self) -> bool:
        """Whether both tables hold a record where they differ, so that a sample may hold either."""
        match self._relation.records_changed:
            case 1:
                return False
            case 2:
                return True
            case changed:
                raise ParameterError(f"rows of {changed} changed records have no known distance")

    @property
    def centred(self) -> bool:
        """Whether rows are best encoded around the null record: at distance 1 from it, wherever they lie.

        Where two records are compared rows are better non-negative, which keeps them √2 apart.
        """
        return not self.symmetric

    def row_distance(self, *, nonnegative: bool) -> float:
        """Largest distance Δ between the two rows, each in the unit ball.

        Args:
            nonnegative: whether every encoded coordinate is at least 0. Two such rows have a
                non-negative inner product, so that ‖x − x'‖² ≤ ‖x‖² + ‖x'‖² ≤ 2.
        """
        if not self.symmetric:
            return 1.0
        return math.sqrt(2.0) if nonnegative else 2.0

    @property
    def _relation(self) -> _Relation:
        try:
            return _RELATIONS[self]
        except KeyError:
            raise ParameterError(f"nothing is known of the neighbouring relation {str(self)!r}") from None


_RELATIONS = {
    Neighbours.BLANK_ONE: _Relation(
        describes="One person's record is replaced by an empty one; the number of records is public.",
        describes_people=(
            "Everything that one person contributed, all rows, is replaced by nothing; the number of people is public."
        ),
        records_changed=1,
        protects_count=False,
    ),
    Neighbours.ADD_REMOVE: _Relation(
        describes=(
            "One person's record is added or removed; the number of records is hidden by padding to a public capacity."
        ),
        describes_people=(
            "One person is added or removed with everything that they contributed, all rows; the number of people is "
            "protected."
        ),
        records_changed=1,
        protects_count=True,
    ),
    Neighbours.REPLACE_ONE: _Relation(
        describes="One person's record is replaced by any other record; the number of records is public.",
        describes_people=(
            "Everything that one person contributed, all rows, is replaced by whatever another could contribute; the "
            "number of people is public."
        ),
        records_changed=2,
        protects_count=False,
    ),
}
