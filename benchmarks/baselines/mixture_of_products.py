"""``MixtureOfProductsEstimator`` of the package ``mbi`` on Microtome's own noisy tables: our model family, their fit.

Mixtures of products fitted to noisy marginals by gradient descent are RAP's idea (Aydore et al. 2021; with a softmax,
as here and as in Microtome: Liu et al. 2021). The release is that of Microtome's defaults; pairs and margins go to the
estimator with the deviation of their noise, levels are drawn by its own sampler and turned into values by the release's
codebook. Tables of three columns are left out: the estimator would take them, but the release has some by groups of
levels only.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import optax
import pandas as pd
from mbi import Domain, LinearMeasurement
from mbi.extensions import MixtureOfProductsEstimator

from baselines.protocol import RunContext
from microtome import release
from microtome.published import AggregatesRelease
from microtome.published.second_moments import level_margins, margin_noise
from microtome.schema import Schema

COMPONENTS = 1024
STEPS = 1000
RATE = 0.1
"""The optimiser of the package's own documentation, with as many components as Microtome has at least."""


class MixtureOfProducts:
    """Microtome's release, another's fit."""

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Release, hand tables over, estimate."""
        released = release(frame, schema, epsilon=epsilon, delta=delta, kind="aggregates", allow_large_delta=True)
        assert isinstance(released, AggregatesRelease)
        self._codebook = released.codebook
        names = [block.name for block in released.codebook.blocks]
        domain = Domain(names, [block.width for block in released.codebook.blocks])
        self.tables = [*_margins(released), *_pairs(released)]
        estimator = MixtureOfProductsEstimator(optimizer=optax.adam(RATE), num_components=COMPONENTS, seed=self._seed)
        self._model = estimator.estimate(domain, self.tables, known_total=float(released.num_records), iters=STEPS)

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw levels, then values."""
        drawn, rng = self._model.synthetic_data(num_rows).to_dict(), np.random.default_rng(self._seed)
        return pd.DataFrame(
            {
                block.name: code.draw(np.asarray(drawn[block.name], dtype=np.int64), rng).to_pandas()
                for block, code in zip(self._codebook.blocks, self._codebook.codes, strict=True)
            }
        )

    def notes(self) -> dict[str, Any]:
        """What was fitted."""
        return {"tables": len(self.tables), "components": COMPONENTS, "steps": STEPS, "learning_rate": RATE}


def _margins(released: AggregatesRelease) -> list[LinearMeasurement]:
    """Single columns, as the release knows them from profile and tables."""
    shares, noise, total = level_margins(released), margin_noise(released), released.num_records
    return [
        LinearMeasurement(
            total * shares[block.start : block.stop],
            (block.name,),
            stddev=max(total * float(np.median(noise[block.start : block.stop])), 1.0),
        )
        for block in released.codebook.blocks
    ]


def _pairs(released: AggregatesRelease) -> list[LinearMeasurement]:
    """All measured pairs of columns."""
    noise = np.array(released.mechanism.pair_noise)
    return [
        LinearMeasurement(
            released.second[0, one.start : one.stop, other.start : other.stop].ravel(),
            (one.name, other.name),
            stddev=float(noise[i, j]),
        )
        for (i, one), (j, other) in combinations(enumerate(released.codebook.blocks), 2)
        if noise[i, j] > 0
    ]
