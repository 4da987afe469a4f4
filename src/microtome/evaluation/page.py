"""The page on a table: what is drawn is decided here and in the template; what is said comes from ``Figures`` alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from microtome.evaluation import drawing
from microtome.evaluation.attacks import FALSE_ALARMS
from microtome.evaluation.detector import Detection
from microtome.evaluation.distributions import RARE, ColumnFigures
from microtome.evaluation.drawing import Mark
from microtome.evaluation.fidelity import mean_of
from microtome.evaluation.figures import Figures
from microtome.evaluation.html_page import figure, percent, render_template
from microtome.evaluation.pairs import PairFigures
from microtome.evaluation.utility import Utility

_SHOWN_COLUMNS = 60
_SHOWN_PAIRS = 6
_LABELLED = 48
"""More columns than this make no heat map: it could not be read."""
_SHOWN_REST = 60
"""Of the rarer labels of a column so many are listed."""
_METRICS = {
    "KSComplement": "1 − the largest distance between cumulative shares, mean over measured columns",
    "TVComplement": "1 − half the sum of all differences between shares of values, mean over listed columns",
    "ContingencySimilarity": "the same of two-way tables, mean over pairs of listed columns",
    "CorrelationSimilarity": "1 − half the difference between correlations, mean over pairs of measured columns",
    "BinaryLogisticRegression": "F1 on real rows of a logistic regression trained on synthetic ones",
}


def render(figures: Figures) -> str:
    """The whole page."""
    worst = sorted(figures.columns, key=_badness, reverse=True)
    return render_template(
        "report.html.j2",
        figures=figures,
        side="real" if figures.from_real_rows else "release",
        tiles=_tiles(figures),
        worst=[column for column in worst if column.score is not None][:5],
        cards=[column_card(column) for column in worst[:_SHOWN_COLUMNS]],
        more_cards=[column_card(column) for column in worst[_SHOWN_COLUMNS:]],
        maps=_maps(figures),
        pair_cards=[pair_card(pair) for pair in _worst_pairs(figures)],
        utility_rows=_utility_rows(figures.utility),
        calibration=_calibration(figures.utility),
        rare=RARE,
        alarms=FALSE_ALARMS,
        allowed=None if figures.promise is None or not figures.promise.holds else figures.promise.members_found,
        giveaway_bars=giveaways(figures.detector),
        explained=_METRICS,
    )


def _badness(column: ColumnFigures) -> float:
    """How far a column is from the real side."""
    return -1.0 if column.score is None else 1.0 - column.score


def _worst_pairs(figures: Figures) -> list[PairFigures]:
    return [] if isinstance(figures.pairs, str) else figures.pairs.worst(_SHOWN_PAIRS)


def _tiles(figures: Figures) -> list[dict[str, Any]]:
    """The summary: a headline figure each, with where it stands between worst and best."""
    tiles = [_columns_tile(figures), _pairs_tile(figures), _utility_tile(figures), _detector_tile(figures)]
    return [*(tile for tile in tiles if tile is not None), _coverage_tile(figures)]


def _columns_tile(figures: Figures) -> dict[str, Any]:
    scores = [column for column in figures.columns if column.score is not None]
    mean = mean_of(column.score for column in scores if column.score is not None)
    bands = [column.band for column in scores if column.band is not None]
    low, high = (mean_of(band[end] for band in bands) for end in (0, 1))
    worst = max(scores, key=_badness, default=None)
    says = "" if worst is None else f"; worst: {worst.name} {figure(worst.score)}"
    return {
        "name": "Columns one by one",
        "value": figure(mean),
        "unit": "" if low is None else f"{figure(low)} to {figure(high)} on the real rows",
        "says": f"mean similarity of {len(scores)} columns, 1 is alike{says}",
        "plot": _meter(mean),
    }


def _pairs_tile(figures: Figures) -> dict[str, Any] | None:
    if isinstance(figures.pairs, str) or figures.pairs.kept is None:
        return None
    kept, best = figures.pairs.kept, figures.pairs.kept_by_chance
    low, high = (min(max(end, 0.0), 1.0) for end in kept.band)
    marks = [Mark(kind="independent", value=0.0, title="independent columns: 0 %")]
    unit = f"{percent(low)} to {percent(high)} on the real rows"
    if best is not None:
        marks.append(Mark(kind="real", value=best, title=f"a second sample of real rows: {percent(best)}"))
        unit = f"a second real sample: {percent(best)}"
    marks.append(Mark(kind="synthetic", value=kept.value, title=f"synthetic: {percent(kept.value)}"))
    return {
        "name": "Dependence kept",
        "value": percent(max(kept.value, 0.0)),
        "unit": unit,
        "says": f"of what {len(figures.pairs.pairs)} pairs of columns say beyond their margins; independent columns "
        "keep nothing",
        "plot": drawing.scale(marks, 0.0, 1.0, "dependence kept"),
    }


def _utility_tile(figures: Figures) -> dict[str, Any] | None:
    if isinstance(figures.utility, str):
        return None
    scores = figures.utility.scores["gradient boosting"]
    marks = [
        Mark(kind=kind, value=scores[name].auc, title=f"trained on {name}: AUC {figure(scores[name].auc)}")
        for kind, name in (("independent", "independent columns"), ("real", "real"), ("synthetic", "synthetic"))
    ]
    return {
        "name": f"Predicting {figures.utility.target}",
        "value": figure(scores["synthetic"].auc),
        "unit": f"real rows: {figure(scores['real'].auc)}",
        "says": "AUC on real rows of gradient boosting trained on synthetic ones; 0.5 is chance",
        "plot": drawing.scale(marks, 0.4, 1.0, "AUC"),
    }


def _detector_tile(figures: Figures) -> dict[str, Any] | None:
    if isinstance(figures.detector, str):
        return None
    auc = max(figures.detector.auc.values())
    mark = Mark(kind="synthetic", value=auc, title=f"AUC {figure(auc)}")
    return {
        "name": "Told from real rows",
        "value": figure(auc),
        "unit": "chance: 0.500",
        "says": "AUC of the better of two detectors; 1 recognises every synthetic row",
        "plot": drawing.scale(
            [Mark(kind="independent", value=0.5, title="chance: 0.5"), mark], 0.4, 1.0, "AUC of the detector"
        ),
    }


def _coverage_tile(figures: Figures) -> dict[str, Any]:
    coverages = [column.coverage for column in figures.columns]
    rare, rare_found, values, found = (
        sum(getattr(one, what) or 0 for one in coverages) for what in ("rare", "rare_found", "values", "values_found")
    )
    share = found / values if values else None
    known = "all listed values" if figures.from_real_rows else f"the {values:,} listed values that the release knows"
    return {
        "name": "Values covered",
        "value": percent(share),
        "unit": f"rare ones: {rare_found} of {rare}" if rare else "",
        "says": f"of {known} occur; at most {percent(max(one.outside for one in coverages))} of a column's synthetic "
        "values are new",
        "plot": _meter(share),
    }


def _meter(value: float | None) -> Markup:
    marks = [] if value is None else [Mark(kind="synthetic", value=value, title=figure(value))]
    return drawing.scale(marks, 0.0, 1.0, "score")


def column_card(column: ColumnFigures) -> dict[str, Any]:
    """A column's card: a histogram, or bars in proportion to the longest."""
    shares = column.distribution
    spread = np.zeros(len(shares.real)) if shares.error is None else 2.0 * shares.error
    longest = max(float((shares.real + spread).max()), float(shares.synthetic.max()), 1e-12)
    bars = [
        {
            "label": label,
            "real": real,
            "synthetic": made,
            "real_width": f"{100 * real / longest:.2f}%",
            "synthetic_width": f"{100 * made / longest:.2f}%",
            "band": None
            if shares.error is None or not error
            else (f"{100 * max(real - error, 0) / longest:.2f}%", f"{100 * (min(real, error) + error) / longest:.2f}%"),
            "error": error,
        }
        for label, real, made, error in zip(shares.labels, shares.real, shares.synthetic, spread, strict=True)
    ]
    label = f"{column.name}: distribution, real and synthetic"
    return {
        "column": column,
        "plot": drawing.histogram(shares, label) if shares.measured else None,
        "rooted": shares.measured and drawing.has_spike(shares),
        "bars": [] if shares.measured else bars,
        "rest": shares.rest[:_SHOWN_REST],
        "unlisted": max(len(shares.rest) - _SHOWN_REST, 0),
    }


