"""The paper's metrics through sdmetrics, and what they cannot see.

``auc`` is the area under the ROC curve on real test rows of a logistic regression (one-hot categories, scaled
numbers) trained on synthetic rows; F1 can be had by a wrong label margin, this cannot. ``pair_error`` is the mean
total variation between real and synthetic two-way tables *beyond their margins*, which independent columns
cannot fake: 1 is what independent columns have, 0 is perfect. ``detector_auc`` is how well boosted trees tell synthetic
from real test rows: 0.5 is not at all, 1 is always. ``triples`` is 1 minus the total variation of three-way tables,
averaged over random triples of columns.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from census import TARGET, Task

_DETECTOR_ROWS = 10_000
_TRIPLES = 60
_MOST_LEVELS = 12
"""Levels of a column in three-way tables: the most frequent, and one for all others."""
_SEED = 0
"""Of what is drawn for evaluation only, the same for every method."""


def evaluate(task: Task, synthetic: pd.DataFrame) -> dict[str, float | None]:
    """All metrics of a synthetic table; ``None`` where one does not apply."""
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        return {
            **paper_metrics(task, synthetic),
            "auc": auc(task, synthetic),
            "pair_error": pair_error(task, synthetic),
            "detector_auc": detector_auc(task, synthetic),
            "triples": triples(task, synthetic),
        }


def paper_metrics(task: Task, synthetic: pd.DataFrame) -> dict[str, float | None]:
    """The five metrics of the paper's tables."""
    from sdmetrics.single_table import (
        BinaryLogisticRegression,
        ContingencySimilarity,
        CorrelationSimilarity,
        KSComplement,
        TVComplement,
    )

    real, made, test = (_for_sdmetrics(task, frame) for frame in (task.train, synthetic, task.test))
    kinds = dict.fromkeys(task.numeric, "numerical") | dict.fromkeys(task.categorical, "categorical")
    metadata = {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}
    categorical = {"columns": {name: {"sdtype": "categorical"} for name in task.categorical}}
    return {
        "ks": float(KSComplement.compute(real, made, metadata)),
        "tv": float(TVComplement.compute(real, made, metadata)),
        "contingency": float(
            ContingencySimilarity.compute(real[task.categorical], made[task.categorical], categorical)
        ),
        "correlation": (float(CorrelationSimilarity.compute(real, made, metadata)) if len(task.numeric) > 1 else None),
        "f1": _f1(BinaryLogisticRegression, _known_to(made, test, task), made, metadata),
    }


def _f1(metric: Any, test: pd.DataFrame, made: pd.DataFrame, metadata: dict[str, Any]) -> float:
    """F1 of the higher label on real test rows by the paper's logistic regression."""
    if made[TARGET].nunique() < 2:
        return 0.0
    positive = test[TARGET].cat.categories[-1]
    columns = {**metadata["columns"], TARGET: {"sdtype": "boolean"}}
    real, synthetic = (frame.assign(**{TARGET: frame[TARGET] == positive}) for frame in (test, made))
    return float(metric.compute(real, synthetic, {"columns": columns}, target=TARGET))


def _known_to(made: pd.DataFrame, test: pd.DataFrame, task: Task) -> pd.DataFrame:
    """Test rows with categories that the synthetic table lacks set to its most frequent: sdmetrics refuses them."""
    known = test.copy()
    for name in task.categorical:
        unseen = ~known[name].isin(made[name].unique())
        known.loc[unseen, name] = made[name].mode()[0]
    return known


def auc(task: Task, synthetic: pd.DataFrame) -> float:
    """ROC-AUC on real test rows of a logistic regression trained on synthetic ones."""
    if synthetic[TARGET].nunique() < 2:
        return 0.5
    features = [name for name in task.categorical if name != TARGET]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=5), features), (StandardScaler(), task.numeric)
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=300))
    model.fit(synthetic.drop(columns=TARGET), synthetic[TARGET].astype(int))
    return float(
        roc_auc_score(task.test[TARGET].astype(int), model.predict_proba(task.test.drop(columns=TARGET))[:, 1])
    )


def pair_error(task: Task, synthetic: pd.DataFrame) -> float:
    """Error of what pairs of categorical columns share, relative to that of independent columns."""
    errors, sizes = [], []
    for first, second in combinations(task.categorical, 2):
        real = _dependence(task.train[first], task.train[second])
        made = _dependence(synthetic[first], synthetic[second])
        errors.append(real.sub(made, fill_value=0.0).abs().sum())
        sizes.append(real.abs().sum())
    return float(np.sum(errors) / np.sum(sizes))


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


def _dependence(first: pd.Series, second: pd.Series) -> pd.Series:
    table = pd.crosstab(first, second, normalize=True)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return (table - expected).stack()


def _for_sdmetrics(task: Task, frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as floats, everything else as categories with common names."""
    columns = {name: frame[name].astype(float) for name in task.numeric}
    for column in task.schema.columns:
        if column.categories is not None:
            columns[column.name] = pd.Categorical(frame[column.name], categories=list(column.categories))
    return pd.DataFrame(columns)[[column.name for column in task.schema.columns]]
