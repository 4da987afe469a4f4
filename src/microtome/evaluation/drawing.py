"""Plots as inline SVG: no library, no script, colours by the page's style sheet so that they follow light and dark.

A shape's ``class`` says what it is (``real``, ``synthetic``, ``band``), never how it looks; a shade is an opacity, so
it works on either background. Every mark has a ``title`` that shows its figures when pointed at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from microtome.evaluation.distributions import Distribution

Floats = NDArray[np.float64]
_WIDTH, _HEIGHT, _TOP = 320.0, 112.0, 6.0
_SPIKE = 4.0
"""A bin this many times the next largest would flatten all others: then heights are square roots."""
_SHADE = 0.75
"""Weak dependence is common and worth seeing: shades grow a little faster than what they stand for."""
_DRAWN_LEVELS = 30
_BAND = 2.0
"""Error bands are so many standard deviations wide to each side."""


def histogram(distribution: Distribution, label: str) -> Markup:
    """Real shares as a filled outline, synthetic ones as a line; the band is what the known noise leaves open."""
    real, made = distribution.real, distribution.synthetic
    spread = np.zeros(len(real)) if distribution.error is None else _BAND * distribution.error
    rooted = has_spike(distribution)
    highest = max(float((real + spread).max()), float(made.max()), 1e-12)

    def height(shares: Floats) -> Floats:
        scaled = np.clip(shares, 0.0, None) / highest
        return _HEIGHT - (np.sqrt(scaled) if rooted else scaled) * (_HEIGHT - _TOP)

    edges = np.linspace(0.0, _WIDTH, len(real) + 1)
    shapes = [f'<path class="real" d="{_area(edges, height(real))}"/>']
    if distribution.error is not None:
        upper, lower = height(real + spread), height(real - spread)
        shapes.append(f'<path class="band" d="{_between(edges, lower, upper)}"/>')
    shapes.append(f'<path class="synthetic line" d="{_steps(edges, height(made))}"/>')
    shapes += [
        f'<rect class="hit" x="{left:.1f}" y="0" width="{right - left:.1f}" height="{_HEIGHT:g}"><title>'
        f"{escape(name)}: {_percent(a)} {'± ' + _percent(b) + ' ' if b else ''}· synthetic {_percent(c)}</title></rect>"
        for name, left, right, a, b, c in zip(
            distribution.labels, edges[:-1], edges[1:], real, spread, made, strict=True
        )
    ]
    return _svg("histogram", _WIDTH, _HEIGHT + 1.0, shapes, label, stretch=True)


def has_spike(distribution: Distribution) -> bool:
    """Whether one bin towers over all others."""
    ordered = np.sort(np.maximum(distribution.real, distribution.synthetic))
    return bool(len(ordered) > 3 and ordered[-1] > _SPIKE * ordered[-2])


def heat_map(names: Sequence[str], values: Sequence[Sequence[float | None]], label: str, *, signed: bool) -> Markup:
    """A square of shades, one a pair of columns; of signed values two hues."""
    size = len(names)
    longest = max((len(name) for name in names), default=0)
    cell = 14.0
    margin = min(6.2 * min(longest, 14) + 8.0, 100.0)
    shapes = []
    for row, line in enumerate(values):
        y = row * cell
        shapes.append(_text(margin - 5, y + cell * 0.72, _cut(names[row], 14), "end"))
        shapes.append(_text(0, 0, _cut(names[row], 14), "end", _turned(margin + y + cell * 0.68, size * cell + 6)))
        for column, value in enumerate(line):
            x = margin + column * cell
            if value is None:
                kind, shade, says = "none", 1.0, ""
            else:
                kind = ("more" if value > 0 else "less") if signed else "heat"
                shade, says = min(abs(value), 1.0) ** _SHADE, f"{value:+.2f}" if signed else f"{value:.2f}"
            title = f"<title>{escape(names[row])} × {escape(names[column])}: {says}</title>" if says else ""
            shapes.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{cell - 1:g}" height="{cell - 1:g}" rx="1.5" '
                f'fill-opacity="{shade:.3f}">{title}</rect>'
            )
    return _svg("heatmap", margin + size * cell, size * cell + margin, shapes, label)


def shade_table(table: Floats, labels: tuple[Sequence[str], Sequence[str]], label: str, *, signed: bool) -> Markup:
    """A two-way table of shares as shades, square-rooted so that small ones are seen; many levels are joined."""
    table, labels = _coarse(table, labels)
    height, width = table.shape
    most = max(float(np.abs(table).max()), 1e-12)
    w, h = 100.0 / width, 100.0 / height
    shapes = []
    for row in range(height):
        for column in range(width):
            value = float(table[row, column])
            kind = ("more" if value > 0 else "less") if signed else "heat"
            text = f"{escape(labels[0][row])} × {escape(labels[1][column])}: {_percent(value)}"
            shapes.append(
                f'<rect class="{kind}" x="{column * w:.2f}" y="{row * h:.2f}" width="{w * 0.97:.2f}" '
                f'height="{h * 0.97:.2f}" fill-opacity="{np.sqrt(abs(value) / most):.3f}"><title>{text}</title></rect>'
            )
    return _svg("shades", 100.0, 100.0, shapes, label)


def _coarse(
    table: Floats, labels: tuple[Sequence[str], Sequence[str]]
) -> tuple[Floats, tuple[Sequence[str], Sequence[str]]]:
    """At most so many rows and columns, neighbours added up."""
    names = []
    for axis in (0, 1):
        size = table.shape[axis]
        starts = np.unique(np.linspace(0, size, min(size, _DRAWN_LEVELS) + 1).astype(np.int64)[:-1])
        table = np.add.reduceat(table, starts, axis=axis)
        last = [*(starts[1:] - 1), size - 1]
        texts = labels[axis]
        names.append([texts[a] if a == b else f"{texts[a]} … {texts[b]}" for a, b in zip(starts, last, strict=True)])
    return table, (names[0], names[1])


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point on a scale.

    Attributes:
        kind: Whose it is: ``real``, ``synthetic`` or ``independent``.
        value: Where it is.
        title: What is said when it is pointed at.
    """

    kind: str
    value: float
    title: str