def _maps(figures: Figures) -> list[tuple[str, Markup]]:
    """Three heat maps; what the noise hides is left blank."""
    pairs = figures.pairs
    if isinstance(pairs, str) or len(pairs.names) > _LABELLED:
        return []
    real, made, gaps = (pairs.matrix(what) for what in ("dependence", "synthetic_dependence", "dependence"))
    for (first, second), pair in pairs.pairs.items():
        gap: float | None = pair.synthetic_dependence - pair.dependence
        if pair.is_hidden:
            real[first][second] = real[second][first] = None
            gap = gap if pair.synthetic_dependence > (pair.dependence_error or 0.0) else None
        gaps[first][second] = gaps[second][first] = gap
    side = "Real" if figures.from_real_rows else "Release"
    return [
        (side, drawing.heat_map(pairs.names, real, f"dependence of pairs: {side.lower()}", signed=False)),
        ("Synthetic", drawing.heat_map(pairs.names, made, "dependence of pairs: synthetic", signed=False)),
        ("Difference", drawing.heat_map(pairs.names, gaps, "difference in dependence", signed=True)),
    ]


def pair_card(pair: PairFigures) -> dict[str, Any]:
    """A pair's card: its table on both sides, and the difference."""
    names = f"{pair.names[0]} × {pair.names[1]}"
    gap = pair.synthetic - pair.real
    return {
        "pair": pair,
        "real": drawing.shade_table(pair.real, pair.labels, f"{names}, real", signed=False),
        "synthetic": drawing.shade_table(pair.synthetic, pair.labels, f"{names}, synthetic", signed=False),
        "difference": drawing.shade_table(gap, pair.labels, f"{names}, difference", signed=True),
    }


