"""Tables that nobody expects get a page too, or a reason."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from microtome.evaluation import report
from microtome.evaluation.distributions import binned, display_edges

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=200)
LETTERS = ["x", "y"] * 100
PLAIN = pd.DataFrame({"a": LETTERS, "n": NUMBERS})
CASES = {
    "one column": (PLAIN[["a"]], PLAIN[["a"]][:150], {}),
    "one row": (PLAIN[:1], PLAIN[1:2], {}),
    "a measured target": (PLAIN, PLAIN[:150], {"target": "n"}),
    "nothing but missing values": (
        PLAIN,
        pa.table({"a": pa.nulls(80, pa.string()), "n": pa.nulls(80)}),
        {"target": "a"},
    ),
    "constants": (
        pd.DataFrame({"a": ["x"] * 80, "n": [1.5] * 80, "d": pd.to_datetime(["2020-01-01"] * 80)}),
        pd.DataFrame({"a": ["x"] * 80, "n": [2.5] * 80, "d": pd.to_datetime(["2021-01-01"] * 80)}),
        {"target": "a"},
    ),
    "another label": (PLAIN, PLAIN.assign(a=["z", "x"] * 100), {"target": "a"}),
    "time zones": (
        PLAIN.assign(d=pd.date_range("2020", periods=200, tz="UTC")),
        PLAIN.assign(d=pd.date_range("2020", periods=200, tz="Europe/Berlin")),
        {"target": "a"},
    ),
    "huge numbers": (
        PLAIN.assign(n=NUMBERS * 1e300, m=RNG.integers(0, 2**62, 200)),
        PLAIN.assign(n=NUMBERS * 1e300, m=RNG.integers(0, 2**62, 200)),
        {"target": "a"},
    ),
    "few held out": (PLAIN, PLAIN[:150], {"target": "a", "holdout": PLAIN[:2]}),
}


@pytest.mark.parametrize("name", CASES)
def test_odd_tables_get_a_page(name: str) -> None:
    real, synthetic, options = CASES[name]
    made = report(real, synthetic, **options)
    assert made.html.endswith("</html>")
    assert json.loads(json.dumps(made.figures.to_dict(), allow_nan=False))["format"] == "microtome-report"


@pytest.mark.parametrize(("low", "high"), [(5.0, 5.0), (0.0, 1.0), (17.0, 79.0), (0.0, 1000.0), (1.6e15, 1.6e15)])
def test_bins_of_whole_numbers_hold_their_ends(low: float, high: float) -> None:
    edges = display_edges(low, high, integral=True)
    assert edges[0] == low
    assert edges[-1] >= high + 1.0
    assert len(edges) <= 34
    assert binned(edges, np.array([low, high, np.nan])).sum() == pytest.approx(2 / 3)
