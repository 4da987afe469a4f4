"""The forecast over ε as a picture: what comes through, and what an attacker gains, on one scale from nothing to all.

Inline SVG that needs no style sheet: lines are told apart by their dashes and by their names, so that the picture reads
in any colour and in none. A page may colour the classes ``learnt``, ``kept``, ``guess`` and ``here``.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import log

from microtome.forecasting.prediction import CurvePoint, Forecast

_WIDTH, _HEIGHT = 640.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 68.0, 20.0, 14.0, 40.0
_APART = 44.0
"""Between two numbers below the picture, for pages that write them large on small screens."""
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_LINES = (
    ("learnt", "of single columns, how much is right", ""),
    ("kept", "of dependence, how much comes through", "7 4"),
    ("guess", "an attacker's best guess (a coin has 50\u00a0%)", "2 4"),
)
"""Class, name and dashes of each line."""


def curve_picture(forecast: Forecast) -> str:
    """The curve of a forecast, with a mark where its own ε is."""
    points = forecast.curve
    here = forecast.release.settings.epsilon
    scale = _Scale(points[0].epsilon, points[-1].epsilon)
    shapes = [*_frame(points, scale), *_lines(points, scale), _mark(here, scale)]
    label = f"How it changes with ε, from {points[0].epsilon:g} to {points[-1].epsilon:g}; the mark is at ε = {here:g}"
    drawn = (
        f'<svg class="curve" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(label)}" '
        f'fill="none" stroke="currentColor" font-size="12">{"".join(shapes)}</svg>'
    )
    return f'<figure class="curve">{drawn}<figcaption>{"".join(_legend(points))}</figcaption></figure>'


class _Scale:
    """Where things are: ε by its logarithm, shares from the bottom up."""

    def __init__(self, smallest: float, largest: float) -> None:
        self._low, self._span = log(smallest), log(largest) - log(smallest)

    def x(self, epsilon: float) -> float:
        return _LEFT + (log(epsilon) - self._low) / self._span * (_WIDTH - _LEFT - _RIGHT)

    def y(self, share: float) -> float:
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _frame(points: tuple[CurvePoint, ...], scale: _Scale) -> Iterator[str]:
    for share in _SHARES:
        y = scale.y(share)
        yield f'<path class="grid" stroke-opacity="0.2" d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}"/>'
        yield _text(_LEFT - 8, y + 4, f"{share:.0%}", "end")
    last = -1e9
    for point in points:
        x = scale.x(point.epsilon)
        if x - last > _APART:  # the ε of the slider may lie close to one of the curve's
            yield _text(x, _HEIGHT - _BOTTOM + 18, f"{point.epsilon:g}", "middle")
            last = x
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, "ε", "middle")


def _lines(points: tuple[CurvePoint, ...], scale: _Scale) -> Iterator[str]:
    for kind, name, dashes in _LINES:
        heights = [(point.epsilon, _share(kind, point)) for point in points]
        known = [(scale.x(epsilon), scale.y(share), epsilon, share) for epsilon, share in heights if share is not None]
        if not known:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in known)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<polyline class="{kind}" stroke-width="2.4" stroke-linejoin="round"{dashed} points="{path}"/>'
        for x, y, epsilon, share in known:
            title = f"<title>ε = {epsilon:g}: {name}: {share:.1%}</title>"
            yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="currentColor">{title}</circle>'


def _share(kind: str, point: CurvePoint) -> float | None:
    match kind:
        case "learnt":
            return min(max(1.0 - point.margins, 0.0), 1.0)
        case "kept":
            return None if point.pairs is None else min(max(point.pairs.kept, 0.0), 1.0)
        case _:
            return point.attacker.best_guess


def _mark(epsilon: float, scale: _Scale) -> str:
    x = scale.x(epsilon)
    return f'<path class="here" stroke-width="1.6" d="M{x:.1f} {_TOP:g}V{_HEIGHT - _BOTTOM:g}"/>'


def _legend(points: tuple[CurvePoint, ...]) -> Iterator[str]:
    for kind, name, dashes in _LINES:
        if any(_share(kind, point) is not None for point in points):
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            yield (
                f'<span class="{kind}"><svg viewBox="0 0 30 8" width="30" height="8" aria-hidden="true">'
                f'<path stroke="currentColor" stroke-width="2.4"{dashed} d="M0 4H30"/></svg> {escape(name)}</span> '
            )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor" stroke="none">{text}</text>'
