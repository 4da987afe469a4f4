"""Tables of three columns are fitted: what no pair of columns shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import microtome as mt
from microtome.generators import MixtureSettings
from microtome.published import AggregatesRelease
from microtome.training.aggregate_losses import UNSEEN
from microtome.training.focus import FocusTables
from support import repeatable_noise

COLUMNS = ("x", "y", "z", "label")
SCHEMA = mt.Schema(
    columns=tuple(mt.Column(name=name, kind="boolean", missing=False) for name in COLUMNS), target="label"
)


def parity(num_rows: int = 20_000) -> pd.DataFrame:
    """Fair coins, and a label that is the parity of two of them: no pair of columns shows it."""
    frame = pd.DataFrame(np.random.default_rng(0).random((num_rows, 3)) < 0.5, columns=list(COLUMNS[:3]))
    return frame.assign(label=frame.x ^ frame.y)


def released(focus: str) -> mt.Release:
    with repeatable_noise():
        return mt.release(parity(), SCHEMA, epsilon=3.0, delta=1e-6, focus=focus, triples=0)


@pytest.mark.parametrize(("focus", "least", "most"), [("target", 0.97, 1.0), ("z", 0.4, 0.6), ("none", 0.4, 0.6)])
def test_a_parity_with_the_focus_is_found(focus: str, least: float, most: float) -> None:
    settings = mt.FitSettings(mixture=MixtureSettings(components=64))
    rows = mt.Synthesizer(settings, random_state=0).fit(released(focus)).sample(5000)
    assert least <= (rows.label == rows.x ^ rows.y).mean() <= most


def test_the_true_rows_have_no_error_beyond_noise() -> None:
    release = released("target")
    assert isinstance(release, AggregatesRelease)
    assert release.mechanism.focus is not None
    tables = FocusTables(
        release,
        release.mechanism.focus,
        held_out=0.5,
        seen=UNSEEN,
        unseen=UNSEEN,
        generator=torch.Generator().manual_seed(0),
    )
    encoded = torch.tensor(release.codebook.encode(parity().to_numpy(np.int64)), dtype=torch.float32)
    independent = encoded.mean(dim=0, keepdim=True).expand_as(encoded)
    assert float(tables.errors(tables.train, encoded)) < 6.0
    assert float(tables.errors(tables.train, independent)) > 100.0
