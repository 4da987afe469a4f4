"""The neighbouring relations: which two tables a promise makes hard to tell apart.

A figure for ε means nothing without its relation, so each has a name, a sentence for people to read,
and the distance Δ it puts between the two encoded rows (``docs/privacy.md``, section 1).
"""

import math
from enum import StrEnum


class Neighbours(StrEnum):
    """Which change of one record the promise covers."""

    BLANK_ONE = "blank-one"
    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    def row_distance(self, *, nonnegative: bool) -> float:
        """Largest distance Δ between the two rows, each in the unit ball.

        Args:
            nonnegative: whether every encoded coordinate is at least 0. Two such rows have a
                non-negative inner product, so that ‖x − x'‖² ≤ ‖x‖² + ‖x'‖² ≤ 2.
        """
        if self is not Neighbours.REPLACE_ONE:
            return 1.0
        return math.sqrt(2.0) if nonnegative else 2.0

    @property
    def describes(self) -> str:
        """The relation in one sentence."""
        return _SENTENCES[self]

    @property
    def protects_count(self) -> bool:
        """Whether the number of records is protected too."""
        return self is Neighbours.ADD_REMOVE


_SENTENCES = {
    Neighbours.BLANK_ONE: ("One person's record is replaced by an empty one; the number of records is public."),
    Neighbours.ADD_REMOVE: (
        "One person's record is added or removed; the number of records is hidden by padding to a public capacity."
    ),
    Neighbours.REPLACE_ONE: ("One person's record is replaced by any other record; the number of records is public."),
}
