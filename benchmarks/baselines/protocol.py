"""The one interface of everything that is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from microtome.schema import Schema


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What a method is told besides table and promise.

    Attributes:
        seed: Seed of training; noise on private data is drawn anew in every run, as it has to be.
        time_limit: Seconds of processor time after which the run is ended from outside. A method whose length is free
            to choose plans for less.
    """

    seed: int
    time_limit: float


class Method(Protocol):
    """A mechanism with its generator. Made with a ``RunContext``."""

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Learn the table with (ε, δ) in total, everything that is read off it included (`blank-one` neighbours)."""
        ...

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Synthetic rows with the columns of the table."""
        ...

    def notes(self) -> dict[str, Any]:
        """What was chosen and where ε went, for the result file; called after ``fit``."""
        ...
