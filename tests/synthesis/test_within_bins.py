"""Numbers that go together do so inside of their bins, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microtome as mt
from microtome.generators import MixtureSettings
from microtome.synthesis.within_bins import WithinBins
from support import repeatable_noise

ROWS = 20_000
SCHEMA = mt.Schema(
    columns=(
        mt.Column(name="rooms", kind="float", bounds=(0, 400), missing=False, bins=6),
        mt.Column(name="beds", kind="integer", bounds=(0, 400), bins=6),
        mt.Column(name="built", kind="date", bounds=("1900-01-01", "2020-01-01"), missing=False, bins=6),
        mt.Column(name="kind", kind="categorical", categories=("a", "b"), missing=False),
    )
)


def blocks() -> pd.DataFrame:
    """Rooms and beds with heavy tails that are nearly the same, later where there are more of them."""
    rng = np.random.default_rng(0)
    size, own, late = rng.standard_normal((3, ROWS))
    rooms, beds = np.exp(3.0 + 0.8 * size), np.exp(2.5 + 0.8 * (0.98 * size + 0.2 * own))
    days = np.clip(22_000 + 5000 * (0.9 * size + 0.44 * late), 0, 43_000)
    frame = pd.DataFrame(
        {
            "rooms": np.minimum(rooms, 400.0),
            "beds": pd.array(np.minimum(np.rint(beds), 400.0).astype(int), dtype="Int64"),
            "built": (np.datetime64("1900-01-01") + days.astype("timedelta64[D]")),
            "kind": rng.choice(["a", "b"], ROWS),
        }
    )
    frame.loc[rng.random(ROWS) < 0.1, "beds"] = pd.NA
    return frame


@pytest.fixture(scope="module")
def model() -> mt.Synthesizer:
    with repeatable_noise():
        release = mt.release(blocks(), SCHEMA, epsilon=5.0, delta=1e-6)
    return mt.Synthesizer(mt.FitSettings(mixture=MixtureSettings(components=128)), random_state=0).fit(release)


def correlations(frame: pd.DataFrame) -> np.ndarray:
    days = pd.to_datetime(frame.built).astype("int64") / 8.64e13
    return frame[["rooms", "beds"]].astype(float).assign(days=days).corr().to_numpy()


def test_correlations_come_nearer_and_margins_stay(model: mt.Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
    dealt = model.sample(ROWS, random_state=1)
    monkeypatch.setattr(WithinBins, "dealt", lambda self, arrays, levels, rng: arrays)
    plain = model.sample(ROWS, random_state=1)
    real = correlations(blocks())
    error, before = np.abs(correlations(dealt) - real).max(), np.abs(correlations(plain) - real).max()
    assert error < 0.08
    assert error < before / 2
    first = slice(0, 16_384)  # a piece of rows, whose numbers are dealt out before any other is drawn
    for name in ("rooms", "beds", "built"):
        one, other = dealt[name][first], plain[name][first]
        assert sorted(one.dropna()) == sorted(other.dropna())
        assert (one.isna() == other.isna()).all()
    assert (dealt.kind[first] == plain.kind[first]).all()


def test_rows_are_reproducible(model: mt.Synthesizer) -> None:
    pd.testing.assert_frame_equal(model.sample(500, random_state=3), model.sample(500, random_state=3))


def test_no_row_leaves_its_bin(model: mt.Synthesizer) -> None:
    codes = model.model.codebook.codes  # type: ignore[union-attr]
    rng = np.random.default_rng(0)
    levels = [rng.integers(0, code.num_levels, 3000) for code in codes]
    arrays = [code.draw(one, rng) for code, one in zip(codes, levels, strict=True)]
    dealing = WithinBins(codes, levels, rng)
    found = dealing.dealt(arrays, levels, rng)
    for before, after, level in zip(arrays, found, levels, strict=True):
        for one in np.unique(level):
            rows = pa.array(np.flatnonzero(level == one))
            assert sorted(map(str, before.take(rows).to_pylist())) == sorted(map(str, after.take(rows).to_pylist()))


def test_a_single_number_or_none_is_left_alone() -> None:
    schema = mt.Schema(columns=(SCHEMA.columns[0], SCHEMA.columns[3]))
    with repeatable_noise():
        release = mt.release(blocks()[["rooms", "kind"]], schema, epsilon=5.0, delta=1e-6)
    codes = release.codebook.codes  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    levels = [rng.integers(0, code.num_levels, 100) for code in codes]
    arrays = [code.draw(one, rng) for code, one in zip(codes, levels, strict=True)]
    assert WithinBins(codes, levels, rng).dealt(arrays, levels, rng) is arrays
