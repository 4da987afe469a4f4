"""The section on MNIST of docs/benchmarks.md, and its plot, from the result file."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from comparison_page import table
from results import FOLDER

PLOT = Path(__file__).resolve().parents[1] / "docs" / "mnist.svg"
DIGITS = PLOT.with_name("digits.png")
INFINITE = 1000.0
CLASSIFIERS = {"cnn": "small convolutional network", "logistic": "logistic regression"}
LINES = {
    "moved, with grain": ("#b98a2f", "-"),
    "aggregates": ("#d9621b", "-"), "aggregates, 10 %": ("#d9621b", "--"),
    "records": ("#274b8f", "-"), "records, 10 %": ("#274b8f", "--"),
    "merf": ("#1d6b45", "-"), "merf, 10 %": ("#1d6b45", "--"),
    "SliceWass, 10 %": ("#8a5aa8", "--"), "Algorithm 1, 10 %": ("#5d6577", "--"),
}  # fmt: skip
PUBLISHED_PROTOCOL = "60,000 images"
PUBLISHED_JUDGES = {"residual": "residual network", "small": "small convolutional network"}
SETS = {"mnist": "digits (MNIST)", "clothes": "clothes (Fashion-MNIST)"}
PUBLISHED = {
    ("mnist", 1.0): {"DP-FETA": 0.956, "PrivImage": 0.940, "DP-Kernel": 0.940, "DP-MERF": 0.803},
    ("clothes", 1.0): {"DP-FETA": 0.817, "PrivImage": 0.799, "DP-Kernel": 0.684, "DP-MERF": 0.622},
    ("clothes", 0.2): {"DP-FETA": 0.734, "DP-Kernel": 0.708},
}
"""Accuracies that DPImageBench prints, the best of its three classifiers; PrivImage is pretrained on public images."""
TABLED = ("merf, 10,000 features",)
"""Run at one ε only: in tables, not in the plot."""

_TEXT = """
## MNIST: the paper's Figure 1

Classifiers are trained on 10,000 synthetic digits, as many of each class, and tested on the 10,000 real test images.
δ = 1e-5, `blank-one` neighbours, class counts inside ε; images as 100 low-frequency components. ε = ∞ is ε = 1000,
with noise too small to matter. Mean ± standard deviation (number of seeds; one without); seeds were not chosen. The
recipe was chosen on parts of the training sets of digits and clothes. *Moved, with grain* is what `microtome fit` does
with aggregates; *aggregates* and *records*, Microtome's two kinds, are drawn as released (`movement: 0`, `grain: 0`).
*10 %* means a Poisson sample of a tenth of each class, as in the paper: for records with the amplification that it
earns, for sums (aggregates, MERF) taken as the data set. *Algorithm 1* is the paper's method,
*SliceWass* the sliced Wasserstein loss on such rows: a network for each class, from random weights, 1,000 steps in
all, slices of dimension 5 and 1, exact accounting, on the same components (the paper works on pixels). They are
trained briefly, so these are not the paper's own figures. *MERF* is written anew with the published bandwidth and
2,000 random features, where 10,000 were published (the bandwidth was first 5, and was set to the published one after
a first look at its test accuracy); a row with 10,000 is for one ε. It hardly depends on ε here: its generator and not
the noise limits it, and a longer trained one may do better.
"""
_PUBLISHED = """
### As DPImageBench measures

