"""Can a learner tell synthetic rows from real ones, and by what?

Gradient boosting and logistic regression are asked to tell equally many real and synthetic rows apart, by three-fold
cross-validation. An area under the ROC curve of 0.5 is chance; 1 is every row recognised. What gives the rows away is
seen by shuffling one column at a time of the rows that are judged: the more the area falls, the more it leaned on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from microtome.evaluation.comparable_table import ComparableTable, sampled
from microtome.evaluation.features import LinearFeatures, TreeFeatures
from microtome.evaluation.utility import MODELS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_FOLDS = 3
_LEAST_ROWS = 30


@dataclass(frozen=True, kw_only=True)
class Detection:
    """How well synthetic rows are told from real ones.

    Attributes:
        auc: Area under the ROC curve by model.
        chance: Standard deviation of such an area if rows could not be told apart.
        giveaways: Columns by how much the area of gradient boosting falls without them, largest first.
        rows: Rows of each table that were used.
    """

    auc: dict[str, float]
    chance: float
    giveaways: tuple[tuple[str, float], ...]
    rows: int


def detect(real: ComparableTable, synthetic: ComparableTable, rng: np.random.Generator, most: int) -> Detection | str:
    """Tell two tables apart with at most ``most`` rows of each; a sentence where rows are too few."""
    rows = min(real.num_rows, synthetic.num_rows, most)
    if rows < _LEAST_ROWS:
        return f"Fewer than {_LEAST_ROWS} rows: too few to tell anything."
    both = stacked(sampled(real, rows, rng), sampled(synthetic, rows, rng))
    truth = np.repeat([0, 1], rows)
    names = list(both.values)
    matrices = (LinearFeatures.fit(both, names).transform(both), TreeFeatures.fit(both, names).transform(both))
    categorical = TreeFeatures.fit(both, names).categorical
    folds = list(StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(truth, truth))
    linear = [_fold_auc(LogisticRegression(max_iter=300), matrices[0], truth, fold) for fold in folds]
    boosted, falls = [], np.zeros(len(names))
    for number, (train, test) in enumerate(folds):
        trees = HistGradientBoostingClassifier(
            max_iter=60, early_stopping=False, categorical_features=categorical, random_state=0
        ).fit(matrices[1][train], truth[train])
        boosted.append(float(roc_auc_score(truth[test], trees.predict_proba(matrices[1][test])[:, 1])))
        if number == 0:
            falls = _falls(trees, matrices[1][test], truth[test], boosted[0], rng)
    order = np.argsort(-falls)
    return Detection(
        auc=dict(zip(MODELS, (float(np.mean(linear)), float(np.mean(boosted))), strict=True)),
        chance=chance_deviation(rows, rows),
        giveaways=tuple((names[index], float(falls[index])) for index in order if falls[index] > 0),
        rows=rows,
    )


def chance_deviation(positive: int, negative: int) -> float:
    """Standard deviation of an area under the ROC curve where scores say nothing (Mann and Whitney)."""
    return float(np.sqrt((positive + negative + 1) / (12.0 * positive * negative)))


def stacked(first: ComparableTable, second: ComparableTable) -> ComparableTable:
    """The rows of both."""
    values = {name: np.concatenate([first.values[name], second.values[name]]) for name in first.values}
    return first.with_values(values, first.num_rows + second.num_rows)


def _fold_auc(model: LogisticRegression, matrix: Floats, truth: Ints, fold: tuple[Floats, Floats]) -> float:
    train, test = fold
    model.fit(matrix[train], truth[train])
    return float(roc_auc_score(truth[test], model.predict_proba(matrix[test])[:, 1]))


def _falls(
    trees: HistGradientBoostingClassifier,
    matrix: Floats,
    truth: Ints,
    whole: float,
    rng: np.random.Generator,
) -> Floats:
    """How much the area falls with each column shuffled."""
    falls = np.zeros(matrix.shape[1])
    for index in range(matrix.shape[1]):
        changed = matrix.copy()
        changed[:, index] = rng.permutation(changed[:, index])
        falls[index] = whole - roc_auc_score(truth, trees.predict_proba(changed)[:, 1])
    return falls
