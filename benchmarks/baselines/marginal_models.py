"""MST, AIM and PrivBayes of the package ``dpmm`` (Mahiou et al. 2025): measure chosen margins, fit Private-PGM.

They take categories, so numeric columns are cut into bins with ``BINNING_EPSILON`` of the stated ε (``number_bins``);
the rest is the model's. ``PublicBinsMST`` and ``PublicBinsAIM`` spend nothing on it: on a thousand rows noisy quantiles
cost more than they bring. (The package's own PrivTree bins halve the declared range again and again: whole numbers fall
on both sides of an edge, and a common value, such as no income, is spread over its bin.) Categories and bounds are the
declared ones, so nothing else is read off the table. Columns with one declared category are left out and put back: they
hold nothing.

Private-PGM's mirror descent runs for its usual 1,000 iterations (the package's default for MST is 10,000, which takes
ten times as long), in the quick version of ``quick_pgm``, which gives the same values.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from dpmm.models import priv_bayes
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

from baselines import quick_pgm
from baselines.encoding import codes, decode_codes
from baselines.number_bins import binned, laplace_bins, public_bins
from baselines.protocol import RunContext
from microtome.schema import Column, Schema

BINNING_EPSILON = 0.1
"""Share of ε for cutting numeric columns into bins."""
ITERATIONS = 1000
AIM_ROUND_ITERATIONS = 100
AIM_MODEL_MEGABYTES = 2.0


class MarginalModel:
    """What the three have in common."""

    pipeline: type
    model_size: float | None = None
    iterations = ITERATIONS
    binning_share = BINNING_EPSILON

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Bin, select, measure, estimate."""
        logging.getLogger("dpmm").setLevel(logging.ERROR)
        quick_pgm.install()
        self._schema = schema
        numeric = [column for column in schema.columns if column.categories is None]
        self.binning = self.binning_share * epsilon if numeric else 0.0
        self.bins = laplace_bins(frame, numeric, self.binning) if self.binning else public_bins(numeric)
        self._model = self.pipeline(
            epsilon=epsilon - self.binning,
            delta=delta,
            disable_processing=True,
            n_jobs=1,
            compress=True,
            max_model_size=self.model_size,
            gen_kwargs={"n_iters": self.iterations},
        )
        sizes = {column.name: self._num_codes(column) for column in schema.columns}
        self._modelled = [column for column in schema.columns if sizes[column.name] > 1]
        self._model.fit(
            pd.DataFrame({column.name: self._codes(frame[column.name], column) for column in self._modelled}),
            domain={column.name: sizes[column.name] for column in self._modelled},
        )

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw rows."""
        made, rng = self._model.generate(num_rows, random_state=self._seed), np.random.default_rng(self._seed)
        modelled = {column.name: made[column.name].to_numpy(np.int64) for column in self._modelled}
        nothing = np.zeros(num_rows, dtype=np.int64)
        columns = {
            column.name: self._values(modelled.get(column.name, nothing), column, rng)
            for column in self._schema.columns
        }
        return pd.DataFrame(columns)

    def notes(self) -> dict[str, Any]:
        """Where ε went, and what was measured."""
        cliques = self._model.gen.generator.cliques or []
        return {
            "epsilon_of_binning": self.binning,
            "iterations": ITERATIONS,
            "model_megabytes": self.model_size,
            "pairs_measured": len({tuple(sorted(clique)) for clique in cliques if len(clique) > 1}),
            "bins": {name: code.num_levels for name, code in self.bins.items()},
        }

    def _num_codes(self, column: Column) -> int:
        return self.bins[column.name].num_levels if column.categories is None else len(column.categories)

    def _codes(self, values: pd.Series, column: Column) -> npt.NDArray[np.integer]:
        return binned(values, self.bins[column.name]) if column.categories is None else codes(values, column)

    def _values(
        self, drawn: npt.NDArray[np.int64], column: Column, rng: np.random.Generator
    ) -> npt.NDArray[np.generic] | pd.Series:
        if column.categories is not None:
            return decode_codes(drawn, column)
        return self.bins[column.name].draw(drawn, rng).to_pandas()


class MST(MarginalModel):
    """A maximum spanning tree of pairs (McKenna, Miklau and Sheldon 2021)."""

    pipeline = MSTPipeline


class AIM(MarginalModel):
    """Pairs chosen one by one where the model is worst (McKenna et al. 2022).

    With the package's defaults (80 MB, 1,000 iterations after each choice) it does not finish in hours on wide tables.
    Here the model is held to ``AIM_MODEL_MEGABYTES`` and estimated by ``AIM_ROUND_ITERATIONS`` between choices, from
    where it was. The last estimate takes the usual number and goes on from there too, as the authors' does (the
    package starts it anew, which leaves it further from its end).
    """

    pipeline = AIMPipeline
    model_size = AIM_MODEL_MEGABYTES
    iterations = AIM_ROUND_ITERATIONS

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Bin, select, measure, estimate, and estimate again."""
        super().fit(frame, schema, epsilon, delta)
        mechanism = self._model.gen.generator
        mechanism.engine.iters = ITERATIONS
        mechanism.model = mechanism.engine.estimate(mechanism.measures)


class LargeAIM(AIM):
    """The same with four times the model, where there is time for it."""

    model_size = 4 * AIM_MODEL_MEGABYTES


class PublicBinsMST(MST):
    """The same in bins of equal width between the declared bounds, which cost no ε."""

    binning_share = 0.0


class PublicBinsAIM(AIM):
    """The same in bins of equal width between the declared bounds, which cost no ε."""

    binning_share = 0.0


class ExactMutualInformation(priv_bayes.MI):
    """Mutual information in nats.

    The package divides by the columns' entropies, in bits, but calibrates to the sensitivity of what is returned here;
    with it the selection step is what its ε says.
    """

    def __call__(self, parents: tuple[str, ...], child: str) -> float:
        """I(parents; child)."""
        joint = self.data.project([*parents, child]).datavector(flatten=False)
        shares = joint / max(joint.sum(), 1)
        of_child, of_parents = shares.sum(axis=tuple(range(len(parents)))), shares.sum(axis=-1)
        bits = self.entropy(of_child) + self.entropy(of_parents) - self.entropy(shares)
        return float(bits * np.log(2))


class PrivBayes(MarginalModel):
    """A Bayesian network with one parent a column, estimated by Private-PGM (Zhang et al. 2017)."""

    pipeline = PrivBayesPipeline

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Bin, select, measure, estimate."""
        priv_bayes.MI = ExactMutualInformation
        super().fit(frame, schema, epsilon, delta)
