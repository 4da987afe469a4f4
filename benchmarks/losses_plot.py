"""Pair error and AUC of every loss against ε: docs/losses.svg."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

PLOT = Path(__file__).resolve().parents[1] / "docs" / "losses.svg"
TITLES = {"pair_error": "pair error", "auc": "AUC on real rows"}


def draw(runs: list[dict[str, Any]]) -> None:
    """A panel a metric, a line a loss; SVG without dates or random names."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "losses", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9.5, 3.8))
    for panel, (metric, title) in zip(panels, TITLES.items(), strict=True):
        for name, points in _curves(runs, metric).items():
            at = sorted(points)
            panel.plot(
                at, [mean(points[one]) for one in at], "--" if "+" in name else "-", marker="o", ms=3, label=name
            )
        panel.set(xscale="log", xlabel="ε", title=title)
        panel.grid(alpha=0.3)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="center right", frameon=False)
    figure.subplots_adjust(left=0.06, right=0.77, bottom=0.13, top=0.91)
    figure.savefig(PLOT, metadata={"Date": None})
    pyplot.close(figure)


def _curves(runs: list[dict[str, Any]], metric: str) -> dict[str, dict[float, list[float]]]:
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        found[run["key"]["name"]][run["key"]["epsilon"]].append(run[metric])
    return found
