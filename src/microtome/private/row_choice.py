"""Which rows of a person are kept, and in which order: decided by what is in them, never by where they stand.

A row's lot is a keyed hash of its own values and, among equal rows of one person, of how many of these there are before
it. The key is made of fresh secret bits for every release. So lots are as good as random, the same however a table is
sorted or cut into files, and no person's rows have a say in another's.

Hashes are SHA-256 of plain text, cut to 64 bits and compared as they are written in hexadecimal digits: databases have
it too (``engines/sql_people.py``), and draw the same lots.

    value   h(key, "1", text), or h(key, "0") where there is none
    row     h(key, "2", hashes of its values)
    lot     h(key, "3", hash of the row, number of equal rows of the same person before it)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Lots = NDArray[np.uint64]
Digits = NDArray[np.bytes_]
"""Hashes as they are written: 16 hexadecimal digits each."""
DIGITS = 16
MISSING, VALUE, ROW, LOT = b"0", b"1", b"2", b"3"


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
    return _numbers(_value_digits(values, key, words)).reshape(-1, words)


def content(columns: Sequence[pa.Array], key: bytes) -> Lots:
    """A 64-bit number of every row, by the values that it has."""
    digits = np.hstack([_value_digits(column, key)[:, None] for column in columns])
    rows = np.ascontiguousarray(digits).view(f"S{digits.shape[1] * DIGITS}").ravel()
    return _mixed((ROW + row for row in rows.tolist()), key)


def _value_digits(values: pa.Array, key: bytes, words: int = 1) -> Digits:
    """The hash of every value: looked up, since most values occur often."""
    found = _plain(values).dictionary_encode()
    texts = found.dictionary.cast(pa.string()).to_pylist()
    start, size = hashlib.sha256(key.hex().encode()), words * DIGITS
    digests = [_hashed(start, VALUE + text.encode(), size) for text in texts] + [_hashed(start, MISSING, size)]
    digits: Digits = np.array(digests, f"S{size}")[np.asarray(pc.fill_null(found.indices, len(texts)))]
    return digits


def missing_digits(key: bytes) -> str:
    """The hash of a missing value."""
    return _hashed(hashlib.sha256(key.hex().encode()), MISSING, DIGITS).decode()


def _plain(values: pa.Array) -> pa.Array:
    """Values as what their text is made of: whole numbers for times, bits for floats; none for what is no number."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        numbers = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values).cast(pa.float64())
        bits = (np.asarray(pc.fill_null(numbers, 0.0)) + 0.0).view(np.int64)  # −0 is 0
        return pa.array(bits, mask=np.asarray(numbers.is_null()))
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(values.type) or pa.types.is_time(values.type):
        return values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return values


def _hashed(start: hashlib._Hash, text: bytes, size: int) -> bytes:
    whole = start.copy()
    whole.update(text)
    return whole.hexdigest()[:size].encode()


def _numbers(digits: Digits) -> Lots:
    """Hashes as numbers, in the order of their digits."""
    return np.frombuffer(bytes.fromhex(digits.tobytes().decode()), ">u8").astype(np.uint64)


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
    drawn = zip(contents[first].tolist(), _places(equal).tolist(), strict=True)
    lots[first] = _mixed((LOT + f"{row:016x}{place}".encode() for row, place in drawn), key)
    owner = np.empty(len(first), np.int64)
    owner[first] = whose
    by_lot = np.lexsort((lots, owner))
    taken = by_lot[_places(owner[by_lot]) < most]
    if order is not None:
        taken = taken[np.lexsort((lots[taken], order[taken], owner[taken]))]
    numbers = owner[taken]
    return Kept(index=taken, siblings=np.bincount(numbers)[numbers], place=_places(numbers))


def _mixed(texts: Iterable[bytes], key: bytes) -> Lots:
    """The hash of every text."""
    start = hashlib.sha256(key.hex().encode())
    return _numbers(np.array([_hashed(start, text, DIGITS) for text in texts], f"S{DIGITS}"))


def _runs(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of the run of equal rows that each is in, from 0; rows are sorted."""
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.cumsum(begins) - 1


def _places(runs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each in its run of equal numbers, from 0; these are sorted."""
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    return np.arange(len(runs)) - np.repeat(starts, np.diff(np.append(starts, len(runs))))
