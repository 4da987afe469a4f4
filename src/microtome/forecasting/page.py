"""A forecast in a notebook: the words, a table of columns, and a picture and a table over ε."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from microtome.forecasting.curve_drawing import curve_picture
from microtome.forecasting.prediction import CurvePoint, Forecast
from microtome.forecasting.words import in_words

COLUMN_HEADINGS = ("column", "± count", "smallest share that shows", "error", "")
CURVE_HEADINGS = ("ε", "error of columns", "error of pairs", "dependence kept", "best guess", "worth")


def column_rows(forecast: Forecast) -> list[list[str]]:
    """The table of columns."""
    return [
        [
            column.name,
            f"{column.count_noise:,.0f}",
            f"{column.smallest_share:.2%}",
            f"{column.error:.3f}",
            str(column.learning),
        ]
        for column in forecast.columns
    ]


def curve_rows(forecast: Forecast) -> list[list[str]]:
    """The table over ε."""
    return [_curve_row(point) for point in forecast.curve]


def fragment(forecast: Forecast) -> str:
    """HTML without styles of its own."""
    heading, verdict, *lines = (escape(line) for line in in_words(forecast))
    points = "".join(f"<li>{line}</li>" for line in lines)
    tables = _table(COLUMN_HEADINGS, column_rows(forecast)) + _table(CURVE_HEADINGS, curve_rows(forecast))
    return f"<div><p>{heading}</p><p><b>{verdict}</b></p><ul>{points}</ul>{curve_picture(forecast)}{tables}</div>"


def _curve_row(point: CurvePoint) -> list[str]:
    pairs = point.pairs
    return [
        f"{point.epsilon:g}",
        f"{point.margins:.3f}",
        "" if pairs is None else f"{pairs.error:.3f}",
        "" if pairs is None else f"{max(pairs.kept, 0.0):.0%}",
        f"{point.attacker.best_guess:.1%}",
        str(point.verdict),
    ]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