def scale(marks: Sequence[Mark], low: float, high: float, label: str) -> Markup:
    """Marks on a line from ``low`` to ``high``; what lies beyond is at the end."""
    width, middle = 240.0, 11.0
    shapes = [f'<line class="axis" x1="6" x2="{width - 6:g}" y1="{middle}" y2="{middle}"/>']
    for mark in marks:
        place = 6 + (width - 12) * min(max((mark.value - low) / (high - low), 0.0), 1.0)
        title = f"<title>{escape(mark.title)}</title>"
        if mark.kind == "synthetic":
            shapes.append(f'<circle class="synthetic" cx="{place:.1f}" cy="{middle}" r="5.5">{title}</circle>')
        else:
            shapes.append(
                f'<rect class="{mark.kind}" x="{place - 2:.1f}" y="2" width="4" height="18" rx="2">{title}</rect>'
            )
    return _svg("scale", width, 22.0, shapes, label)


def reliability(curves: dict[str, Sequence[tuple[float, float]]], label: str) -> Markup:
    """Predicted against observed probability; the diagonal is honest."""
    size, pad = 200.0, 14.0
    span = size - 2 * pad
    shapes = [
        f'<rect class="frame" x="{pad}" y="{pad}" width="{span}" height="{span}"/>',
        f'<line class="diagonal" x1="{pad}" y1="{size - pad}" x2="{size - pad}" y2="{pad}"/>',
    ]
    for kind, curve in curves.items():
        points = [(pad + span * predicted, size - pad - span * observed) for predicted, observed in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        shapes.append(f'<polyline class="{kind} line" points="{path}"/>')
        shapes += [
            f'<circle class="{kind} dot" cx="{x:.1f}" cy="{y:.1f}" r="2.4"><title>{kind}: predicted {a:.2f}, observed '
            f"{b:.2f}</title></circle>"
            for (x, y), (a, b) in zip(points, curve, strict=True)
        ]
    return _svg("reliability", size, size, shapes, label)


def _svg(kind: str, width: float, height: float, shapes: Sequence[str], label: str, *, stretch: bool = False) -> Markup:
    aspect = ' preserveAspectRatio="none"' if stretch else ""
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}"{aspect} role="img" aria-label="{escape(label)}">'
        f"{''.join(shapes)}</svg>"
    )


def _steps(edges: Floats, heights: Floats) -> str:
    parts = [f"M{edges[0]:.1f} {heights[0]:.1f}"]
    for right, here, following in zip(edges[1:], heights, [*heights[1:], heights[-1]], strict=True):
        parts.append(f"L{right:.1f} {here:.1f}L{right:.1f} {following:.1f}")
    return "".join(parts)


def _area(edges: Floats, heights: Floats) -> str:
    return f"{_steps(edges, heights)}L{edges[-1]:.1f} {_HEIGHT:g}L{edges[0]:.1f} {_HEIGHT:g}Z"


def _between(edges: Floats, lower: Floats, upper: Floats) -> str:
    boxes = zip(edges[:-1], edges[1:], upper, lower, strict=True)
    return "".join(
        f"M{a:.1f} {top:.1f}L{b:.1f} {top:.1f}L{b:.1f} {low:.1f}L{a:.1f} {low:.1f}Z" for a, b, top, low in boxes
    )


def _text(x: float, y: float, text: str, anchor: str, transform: str = "") -> str:
    turned = f' transform="{transform}"' if transform else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}>{escape(text)}</text>'


def _turned(x: float, y: float) -> str:
    return f"translate({x:.1f} {y:.1f}) rotate(-90)"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if abs(share) < 0.1 else f"{100 * share:.1f} %"
