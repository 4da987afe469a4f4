"""Which rows of a person are kept, and in which order: decided by what is in them, never by where they stand.

A row's lot is a keyed hash of its own values and, among equal rows of one person, of how many of these there are before
it. The key is made of fresh secret bits for every release. So lots are as good as random, the same however a table is
sorted or cut into files, and no person's rows have a say in another's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Lots = NDArray[np.uint64]
_BYTES = 8
_MISSING = b"\x00"
_VALUE = b"\x01"


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """Rows that are kept, those of one owner next to each other, in their order.

    Attributes:
        index: Which rows they are.
        siblings: How many rows their owner has among them, row by row.
        place: Which of these each is, from 0.
    """

    index: NDArray[np.int64]
    siblings: NDArray[np.int64]
    place: NDArray[np.int64]


def keyed_hash(values: pa.Array, key: bytes, *, words: int = 1) -> Lots:
    """So many 64-bit numbers of every value (values × words), by its text alone; a missing one has them too."""
    found = values.dictionary_encode()
    texts = found.dictionary.cast(pa.string()).to_pylist()
    size = _BYTES * words
    digests = [hashlib.blake2b(_VALUE + text.encode(), key=key, digest_size=size).digest() for text in texts]
    digests.append(hashlib.blake2b(_MISSING, key=key, digest_size=size).digest())
    numbers = np.frombuffer(b"".join(digests), np.uint64).reshape(-1, words)
    hashes: Lots = numbers[np.asarray(pc.fill_null(found.indices, len(texts)))]
    return hashes


def content(columns: Sequence[pa.Array], key: bytes) -> Lots:
    """A 64-bit number of every row, by the values that it has."""
    return _mixed(np.hstack([keyed_hash(column, key) for column in columns]), key)


def keep(owners: Lots, contents: Lots, order: NDArray[np.float64] | None, most: int, key: bytes) -> Kept:
    """At most so many rows of every owner, by lot; sorted by their order, if there is one, and by lot.

    Args:
        owners: Two numbers that say whose each row is (rows × 2).
        contents: A number of what is in it.
        order: By what rows follow each other.
        most: Rows of an owner that are kept at most.
        key: Of the lots.
    """
    first = np.lexsort((contents, owners[:, 1], owners[:, 0]))
    whose = _runs(owners[first])
    equal = _runs(np.column_stack([whose.astype(np.uint64), contents[first]]))
    lots = np.empty(len(first), np.uint64)
    lots[first] = _mixed(np.column_stack([contents[first], _places(equal).astype(np.uint64)]), key)
    owner = np.empty(len(first), np.int64)
    owner[first] = whose
    by_lot = np.lexsort((lots, owner))
    taken = by_lot[_places(owner[by_lot]) < most]
    if order is not None:
        taken = taken[np.lexsort((lots[taken], order[taken], owner[taken]))]
    numbers = owner[taken]
    return Kept(index=taken, siblings=np.bincount(numbers)[numbers], place=_places(numbers))


def _mixed(numbers: Lots, key: bytes) -> Lots:
    """One number for every row of several."""
    rows = np.ascontiguousarray(numbers).view(f"V{_BYTES * numbers.shape[1]}").ravel()
    digests = [hashlib.blake2b(row, key=key, digest_size=_BYTES).digest() for row in rows.tolist()]
    return np.frombuffer(b"".join(digests), np.uint64)


def _runs(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of the run of equal rows that each is in, from 0; rows are sorted."""
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.cumsum(begins) - 1


def _places(runs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each in its run of equal numbers, from 0; these are sorted."""
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    return np.arange(len(runs)) - np.repeat(starts, np.diff(np.append(starts, len(runs))))
