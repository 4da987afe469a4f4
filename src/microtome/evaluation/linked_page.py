"""The page on linked tables: what is drawn is decided here and in the template; what is said comes from the figures."""

from __future__ import annotations

from typing import Any

from microtome.evaluation import drawing
from microtome.evaluation.drawing import Mark
from microtome.evaluation.html_page import figure, render_template
from microtome.evaluation.linked_figures import LinkFigures
from microtome.evaluation.linked_report import LinkedFigures, TableFigures
from microtome.evaluation.page import column_card, giveaways, pair_card

_SHOWN_PAIRS = 6


def render_linked(figures: LinkedFigures) -> str:
    """The whole page."""
    return render_template(
        "linked.html.j2",
        figures=figures,
        tiles=_tiles(figures),
        links=[_link(link) for link in figures.links],
        tables=[_table(table) for table in figures.tables],
        giveaway_bars=giveaways(figures.detector),
    )


def _tiles(figures: LinkedFigures) -> list[dict[str, Any]]:
    """The summary: a headline figure each, with where it stands between worst and best."""
    tiles = [_tile("Rows of a parent", figures.cardinality, None, "alike (1 − KS), mean over links; 1 is best")]
    tiles.append(_tile("Across links", figures.distance, figures.floor, "total variation of parent-and-child tables"))
    sequences = [link.sequence for link in figures.links if link.sequence is not None]
    tiles += [
        _tile(f"Steps by {one.order}", one.step_distance, None, "total variation of a column now and in the next row")
        for one in sequences
    ]
    if not isinstance(figures.detector, str):
        auc = max(figures.detector.auc.values())
        tiles.append(_tile("People told apart", auc, 0.5, "AUC by their columns and what is behind them; 0.5 is best"))
    return tiles


def _tile(name: str, value: float | None, best: float | None, says: str) -> dict[str, Any]:
    marks = [] if best is None else [Mark(kind="independent", value=best, title=f"by chance: {figure(best)}")]
    marks += [] if value is None else [Mark(kind="synthetic", value=value, title=figure(value))]
    unit = "" if best is None else f"by chance: {figure(best)}"
    return {
        "name": name,
        "value": figure(value),
        "unit": unit,
        "says": says,
        "plot": drawing.scale(marks, 0.0, 1.0, name),
    }


def _link(link: LinkFigures) -> dict[str, Any]:
    sequence = link.sequence
    return {
        "link": link,
        "cardinality": column_card(link.cardinality),
        "pairs": [pair_card(pair) for pair in link.worst(_SHOWN_PAIRS)],
        "steps": [] if sequence is None else [pair_card(pair) for pair in sequence.steps],
        "gap": None if sequence is None else column_card(sequence.gap),
    }


def _table(table: TableFigures) -> dict[str, Any]:
    worst = [] if isinstance(table.pairs, str) else table.pairs.worst(_SHOWN_PAIRS)
    return {
        "table": table,
        "cards": [column_card(column) for column in table.columns],
        "pairs": [pair_card(pair) for pair in worst],
    }
