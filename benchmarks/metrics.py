"""The paper's metrics as sdmetrics defines them (``microtome.evaluation``, tested equal), and what they cannot see.

``auc`` is the area under the ROC curve on real test rows of a logistic regression (one-hot categories, scaled
numbers) trained on synthetic rows; F1 can be had by a wrong label margin, this cannot. ``pair_error`` is the mean
total variation between real and synthetic two-way tables *beyond their margins*, which independent columns
cannot fake: 1 is what independent columns have, 0 is perfect. ``detector_auc`` is how well boosted trees tell synthetic
from real test rows: 0.5 is not at all, 1 is always. ``triples`` is 1 minus the total variation of three-way tables,
averaged over random triples of columns. ``trees`` is what boosted trees that were trained on synthetic rows get on real
test rows: the area under the ROC curve, or R² where a number is to be predicted. Trees use what three columns share,
which linear models do not see.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from census import TARGET, Task
from microtome.evaluation.comparable_table import ComparableTable, code_tables
from microtome.evaluation.fidelity import distribution_metrics
from microtome.evaluation.pairs import listed_pair_error
from microtome.evaluation.tables import read_table
from microtome.evaluation.utility import binary_logistic_regression, logistic_auc

_DETECTOR_ROWS = 10_000
_TRIPLES = 60
_MOST_LEVELS = 12
"""Levels of a column in three-way tables: the most frequent, and one for all others."""
_SEED = 0
"""Of what is drawn for evaluation only, the same for every method."""


class Tables(NamedTuple):
    """Training rows, synthetic rows and test rows, coded alike."""

    train: ComparableTable
    made: ComparableTable
    test: ComparableTable


def evaluate(task: Task, synthetic: pd.DataFrame) -> dict[str, float | None]:
    """All metrics of a synthetic table; ``None`` where one does not apply."""
    raw = [read_table(frame, name) for frame, name in ((task.train, "train"), (synthetic, "made"), (task.test, "test"))]
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        tables = Tables(*code_tables(raw, task.schema)[0])
        return {
            **paper_metrics(tables, has_classes=task.has_classes),
            "auc": logistic_auc(tables.made, tables.test, TARGET) if task.has_classes else None,
            "trees": trees(task, synthetic),
            "pair_error": listed_pair_error(tables.train, tables.made),
            "detector_auc": detector_auc(task, synthetic),
            "triples": triples(task, synthetic),
        }


def paper_metrics(tables: Tables, *, has_classes: bool) -> dict[str, float | None]:
    """The five metrics of the paper's tables."""
    found = distribution_metrics(tables.train, tables.made)
    return {
        "ks": found["KSComplement"],
        "tv": found["TVComplement"],
        "contingency": found["ContingencySimilarity"],
        "correlation": found["CorrelationSimilarity"],
        "f1": binary_logistic_regression(tables.made, tables.test, TARGET) if has_classes else None,
    }


def trees(task: Task, synthetic: pd.DataFrame) -> float | None:
    """What trees learn from synthetic rows, judged by real ones; ``None`` where these have one class only."""
    target = [column.name for column in task.schema.columns].index(TARGET)
    (made, known), (test, wanted) = (
        (np.delete(rows, target, axis=1), rows[:, target])
        for rows in (_coded(task, frame) for frame in (synthetic, task.test))
    )
    if not task.has_classes:
        numbers = HistGradientBoostingRegressor(random_state=_SEED).fit(made, known)
        return float(r2_score(wanted, numbers.predict(test)))
    if len(np.unique(known)) < 2:
        return None
    classes = HistGradientBoostingClassifier(random_state=_SEED).fit(made, known)
    return float(roc_auc_score(wanted, classes.predict_proba(test)[:, 1]))


def detector_auc(task: Task, synthetic: pd.DataFrame) -> float:
    """Cross-validated ROC-AUC of boosted trees between synthetic and real test rows, as many of each."""
    rows = min(len(task.test), len(synthetic), _DETECTOR_ROWS)
    both = [frame.sample(rows, random_state=_SEED) for frame in (task.test, synthetic)]
    features = np.concatenate([_coded(task, frame) for frame in both])
    labels = np.repeat([0, 1], rows)
    folds = StratifiedKFold(2, shuffle=True, random_state=_SEED)
    trees = HistGradientBoostingClassifier(max_iter=100, random_state=_SEED)
    scores = cross_val_predict(trees, features, labels, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(labels, scores))


def triples(task: Task, synthetic: pd.DataFrame) -> float:
    """One minus the total variation of three-way tables, averaged over random triples of columns."""
    rng = np.random.default_rng(_SEED)
    names = [column.name for column in task.schema.columns]
    levels = {name: _levels(task, synthetic, name) for name in names}
    distances = []
    for _ in range(_TRIPLES):
        chosen = rng.choice(names, size=3, replace=False)
        real, made = (_joint([levels[name][side] for name in chosen]) for side in (0, 1))
        distances.append(np.abs(real - made).sum() / 2)
    return float(1.0 - np.mean(distances))


def _coded(task: Task, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Numbers as they are, categories by their place in the declared list."""
    columns = []
    for column in task.schema.columns:
        values = frame[column.name]
        places = None if column.categories is None else pd.Index(list(column.categories)).get_indexer(values)
        columns.append(values.to_numpy(float) if places is None else places.astype(float))
    return np.stack(columns, axis=1)


def _levels(task: Task, synthetic: pd.DataFrame, name: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """A column of both tables in a few levels: quantiles of the real numbers, or its most frequent categories."""
    real, made = task.train[name], synthetic[name]
    if name in task.numeric:
        edges = np.unique(np.quantile(real, np.linspace(0, 1, _MOST_LEVELS)))[1:-1]
        return np.searchsorted(edges, real, side="right"), np.searchsorted(edges, made, side="right")
    frequent = pd.Index(real.value_counts().index[: _MOST_LEVELS - 1])
    return frequent.get_indexer(real) % _MOST_LEVELS, frequent.get_indexer(made) % _MOST_LEVELS


def _joint(columns: list[npt.NDArray[np.intp]]) -> npt.NDArray[np.float64]:
    """Shares of the cells of a three-way table."""
    first, second, third = columns
    cells = (first * _MOST_LEVELS + second) * _MOST_LEVELS + third
    return np.bincount(cells, minlength=_MOST_LEVELS**3) / len(cells)


def independent_columns(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Every column shuffled by itself: exact margins, no dependence."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.permutation(frame[name].to_numpy()) for name in frame.columns})
