"""Shuffling rows that come in a stream, exactly and in constant memory.

Cards dealt from a deck: the next block's cards get as many of the places that are left, all subsets of them alike, and
which card gets which is a random permutation. The outcome has the same law as one permutation of all rows. Only whole
numbers are drawn, by rejection, so that the law is exact and not one to the precision of a float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from microtome.private.pipeline import ordered_map

Rows = NDArray[np.int16]


class Shuffler:
    """Writes rows in random order: dealt to bins of the file as they come, then shuffled within each bin.

    Args:
        num_rows: Rows in all.
        bin_rows: Rows a bin, which has to fit in memory.
        stream: The source of the order.
        write: Writes rows at a place of the file.
        read: Reads rows back from a place of the file.
    """

    def __init__(
        self,
        *,
        num_rows: int,
        bin_rows: int,
        stream: np.random.Generator,
        write: Callable[[int, Rows], None],
        read: Callable[[int, int], Rows],
    ) -> None:
        self._starts = np.arange(0, num_rows, bin_rows)
        self._ends = np.minimum(self._starts + bin_rows, num_rows)
        self._next = self._starts.copy()
        self._stream, self._write, self._read = stream, write, read

    def add(self, rows: Rows) -> None:
        """Deal a block of rows to the bins."""
        dealt = _deal(self._ends - self._next, len(rows), self._stream)
        shuffled = rows[self._stream.permutation(len(rows))]
        for place in np.flatnonzero(dealt):
            part, shuffled = shuffled[: dealt[place]], shuffled[dealt[place] :]
            self._write(int(self._next[place]), part)
            self._next[place] += dealt[place]

    def finish(self, *, threads: int = 1) -> Iterator[Rows]:
        """Shuffle each bin in place; gives every bin's final rows in file order."""

        def shuffle(item: tuple[int, NDArray[np.int64]]) -> Rows:
            start, order = item
            rows = self._read(start, len(order))[order]
            self._write(start, rows)
            return rows

        bins = zip(self._starts, self._ends, strict=True)
        orders = ((int(start), self._stream.permutation(int(end - start))) for start, end in bins)
        return ordered_map(shuffle, orders, threads=threads)


def _deal(places: NDArray[np.int64], cards: int, stream: np.random.Generator) -> NDArray[np.int64]:
    """How many of the cards go to each hand, given the places left in each."""
    if len(places) == 1:
        return np.array([cards])
    ends = np.cumsum(places)
    taken = stream.choice(int(ends[-1]), size=cards, replace=False, shuffle=False)
    dealt: NDArray[np.int64] = np.bincount(np.searchsorted(ends, taken, side="right"), minlength=len(places))
    return dealt
