"""Draws the pictures of docs/method-in-pictures.md, from made-up people and the noise that a release would add.

python docs/site/pictures.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from microtome.accounting import GaussianEvent, calibrate_noise

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
INK, PRIVATE, PUBLIC = "#333333", "#c0504d", "#3b78b5"
AGES = ["0–17", "18–39", "40–64", "65+"]
STATUS = ["school", "work", "home", "retired"]
SHARES = np.array([[19, 1, 2, 0], [4, 20, 6, 0], [0, 21, 6, 2], [0, 2, 1, 16]]) / 100
DELTA = 1e-6


def main() -> None:
    """Draw all of them."""
    matplotlib.rcParams.update(
        {"svg.hashsalt": "microtome", "font.size": 10, "text.color": INK, "svg.fonttype": "path"}
    )
    FOLDER.mkdir(exist_ok=True)
    for name, draw in {"flow": flow, "counts": counts, "mixture": mixture, "slices": slices}.items():
        figure = draw()
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)


def flow() -> Figure:
    """Where private rows are, where noise is drawn, and what is public."""
    figure, axes = plt.subplots(figsize=(9, 2.2))
    boxes = [("table", "one row\na person", PRIVATE), ("release", "noisy counts,\npromise inside", PUBLIC)]
    boxes += [("model", "fitted to\nthe counts", PUBLIC), ("synthetic rows", "as many as\nyou like", PUBLIC)]
    for place, (name, words, colour) in enumerate(boxes):
        axes.add_patch(
            FancyBboxPatch((3 * place, 0), 1.9, 1.2, boxstyle="round,pad=0.08", fc=colour, ec="none", alpha=0.14)
        )
        axes.text(3 * place + 0.95, 0.9, name, ha="center", weight="bold", color=colour)
        axes.text(3 * place + 0.95, 0.25, words, ha="center", fontsize=9)
    for place, words in enumerate(["count,\nadd noise", "train,\ntune", "draw"]):
        start = 3 * place + 2.05
        axes.annotate("", (start + 0.8, 0.6), (start, 0.6), arrowprops={"arrowstyle": "->", "color": INK})
        axes.text(start + 0.4, 0.75, words, ha="center", fontsize=8)
    axes.axvline(2.45, ymin=0.0, ymax=0.3, color=PRIVATE, linestyle=":")
    axes.text(2.3, -0.75, "private", ha="right", fontsize=9, color=PRIVATE)
    axes.text(2.6, -0.75, "public", ha="left", fontsize=9, color=PUBLIC)
    axes.set(xlim=(-0.2, 11.2), ylim=(-0.85, 1.5))
    axes.axis("off")
    return figure


def counts() -> Figure:
    """A table of two columns as it is, and as it is published, for few people and for many."""
    rng = np.random.default_rng(7)
    sigma = calibrate_noise(lambda scale: [GaussianEvent(mu=1 / scale)], epsilon=1, delta=DELTA)
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
    true = np.round(SHARES * 500)
    _heat(panels[0], true, "500 people, as they are")
    _heat(panels[1], true + np.round(rng.normal(0, sigma, true.shape)), f"with noise of σ = {sigma:.1f}")
    many = np.round(SHARES * 50_000)
    _heat(panels[2], many + np.round(rng.normal(0, sigma, many.shape)), "50,000 people, the same noise")
    panels[0].set_ylabel("age")
    return figure


def mixture() -> Figure:
    """A table as a sum of a few groups, in each of which the columns have nothing to do with each other."""
    groups = [
        (0.22, [0.95, 0.05, 0, 0], [0.9, 0.04, 0.06, 0]),
        (0.60, [0.02, 0.48, 0.48, 0.02], [0.06, 0.71, 0.23, 0]),
        (0.18, [0, 0, 0.05, 0.95], [0, 0.04, 0.06, 0.9]),
    ]
    parts = [share * np.outer(ages, status) for share, ages, status in groups]
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.2), sharey=True)
    for place, (axes, part) in enumerate(zip(panels, parts, strict=False)):
        _heat(axes, 100 * part, f"group {place + 1}", largest=22)
    _heat(panels[3], 100 * sum(parts), "all groups together, in %", largest=22)
    panels[0].set_ylabel("age")
    return figure


def slices() -> Figure:
    """A cloud of people, a direction, and what everybody adds to it."""
    rng = np.random.default_rng(3)
    cloud = np.concatenate([rng.normal((-1, -0.6), 0.3, (120, 2)), rng.normal((0.8, 0.7), 0.4, (180, 2))])
    direction = np.array([np.cos(0.6), np.sin(0.6)])
    along = cloud @ direction
    noisy = along + rng.normal(0, 0.8, len(along))
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 3.2))
    left.scatter(*cloud.T, s=6, color=PRIVATE, alpha=0.6)
    left.plot(*(np.outer([-2.4, 2.4], direction).T), color=INK)
    left.set(title="people, and a random direction", xticks=[], yticks=[], aspect="equal")
    bins = np.linspace(-4, 4, 33)
    middle.hist(along, bins, color=PRIVATE, alpha=0.7)
    middle.set(title="where they fall along it", yticks=[])
    right.hist(noisy, bins, color=PUBLIC, alpha=0.7)
    right.set(title="published: each under noise of its own", yticks=[])
    return figure


def _heat(axes: Axes, values: np.ndarray, title: str, *, largest: float | None = None) -> None:
    axes.imshow(values, cmap="Blues", vmin=0, vmax=largest or values.max(), aspect="auto")
    axes.set(title=title, xticks=range(4), yticks=range(4), xticklabels=STATUS, yticklabels=AGES)
    bright = (largest or values.max()) * 0.6
    for down, across in np.ndindex(values.shape):
        number = values[down, across]
        axes.text(
            across,
            down,
            f"{number:,.0f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if number > bright else INK,
        )


if __name__ == "__main__":
    main()
