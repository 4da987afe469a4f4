"""Choices behind aggregates, on the California samples and Adult: holding out, sharing the budget, what else to use.

    python benchmarks/aggregate_choices.py
    python benchmarks/aggregate_choices.py --epsilon 5.1 --choices "default" "16 bins of numbers"

*Holding out*, a tenth each time: by thinning the noise afterwards; by splitting the records before the noise, each
part under noise of its own; by holding out every tenth pair of columns; by nothing at all, training to the last
step. *Sharing*: 1/σ² of a pair's table in proportion to a power of its cells, and to the **true** dependence of the
pair times √cells, which is better than any second round could do that has to look through noise. *What else*: margins
from the profile alone, no look at correlations; and the target as pivot, coarser bins, fewer and more components, for
which the metrics of the synthetic rows are had as well.

Figures are the similarity (1 − total variation, mean over pairs of columns) between the true tables of coded levels
and those of the fitted mixture, known exactly. For sharing, tables are counted here and noised with a seeded generator.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray

from census import TARGET, Source, Task, load_task
from metrics import evaluate
from microtome import release
from microtome.divergences import ReleasedMoments
from microtome.generators import MixtureGenerator, MixtureSettings
from microtome.private.cell_index import cell_indices
from microtome.private.plan import FINENESS
from microtome.published import AggregatesRelease, ReleaseKind
from microtome.published.second_moments import level_margins
from microtome.schema import COARSE, FINE
from microtome.settings import NO_PIVOT
from microtome.synthesis import Synthesizer
from microtome.training import FitSettings, aggregate_losses, aggregates_objective
from microtome.training.aggregate_losses import class_margins
from microtome.training.correlations import Correlations
from results import FOLDER, ResultFile

Floats = NDArray[np.float64]
TASKS = {name: source for source in (Source.CALIFORNIA, Source.ADULT) for name in source.tasks}
Figures = dict[str, float | None]
_HELD_OUT = 0.1
_TARGET_WEIGHT = 3.0


class Bench:
    """A released table and its exact counts, to be noised again in other ways."""

    def __init__(self, task: Task, seed: int, epsilon: float, pivot: str = NO_PIVOT) -> None:
        made = release(task.train, task.schema, epsilon=epsilon, delta=1e-5, pivot=pivot, allow_large_delta=True)
        assert isinstance(made, AggregatesRelease)
        self.task, self.epsilon, self.target = task, epsilon, task.schema.names.index(TARGET)
        self.release, self.seed, self.rng = made, seed, np.random.default_rng(seed)
        self.levels = _levels(task.train, made)
        self.pairs = [(a, b) for a, b in combinations(range(len(made.codebook.blocks)), 2) if self._varied(a, b)]
        self.truth = self.counts(np.arange(len(self.levels)))[0] / len(self.levels)

    def counts(self, rows: NDArray[np.int64]) -> Floats:
        """Exact counts of pairs of levels of some records, as of a single class."""
        levels, blocks = self.levels[rows], self.release.codebook.blocks
        one_hot = np.concatenate(
            [np.eye(block.width, dtype=np.float32)[levels[:, index]] for index, block in enumerate(blocks)], axis=1
        )
        return (one_hot.T @ one_hot).astype(np.float64)[None]

    def noised(self, exact: Floats, noise: Floats) -> Floats:
        """Counts under symmetric noise."""
        drawn = np.triu(self.rng.standard_normal(exact.shape), 1)
        return np.asarray((exact + noise * (drawn + drawn.transpose(0, 2, 1))) * (noise > 0))

    def share(self, weight: Callable[[int, int], float]) -> None:
        """Noise the pairs anew, 1/σ² in proportion to a weight, for the same μ."""
        before = np.array(self.release.mechanism.pair_noise)
        measured = [(a, b) for a, b in combinations(range(len(before)), 2) if before[a, b] > 0]
        weights = np.array([weight(a, b) for a, b in measured])
        budget = sum(before[a, b] ** -2.0 for a, b in measured)
        after = np.zeros_like(before)
        for (a, b), sigma in zip(measured, np.sqrt(weights.sum() / (weights * budget)), strict=True):
            after[a, b] = after[b, a] = sigma
        mechanism = replace(self.release.mechanism, pair_noise=tuple(map(tuple, after.tolist())))
        self.release.manifest, self.release.mechanism = replace(self.release.manifest, mechanism=mechanism), mechanism
        self.release.second = self.noised(self.counts(np.arange(len(self.levels))), self.release.second_noise())

    def dependence(self, a: int, b: int) -> float:
        """Total variation between the true table of two columns and that of independent ones."""
        left, right = (self.release.codebook.blocks[index] for index in (a, b))
        margins = self.truth.diagonal()
        table = self.truth[left.start : left.stop, right.start : right.stop]
        expected = np.outer(margins[left.start : left.stop], margins[right.start : right.stop])
        return float(np.abs(table - expected).sum()) / 2

    def cells(self, a: int, b: int) -> float:
        """Cells of the table of two columns."""
        blocks = self.release.codebook.blocks
        return float(blocks[a].width * blocks[b].width)

    def similarity(self, settings: FitSettings, *, whole: bool = False) -> Figures:
        """Fit, and hold the mixture's tables against the true ones; all metrics of synthetic rows if asked for."""
        model = Synthesizer(settings, random_state=self.seed).fit(self.release)
        fit = model.fit_
        assert fit is not None
        assert isinstance(fit.generator, MixtureGenerator)
        rows = fit.generator.components().detach().double().numpy()
        found = (rows * fit.generator.weights().numpy()[:, None]).T @ rows
        blocks = self.release.codebook.blocks
        apart = np.abs(found - self.truth)
        parts = [slice(block.start, block.stop) for block in blocks]
        similar = [1.0 - apart[parts[a], parts[b]].sum() / 2 for a, b in self.pairs]
        found_metrics = evaluate(self.task, model.sample(len(self.levels), random_state=self.seed)) if whole else {}
        return {"similarity": float(np.mean(similar)), "best_step": float(fit.best_step), **found_metrics}

    def _varied(self, a: int, b: int) -> bool:
        blocks = self.release.codebook.blocks
        return blocks[a].width > 1 and blocks[b].width > 1


