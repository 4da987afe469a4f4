"""What a release would be worth, in four steps."""

from __future__ import annotations

from enum import StrEnum

NOTHING, _USEFUL, _GOOD = 0.25, 0.1, 0.03
"""Mean errors of columns: from the first on next to nothing is learnt; a useful table has at most the second."""
_USEFUL_KEPT, _GOOD_KEPT = 0.25, 0.6
"""Dependence that a useful and a good table keep."""


class Verdict(StrEnum):
    """What a release would be worth, from least to most."""

    NOTHING = "nothing"
    COLUMNS = "columns"
    USEFUL = "useful"
    GOOD = "good"

    @property
    def in_words(self) -> str:
        """The verdict as a sentence."""
        return _WORDS[self]

    @property
    def is_useful(self) -> bool:
        """Whether the table would be of use beyond single columns."""
        return self in (Verdict.USEFUL, Verdict.GOOD)


_WORDS = {
    Verdict.NOTHING: "Next to nothing would be learnt: the synthetic table would be mostly noise.",
    Verdict.COLUMNS: "Single columns would come through, what they have to do with each other hardly.",
    Verdict.USEFUL: "The table would be useful: columns come through well, and dependence between them in part.",
    Verdict.GOOD: "The table would be good: columns and most of the dependence between them come through.",
}


def verdict_of(margins: float, kept: float) -> Verdict:
    """The verdict on a mean error of columns and a share of dependence that is kept."""
    if margins >= NOTHING:
        return Verdict.NOTHING
    if margins <= _GOOD and kept >= _GOOD_KEPT:
        return Verdict.GOOD
    return Verdict.USEFUL if margins <= _USEFUL and kept >= _USEFUL_KEPT else Verdict.COLUMNS
