"""The baselines' code between rows and vectors: exact round trips, nothing read off the data."""

import numpy as np
import pandas as pd
import pytest

from baselines.encoding import MixedEncoding
from microtome.schema import Column, Kind

COLUMNS = (
    Column(name="income", kind=Kind.INTEGER, dtype="float32", bounds=(-20_000, 1_500_000), missing=False),
    Column(name="code", kind=Kind.CATEGORICAL, dtype="float32", categories=(1.0, 2.0, 7.0), missing=False),
    Column(name="name", kind=Kind.CATEGORICAL, categories=("x", "y"), missing=False),
)


def test_round_trip():
    frame = pd.DataFrame(
        {
            "income": np.array([-20_000, 0, 40_500, 1_500_000], dtype="float32"),
            "code": np.array([7, 1, 2, 7], dtype="float32"),
            "name": ["y", "x", "x", "y"],
        }
    )
    encoding = MixedEncoding(COLUMNS)
    rows = encoding.encode(frame)
    assert rows.shape == (4, 6)
    assert rows.min() == 0
    assert rows.max() == 1
    back = encoding.decode(rows)
    assert (back["income"] - frame["income"]).abs().max() <= 1
    pd.testing.assert_frame_equal(back[["code", "name"]], frame[["code", "name"]])


def test_values_beyond_the_bounds_are_clamped():
    encoding = MixedEncoding(COLUMNS[:1])
    assert encoding.encode(pd.DataFrame({"income": [2e9]}))[0, 0] == 1.0


def test_a_category_that_is_not_declared_is_refused():
    with pytest.raises(ValueError, match="code"):
        MixedEncoding(COLUMNS[1:2]).encode(pd.DataFrame({"code": [3.0]}))


def test_a_column_that_declares_nothing_is_refused():
    with pytest.raises(ValueError, match="'age'"):
        MixedEncoding([Column(name="age", kind=Kind.INTEGER)])
