"""Ways to better synthetic images, tried on a part of a training set before anything is chosen.

    python benchmarks/image_routes.py --routes aggregates frames --epsilons 0.2 1
    python benchmarks/image_routes.py --images clothes --routes aggregates --epsilons 1

50,000 training images are the private ones, the other 10,000 are what classifiers are tested on; the test set is never
opened. Results go to benchmarks/results/image_routes.json, run by run; a run that is there is not done again. Routes
that the library offers go through a release; for the others noise is simulated (``noisy_gaussians``). ε = 1000 stands
for ∞.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans

import microtome as mt
from image_classifiers import network_accuracy
from microtome.images import ImageCode, ImageSchema, ImageSet, read_images
from microtome.synthesis import Synthesizer
from microtome.training import ImageFitSettings
from mnist import DATA, DELTA, INFINITE, NUM_SAMPLES, SETS
from mnist import STILL as NOT_MOVED
from noisy_gaussians import Gaussians, noisy_gaussians
from results import FOLDER, ResultFile

NUM_PRIVATE, SPLIT_SEED = 50_000, 12345
_PER_CLASS = NUM_SAMPLES // 10
_AT_ONCE = 5000
Images = tuple[np.ndarray, np.ndarray]
"""Images between 0 and 1, and their labels."""


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(1)
    private, held = _split(arguments.images)
    results = ResultFile(FOLDER / "image_routes.json")
    for route in arguments.routes:
        for seed in arguments.seeds:
            for epsilon in arguments.epsilons:
                key = {"images": arguments.images, "route": route, "epsilon": epsilon, "seed": seed}
                if not results.has(key):
                    started = time.process_time()
                    metrics = ROUTES[route](private, held, epsilon, seed)
                    results.put(key, {"metrics": metrics, "seconds": {"processor": time.process_time() - started}})
                    print(key, metrics, flush=True)


def released(
    private: ImageSet,
    held: Images,
    epsilon: float,
    seed: int,
    *,
    schema: ImageSchema,
    settings: ImageFitSettings,
    number: int = NUM_SAMPLES,
    epochs: int = 8,
) -> dict[str, Any]:
    """A release, a fit and a sample of the library."""
    release = mt.release(private, schema, epsilon=epsilon, delta=DELTA, kind="aggregates")
    model = Synthesizer(settings, random_state=seed).fit(release)
    drawn = _unit(model.sample(number, balanced=True))
    return {"cnn": network_accuracy(drawn, held, seed=seed, epochs=epochs)}


def judged(private: ImageSet, held: Images, epsilon: float, seed: int, *, encode: Callable[..., Any]) -> dict[str, Any]:
    """No images: how often real ones are likeliest under the Gaussian of their own class."""
    rows = encode(_unit(private)[0])
    found = noisy_gaussians(rows, _labels(private), epsilon, DELTA, np.random.default_rng(seed))
    return {"judge": float((found.judge(encode(held[0])) == held[1]).mean())}


def celled(private: ImageSet, held: Images, epsilon: float, seed: int, *, aligned: bool, cells: int) -> dict[str, Any]:
    """A mixture for each class, without noise: cells around points of the class's Gaussian, one covariance a class."""
    if epsilon != INFINITE:
        raise SystemExit("mixtures are tried without noise only: --epsilons 1000")
    rng, rows, labels = np.random.default_rng(seed), _components(_unit(private)[0], aligned=aligned), _labels(private)
    drawn = [_mixture(rows[labels == number], cells, seed, rng) for number in range(10)]
    pixels = ImageCode(_schema(aligned)).decode(np.concatenate(drawn))[..., 0]
    images = np.clip(pixels, 0.0, 1.0).astype(np.float32)
    return {"cnn": network_accuracy((images, np.repeat(np.arange(10), _PER_CLASS)), held, seed=seed)}


def _mixture(rows: np.ndarray, cells: int, seed: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from a mixture whose cells begin at points of the Gaussian and are moved to their means twice."""
    whole = Gaussians(means=rows.mean(axis=0)[None], covariances=np.cov(rows.T)[None])
    start = KMeans(cells, n_init=1, max_iter=10, random_state=seed).fit(whole.draw(4000, rng)[0])
    centres = start.cluster_centers_
    for _ in range(3):
        near = (np.square(centres).sum(axis=1) - 2.0 * rows @ centres.T).argmin(axis=1)
        counts = np.bincount(near, minlength=cells)
        centres = np.stack(
            [rows[near == place].mean(axis=0) if counts[place] else centres[place] for place in range(cells)]
        )
    within = Gaussians(means=np.zeros((1, rows.shape[1])), covariances=np.cov((rows - centres[near]).T)[None])
    chosen = rng.choice(cells, size=_PER_CLASS, p=counts / counts.sum())
    return centres[chosen] + within.draw(_PER_CLASS, rng)[0]


def _components(images: np.ndarray, *, aligned: bool) -> np.ndarray:
    code = ImageCode(_schema(aligned))
    pixels = np.rint(255.0 * images).astype(np.uint8)[..., None]
    return np.concatenate([code.encode(pixels[first : first + _AT_ONCE]) for first in range(0, len(pixels), _AT_ONCE)])


def _schema(aligned: bool) -> ImageSchema:
    return ImageSchema(height=28, width=28, classes=tuple(range(10)), aligned=aligned)


def _split(images: str) -> tuple[ImageSet, Images]:
    """The private part of a training set, and the part that classifiers are tested on."""
    _, (train, _) = SETS[images]
    whole = read_images(DATA / train)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(whole))
    parts = [
        ImageSet(pixels=whole.pixels[chosen], labels=_labels(whole)[chosen])
        for chosen in (order[:NUM_PRIVATE], order[NUM_PRIVATE:])
    ]
    return parts[0], _unit(parts[1])


def _unit(images: ImageSet) -> Images:
    return images.pixels[..., 0].astype(np.float32) / 255, _labels(images)


def _labels(images: ImageSet) -> np.ndarray:
    assert images.labels is not None
    return images.labels.astype(np.int64)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--images", choices=SETS, default="digits")
    parser.add_argument("--routes", nargs="+", choices=ROUTES, required=True)
    parser.add_argument("--epsilons", nargs="+", type=float, required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    return parser.parse_args()


_USUAL, _STILL = ImageFitSettings(), ImageFitSettings(steps=0)
ROUTES: dict[str, Callable[[ImageSet, Images, float, int], dict[str, Any]]] = {
    "aggregates": partial(released, schema=_schema(False), settings=_USUAL),
    "aggregates, as released": partial(released, schema=_schema(False), settings=NOT_MOVED),
    "aggregates, not refined": partial(released, schema=_schema(False), settings=_STILL),
    "frames": partial(released, schema=_schema(True), settings=_USUAL),
    "frames, not refined": partial(released, schema=_schema(True), settings=_STILL),
    "8 cells": partial(celled, aligned=False, cells=8),
    "frames, 8 cells": partial(celled, aligned=True, cells=8),
    "frames, 32 cells": partial(celled, aligned=True, cells=32),
    "judge of components": partial(judged, encode=partial(_components, aligned=False)),
    "judge of frames": partial(judged, encode=partial(_components, aligned=True)),
}


if __name__ == "__main__":
    main()
