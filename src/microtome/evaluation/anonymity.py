"""Singling out and linking people with anonymeter, where it is installed.

anonymeter (the attacks by which European guidance judges anonymity) asks for numpy below 2 and pyarrow below 22, so it
is an extra of its own: ``pip install 'microtome[attacks]'``, best into an environment of its own. Its risks are the
success of an attack on rows that were used beyond that on held-out rows: 0 is no risk.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from microtome.evaluation.comparable_table import ComparableTable, sampled
from microtome.extras import how_to_install

_ATTACKS = 500
_ROWS = 10_000
_ATTEMPTS = 100_000
NOT_INSTALLED = (
    "Singling-out and linkability attacks need anonymeter, which is not installed here: "
    f"{how_to_install('anonymeter')} in an environment of its own (it asks for numpy below 2)."
)


@dataclass(frozen=True, kw_only=True)
class Risk:
    """What an attack gains on rows that were used.

    Attributes:
        attack: Its name.
        risk: Success beyond that on held-out rows, as a share of what is left to succeed in.
        low: Lower end of its 95 % interval.
        high: Upper end.
        success: Success on used rows.
        control: Success on held-out rows.
    """

    attack: str
    risk: float
    low: float
    high: float
    success: float
    control: float


def anonymeter_risks(
    real: ComparableTable, synthetic: ComparableTable, holdout: ComparableTable, rng: np.random.Generator
) -> list[Risk] | str:
    """All attacks that can be made; a sentence where none can."""
    if find_spec("anonymeter") is None:
        return NOT_INSTALLED
    from anonymeter.evaluators import LinkabilityEvaluator, SinglingOutEvaluator

    tables = [frame_of(sampled(table, _ROWS, rng)) for table in (real, synthetic, holdout)]
    attacks = min(_ATTACKS, *(len(table) for table in tables))
    used, made, control = tables
    names = list(used.columns)
    halves = (names[::2], names[1::2])
    evaluators: dict[str, Callable[[], Any]] = {
        "singling out by one value": lambda: SinglingOutEvaluator(
            ori=used, syn=made, control=control, n_attacks=attacks, max_attempts=_ATTEMPTS
        ).evaluate(mode="univariate"),
        "singling out by several values": lambda: SinglingOutEvaluator(
            ori=used, syn=made, control=control, n_attacks=attacks, n_cols=min(4, len(names)), max_attempts=_ATTEMPTS
        ).evaluate(mode="multivariate"),
        "linking two halves of a row": lambda: LinkabilityEvaluator(
            ori=used, syn=made, control=control, n_attacks=attacks, aux_cols=halves, n_neighbors=5
        ).evaluate(n_jobs=1),
    }
    logging.getLogger("anonymeter").setLevel(logging.ERROR)
    risks = []
    for name, evaluate in evaluators.items():
        if "halves" in name and len(names) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = evaluate().results()
            risk = results.risk()
        risks.append(
            Risk(
                attack=name,
                risk=float(risk.value),
                low=float(risk.ci[0]),
                high=float(risk.ci[1]),
                success=float(results.attack_rate.value),
                control=float(results.control_rate.value),
            )
        )
    return risks


def frame_of(table: ComparableTable) -> pd.DataFrame:
    """The table as text and numbers."""
    columns = {
        name: np.array([*table.labels[name], None], dtype=object)[values] if name in table.labels else values
        for name, values in table.values.items()
    }
    return pd.DataFrame(columns)
