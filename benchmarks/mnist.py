"""The paper's Figure 1: classifiers trained on synthetic MNIST digits, tested on the real test set, against ε.

    python benchmarks/mnist.py                  # everything that is not in the result file yet
    python benchmarks/mnist.py --methods aggregates records --epsilons 0.2 1 --seeds 0 1 2
    python benchmarks/mnist.py --images clothes --methods aggregates --epsilons 1    # Fashion-MNIST (clothes.py)
    python benchmarks/mnist.py --picture --epsilons 5    # two images of each class, by method

Results go to benchmarks/results/mnist.json, or clothes.json, run by run; a run that is there is not done again.
ε = 1000 stands for ∞: noise too small to matter. Microtome's recipe was chosen on parts of the training sets, never on
a test set.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import microtome as mt
from image_classifiers import accuracies, network_accuracy, residual_accuracy
from image_merf import FREQUENCIES, PUBLISHED_FREQUENCIES, merf_samples
from microtome.generators.image import ImageNetworkSettings
from microtome.images import ImageSchema, ImageSet, read_images
from microtome.synthesis import Synthesizer
from microtome.training import ImageFitSettings
from microtome.training.image_settings import ImageLossKind, ImageStart
from results import FOLDER, ResultFile

DATA = Path(os.environ.get("MICROTOME_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETS = {
    "digits": ("mnist", ("mnist/train-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz")),
    "clothes": ("clothes", ("fashion_mnist/train.npz", "fashion_mnist/test.npz")),
}
"""Result file, training and test images of a set."""
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "digits.png"
INFINITE = 1000.0
EPSILONS = (0.2, 1.0, 5.0, 20.0, INFINITE)
DELTA, NUM_SAMPLES, RATE = 1e-5, 10_000, 0.1
PER_CLASS = ImageNetworkSettings(per_class=True)
SCHEMA = ImageSchema(height=28, width=28, classes=tuple(range(10)))
PUBLISHED_SAMPLES, LONG_EPOCHS = 60_000, 4
PICTURED = (
    "real images",
    "moved, with grain",
    "aggregates",
    "records",
    "merf, 10 %",
    "SliceWass, 10 %",
    "Algorithm 1, 10 %",
)
SHOWN = 2
"""Images of each class in the picture."""

STILL = ImageFitSettings(network=ImageNetworkSettings(movement=0.0, grain=0.0))
SMOOTH = ImageFitSettings(network=ImageNetworkSettings(grain=0.0))
METHODS: dict[str, dict[str, Any]] = {
    "moved, with grain": {"kind": "aggregates", "settings": ImageFitSettings(), "rate": None},
    "aggregates": {"kind": "aggregates", "settings": STILL, "rate": None},
    "60,000 images": {"kind": "aggregates", "settings": SMOOTH, "rate": None, "num_samples": PUBLISHED_SAMPLES},
    "60,000 images, with grain": {
        "kind": "aggregates",
        "settings": ImageFitSettings(),
        "rate": None,
        "num_samples": PUBLISHED_SAMPLES,
    },
    "merf": {"rate": None},
    "records": {"kind": "records", "settings": STILL, "rate": None},
    "aggregates, 10 %": {"kind": "aggregates", "settings": STILL, "rate": RATE},
    "records, 10 %": {"kind": "records", "settings": STILL, "rate": RATE},
    "merf, 10 %": {"rate": RATE},
    "SliceWass, 10 %": {
        "kind": "records",
        "rate": RATE,
        "settings": ImageFitSettings(
            network=PER_CLASS, start=ImageStart.RANDOM, loss=ImageLossKind.WASSERSTEIN, steps=1000, batch_size=128
        ),
    },
    "Algorithm 1, 10 %": {
        "kind": "records",
        "rate": RATE,
        "slice_dim": 5,
        "settings": ImageFitSettings(
            network=PER_CLASS,
            start=ImageStart.RANDOM,
            loss=ImageLossKind.ALGORITHM1,
            steps=1000,
            batch_size=128,
            num_slices=4,
        ),
    },
    "real images": {"rate": None, "epsilons": [INFINITE]},
    "merf, 10,000 features": {"rate": None, "epsilons": [1.0], "num_frequencies": PUBLISHED_FREQUENCIES},
}


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(1)
    name, files = SETS[arguments.images]
    train, test = (read_images(DATA / file) for file in files)
    if arguments.picture:
        picture(arguments.epsilons[0], train, PICTURE.with_name(f"{arguments.images}.png"))
        return
    results = ResultFile(FOLDER / f"{name}.json")
    for method in arguments.methods:
        for seed in arguments.seeds:
            for epsilon in METHODS[method].get("epsilons", arguments.epsilons):
                key = {"method": method, "epsilon": epsilon, "seed": seed}
                if not results.has(key):
                    results.put(key, run(method, epsilon, seed, train, test))
                    print(key, results.runs[-1]["metrics"], results.runs[-1]["seconds"], flush=True)


def picture(epsilon: float, train: ImageSet, path: Path) -> None:
    """Images of each class by every method, a row a method; the first that are drawn, none chosen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = []
    for method in PICTURED:
        images, labels = synthetic(method, epsilon, 0, train)
        chosen = [place for number in range(10) for place in np.flatnonzero(labels == number)[:SHOWN]]
        rows.append(np.concatenate(images[chosen], axis=1))
    figure, panel = pyplot.subplots(figsize=(11.0, 0.5 * len(rows)), layout="constrained")
    panel.imshow(np.concatenate(rows), cmap="gray_r", vmin=0.0, vmax=1.0, interpolation="nearest")
    panel.set_yticks([28 * number + 14 for number in range(len(rows))], PICTURED)
    panel.set_xticks([])
    panel.spines[:].set_visible(False)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def run(method: str, epsilon: float, seed: int, train: ImageSet, test: ImageSet) -> dict[str, Any]:
    """One method at one ε: its synthetic images, judged by two classifiers."""
    started = time.process_time()
    drawn = synthetic(method, epsilon, seed, train)
    seconds = {"synthesis": time.process_time() - started}
    number = METHODS[method].get("num_samples", NUM_SAMPLES)
    if number == PUBLISHED_SAMPLES:
        metrics = {
            "small": network_accuracy(drawn, _unit(test), seed=seed, epochs=LONG_EPOCHS),
            "residual": residual_accuracy(drawn, _unit(test), seed=seed),
        }
    else:
        metrics = accuracies(drawn, _unit(test), seed=seed)
    seconds["classifiers"] = time.process_time() - started - seconds["synthesis"]
    settings = METHODS[method].get("settings")
    configuration = {
        "delta": DELTA,
        "num_samples": number,
        "components": SCHEMA.num_components,
        "settings": settings and settings.to_dict(),
    }
    return {"metrics": metrics, "seconds": seconds, "configuration": configuration}


