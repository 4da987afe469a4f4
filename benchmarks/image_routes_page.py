"""The section of docs/benchmarks.md on ways to better synthetic images, from the runs of ``image_routes``."""

from __future__ import annotations

import json
from typing import Any

from comparison_page import table
from mnist_page import INFINITE, spread
from results import FOLDER

MEANINGS = {
    "aggregates": "what `microtome fit` does",
    "aggregates, as released": "the same, `movement: 0` and `grain: 0`",
    "aggregates, not refined": "the same, `steps: 0`",
    "frames": "`aligned: true`",
    "frames, not refined": "`aligned: true`, `steps: 0`",
    "8 cells": "eight Gaussians a class, one covariance; no noise, not refined",
    "frames, 8 cells": "the same of aligned images",
    "frames, 32 cells": "thirty-two of aligned images",
    "judge of components": "no images: a Gaussian a class as the classifier",
    "judge of frames": "the same of aligned images",
}
GONE = {
    "edges": "aggregates of components and 128 edges, drawn wide, with strokes made of drawn edges, moved",
    "judge of edges": "no images: a Gaussian a class of edges alone, by 16 places and 8 directions",
}
"""Routes whose code is no longer here."""

_TEXT = """
### Ways to better images, on parts of the training sets

Tried on 50,000 training images; accuracy on the 10,000 others, of the small convolutional network trained on 10,000
synthetic images, or of the judge that is named. The test sets were not opened. *Aggregates* and *frames* are releases;
for the rest, which the library does not offer, noise is simulated at the scale that a release would have, radii and
spreads taken as known. One seed where no spread is shown; routes of `benchmarks/image_routes.py` that were not run are
not listed.

*Edges* were a part of the library for two days: how much light changes, by place and direction, measured beside
components, with generators that drew images twice as wide and moved them a little. A Gaussian of edges tells digits
apart better than a network that learns from synthetic images does. But in trials on such parts of the training sets,
which were no runs of this script and are not in the table, images that were drawn by them taught no better than images
that were only moved, and clothes they taught worse. So images are moved, and edges are gone; rows of edges are of the
commit that their runs name.
"""


def section() -> list[str]:
    """The text and a table of the routes that were run."""
    path = FOLDER / "image_routes.json"
    if not path.exists():
        return []
    runs = json.loads(path.read_text())["runs"]
    epsilons = sorted({run["key"]["epsilon"] for run in runs})
    rows = [
        [images, route, meaning, *(_cell(runs, images, route, epsilon) for epsilon in epsilons)]
        for images in ("digits", "clothes")
        for route, meaning in (MEANINGS | GONE).items()
        if any((run["key"]["images"], run["key"]["route"]) == (images, route) for run in runs)
    ]
    heads = [f"ε = {'∞' if epsilon == INFINITE else format(epsilon, 'g')}" for epsilon in epsilons]
    return [_TEXT, table(["images", "route", "what it is", *heads], rows)]


def _cell(runs: list[dict[str, Any]], images: str, route: str, epsilon: float) -> str:
    values = [
        run["metrics"].get("cnn", run["metrics"].get("judge"))
        for run in runs
        if (run["key"]["images"], run["key"]["route"], run["key"]["epsilon"]) == (images, route, epsilon)
    ]
    return spread(values) if values else "–"
