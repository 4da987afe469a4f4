"""SDV's GaussianCopulaSynthesizer, which many users know: no privacy, and what it gives without any noise."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer

from baselines.protocol import RunContext
from microtome.schema import Schema


class SDVCopula:
    """The synthesizer as it comes, told which columns are categories."""

    def __init__(self, context: RunContext) -> None:
        del context

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Learn the table; nothing is private here."""
        del epsilon, delta
        self._types = dict(frame.dtypes)
        kinds = {
            column.name: {"sdtype": "categorical" if column.kind.is_categorical else "numerical"}
            for column in schema.columns
        }
        metadata = Metadata.load_from_dict({"tables": {"table": {"columns": kinds}}})
        self._model = GaussianCopulaSynthesizer(metadata)
        self._model.fit({"table": frame})

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw rows."""
        return self._model.sample(num_rows)["table"].astype(self._types)

    def notes(self) -> dict[str, Any]:
        """Nothing was chosen."""
        return {"private": False}