def synthetic(method: str, epsilon: float, seed: int, train: ImageSet) -> tuple[np.ndarray, np.ndarray]:
    """Images between 0 and 1 and their labels, as many of each class."""
    plan = METHODS[method]
    if method == "real images":
        chosen = np.random.default_rng(seed).permutation(len(train))[:NUM_SAMPLES]
        return _unit(train, chosen)
    kind, rate = plan.get("kind"), plan["rate"]
    if rate is not None and kind != "records":
        # Sums take a Poisson sample as their table, and no credit for its having been drawn.
        chosen = np.flatnonzero(np.random.default_rng(seed).random(len(train)) < rate)
        assert train.labels is not None
        train = ImageSet(pixels=train.pixels[chosen], labels=train.labels[chosen])
    if kind is None:
        images, labels = _unit(train)
        return merf_samples(
            images,
            labels,
            epsilon=epsilon,
            delta=DELTA,
            num_samples=NUM_SAMPLES,
            seed=seed,
            num_frequencies=plan.get("num_frequencies", FREQUENCIES),
        )
    subsample = rate if kind == "records" else None
    release = mt.release(
        train, SCHEMA, epsilon=epsilon, delta=DELTA, kind=kind, subsample=subsample, slice_dim=plan.get("slice_dim", 1)
    )
    model = Synthesizer(plan["settings"], random_state=seed).fit(release)
    return _unit(model.sample(plan.get("num_samples", NUM_SAMPLES), balanced=True))


def _unit(images: ImageSet, chosen: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    assert images.labels is not None
    return images.pixels[chosen, :, :, 0].astype(np.float32) / 255, images.labels[chosen]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--images", choices=SETS, default="digits")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--picture", action="store_true", help="draw a picture in place of measuring")
    return parser.parse_args()


if __name__ == "__main__":
    main()
