"""Corollary 1 of the paper on a census table: the loss vanishes for the table's own law and for no other."""

import numpy as np
import pandas as pd
import pytest
import torch

from microtome.divergences import KernelFDivergence, KernelSettings
from support import DATA

TABLE = DATA / "acs_ca" / "ACSPublicCoverage_CA2018_40pct.parquet"
COLUMNS = ("MAR", "ESP", "ESR", "PUBCOV")
NOISE = 0.02
pytestmark = pytest.mark.skipif(
    not TABLE.exists(), reason="no census table; set MICROTOME_DATA to the folder that holds acs_ca"
)


def encoded(*, shuffled: bool = False) -> torch.Tensor:
    """Rows in the unit ball, a centred one-hot block of each column; or with every column shuffled by itself."""
    rng = np.random.default_rng(0)
    frame = pd.read_parquet(TABLE, columns=list(COLUMNS)).sample(frac=1.0, random_state=1)
    if shuffled:
        frame = frame.apply(lambda column: column.to_numpy()[rng.permutation(len(column))])
    blocks = pd.get_dummies(frame.astype("category"), dtype=float).to_numpy()
    return torch.from_numpy((blocks - blocks.mean(axis=0)) / len(COLUMNS) ** 0.5)


def loss(rows: torch.Tensor, synthetic: torch.Tensor, slices: int, draw: torch.Generator) -> float:
    """L(ω) of Eq. (4) with gaussian directions (Definition 5), b = n, and a ridge that goes to nothing as n grows."""
    n, dim = rows.shape
    directions = torch.randn(slices, dim, 2, generator=draw, dtype=torch.float64) / dim**0.5
    released = torch.einsum("nd,mdk->nmk", rows, directions)
    released += NOISE * torch.randn(released.shape, generator=draw, dtype=torch.float64)
    divergence = KernelFDivergence.from_slices(
        released,
        directions,
        noise_scale=NOISE,
        settings=KernelSettings(ridge=n**-0.5 / 10),
        num_landmarks=128,
        generator=draw,
        dtype=torch.float64,
    )
    return float(divergence(synthetic))


def test_corollary_1_on_a_census_table(seeded) -> None:
    rows, shuffled = encoded(), encoded(shuffled=True)
    sizes = ((200, 4), (1_000, 10), (4_000, 16))
    own, wrong = ([loss(rows[:n], law[-n:], m, seeded(2)) for n, m in sizes] for law in (rows, shuffled))
    assert own[0] > 2 * own[1] > 4 * own[2], "to zero as n, b and m grow, where the law is that of the table"
    assert wrong[2] > 5 * own[2], "and not where it has the margins alone"
    assert wrong[2] > 0.5 * wrong[1]