def thinned(bench: Bench) -> Figures:
    return bench.similarity(FitSettings(), whole=True)


def target_as_pivot(bench: Bench) -> Figures:
    return Bench(bench.task, bench.seed, bench.epsilon, TARGET).similarity(FitSettings(), whole=True)


def sixteen_bins(bench: Bench) -> Figures:
    """As records have them. Levels are others then, so similarity cannot be compared."""
    coarser = replace(FINE, most_bins=COARSE.most_bins, splits_rest=COARSE.splits_rest)
    with patch.dict(FINENESS, {ReleaseKind.AGGREGATES: coarser}):
        figures = Bench(bench.task, bench.seed, bench.epsilon).similarity(FitSettings(), whole=True)
    return {name: value for name, value in figures.items() if name != "similarity"}


def trained(**shape: Any) -> Callable[[Bench], Figures]:
    """A fit in which something of the mixture's training is another."""
    return lambda bench: bench.similarity(FitSettings(mixture=MixtureSettings(**shape)), whole=True)


def margins_of_the_profile(bench: Bench) -> Figures:
    def profile(made: AggregatesRelease) -> Floats:
        return level_margins(made)[None]

    with patch.object(aggregates_objective, "class_margins", profile):
        return bench.similarity(FitSettings())


def no_correlations(bench: Bench) -> Figures:
    with patch.object(Correlations, "of_moments", lambda *_: torch.zeros(())):
        return bench.similarity(FitSettings())


def nothing_held_out(bench: Bench) -> Figures:
    """All information to training, and no choice of the best state."""
    return bench.similarity(FitSettings(held_out=1e-6, patience=None, keeps_last=True))


