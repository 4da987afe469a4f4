"""Bins of numbers for the methods that take categories: what they cost, and what they keep."""

import numpy as np
import pandas as pd
import pytest

from baselines.number_bins import BINS, PUBLIC_BINS, binned, laplace_bins, public_bins
from microtome.schema import Column, Kind

AGE = Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False)
PAY = Column(name="pay", kind=Kind.INTEGER, bounds=(-20_000, 1_500_000), missing=False)


def people(rows):
    rng = np.random.default_rng(3)
    pay = np.where(rng.random(rows) < 0.2, 0, rng.lognormal(10, 1, rows)).astype(int)
    return pd.DataFrame({"age": rng.integers(18, 80, rows), "pay": np.minimum(pay, 1_500_000)})


def test_noise_is_that_of_all_histograms_together():
    frame = people(2000)
    bins = laplace_bins(frame, [AGE, PAY], epsilon=0.5)
    edges = bins["pay"].cells.edges
    true = np.histogram(frame["pay"], bins=edges)[0]
    # Three histograms for 0.5, that of pay's rounding included: Laplace noise of scale 6, whose mean size is 6 as well.
    assert np.abs(bins["pay"].counts - true).mean() == pytest.approx(6.0, rel=0.5)
    rounding = bins["pay"].rounding
    assert rounding is not None
    assert np.abs(rounding.counts - rounding.classes.count(frame["pay"].to_numpy(float))).mean() == pytest.approx(
        6.0, rel=0.5
    )
    assert bins["age"].rounding is None


def test_noise_is_new_in_every_run():
    frame = people(500)
    one, other = (laplace_bins(frame, [AGE], epsilon=1.0)["age"].counts for _ in range(2))
    assert not np.array_equal(one, other)


def test_values_keep_their_distribution_and_common_ones_their_place():
    frame = people(50_000)
    bins = laplace_bins(frame, [AGE, PAY], epsilon=1.0)
    for name, code in bins.items():
        levels = binned(frame[name], code)
        assert 10 < code.num_levels <= BINS + 2
        drawn = code.draw(levels, np.random.default_rng(0)).to_numpy()
        grid = np.unique(frame[name])
        shares = [np.searchsorted(np.sort(values), grid, side="right") / len(frame) for values in (drawn, frame[name])]
        assert np.abs(shares[0] - shares[1]).max() < 0.02
        assert np.array_equal(binned(pd.Series(drawn), code), levels)
    assert np.mean(bins["pay"].draw(binned(frame["pay"], bins["pay"]), np.random.default_rng(0)).to_numpy() == 0) > 0.19


@pytest.mark.parametrize("column", [Column(name="age", kind=Kind.INTEGER), Column(name="age", kind=Kind.CATEGORICAL)])
def test_nothing_is_read_off_the_table(column):
    with pytest.raises(ValueError, match="'age'"):
        laplace_bins(people(100), [column], epsilon=1.0)


def test_public_bins_are_even_and_read_nothing():
    frame = people(5_000)
    code = public_bins([PAY])["pay"]
    assert code.num_levels == pytest.approx(PUBLIC_BINS, abs=2)
    ends = np.flatnonzero(np.diff(code.levels)) + 1
    widths = np.diff(code.cells.edges[[0, *ends, -1]])
    assert widths[:-1].max() < 1.5 * widths[:-1].min()  # the last has what is left
    assert np.array_equal(binned(frame["pay"], code), code.levels[code.cells.locate(frame["pay"].to_numpy(float))])