[DPImageBench](https://arxiv.org/abs/2503.14681) trains a ResNet, a WideResNet and a ResNeXt on 60,000 synthetic images.
A core trains none of these in minutes; the nearest that it does is a residual network of six convolutions, three
epochs, its last state. *Best published* is with their protocol, trained on GPUs, for up to days; ours is with another
classifier, so the comparison is a rough one. Settings are the same for digits and clothes: the defaults *with grain*,
`grain: 0` without. The clothes are those of an npm package (`benchmarks/clothes.py`), whose first 1,000 images of each
class are taken as test images.
"""


def section() -> list[str]:
    """The text, a table for each classifier, and the plot, as far as there are results."""
    path = FOLDER / "mnist.json"
    if not path.exists():
        return []
    runs = json.loads(path.read_text())["runs"]
    draw(runs)
    parts = [_TEXT, "![Accuracy against ε](mnist.svg)"]
    for name, title in CLASSIFIERS.items():
        parts += [f"Accuracy of a {title}:", _table(runs, name)]
    if seconds := _synthesis(runs, "moved, with grain"):
        parts.append(f"Release, fit and sampling of 10,000 images took {mean(seconds):.0f} s of processor time a run.")
    if DIGITS.exists():
        parts += ["Two digits of each class by method, the first that were drawn, at ε = 5:", "![digits](digits.png)"]
    return [*parts, *_published(runs)]


def _published(digits: list[dict[str, Any]]) -> list[str]:
    """Digits and clothes by the published protocol, beside what is published."""
    path = FOLDER / "clothes.json"
    sets = {"mnist": digits, "clothes": json.loads(path.read_text())["runs"] if path.exists() else []}
    rows, seconds = [], []
    for (name, runs), title in product(sets.items(), (", with grain", "")):
        method = PUBLISHED_PROTOCOL + title
        seconds += _synthesis(runs, method)
        for epsilon in _epsilons(runs, method):
            cells = [spread(_values(runs, method, epsilon, judge)) for judge in PUBLISHED_JUDGES]
            others = PUBLISHED.get((name, epsilon), {})
            shown = ", ".join(f"{rival} {accuracy:.3f}" for rival, accuracy in others.items())
            rows.append([SETS[name] + (title or ", `grain: 0`"), f"{epsilon:g}", *cells, shown or "–"])
    if not rows:
        return []
    heads = ["", "ε", *PUBLISHED_JUDGES.values(), "best published"]
    took = f"Release, fit and sampling of 60,000 images took {mean(seconds):.0f} s of processor time a run."
    missing = [SETS[name] for name, runs in sets.items() if not _epsilons(runs, f"{PUBLISHED_PROTOCOL}, with grain")]
    took += f" With grain, the default, this was **not run** on {' and '.join(missing)}." if missing else ""
    return [_PUBLISHED, table(heads, rows), took, *_clothes(sets["clothes"])]


def _clothes(runs: list[dict[str, Any]]) -> list[str]:
    """Clothes by the protocol of the table of digits."""
    methods = [method for method in ("real images", "moved, with grain", "aggregates") if _epsilons(runs, method)]
    epsilons = sorted({epsilon for method in methods for epsilon in _epsilons(runs, method)})
    if not methods:
        return []
    rows = [
        [
            method,
            title,
            *(spread(values) if (values := _values(runs, method, epsilon, judge)) else "–" for epsilon in epsilons),
        ]
        for method in methods
        for judge, title in CLASSIFIERS.items()
    ]
    heads = ["", "", *(f"ε = {'∞' if epsilon == INFINITE else format(epsilon, 'g')}" for epsilon in epsilons)]
    return ["Clothes, 10,000 synthetic images, as the digits of the first table:", table(heads, rows)]


def _synthesis(runs: list[dict[str, Any]], method: str) -> list[float]:
    return [run["seconds"]["synthesis"] for run in runs if run["key"]["method"] == method]


def _epsilons(runs: list[dict[str, Any]], method: str) -> list[float]:
    return sorted({run["key"]["epsilon"] for run in runs if run["key"]["method"] == method})


def _table(runs: list[dict[str, Any]], classifier: str) -> str:
    epsilons = sorted({run["key"]["epsilon"] for run in runs})
    rows = []
    for method in ["real images", *LINES, *TABLED]:
        cells = [
            "–" if not (values := _values(runs, method, epsilon, classifier)) else spread(values)
            for epsilon in epsilons
        ]
        if set(cells) != {"–"}:
            rows.append([method, *cells])
    return table(["", *(f"ε = {'∞' if epsilon == INFINITE else format(epsilon, 'g')}" for epsilon in epsilons)], rows)


def spread(values: list[float]) -> str:
    """Mean, and standard deviation with the number of runs where there are several."""
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f} ({len(values)})" if len(values) > 1 else "")


def _values(runs: list[dict[str, Any]], method: str, epsilon: float, classifier: str) -> list[float]:
    return [
        run["metrics"][classifier]
        for run in runs
        if (run["key"]["method"], run["key"]["epsilon"]) == (method, epsilon) and classifier in run["metrics"]
    ]


def draw(runs: list[dict[str, Any]]) -> None:
    """Accuracy against ε, a panel for each classifier, as SVG without dates or random names."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "mnist", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
    for panel, (classifier, title) in zip(panels, CLASSIFIERS.items(), strict=True):
        for method, (colour, dashes) in LINES.items():
            points = [
                (epsilon, mean(values))
                for epsilon in sorted({run["key"]["epsilon"] for run in runs})
                if (values := _values(runs, method, epsilon, classifier))
            ]
            if points:
                panel.plot(*zip(*points, strict=True), dashes, color=colour, marker="o", markersize=3, label=method)
        panel.set(xscale="log", xlabel="ε", title=title, ylim=(0.05, 1.0))
        panel.grid(alpha=0.3)
        panel.set_xticks([0.2, 1, 5, 20, INFINITE], ["0.2", "1", "5", "20", "∞"], minor=False)
        panel.minorticks_off()
    panels[0].set_ylabel("accuracy on real test images")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="center right", frameon=False)
    figure.subplots_adjust(left=0.07, right=0.81, bottom=0.13, top=0.91, wspace=0.06)
    figure.savefig(PLOT, metadata={"Date": None})
    pyplot.close(figure)
