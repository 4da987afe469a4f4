"""The section of docs/benchmarks.md on ways to better synthetic images, from the runs of ``image_routes``."""

from __future__ import annotations

import json
from typing import Any

from comparison_page import table
from mnist_page import INFINITE, spread
from results import FOLDER

MEANINGS = {
    "aggregates": "what `microtome fit` does",
    "aggregates, not refined": "the same, `steps: 0`",
    "frames": "`aligned: true`",
    "frames, not refined": "`aligned: true`, `steps: 0`",
    "8 cells": "eight Gaussians a class, one covariance; no noise, not refined",
    "frames, 8 cells": "the same of aligned images",
    "frames, 32 cells": "thirty-two of aligned images",
    "edges": "`edges: true`: components and edges, twice the variance, moved a little",
    "edges, drawn as released": "the same with `spread: 1`",
    "edges, drawn wider": "the same with `spread: 3`",
    "edges, not moved": "the same with `movement: 0`",
    "edges, drawn as released, not moved": "the same with `spread: 1`, `movement: 0`",
    "edges, moved farther": "the same with `movement: 1.5`",
    "edges, 60,000 images": "`edges: true`, 60,000 images, half the epochs",
    "judge of components": "no images: a Gaussian a class as the classifier",
    "judge of frames": "the same of aligned images",
    "judge of edges": "the same of edges alone, by 16 places and 8 directions",
}

_TEXT = """
### Ways to better images, on a part of the training set

Tried on 50,000 training images; accuracy on the 10,000 others, of the small convolutional network trained on 10,000
synthetic images, or of the judge that is named. The test set was not opened. *Aggregates*, *frames* and *edges* are
releases; for the rest, which the library does not offer, noise is simulated at the scale that a release would have,
radii and spreads taken as known. One seed where no spread is shown; routes of `benchmarks/image_routes.py` that were
not run are not listed.
"""


def section() -> list[str]:
    """The text and a table of the routes that were run."""
    path = FOLDER / "image_routes.json"
    if not path.exists():
        return []
    runs = json.loads(path.read_text())["runs"]
    epsilons = sorted({run["key"]["epsilon"] for run in runs})
    rows = [
        [route, meaning, *(_cell(runs, route, epsilon) for epsilon in epsilons)]
        for route, meaning in MEANINGS.items()
        if any(run["key"]["route"] == route for run in runs)
    ]
    heads = [f"ε = {'∞' if epsilon == INFINITE else format(epsilon, 'g')}" for epsilon in epsilons]
    return [_TEXT, table(["route", "what it is", *heads], rows)]


def _cell(runs: list[dict[str, Any]], route: str, epsilon: float) -> str:
    values = [
        run["metrics"].get("cnn", run["metrics"].get("judge"))
        for run in runs
        if (run["key"]["route"], run["key"]["epsilon"]) == (route, epsilon)
    ]
    return spread(values) if values else "–"
