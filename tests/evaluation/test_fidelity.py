"""Our metrics are sdmetrics' metrics: the same numbers on mixed tables with missing values and strange columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microtome.evaluation import fidelity
from microtome.evaluation.comparable_table import ComparableTable, code_tables
from microtome.evaluation.drafting import schema_of
from microtome.evaluation.fidelity import distribution_metrics
from microtome.evaluation.tables import read_table
from microtome.evaluation.utility import binary_logistic_regression
from microtome.schema import Column, Kind, Schema

single_table = pytest.importorskip("sdmetrics.single_table", reason="sdmetrics is in the extra 'bench'")

SCHEMA = Schema(
    columns=(
        Column(name="x", kind=Kind.FLOAT),
        Column(name="y", kind=Kind.FLOAT),
        Column(name="n", kind=Kind.INTEGER),
        Column(name="a", kind=Kind.CATEGORICAL),
        Column(name="b", kind=Kind.CATEGORICAL),
        Column(name="c", kind=Kind.CATEGORICAL),
        Column(name="flag", kind=Kind.BOOLEAN),
    ),
    target="flag",
)


def frame(rows: int, seed: int, *, shift: float = 0.0, missing: float = 0.1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1, rows)
    letters = np.array(list("pqrst"), dtype=object)
    a = letters[np.minimum(rng.poisson(1.0 + shift, rows), 4)]
    found = pd.DataFrame(
        {
            "x": x,
            "y": 0.6 * x + rng.normal(0, 1, rows),
            "n": rng.poisson(3, rows).astype(float),
            "a": a,
            "b": np.where(rng.random(rows) < 0.7, a, letters[rng.integers(0, 5, rows)]),
            "c": letters[rng.integers(0, 5, rows)],
            "flag": rng.random(rows) < 1 / (1 + np.exp(-2 * x)),
        }
    )
    for name in ("x", "n", "a", "c"):
        found.loc[rng.random(rows) < missing, name] = np.nan if name in "xn" else None
    return found


def coded(*frames: pd.DataFrame) -> list[ComparableTable]:
    return code_tables([read_table(one, "a table") for one in frames], SCHEMA)[0]


def by_sdmetrics(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    kinds = {"x": "numerical", "y": "numerical", "n": "numerical", "flag": "boolean"}
    metadata: dict[str, Any] = {"columns": {name: {"sdtype": kinds.get(name, "categorical")} for name in real}}
    listed = {"columns": {name: {"sdtype": "categorical"} for name in ("a", "b", "c", "flag")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "KSComplement": single_table.KSComplement.compute(real, made, metadata),
            "TVComplement": single_table.TVComplement.compute(real, made, metadata),
            "ContingencySimilarity": single_table.ContingencySimilarity.compute(
                real[list(listed["columns"])], made[list(listed["columns"])], listed
            ),
            "CorrelationSimilarity": single_table.CorrelationSimilarity.compute(real, made, metadata),
        }


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.5]))
@settings(max_examples=12)
def test_distribution_metrics_equal_those_of_sdmetrics(seed: int, missing: float, shift: float) -> None:
    real, made = frame(400, seed, missing=missing), frame(300, seed + 1, missing=missing, shift=shift)
    ours = distribution_metrics(*coded(real, made))
    for name, value in by_sdmetrics(real, made).items():
        assert ours[name] == pytest.approx(value, abs=1e-7), name


def test_logistic_regression_equals_that_of_sdmetrics() -> None:
    real, made = frame(1500, 1), frame(1200, 2, shift=0.3)
    metadata = {"columns": {name: {"sdtype": "categorical"} for name in real}}
    metadata["columns"] |= {name: {"sdtype": "numerical"} for name in ("x", "y", "n")}
    metadata["columns"]["flag"] = {"sdtype": "boolean"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = single_table.BinaryLogisticRegression.compute(real, made, metadata, target="flag")
    tables = coded(real, made)
    assert binary_logistic_regression(tables[1], tables[0], "flag") == pytest.approx(theirs, abs=1e-9)


def test_wide_pairs_are_counted_as_narrow_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = coded(frame(400, 1), frame(300, 2))
    narrow = distribution_metrics(*tables)
    monkeypatch.setattr(fidelity, "_DENSE_CELLS", 0)
    assert distribution_metrics(*tables) == narrow


def test_constant_and_empty_columns_are_left_out_of_means() -> None:
    real = pd.DataFrame({"x": [1.0, 2.0, 3.5] * 20, "y": [5.5] * 60, "z": np.linspace(0, 1, 60)})
    raw = [read_table(real, "real"), read_table(real.assign(z=np.nan), "made")]
    schema = Schema(columns=tuple(Column(name=name, kind=Kind.FLOAT) for name in real))
    found = distribution_metrics(*code_tables(raw, schema)[0])
    assert found["KSComplement"] == 1.0
    assert found["CorrelationSimilarity"] is None
    assert found["TVComplement"] is None


def test_a_draft_needs_no_schema() -> None:
    schema, notes = schema_of(read_table(frame(2000, 1), "real"), schema=None, target="flag")
    kinds = {column.name: str(column.kind) for column in schema.columns}
    assert kinds == {
        "x": "float", "y": "float", "n": "categorical", "a": "categorical", "b": "categorical", "c": "categorical",
        "flag": "boolean",
    }  # fmt: skip
    assert notes == []
