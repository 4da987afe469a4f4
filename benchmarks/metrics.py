"""The paper's metrics through sdmetrics, and what they cannot see.

``auc`` is the area under the ROC curve on real test rows of a logistic regression (one-hot categories, scaled
numbers) trained on synthetic rows; F1 can be had by a wrong label margin, this cannot. ``pair_error`` is the mean
total variation between real and synthetic two-way tables *beyond their margins*, which independent columns
cannot fake: 1 is what independent columns have, 0 is perfect.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from census import TARGET, Task


def evaluate(task: Task, synthetic: pd.DataFrame) -> dict[str, float | None]:
    """All metrics of a synthetic table; ``None`` where one does not apply."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            **paper_metrics(task, synthetic),
            "auc": auc(task, synthetic),
            "pair_error": pair_error(task, synthetic),
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
