"""What can happen to a file: damage to its bytes, and contents that make no sense under checksums that agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st

from microtome.errors import MicrotomeError


def refusal(load: Callable[[Path], Any], path: Path, kind: type[MicrotomeError]) -> str | None:
    """What is said of a file that is refused with this kind of error; ``None`` if it is accepted."""
    try:
        load(path)
    except kind as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Damage:
    """What happens to a file, at places given as shares of its length."""

    kind: str
    place: float
    other: float
    bit: int
    size: int
    inflicted: ClassVar[int] = 0
    """How many files were damaged in this process so far."""

    def __call__(self, content: bytes) -> bytes:
        Damage.inflicted += 1
        found, first, second = bytearray(content), int(self.place * len(content)), int(self.other * len(content))
        if self.kind == "flip":
            found[first] ^= 1 << self.bit
        elif self.kind == "truncate":
            del found[first:]
        elif self.kind == "insert":
            found[first:first] = bytes([self.bit]) * self.size
        elif self.kind == "remove":
            del found[first : first + self.size]
        elif self.kind == "swap":
            found[first], found[second] = found[second], found[first]
        else:
            found[first : first + self.size] = bytes(len(found[first : first + self.size]))
        return bytes(found)


DAMAGES = st.builds(
    Damage,
    kind=st.sampled_from(["flip", "truncate", "insert", "remove", "swap", "zero"]),
    place=st.floats(0, 1, exclude_max=True) | st.floats(0, 0.02),
    other=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    size=st.integers(1, 64),
)


def broken_documents(document: Any) -> list[Any]:
    """The document with each of its entries in turn left out, and replaced by values of other kinds."""
    found = []
    places: list[Any] = list(document) if isinstance(document, dict) else list(range(min(len(document), 3)))
    for place in places:
        if place == "format":
            continue
        for value in (None, "text", -1, 1e308, [], {}, [[[]]], {"a": {"b": 1}}, True):
            changed = json.loads(json.dumps(document))
            changed[place] = value
            found.append(changed)
        if isinstance(document, dict):
            found.append({key: value for key, value in document.items() if key != place})
        inner = document[place]
        if isinstance(inner, dict | list):
            for broken in broken_documents(inner):
                changed = json.loads(json.dumps(document))
                changed[place] = broken
                found.append(changed)
    return found
