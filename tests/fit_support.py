"""What the tests of the public half share: a table with a planted dependence, releases of it, quick settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from microtome.generators import MixtureSettings, NetworkSettings, RowLayout
from microtome.published import Release
from microtome.schema import Column, Kind, Schema
from microtome.training import FitSettings, LossMix
from support import FixedRandomness, SilentGenerator, levels_of, publish

Floats = NDArray[np.float64]
NUM_ROWS = 4000
QUICK = FitSettings(
    network=NetworkSettings(latent_dim=8, hidden=(32,)),
    steps=200,
    batch_size=256,
    learning_rate=1e-2,
    check_every=20,
    patience=None,
)


class QuietProfile(FixedRandomness):
    """No noise in the profile, noise in the rows: the tables of a release can be held against the truth."""

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        usual = super().stream(purpose, block)
        return SilentGenerator(usual.bit_generator) if purpose.startswith("profile") else usual


class StretchedNoise(QuietProfile):
    """The same with noise that is not what the release says it is."""

    def __init__(self, seed: int, factor: float) -> None:
        super().__init__(seed)
        self.factor = factor

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        usual = super().stream(purpose, block)
        return _Stretched(usual.bit_generator, self.factor) if purpose == "noise" else usual


class _Stretched(np.random.Generator):
    def __init__(self, bits: Any, factor: float) -> None:
        super().__init__(bits)
        self.factor = factor

    def standard_normal(self, *arguments: Any, **options: Any) -> Any:  # type: ignore[override]
        drawn = super().standard_normal(*arguments, **options)
        drawn *= self.factor
        return drawn


def planted(num_rows: int = NUM_ROWS, seed: int = 3, strength: float = 0.9) -> pa.Table:
    """Shape and colour nearly follow from each other, size leans on both, day is a column of one value."""
    rng = np.random.default_rng(seed)
    shape = rng.choice(3, num_rows, p=[0.5, 0.3, 0.2])
    colour = np.where(rng.random(num_rows) < strength, shape, rng.integers(0, 3, num_rows))
    large = rng.random(num_rows) < np.where(rng.random(num_rows) < strength, shape == 0, rng.random(num_rows))
    return pa.table(
        {
            "shape": pa.array(np.array(["round", "square", "long"])[shape]),
            "colour": pa.array(np.array(["red", "green", "blue"])[colour]),
            "large": pa.array(large),
            "day": pa.array(["monday"] * num_rows),
        }
    )


def planted_schema(target: str | None = "large") -> Schema:
    return Schema(
        columns=(
            Column(name="shape", kind=Kind.CATEGORICAL, categories=("round", "square", "long"), missing=False),
            Column(name="colour", kind=Kind.CATEGORICAL, categories=("red", "green", "blue"), missing=False),
            Column(name="large", kind=Kind.BOOLEAN, missing=False),
            Column(name="day", kind=Kind.CATEGORICAL, categories=("monday",), missing=False),
        ),
        target=target,
    )


def planted_release(path: Path, *, table: pa.Table | None = None, epsilon: float = 60.0, **settings: Any) -> Release:
    settings = {"randomness": QuietProfile(), "schema": planted_schema(), **settings}
    return publish(planted() if table is None else table, output=path, epsilon=epsilon, **settings)


def quick(**changes: Any) -> FitSettings:
    """The quick settings with changes; a loss by name alone stands for that loss only."""
    loss = changes.pop("loss", None)
    if isinstance(loss, str):
        loss = LossMix(**{"moments": 0.0, loss: 1.0})
    document = {name: getattr(QUICK, name) for name in QUICK.__dataclass_fields__}
    return FitSettings(**{**document, **({"loss": loss} if loss else {}), **changes})


def quick_mixture(**changes: Any) -> FitSettings:
    """Quick settings for releases of aggregates."""
    settings = {"mixture": MixtureSettings(components=48), "steps": 250, "check_every": 10, "patience": None}
    return FitSettings(**{**settings, **changes})


def true_tables(release: Release, table: pa.Table) -> Floats:
    """All two-way tables of one-hot rows."""
    rows = one_hot(release, levels_of(table, release.codebook))
    return rows.T @ rows / len(rows)


def one_hot(release: Release, levels: NDArray[np.int64]) -> Floats:
    blocks = release.codebook.blocks
    return np.concatenate([np.eye(block.width)[levels[:, i]] for i, block in enumerate(blocks)], axis=1)


def across(release: Release) -> NDArray[np.bool_]:
    """Entries of two different columns that both vary, each pair once."""
    blocks = release.codebook.blocks
    owner = np.repeat(np.arange(len(blocks)), [block.width for block in blocks])
    varies = np.repeat([block.width > 1 for block in blocks], [block.width for block in blocks])
    return (owner[:, None] < owner[None, :]) & varies[:, None] & varies[None, :]


def joint(frame: pd.DataFrame | pa.Table, *columns: str) -> pd.Series:
    """Shares of the combinations of some columns."""
    frame = frame.to_pandas() if isinstance(frame, pa.Table) else frame
    return frame.value_counts(list(columns), normalize=True)


def distance(first: pd.Series, second: pd.Series) -> float:
    """Total variation between two tables of shares."""
    return 0.5 * float(first.sub(second, fill_value=0.0).abs().sum())


def from_independence(shares: pd.Series) -> float:
    """Total variation between a two-way table and the product of its margins."""
    table = shares.unstack(fill_value=0.0)
    product = pd.DataFrame(np.outer(table.sum(axis=1), table.sum(axis=0)), index=table.index, columns=table.columns)
    return distance(shares, product.stack())


class LatentClasses(nn.Module):
    """A generator of one's own that is no ``TabularGenerator``: soft classes, each with its own margins."""

    def __init__(self, layout: RowLayout, *, classes: int = 4, seed: int = 0, dropout: float = 0.0) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.layout, self.latent_dim = layout, classes
        self.logits = nn.Parameter(torch.randn(classes, layout.dim, generator=random))
        self.dropout = nn.Dropout(dropout)

    def probabilities(self, latent: Tensor) -> Tensor:
        return self.layout.softmax(self.dropout((4.0 * latent).softmax(dim=1)) @ self.logits)

    def forward(self, latent: Tensor) -> Tensor:
        return self.layout.encode(self.probabilities(latent))

    def draw(self, latent: Tensor, generator: torch.Generator) -> Tensor:
        probabilities = self.probabilities(latent)
        levels = self.layout.draw_levels(probabilities.detach(), generator)
        return self.layout.encode(self.layout.one_hot(levels) + probabilities - probabilities.detach())


class RowsOnly(nn.Module):
    """A generator of one's own that gives rows and no distributions: the least the protocol asks."""

    def __init__(self, layout: RowLayout, *, seed: int = 0, dim: int | None = None) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, dim or layout.dim))
        self.layout, self.latent_dim = layout, 6

    def forward(self, latent: Tensor) -> Tensor:
        logits = self.net(latent)
        if logits.shape[1] != self.layout.dim:
            return logits
        return self.layout.encode(self.layout.softmax(8.0 * logits))


def twisted(num_rows: int = NUM_ROWS, seed: int = 5) -> pa.Table:
    """Left and right agree where the switch is on and differ where it is off: no two columns show it."""
    rng = np.random.default_rng(seed)
    switch, left = rng.random(num_rows) < 0.4, rng.random(num_rows) < 0.5
    right = np.where(rng.random(num_rows) < 0.9, left == switch, rng.random(num_rows) < 0.5)
    return pa.table({"left": pa.array(left), "switch": pa.array(switch), "right": pa.array(right)})


def twisted_schema() -> Schema:
    names = ("left", "switch", "right")
    return Schema(columns=tuple(Column(name=name, kind=Kind.BOOLEAN, missing=False) for name in names), target="switch")
