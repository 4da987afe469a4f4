"""Domain adaptation of digits: the paper's Figure 2, MNIST → USPS and USPS → MNIST, accuracy against ε.

    python benchmarks/adaptation.py                          # everything that is not in the result file yet
    python benchmarks/adaptation.py --methods released --seeds 0 1 2 --epsilons 1
    python benchmarks/adaptation.py --plot-only

The target's training images are private and have no labels here; accuracy is that on the target's test images, which
no training sees. USPS is enlarged to 28×28. A seed chooses the network's start, the batches
and which MNIST images are used; the noise on private images is new each time. The first epochs, which see the source
only, are the same for every method of a seed and are run once.

Floor: the source alone, for as many steps. Ceiling: the same losses without any noise; ``two branches`` also lets the
gradient flow through the target's features, which no private method may. Reverse: the labelled source is private and
released, and the target public.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch

import microtome as mt
from census import data_folder
from microtome.accounting import Ledger
from microtome.adaptation import AdaptationSettings, Alignment, DomainAdapter, Moved
from microtome.adaptation.alignment import TargetBatch, TargetSide
from microtome.adaptation.network import AdaptationNetwork, build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.synthetic_source import synthetic_source
from microtome.adaptation.target import PrivateTarget
from microtome.adaptation.unit_images import UnitImages, unit_images
from microtome.cli.screen import watch
from microtome.divergences import random_frames
from microtome.images import ImageSchema, ImageSet, read_images
from microtome.private.batches import BatchPlan, BatchPrivacy, pay_for_batches, plan_batches
from microtome.private.randomness import SystemRandomness
from microtome.published import ImageRelease
from microtome.training import Loop
from results import FOLDER, ResultFile

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "adaptation.png"
SIZE = (28, 28)
TASKS = ("MNIST → USPS", "USPS → MNIST")
EPSILONS = (1.0, 5.0, 0.2)
"""In the order of their turn: a run that is stopped early has the middle one."""
DELTA = 1e-5
MNIST_IMAGES = 10_000
SETTINGS = AdaptationSettings(epochs=20, align_from=11, align_to=15, images_per_epoch=3584, learning_rate=1e-3)
"""Far shorter than the published 100 epochs over all images, to fit an evening on a shared CPU."""
NETWORK = replace(SETTINGS, moves=Moved.NETWORK, align_to=None, weight=10.0)
"""As published, where the alignment moves the weights: to the last epoch."""
DIVERGED = Alignment.KERNEL, "network"
"""Without noise, this loss drives the network's features out of all bounds, with the weight of ``NETWORK``."""
METHODS = ("floor", "released", "private", "published", "ceiling", "reverse")
TITLES = {
    ("floor", None, None): "source alone (floor)",
    ("released", "aggregates", None): "release once, aggregates",
    ("released", "records", None): "release once, records",
    ("private", "kernel", "look"): "every step, kernel f-divergence",
    ("private", "wasserstein", "look"): "every step, sliced Wasserstein",
    ("private", "kernel", "network"): "every step as published, kernel",
    ("private", "wasserstein", "network"): "every step as published, Wasserstein",
    ("ceiling", "kernel", "look"): "not private: kernel",
    ("ceiling", "wasserstein", "look"): "not private: Wasserstein",
    ("ceiling", "kernel", "network"): "not private, published: kernel, one branch",
    ("ceiling", "wasserstein", "network"): "not private, published: Wasserstein, one branch",
    ("ceiling", "kernel", "two branches"): "not private, published: kernel, two branches",
    ("ceiling", "wasserstein", "two branches"): "not private, published: Wasserstein, two branches",
    ("reverse", "as it is", None): "reverse: source released, not adapted",
    ("reverse", "adapted", None): "reverse: source released, adapted",
}
"""Runs by method, by loss or kind of release, and by what is moved; in the order of tables."""


@dataclass(frozen=True, kw_only=True)
class Domains:
    """Labelled source, unlabelled target, and labelled test images of the target."""

    source: UnitImages
    labels: np.ndarray
    target: UnitImages
    test: UnitImages
    test_labels: np.ndarray