def _utility_rows(useful: Utility | str) -> list[dict[str, Any]]:
    if isinstance(useful, str):
        return []
    rows = []
    kinds = {"independent columns": "independent", "real": "real", "synthetic": "synthetic"}
    for model, scores in useful.scores.items():
        for metric, name, low in (("auc", "AUC", 0.4), ("f1", "F1", 0.0)):
            marks = [
                Mark(kind=kind, value=getattr(scores[key], metric), title=f"{key}: {getattr(scores[key], metric):.3f}")
                for key, kind in kinds.items()
            ]
            rows.append(
                {
                    "model": model,
                    "metric": name,
                    "plot": drawing.scale(marks, low, 1.0, f"{name} of {model}"),
                    **{kind: getattr(scores[key], metric) for key, kind in kinds.items()},
                }
            )
        rows.append(
            {
                "model": model,
                "metric": "calibration error",
                "plot": "",
                **{kind: scores[key].calibration_error for key, kind in kinds.items()},
            }
        )
    return rows


def _calibration(useful: Utility | str) -> list[tuple[str, Markup]]:
    if isinstance(useful, str):
        return []
    return [
        (
            model,
            drawing.reliability(
                {"real": scores["real"].curve, "synthetic": scores["synthetic"].curve}, f"calibration of {model}"
            ),
        )
        for model, scores in useful.scores.items()
    ]


def giveaways(detector: Detection | str) -> list[dict[str, Any]]:
    """The columns that a detector leaned on, as bars."""
    if isinstance(detector, str):
        return []
    shown = detector.giveaways[:8]
    most = max((fall for _, fall in shown), default=1.0)
    return [{"name": name, "fall": fall, "width": f"{100 * fall / most:.1f}%"} for name, fall in shown]
