"""What trees learn from synthetic rows, and how well they tell them from real ones; at large ε, the ceiling.

    OMP_NUM_THREADS=1 python benchmarks/trees.py
    python benchmarks/trees.py --tables housing --epsilons 3 --seeds 0 1

Schemas are declared, the target is that of the task. Trees (scikit-learn's histogram gradient boosting, as it comes)
are trained on synthetic rows and judged on real rows that the release has not seen: AUC, or R² where the target is a
number. The detector is the same trees, cross-validated, on real against synthetic rows: 0.5 is not to be told apart.
A run that is in the result file is not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import OrdinalEncoder

import microtome as mt
from census import TARGET, Source, load_task
from drafted import housing
from microtome.generators import MixtureSettings
from microtome.whole_file import write_text
from results import FOLDER, environment

PATH = FOLDER / "trees.json"
EPSILONS = (1.0, 3.0, 100.0)
_DETECTED = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """Rows to release, rows to judge by, and what is to be predicted."""

    train: pd.DataFrame
    test: pd.DataFrame
    schema: mt.Schema
    target: str

    @property
    def is_number(self) -> bool:
        """Whether the target is measured."""
        return not self.schema[self.target].kind.is_categorical

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Everything but the target, as numbers."""
        names = [name for name in self.train if name != self.target]
        return self.numbers(frame)[names]

    def numbers(self, frame: pd.DataFrame) -> pd.DataFrame:
        """All columns as numbers, categories by one order for all rows."""
        named = [name for name in self.train if self.schema[name].kind.is_categorical]
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        encoder.fit(pd.concat([self.train, self.test])[named].astype(str))
        found = frame.copy()
        found[named] = encoder.transform(frame[named].astype(str))
        return found.astype(float)

    def score(self, rows: pd.DataFrame) -> float:
        """What trees that were trained on these rows get on the real ones."""
        if self.is_number:
            model = HistGradientBoostingRegressor(random_state=0).fit(
                self.features(rows), rows[self.target].astype(float)
            )
            return float(r2_score(self.test[self.target].astype(float), model.predict(self.features(self.test))))
        last = sorted(self.train[self.target].astype(str).unique())[-1]
        classifier = HistGradientBoostingClassifier(random_state=0)
        classifier.fit(self.features(rows), rows[self.target].astype(str) == last)
        judged = classifier.predict_proba(self.features(self.test))[:, 1]
        return float(roc_auc_score(self.test[self.target].astype(str) == last, judged))

    def detected(self, rows: pd.DataFrame) -> float:
        """How well trees tell these rows from the released ones."""
        size = min(len(self.train), len(rows), _DETECTED)
        both = [self.train.sample(size, random_state=0), rows.sample(size, random_state=0)]
        real = np.repeat([1, 0], size)
        model = HistGradientBoostingClassifier(random_state=0)
        judged = cross_val_predict(model, self.numbers(pd.concat(both)), real, cv=3, method="predict_proba")
        return float(roc_auc_score(real, judged[:, 1]))


def _census(name: str, source: Source) -> Callable[[int], Task]:
    def load(seed: int) -> Task:
        task = load_task(name, seed, source=source)
        return Task(train=task.train, test=task.test, schema=task.schema, target=TARGET)

    return load


def _housing(seed: int) -> Task:
    example, everything = housing(seed), housing(seed, rows=None)
    test = everything.frame.iloc[len(example.frame) :].reset_index(drop=True)
    return Task(train=example.frame, test=test, schema=example.declared, target=str(example.declared.target))


TABLES: dict[str, Callable[[int], Task]] = {
    "Adult": _census("Adult", Source.ADULT),
    "Income (California)": _census("Income", Source.CALIFORNIA),
    "PublicCoverage (California)": _census("PublicCoverage", Source.CALIFORNIA),
    "Mobility (California)": _census("Mobility", Source.CALIFORNIA),
    "housing": _housing,
}


def measure(task: Task, epsilon: float, seed: int, components: int) -> dict[str, Any]:
    """One release, one fit, one sample of as many rows."""
    release = mt.release(task.train, task.schema, epsilon=epsilon, delta=1e-6)
    started = time.process_time()
    settings = mt.FitSettings(mixture=MixtureSettings(components=components))
    model = mt.Synthesizer(settings, random_state=seed).fit(release)
    seconds = time.process_time() - started
    rows = model.sample(len(task.train), random_state=seed)
    return {
        "score": task.score(rows),
        "real": task.score(task.train),
        "detector": task.detected(rows),
        "fit_core_seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--components", nargs="+", type=int, default=[1024])
    options = parser.parse_args()
    runs = json.loads(PATH.read_text())["runs"] if PATH.exists() else []
    keys = ("table", "epsilon", "seed", "components")
    done = {tuple(run[key] for key in keys) for run in runs}
    for chosen in product(options.tables, options.epsilons, options.seeds, options.components):
        if chosen in done:
            continue
        table, epsilon, seed, components = chosen
        found = measure(TABLES[table](seed), epsilon, seed, components)
        runs.append(dict(zip(keys, chosen, strict=True)) | found)
        print(*chosen, {name: round(value, 4) for name, value in found.items()}, flush=True)
        write_text(PATH, json.dumps({"environment": environment(), "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
