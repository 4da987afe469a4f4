"""All figures of a forecast as plain values, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microtome.forecasting.prediction import CurvePoint, Forecast


def figures(forecast: Forecast) -> dict[str, Any]:
    """The forecast as JSON has it."""
    settings = forecast.release.settings
    return {
        "rows": forecast.release.num_rows,
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "neighbours": str(settings.neighbours),
        "kind": str(settings.kind),
        "verdict": str(forecast.verdict),
        "margin_error": forecast.margins,
        **_pairs(forecast),
        "triples": 0 if forecast.release.tables is None else forecast.release.tables.round.count,
        "band": forecast.band,
        "useful_epsilon": forecast.useful_epsilon,
        "columns": [asdict(column) for column in forecast.columns],
        "attacker": asdict(forecast.attacker),
        "cost": asdict(forecast.cost),
        "curve": [_point(point) for point in forecast.curve],
    }


def _point(point: CurvePoint) -> dict[str, Any]:
    return {
        "epsilon": point.epsilon,
        "verdict": str(point.verdict),
        "margin_error": point.margins,
        **_pairs(point),
        **asdict(point.attacker),
    }


def _pairs(holder: CurvePoint | Forecast) -> dict[str, float | None]:
    pairs = holder.pairs
    return {
        "pair_error": None if pairs is None else pairs.error,
        "dependence_kept": None if pairs is None else pairs.kept,
    }
