"""Neighbouring data sets of the worst kind, many pairs of them in one.

The *targets* are records whose presence is at stake. Each of them is in the data, or is not, by a fair coin of its
own; the *crowd* is always there. For every target, whatever the other coins say, the data with it and the data
without it are neighbours, so one release tests the promise for all targets at once. A target that is not there is

    blank-one     replaced by the null record
    add-remove    absent
    replace-one   replaced by its *substitute*, which is as far from it as can be
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import Neighbours
from microtome.private import Source

Coins = NDArray[np.bool_]
Places = NDArray[np.int64]


class Group(Protocol):
    """Some records, of a table or of an image set."""

    def __len__(self) -> int: ...

    def __getitem__(self, chosen: Coins) -> Self: ...

    def followed_by(self, other: Self) -> Self:
        """These records, and then the others."""
        ...


Some = TypeVar("Some", bound=Group)


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditData(ABC, Generic[Some]):
    """The targets of an audit and the records around them.

    Attributes:
        neighbours: What becomes of a target that is not there.
        targets: The records at stake.
        substitutes: What stands in their place, for ``replace-one``.
        crowd: The records that are always there.
    """

    releases_each: ClassVar[int] = 1
    """How often the same people are released once they are opened: more where that takes longer than a release."""
    neighbours: Neighbours
    targets: Some
    substitutes: Some
    crowd: Some

    @abstractmethod
    def opened(self, coins: Coins) -> Source:
        """The data in which the targets are that ``coins`` say, as the door opens them."""

    @property
    def most_records(self) -> int:
        """Records in the data when every target is there."""
        return len(self.targets) + len(self.crowd)

    def present(self, coins: Coins) -> Some:
        """The records of the data in which the targets are that ``coins`` say: targets first, in their order."""
        there = self.targets[coins]
        if self.neighbours.symmetric:
            there = there.followed_by(self.substitutes[~coins])
        return there.followed_by(self.crowd)

    def num_blanks(self, coins: Coins) -> int:
        """Null records among the data."""
        match self.neighbours:
            case Neighbours.BLANK_ONE:
                return int((~coins).sum())
            case Neighbours.ADD_REMOVE | Neighbours.REPLACE_ONE:
                return 0
