"""Frozen records as JSON: what was written is read again, and whatever is not understood in full is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
import pytest

from microtome.errors import ParameterError
from microtome.json_record import JsonRecord, TaggedRecord, record_of_kind


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Dot(TaggedRecord):
    kind: ClassVar[str] = "dot"
    size: float


@dataclass(frozen=True, kw_only=True)
class Line(TaggedRecord):
    kind: ClassVar[str] = "line"
    ends: tuple[Dot, ...]


@dataclass(frozen=True, kw_only=True)
class Drawing(JsonRecord):
    name: str
    colour: Colour
    count: int
    shown: bool
    scale: float
    grid: tuple[tuple[float, ...], ...]
    frame: Line
    figures: tuple[Dot | Line, ...]
    note: str | None
    copies: int = 1


LINE = Line(ends=(Dot(size=0.5), Dot(size=1.5)))
DRAWING = Drawing(
    name="a", colour=Colour.RED, count=3, shown=True, scale=np.float64(0.1), grid=((1.0, 2.0), ()), frame=LINE,
    figures=(Dot(size=2.0), LINE), note=None,
)  # fmt: skip


def test_round_trip() -> None:
    written = json.loads(json.dumps(DRAWING.to_dict()))
    assert Drawing.from_dict(written) == DRAWING
    assert Drawing.from_dict({**written, "copies": 2}).copies == 2
    assert Drawing.from_dict({name: value for name, value in written.items() if name != "copies"}) == DRAWING
    assert written["figures"][1]["kind"] == "line"


def test_numbers_may_be_whole_and_become_numbers() -> None:
    scale = Drawing.from_dict({**DRAWING.to_dict(), "scale": 2}).scale
    assert (scale, type(scale)) == (2.0, float)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"surprise": 1}, "unknown fields \\['surprise'\\]"),
        ({"count": True}, "count is True; it must be a whole number"),
        ({"count": 3.0}, "count is 3.0; it must be a whole number"),
        ({"scale": False}, "scale is False; it must be a number"),
        ({"scale": "1"}, "scale is '1'; it must be a number"),
        ({"shown": 1}, "shown is 1; it must be true or false"),
        ({"name": None}, "name is None; it must be text"),
        ({"note": 1}, "note is 1; it must be text"),
        ({"colour": "green"}, "colour is 'green'; it must be one of red, blue"),
        ({"colour": ["red"]}, "it must be one of red, blue"),
        ({"grid": 1.0}, "grid is 1.0; it must be a list"),
        ({"grid": [1.0]}, "grid is 1.0; it must be a list"),
        ({"frame": {"kind": "dot", "size": 1.0}}, "a record of kind 'line' is needed"),
        ({"frame": {"ends": []}}, "a record of kind 'line' is needed"),
        ({"frame": None}, "a record of kind 'line' is needed"),
        ({"figures": [{"kind": "circle"}]}, "unknown kind of figures 'circle'"),
        ({"figures": [7]}, "unknown kind of figures None"),
        ({"figures": [{"kind": "dot", "size": 1.0, "colour": "red"}]}, "unknown fields \\['colour'\\]"),
    ],
)
def test_what_is_not_understood_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Drawing.from_dict({**DRAWING.to_dict(), **change})


def test_what_is_missing_is_refused() -> None:
    written = DRAWING.to_dict()
    for name in written.keys() - {"copies"}:
        with pytest.raises(ParameterError, match=f"lacks \\['{name}'\\]"):
            Drawing.from_dict({key: value for key, value in written.items() if key != name})
    for given in (None, [], "text", 1):
        with pytest.raises(ParameterError, match="must be a JSON object"):
            Drawing.from_dict(given)  # type: ignore[arg-type]


def test_one_of_several_is_chosen_by_its_kind() -> None:
    assert record_of_kind((Dot, Line), LINE.to_dict(), "figure") == LINE
    with pytest.raises(ParameterError, match="unknown kind of figure 'line'"):
        record_of_kind((Dot,), LINE.to_dict(), "figure")
