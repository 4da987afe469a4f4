"""Is a model trained on synthetic rows good on real ones? Train on synthetic, test on real.

Two learners, logistic regression and gradient boosting, are trained on the synthetic table, on real rows, and on real
rows whose columns were shuffled apart, and are all tested on the same real rows. The second says how good it could
be; the third how good it is to know nothing but margins. F1 alone can be had by a wrong share of the target, so the
area under the ROC curve stands beside it, and the calibration: whether of those given 30 % about 30 % are so.

``binary_logistic_regression`` is the metric of that name of sdmetrics, the same number.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import RobustScaler

from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.features import LinearFeatures, TreeFeatures
from microtome.evaluation.values import short_number

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MODELS = ("logistic regression", "gradient boosting")
_CLASSES = 10
_CURVE_BINS = 10
_LEAST_ROWS = 20


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How good a model is on the test rows.

    Attributes:
        f1: F1 of the positive class; the mean over classes where there are more than two.
        auc: Area under the ROC curve; the mean of one class against the rest where there are more than two.
        calibration_error: Mean distance between predicted and observed probability (of the positive class, or of the
            predicted one), over ten groups of equal size.
        curve: Predicted and observed probability of each group.
    """

    f1: float
    auc: float
    calibration_error: float
    curve: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Utility:
    """All models on all trainings.

    Attributes:
        target: The column that is predicted.
        classes: Its classes; of two the second is positive.
        train_rows: Rows of each training.
        test_rows: Rows of the test.
        scores: By model, then by what it was trained on: ``real``, ``synthetic`` or ``independent columns``.
    """

    target: str
    classes: tuple[str, ...]
    train_rows: dict[str, int]
    test_rows: int
    scores: dict[str, dict[str, Scores]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Target:
    """The classes of a target column, settled on real rows so that every table is labelled alike."""

    name: str
    classes: tuple[str, ...]
    place: Ints | None
    cut: float

    @classmethod
    def settle(cls, table: ComparableTable, name: str) -> Target:
        """Classes of a listed column, the rarest together if they are many; a measured one is cut at its median."""
        values = table.values[name]
        if name not in table.labels:
            cut = float(np.nanmedian(values))
            column = next(column for column in table.columns if column.name == name)
            text = short_number(column, cut)
            return cls(name=name, classes=(f"up to {text}", f"above {text}"), place=None, cut=cut)
        labels = table.labels[name]
        counts = np.bincount(values[values >= 0], minlength=len(labels))
        common = np.sort(np.argsort(-counts, kind="stable")[: min(int((counts > 0).sum()), _CLASSES)])
        place = np.full(len(labels), -1)
        place[common] = np.arange(len(common))
        return cls(name=name, classes=tuple(labels[index] for index in common), place=place, cut=0.0)

    def of(self, table: ComparableTable) -> tuple[ComparableTable, Ints]:
        """The rows that have a class, and their classes."""
        values = table.values[self.name]
        if self.place is None:
            kept, classes = ~np.isnan(values), (values > self.cut).astype(np.int64)
        else:
            classes = np.append(self.place, -1)[values]
            kept = classes >= 0
        return (table, classes) if kept.all() else (table.take(np.flatnonzero(kept)), classes[kept])


def utility(
    trainings: dict[str, ComparableTable],
    test: ComparableTable,
    target: str,
    *,
    told: Callable[[str], None] = lambda note: None,
) -> Utility | str:
    """Train every model on every table and score it on the test rows; a sentence where that cannot be done.

    Args:
        trainings: Tables to train on by name; ``real`` settles the classes.
        test: Real rows.
        target: The column to predict.
        told: Is told what is being trained.
    """
    settled = Target.settle(trainings["real"], target)
    features = [name for name in test.values if name != target]
    if len(settled.classes) < 2 or not features:
        return f"{target!r} has one class only, or there is no other column: there is nothing to predict."
    rows, truth = settled.of(test)
    if len(rows.values[target]) < _LEAST_ROWS or len(np.unique(truth)) < 2:
        return f"The test rows are fewer than {_LEAST_ROWS}, or all of one class of {target!r}: nothing can be tested."
    scores: dict[str, dict[str, Scores]] = {model: {} for model in MODELS}
    for name, table in trainings.items():
        learnt, classes = settled.of(table)
        for model in MODELS:
            told(f"{model} on {name}")
            chances = _chances(model, learnt, classes, rows, features, len(settled.classes))
            scores[model][name] = _score(truth, chances)
    return Utility(
        target=target,
        classes=settled.classes,
        train_rows={name: table.num_rows for name, table in trainings.items()},
        test_rows=rows.num_rows,
        scores=scores,
    )


def logistic_auc(train: ComparableTable, test: ComparableTable, target: str) -> float:
    """Area under the ROC curve on test rows of a logistic regression trained on others."""
    settled = Target.settle(test, target)
    (learnt, classes), (rows, truth) = settled.of(train), settled.of(test)
    features = [name for name in test.values if name != target]
    return _auc(truth, _chances(MODELS[0], learnt, classes, rows, features, len(settled.classes)))


def binary_logistic_regression(train: ComparableTable, test: ComparableTable, target: str) -> float | None:
    """F1 of the last label on test rows, as BinaryLogisticRegression of sdmetrics has it; ``None`` if not binary.

    Values that the training table lacks are taken for its commonest one, where sdmetrics would refuse the table.
    """
    if target not in test.labels or len(np.unique(test.values[target][test.values[target] >= 0])) != 2:
        return None
    positive = int(test.values[target].max())
    wanted, truth = (table.values[target] == positive for table in (train, test))
    if len(np.unique(wanted)) == 1:
        return float(f1_score(truth, np.full(len(truth), wanted[0])))
    matrices = _plain_features(train, test, [name for name in test.values if name != target])
    scaler = RobustScaler().fit(matrices[0])
    model = LogisticRegression(solver="lbfgs", class_weight="balanced", max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scaler.transform(matrices[0]), wanted)
    return float(f1_score(truth, model.predict(scaler.transform(matrices[1]))))


def _plain_features(train: ComparableTable, test: ComparableTable, names: list[str]) -> tuple[Floats, Floats]:
    """Sdmetrics' order: numbers first with missing ones at the mean, then one column for every value of the rest."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    for name in sorted(names, key=lambda name: name in train.labels):
        values = train.values[name]
        if name not in train.labels:
            for part, table in zip(parts, (train, test), strict=True):
                part.append(np.where(np.isnan(table.values[name]), np.nanmean(values), table.values[name])[:, None])
            continue
        seen, counts = np.unique(values, return_counts=True)
        commonest = seen[np.argmax(np.where(seen >= 0, counts, 0))]
        order = [*seen[seen >= 0], *seen[seen < 0]]
        for part, table in zip(parts, (train, test), strict=True):
            known = np.where(np.isin(table.values[name], seen), table.values[name], commonest)
            part.append(known[:, None] == np.array(order))
    return np.hstack(parts[0]).astype(np.float64), np.hstack(parts[1]).astype(np.float64)


def _chances(
    model: str, train: ComparableTable, classes: Ints, test: ComparableTable, features: list[str], num_classes: int
) -> Floats:
    """Probability of each class for each test row."""
    known = np.unique(classes)
    chances = np.zeros((test.num_rows, num_classes))
    if len(known) < 2:
        chances[:, known] = 1.0
        return chances
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chances[:, known] = predict(model, train, classes, test, features)
    return chances


def predict(model: str, train: ComparableTable, classes: Ints, test: ComparableTable, features: list[str]) -> Floats:
    """Class probabilities of test rows by one of the two learners."""
    if model == "logistic regression":
        linear = LinearFeatures.fit(train, features)
        learner = LogisticRegression(max_iter=300).fit(linear.transform(train), classes)
        found: Floats = learner.predict_proba(linear.transform(test))
        return found
    trees = TreeFeatures.fit(train, features)
    forest = HistGradientBoostingClassifier(
        max_iter=100, early_stopping=False, categorical_features=trees.categorical, random_state=0
    ).fit(trees.transform(train), classes)
    boosted: Floats = forest.predict_proba(trees.transform(test))
    return boosted


def _score(truth: Ints, chances: Floats) -> Scores:
    binary = chances.shape[1] == 2
    guess = chances.argmax(axis=1)
    f1 = f1_score(truth, guess) if binary else f1_score(truth, guess, average="macro")
    believed, happened = (chances[:, 1], truth == 1) if binary else (chances.max(axis=1), guess == truth)
    curve = _curve(believed, happened)
    error = float(np.mean([abs(predicted - observed) for predicted, observed in curve]))
    return Scores(f1=float(f1), auc=_auc(truth, chances), calibration_error=error, curve=curve)


def _auc(truth: Ints, chances: Floats) -> float:
    if chances.shape[1] == 2:
        return float(roc_auc_score(truth, chances[:, 1]))
    present = [number for number in range(chances.shape[1]) if 0 < (truth == number).sum() < len(truth)]
    return float(np.mean([roc_auc_score(truth == number, chances[:, number]) for number in present]))


def _curve(believed: Floats, happened: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    groups = np.array_split(np.argsort(believed, kind="stable"), min(_CURVE_BINS, len(believed)))
    return tuple((float(believed[group].mean()), float(happened[group].mean())) for group in groups)
