"""Keys as texts: the same text for the same key, however it is stored, and a word where that cannot be known.

Two texts of one key would make two people of one, with a promise each, and one text of two keys one person of two. So
numbers are whole ones. Keys that the schema declares to be whole numbers are these however they are spelled. Other
texts are compared to the letter, and a table in which some differ by nothing but their spelling is refused.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import TableError
from microtome.schema.aside import Aside

BLANKS = (
    " \t\n\r\f\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f"
    "\u3000\u200b\u200c\u200d\u2060\ufeff"
)
"""What may stand around a key without being part of it: white space, and what has no width at all."""
WHOLE = "^[+]?(-?)0*([0-9]+)([.]0*)?$"
"""A whole number as people and programs write it; the first two groups are its plain spelling. For databases too."""
PLAIN_WHOLE = "^-?[0-9]+$"
"""The same in its plain spelling."""
MINUS_NOTHING = "^-0$"
"""What is left of a nought that has a sign: 0, as of numbers."""
_NUMBERS, _TEXTS = "numbers", "texts"
_EXACT = {pa.float16(): 2.0**11, pa.float32(): 2.0**24, pa.float64(): 2.0**53}
"""From where on floats of a type leave whole numbers out."""


def key_texts(array: pa.Array, key: Aside, origin: str, sorts: dict[str, str]) -> pa.Array:
    """Keys as texts; none for what is missing.

    Args:
        array: The keys.
        key: The column, and whether its keys are declared to be whole numbers.
        origin: The part of the table that they are in.
        sorts: What keys are elsewhere, column by column; added to. Texts here and numbers there are refused.
    """
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    stored = _sort(array.type)
    sort = _NUMBERS if key.is_number and stored == _TEXTS else stored
    if sorts.setdefault(key.name, sort) != sort:
        raise TableError(
            f"{origin}: column {key.name!r} is a key, of {sort} here and of {sorts[key.name]} elsewhere, so nobody "
            "knows which of them are the same; store it in one type"
        )
    try:
        texts = (_whole_numbers(array) if stored == _NUMBERS else array).cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TableError(
            f"{origin}: column {key.name!r} is a key, and not all of its values ({array.type}) can be: keys are texts, "
            "whole numbers below 2^53, days or times"
        ) from None
    texts = pc.if_else(pc.equal(pc.utf8_trim(texts, BLANKS), ""), pa.scalar(None, pa.string()), texts)
    return _as_declared(texts, key, origin) if sort != stored else texts


def declared_sort(key: Aside) -> str:
    """What keys of a column are declared to be."""
    return _NUMBERS if key.is_number else _TEXTS


def plain_spelling(texts: pa.Array) -> pa.Array:
    """Texts without what spelling adds: blanks around them, capitals, leading zeros and ``.0`` of whole numbers.

    Letters with accents are one character each, as most programs write them.
    """
    plain = pc.utf8_lower(pc.utf8_trim(pc.utf8_normalize(texts, form="NFC"), BLANKS))
    plain = pc.replace_substring_regex(plain, pattern=WHOLE, replacement=r"\1\2")
    return pc.replace_substring_regex(plain, pattern=MINUS_NOTHING, replacement="0")


def spelled_several_ways(count: int, key: str, each: str) -> str:
    """That so many keys of a column stand there in several spellings, and what to do; each would be ``each``."""
    return (
        f"{count:,} of the keys in {key!r} are spelled in several ways (blanks around them, capitals, leading zeros, a "
        f"'.0'), and each spelling would be {each}; write every key one way. If they are whole numbers, 'action: "
        "surrogate' with 'dtype: int64' says so, and they are read as these; if they do stand for different ones, "
        "tell them apart by more"
    )


def refuse_spellings(count: int, key: str, origin: str) -> None:
    """Refuse so many people's keys that stand in a column in several spellings."""
    if count:
        raise TableError(f"{origin}: {spelled_several_ways(count, key, 'a person, with a promise of its own')}")


def refuse_unlike_numbers(count: int, key: str, origin: str) -> None:
    """Refuse so many rows whose keys are not what the schema says."""
    if count:
        raise TableError(
            f"{origin}: column {key!r} is a key that is declared to be a whole number, and {count:,} of its values are "
            "none; correct them, or declare 'dtype: string'"
        )


def _as_declared(texts: pa.Array, key: Aside, origin: str) -> pa.Array:
    plain = plain_spelling(texts)
    whole = pc.match_substring_regex(plain, PLAIN_WHOLE)
    refuse_unlike_numbers(pc.sum(pc.invert(whole)).as_py() or 0, key.name, origin)
    return plain


def _sort(kind: pa.DataType) -> str:
    """What keys of a type can be compared with."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _NUMBERS
    return _TEXTS if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)


def _whole_numbers(array: pa.Array) -> pa.Array:
    """Whole numbers, however they are stored; missing for NaN.

    Raises:
        pa.ArrowInvalid: there are others.
    """
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        if pc.any(pc.greater_equal(pc.abs(array.cast(pa.float64())), _EXACT[array.type])).as_py():
            raise pa.ArrowInvalid("a number that may stand for several")
        array = array.cast(pa.float64())
    return array if pa.types.is_integer(array.type) else array.cast(pa.int64())