def split_records(bench: Bench) -> Figures:
    order = bench.rng.permutation(len(bench.levels))
    cut = int(_HELD_OUT * len(order))
    noise = bench.release.second_noise()
    parts = ((1 - _HELD_OUT, order[cut:]), (_HELD_OUT, order[:cut]))
    views = tuple(
        [_moments(bench, bench.noised(bench.counts(rows), noise)[0], noise, share * len(order))]
        for share, rows in parts
    )
    with patch.object(aggregate_losses, "thinned_moments", lambda *_: views):
        return bench.similarity(FitSettings())


def held_out_pairs(bench: Bench) -> Figures:
    """Pairs that a side is not to see have so much noise there that they count for nothing."""
    measured = np.array(bench.release.mechanism.pair_noise) > 0
    chosen = np.triu(bench.rng.random(measured.shape) < _HELD_OUT, 1)
    owners = np.repeat(np.arange(len(measured)), [block.width for block in bench.release.codebook.blocks])
    hidden = (chosen | chosen.T)[owners][:, owners]
    noise, table, size = bench.release.second_noise(), bench.release.second[0], float(len(bench.levels))
    views = tuple([_moments(bench, table, np.where(unseen, 1e6 * noise, noise), size)] for unseen in (hidden, ~hidden))
    with patch.object(aggregate_losses, "thinned_moments", lambda *_: views):
        return bench.similarity(FitSettings())


def shared(power: float, *, oracle: bool = False, target_weight: float = _TARGET_WEIGHT) -> Callable[[Bench], Figures]:
    """A fit with the budget shared by a power of the cells, and by what is true if asked for."""

    def run(bench: Bench) -> Figures:
        def weight(a: int, b: int) -> float:
            aimed = target_weight if bench.target in (a, b) else 1.0
            return aimed * bench.cells(a, b) ** power * ((bench.dependence(a, b) + 1e-3) ** 0.67 if oracle else 1.0)

        bench.share(weight)
        return bench.similarity(FitSettings())

    return run


CHOICES: dict[str, Callable[[Bench], Figures]] = {
    "default": thinned,
    "held out by splitting records": split_records,
    "held out pairs of columns": held_out_pairs,
    "nothing held out": nothing_held_out,
    "budget by √cells (the default)": shared(0.5),
    "budget by cells^⅔": shared(0.67),
    "budget by cells": shared(1.0),
    "budget by true dependence and √cells": shared(0.5, oracle=True),
    "budget by √cells, the target's as any": shared(0.5, target_weight=1.0),
    "margins of the profile alone": margins_of_the_profile,
    "no look at correlations": no_correlations,
    "the target as pivot": target_as_pivot,
    "16 bins of numbers": sixteen_bins,
    "256 components": trained(components=256),
    "2048 components": trained(components=2048),
    "one member": trained(members=1),
    "no smoothness": trained(smoothness=0.0),
    "one member, no smoothness": trained(members=1, smoothness=0.0),
    "no likeness": trained(likeness=0.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--choices", nargs="+", choices=list(CHOICES), default=list(CHOICES))
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    results = ResultFile(FOLDER / "aggregate_choices.json")
    for seed in options.seeds:
        for name in options.tasks:
            for choice in options.choices:
                key = {"task": name, "epsilon": options.epsilon, "choice": choice, "seed": seed}
                if results.has(key):
                    continue
                bench = Bench(load_task(name, seed, source=TASKS[name]), seed, options.epsilon)
                results.put(key, {"metrics": CHOICES[choice](bench)})
                print(key, flush=True)


def _levels(frame: pd.DataFrame, released: AggregatesRelease) -> NDArray[np.int64]:
    found = [
        code.levels[cell_indices(pa.array(frame[code.column.name]), code.column, code.cells)]
        for code in released.codebook.codes
    ]
    return np.stack(found, axis=1)


def _moments(bench: Bench, table: Floats, noise: Floats, size: float) -> ReleasedMoments:
    margins = class_margins(bench.release)[0]
    return ReleasedMoments(
        blocks=[(block.start, block.stop) for block in bench.release.codebook.blocks],
        mean=margins,
        second=table / size,
        mean_noise=np.sqrt(margins * (1.0 - margins) / FitSettings().batch_size),
        second_noise=noise / size,
        num_rows=max(int(size), 1),
    )


if __name__ == "__main__":
    main()