class PublicTarget:
    """The target without privacy: for ceilings only."""

    def __init__(self, images: UnitImages, settings: AdaptationSettings, *, two_branches: bool, seed: int) -> None:
        self._images, self._settings, self._two_branches = torch.from_numpy(images), settings, two_branches
        self._random = torch.Generator().manual_seed(seed)

    def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
        """Exact slices of a batch."""
        del step
        settings = self._settings
        chosen = torch.randint(len(self._images), (settings.batch_size,), generator=self._random)
        with torch.set_grad_enabled(self._two_branches):
            rows = network.rows(self._images[chosen])
        frames = random_frames(settings.num_slices, network.dim, settings.slice_dim, generator=self._random)
        slices = torch.einsum("nd,mdk->nmk", rows, frames)
        return TargetBatch(slices=slices, directions=frames, noise_scale=0.0, null_share=0.0)


def main() -> None:
    options = _options()
    results = ResultFile(options.results)
    if not options.plot_only:
        for seed in options.seeds:
            for task in options.tasks:
                _run_task(results, task, seed, options)
    if results.runs:
        plot(results.runs, PICTURE)


def load_task(task: str, seed: int) -> Domains:
    """The images of a task; a seed chooses which of MNIST's training images are used."""
    mnist, usps = data_folder() / "mnist", data_folder() / "usps" / "usps.h5"
    chosen = np.random.default_rng(seed).choice(60_000, MNIST_IMAGES, replace=False)
    m_train, m_test = (read_images(mnist / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k"))
    u_train, u_test = (read_images(usps, part=part) for part in ("train", "test"))
    of_mnist = unit_images(m_train.pixels[chosen], origin="MNIST"), m_train.labels[chosen], m_test
    of_usps = unit_images(u_train, origin="USPS", image_size=SIZE), u_train.labels, u_test
    (source, labels, _), (target, _, test) = (of_mnist, of_usps) if task == TASKS[0] else (of_usps, of_mnist)
    tested = unit_images(test, origin="test images", image_size=SIZE)
    return Domains(source=source, labels=labels, target=target, test=tested, test_labels=test.labels)


def _run_task(results: ResultFile, task: str, seed: int, options: argparse.Namespace) -> None:
    keys = _keys(task, seed, options.methods, options.epsilons)
    missing = [key for key in keys if key.get("alignment") in (None, *options.alignments) and not results.has(key)]
    if not missing:
        return
    domains = load_task(task, seed)
    base: Loop | None = None
    for key in missing:
        clock = time.perf_counter()
        if key["method"] == "released":
            values = _released(domains, key)
        elif key["method"] == "reverse":
            values = _reverse(domains, key)
        else:
            base = base or _warmed_up(domains, seed)
            values = _adapted(base, domains, key)
        values["seconds"] = round(time.perf_counter() - clock, 1)
        values["target_images"], values["source_images"] = len(domains.target), len(domains.source)
        results.put(key, values)
        print(key, values["accuracy"], values["seconds"], flush=True)


def _keys(task: str, seed: int, methods: list[str], epsilons: list[float]) -> Iterator[dict[str, Any]]:
    """All runs of a task and seed, the most telling first."""
    at = {"task": task, "seed": seed}
    if "floor" in methods:
        yield {**at, "method": "floor"}
    if "ceiling" in methods:
        for moves in ("look", "network", "two branches"):
            for alignment in Alignment:
                if (alignment, moves) != DIVERGED:
                    yield {**at, "method": "ceiling", "alignment": str(alignment), "moves": moves}
    for epsilon in epsilons:
        of_epsilon = {**at, "epsilon": epsilon}
        if "released" in methods:
            yield {**of_epsilon, "method": "released", "kind": "aggregates"}
        if "private" in methods:
            for alignment in Alignment:
                yield {**of_epsilon, "method": "private", "alignment": str(alignment), "moves": "look"}
        if "released" in methods:
            yield {**of_epsilon, "method": "released", "kind": "records"}
        if "reverse" in methods:
            for kind in ("adapted", "as it is") if epsilon == EPSILONS[0] else ("adapted",):
                yield {**of_epsilon, "method": "reverse", "kind": kind}
        if "published" in methods and epsilon == EPSILONS[0]:
            for alignment in Alignment:
                yield {**of_epsilon, "method": "private", "alignment": str(alignment), "moves": "network"}


@lru_cache
def _plan(epsilon: float, num_records: int, dim: int, num_steps: int) -> BatchPlan:
    privacy = BatchPrivacy(epsilon=epsilon, delta=DELTA)
    usual = SETTINGS
    return plan_batches(
        privacy,
        num_records=num_records,
        dim=dim,
        num_steps=num_steps,
        num_slices=usual.num_slices,
        slice_dim=usual.slice_dim,
        batch_size=usual.batch_size,
    )


def _warmed_up(domains: Domains, seed: int) -> Loop:
    network = build_network((1, *SIZE), 10, SETTINGS.radius, seed)
    objective = AdaptationObjective(network, _source(domains), SETTINGS, seed=seed)
    loop = Loop(objective, run={"seed": seed})
    while loop.step < objective.first_aligned:
        loop.advance()
    return loop


def _source(domains: Domains) -> Source:
    return Source(images=torch.from_numpy(domains.source), labels=torch.from_numpy(domains.labels))


def _adapted(base: Loop, domains: Domains, key: dict[str, Any]) -> dict[str, Any]:
    settings = SETTINGS if key.get("moves", "look") == "look" else NETWORK
    if "alignment" in key:
        settings = replace(settings, alignment=Alignment(key["alignment"]))
    loop = copy.deepcopy(base)
    objective = loop.objective
    assert isinstance(objective, AdaptationObjective)
    objective.settings = settings
    objective.target, facts = _target(objective, domains, key)
    loop.run()
    if settings.moves is Moved.LOOK and objective.target is not None:
        facts["look"] = objective.look.settings()
    return {"accuracy": accuracy(objective.network, domains), "settings": settings.to_dict(), **facts}


def _target(
    objective: AdaptationObjective, domains: Domains, key: dict[str, Any]
) -> tuple[TargetSide | None, dict[str, Any]]:
    if key["method"] == "floor":
        return None, {}
    if key["method"] == "ceiling":
        two = key["moves"] == "two branches"
        return PublicTarget(domains.target, objective.settings, two_branches=two, seed=key["seed"]), {}
    privacy = BatchPrivacy(epsilon=key["epsilon"], delta=DELTA)
    plan = _plan(key["epsilon"], len(domains.target), objective.network.dim, objective.num_aligned)
    paid = pay_for_batches(
        domains.target,
        plan,
        privacy=privacy,
        ledger=Ledger(),
        dataset="target",
        purpose="benchmark",
        randomness=SystemRandomness(),
    )
    facts = {"noise_scale": plan.noise_scale, "touches": plan.num_steps, "rate": plan.rate, "rows": plan.num_rows}
    return PrivateTarget(paid), {**facts, "delta": DELTA, "neighbours": str(privacy.neighbours)}


def _released(domains: Domains, key: dict[str, Any]) -> dict[str, Any]:
    """The target released once, and training on that release."""
    release = _publish(domains.target, None, key["epsilon"], key["kind"])
    adapter = DomainAdapter(settings=SETTINGS, random_state=key["seed"])
    with watch("steps") as progress:
        adapter.fit(domains.source.transpose(0, 2, 3, 1), domains.labels, release, progress=progress)
    return _judged(adapter, domains)


def _reverse(domains: Domains, key: dict[str, Any]) -> dict[str, Any]:
    """The labelled source released, and its synthetic images learnt: in the public target's look, or as they are."""
    seed = key["seed"]
    release = _publish(domains.source, domains.labels, key["epsilon"], "aggregates")
    with watch("steps") as progress:
        if key["kind"] == "adapted":
            adapter = DomainAdapter(settings=SETTINGS, random_state=seed)
            adapter.fit(release, None, domains.target.transpose(0, 2, 3, 1), public_target=True, progress=progress)
            return _judged(adapter, domains)
        drawn = synthetic_source(release, seed, progress)
        source = Source(
            images=torch.from_numpy(unit_images(drawn, origin="drawn")), labels=torch.from_numpy(drawn.labels)
        )
        network = build_network((1, *SIZE), 10, SETTINGS.radius, seed)
        objective = AdaptationObjective(network, source, SETTINGS, seed=seed)
        Loop(objective, run={"seed": seed}, progress=progress).run()
    return {"accuracy": accuracy(network, domains), "settings": SETTINGS.to_dict(), "delta": DELTA}


def _publish(images: UnitImages, labels: np.ndarray | None, epsilon: float, kind: str) -> ImageRelease:
    classes = None if labels is None else tuple(range(10))
    schema = ImageSchema(height=SIZE[0], width=SIZE[1], low=0.0, high=1.0, classes=classes)
    held = ImageSet.from_arrays(images.transpose(0, 2, 3, 1), labels)
    return mt.release(held, schema, epsilon=epsilon, delta=DELTA, kind=kind)


def _judged(adapter: DomainAdapter, domains: Domains) -> dict[str, Any]:
    return {
        "accuracy": adapter.score(domains.test.transpose(0, 2, 3, 1), domains.test_labels),
        "settings": adapter.settings.to_dict(),
        "look": adapter.model_.look,
        "delta": adapter.promise_.delta,
        "neighbours": str(adapter.promise_.neighbours),
    }


def accuracy(network: AdaptationNetwork, domains: Domains) -> float:
    """Share of the target's test images that are classified right."""
    right = 0
    with torch.no_grad():
        for start in range(0, len(domains.test), 1000):
            part = slice(start, start + 1000)
            logits = network.classify(network.rows(torch.from_numpy(domains.test[part])))
            right += int((logits.argmax(dim=1).numpy() == domains.test_labels[part]).sum())
    return right / len(domains.test)


def curves(runs: list[dict[str, Any]], task: str) -> dict[str, dict[float | None, list[float]]]:
    """Accuracies of a task by method and ε; ``None`` where nothing depends on ε."""
    found: dict[str, dict[float | None, list[float]]] = {}
    for run in runs:
        key = run["key"]
        if key["task"] == task:
            by_epsilon = found.setdefault(_title(key), {})
            by_epsilon.setdefault(key.get("epsilon"), []).append(run["accuracy"])
    return dict(sorted(found.items(), key=lambda item: list(TITLES.values()).index(item[0])))


def _title(key: dict[str, Any]) -> str:
    return TITLES[key["method"], key.get("alignment") or key.get("kind"), key.get("moves")]


def plot(runs: list[dict[str, Any]], path: Path) -> None:
    """Accuracy against ε, one panel a task; horizontal lines for what does not depend on ε."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(TASKS), figsize=(12, 4.2), sharey=True, layout="constrained")
    colours = {title: pyplot.get_cmap("tab10")(number % 10) for number, title in enumerate(TITLES.values())}
    shown: dict[str, Any] = {}
    for axis, task in zip(axes, TASKS, strict=True):
        for title, values in curves(runs, task).items():
            if None in values:
                shown[title] = axis.axhline(mean(values[None]), color=colours[title], linestyle="--")
                continue
            points = sorted((epsilon, accuracies) for epsilon, accuracies in values.items() if epsilon is not None)
            spread = [stdev(accuracies) if len(accuracies) > 1 else 0.0 for _, accuracies in points]
            heights = [mean(accuracies) for _, accuracies in points]
            shown[title] = axis.errorbar(
                [epsilon for epsilon, _ in points], heights, spread, color=colours[title], marker="o", markersize=4
            )
        axis.set(xscale="log", xlabel="ε (whole training)", title=task, xlim=(min(EPSILONS) / 1.5, max(EPSILONS) * 1.5))
        axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    titles = [title for title in TITLES.values() if title in shown]
    figure.legend([shown[title] for title in titles], titles, loc="outside right center", frameon=False, fontsize=8)
    axes[0].set_ylabel("accuracy on the target's test images")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--alignments", nargs="+", choices=list(Alignment), default=list(Alignment))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epsilons", nargs="+", type=float, choices=EPSILONS, default=list(EPSILONS))
    parser.add_argument("--results", type=Path, default=FOLDER / "adaptation.json")
    parser.add_argument("--plot-only", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
