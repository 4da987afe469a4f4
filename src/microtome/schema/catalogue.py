"""What everybody knows of columns by their names: code lists and bounds, to be suggested in a draft.

The lists are a file of the package, ``catalogue.yaml``: nothing of a suggestion comes from a table. Which spelling of a
list a column uses is read off the table, as its type is, and confirmed with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from microtome.schema.column import Value
from microtome.schema.kind import Kind

_SHARE_THAT_FITS = 0.9
_COUNTING = frozenset(("in", "per", "of", "num", "number", "count", "total", "no"))
"""Words after which a unit is counted: a duration in months is no month."""
_SPELLINGS = (str, str.lower, str.upper, str.capitalize)


@dataclass(frozen=True, kw_only=True)
class Known:
    """An entry of the catalogue.

    Attributes:
        title: What it is about.
        names: Words that end a column's name, in several languages; empty for any name.
        lists: Ways to write its categories.
        bounds: Smallest and largest number, or ``None``.
        ordered: Whether the categories are in order.
        spacious: Whether tables commonly fill a small part of the bounds, which are then told and not suggested: cells
            that cover all of them would be too coarse.
    """

    title: str
    names: tuple[tuple[str, ...], ...] = ()
    lists: tuple[tuple[Value, ...], ...] = ()
    bounds: tuple[float, float] | None = None
    ordered: bool = False
    spacious: bool = False

    def is_called(self, words: Sequence[str]) -> bool:
        """Whether a column's name, in words, ends as the entry's names do."""
        for name in self.names:
            before, end = words[: -len(name)], words[-len(name) :]
            if tuple(end) == name and not (before and before[-1] in _COUNTING):
                return True
        return not self.names

    def spelling(self, values: Collection[str]) -> tuple[str, ...] | None:
        """The list, as it is spelled, that nearly all different values are from."""
        for one in self.lists:
            for spell in _SPELLINGS:
                spelled = tuple(dict.fromkeys(spell(str(value)) for value in one))
                if sum(value in spelled for value in values) >= _SHARE_THAT_FITS * len(values) > 0:
                    return spelled
        return None

    def numbers(self, values: Collection[float]) -> tuple[int, ...] | None:
        """The list of whole numbers that nearly all different values are from."""
        for one in self.lists:
            codes = tuple(value for value in one if isinstance(value, int))
            if codes == one and sum(value in codes for value in values) >= _SHARE_THAT_FITS * len(values) > 0:
                return codes
        return None


@cache
def catalogue() -> tuple[Known, ...]:
    """All entries, those for any name last."""
    text = (Path(__file__).parent / "catalogue.yaml").read_text(encoding="utf-8")
    return tuple(sorted(map(_known, yaml.safe_load(text)), key=lambda known: not known.names))


def _known(entry: dict[str, Any]) -> Known:
    bounds = entry.get("bounds")
    return Known(
        title=entry["title"],
        names=tuple(tuple(name.split()) for name in entry.get("names", ())),
        lists=tuple(tuple(one) for one in entry.get("lists", ())),
        bounds=None if bounds is None else (bounds[0], bounds[1]),
        ordered=entry.get("ordered", False),
        spacious=entry.get("spacious", False),
    )


def known_bounds(words: Sequence[str], kind: Kind) -> Known | None:
    """The entry that bounds numbers of this name."""
    if not kind.is_number:
        return None
    return next((one for one in catalogue() if one.bounds is not None and one.is_called(words)), None)


def known_lists(words: Sequence[str]) -> list[Known]:
    """The entries that list values of this name."""
    return [one for one in catalogue() if one.lists and one.is_called(words)]
