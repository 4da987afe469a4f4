"""What is compared: names, titles, and in which environment each method runs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class Environment(StrEnum):
    """Which interpreter runs a method."""

    PROJECT = "project"
    BASELINES = "baselines"
    MIXTURES = "mixtures"

    def python(self) -> Path:
        """Its interpreter: this one, or one of ``make bench-env``.

        ``MICROTOME_BASELINES`` and ``MICROTOME_MIXTURES`` name other folders.
        """
        if self is Environment.PROJECT:
            return Path(sys.executable)
        return Path(os.environ.get(f"MICROTOME_{self.upper()}", ROOT / f".venv-{self}")) / "bin" / "python"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A method of the comparison.

    Attributes:
        title: What reports call it.
        place: ``module:class`` of its implementation.
        environment: Where it runs.
        uses_epsilon: False for the references, which are not private.
        remark: What a reader of the table has to know.
    """

    title: str
    place: str
    environment: Environment = Environment.PROJECT
    uses_epsilon: bool = True
    remark: str = ""

    def load(self) -> Any:
        """The class; imports what its environment has."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


METHODS: dict[str, Entry] = {
    "real": Entry(
        title="real training rows",
        place="baselines.margins:RealRows",
        uses_epsilon=False,
        remark="Not private: the ceiling.",
    ),
    "resampled": Entry(
        title="real rows drawn anew",
        place="baselines.margins:ResampledRows",
        uses_epsilon=False,
        remark="Not private: as many rows, with replacement. What a sample of the same people would get, by chance.",
    ),
    "shuffled": Entry(
        title="independent columns, exact margins",
        place="baselines.margins:ShuffledColumns",
        uses_epsilon=False,
        remark="Not private: what a metric gives to rows that know no dependence.",
    ),
    "sdv": Entry(
        title="SDV's Gaussian copula",
        place="baselines.sdv_copula:SDVCopula",
        environment=Environment.BASELINES,
        uses_epsilon=False,
        remark="Not private: `GaussianCopulaSynthesizer` of SDV 2 as it comes.",
    ),
    "independent": Entry(
        title="independent columns, DP margins",
        place="baselines.margins:NoisyMargins",
        remark="One Gaussian mechanism for all histograms; numbers drawn from theirs as Microtome does.",
    ),
    "aggregates": Entry(
        title="**Microtome, aggregates**",
        place="baselines.slicing:Aggregates",
        remark="Defaults of `release` and `fit`.",
    ),
    "records": Entry(
        title="**Microtome, records**",
        place="baselines.slicing:Records",
        remark="`release --kind records`, default `fit`: every record noised by itself, no trusted collector.",
    ),
    "mst": Entry(
        title="MST",
        place="baselines.marginal_models:MST",
        environment=Environment.BASELINES,
        remark="`dpmm`, with numbers in 32 quantile bins, common values apart, and rounded as ours, for a tenth of ε.",
    ),
    "aim": Entry(
        title="AIM",
        place="baselines.marginal_models:AIM",
        environment=Environment.BASELINES,
        remark="`dpmm`, with model (2 MB) and iterations cut so that it ends within the time limit; ε as for MST.",
    ),
    "aim_large": Entry(
        title="AIM, 8 MB",
        place="baselines.marginal_models:LargeAIM",
        environment=Environment.BASELINES,
        remark="As AIM with four times the model, to see what the cut costs it; on the 14 states at ε = 5.1 only.",
    ),
    "privbayes": Entry(
        title="PrivBayes+PGM",
        place="baselines.marginal_models:PrivBayes",
        environment=Environment.BASELINES,
        remark="`dpmm`, with the score replaced by the one whose sensitivity it assumes; ε as for MST.",
    ),
    "mst_public": Entry(
        title="MST, public bins",
        place="baselines.marginal_models:PublicBinsMST",
        environment=Environment.BASELINES,
        remark="As MST, with numbers in 16 bins of equal width between the declared bounds, for no ε.",
    ),
    "aim_public": Entry(
        title="AIM, public bins",
        place="baselines.marginal_models:PublicBinsAIM",
        environment=Environment.BASELINES,
        remark="As AIM, with numbers in 16 bins of equal width between the declared bounds, for no ε.",
    ),
    "copula": Entry(
        title="Gaussian copula",
        place="baselines.copula:GaussianCopula",
        remark="Noisy margins, and noisy correlations of normal scores of all columns, half of μ² each.",
    ),
    "mixture": Entry(
        title="mbi's mixture on our tables",
        place="baselines.mixture_of_products:MixtureOfProducts",
        environment=Environment.MIXTURES,
        remark="`MixtureOfProductsEstimator` of `mbi` 2 on margins and pairs of a default release of ours: "
        "the same family of models (RAP), another fit.",
    ),
    "merf": Entry(
        title="DP-MERF",
        place="baselines.merf:DPMERF",
        remark="Written by us from its paper.",
    ),
    "dpsgd": Entry(
        title="DP-SGD GAN",
        place="baselines.dpsgd_gan:DPSGDGAN",
        environment=Environment.BASELINES,
        remark="Opacus; in place of SmartNoise's, whose accounting does not hold.",
    ),
    "pate": Entry(
        title="PATE-GAN",
        place="baselines.pate_gan:PATEGAN",
        remark="Written by us from its paper with Gaussian votes; in place of SmartNoise's.",
    ),
    "slicewass": Entry(
        title="SliceWass",
        place="baselines.slicing:SliceWass",
        remark="Sliced Wasserstein on the same mechanism with 500 slices (k = 1), with the paper's training; "
        "a profile of 0.5 inside ε. Earlier runs: a tenth of μ² for the profile, a one-cycle rate.",
    ),
    "slicewass_outside": Entry(
        title="SliceWass, the paper's noise",
        place="baselines.slicing:SliceWassOutside",
        remark="The profile's 0.5 on top of ε, as in the paper: it spends more than the others.",
    ),
    "algorithm1": Entry(
        title="Algorithm 1 as printed",
        place="baselines.slicing:Algorithm1",
        remark="The paper's mechanism and training, learning rate 2e-5; a profile of 0.5 inside ε. Chosen: 20 slices "
        "of 5 dimensions, KL, ridge 0.001 a point, numbers in bins, balanced draws. Earlier runs as for SliceWass.",
    ),
    "algorithm1_outside": Entry(
        title="Algorithm 1 as printed, the paper's noise",
        place="baselines.slicing:Algorithm1Outside",
        remark="The profile's 0.5 on top of ε, as in the paper: it spends more than the others.",
    ),
    "algorithm1_faster": Entry(
        title="Algorithm 1, the paper's noise, learning rate 1e-3",
        place="baselines.slicing:Algorithm1Faster",
        remark="As the row before, with a learning rate that leaves the start; it too spends 0.5 more.",
    ),
}
