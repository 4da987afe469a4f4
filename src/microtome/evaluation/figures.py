"""All figures of a report in one record, and as plain values for JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from microtome.evaluation.anonymity import Risk
from microtome.evaluation.attacks import Attacks
from microtome.evaluation.detector import Detection
from microtome.evaluation.distributions import ColumnFigures
from microtome.evaluation.pairs import AllPairs
from microtome.evaluation.tables import SomeRows
from microtome.evaluation.utility import Utility
from microtome.evaluation.verdict import Verdict

FORMAT = "microtome-report"
VERSION = 2


@dataclass(frozen=True, kw_only=True)
class TableSize:
    """A table of the report.

    Attributes:
        origin: What it is called.
        rows: Its rows.
        model_rows: At most so many of them, drawn at random, were used for models, the detector and attacks.
    """

    origin: str
    rows: int
    model_rows: int


@dataclass(frozen=True, kw_only=True)
class PromiseFigures:
    """What the release promises.

    Attributes:
        epsilon: ε.
        delta: δ.
        neighbours: Name of the relation.
        neighbours_in_words: What it means.
        kind: Kind of release.
        holds: Whether its noise was genuine; a release made for a test promises nothing.
        in_words: The whole promise, a sentence each.
        members_found: The largest share of members that any attack can find, at each rate of wrong accusations.
        fingerprint: Which release it is.
    """

    epsilon: float
    delta: float
    neighbours: str
    neighbours_in_words: str
    kind: str
    holds: bool
    in_words: tuple[str, ...]
    members_found: dict[float, float]
    fingerprint: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Figures:
    """Everything on the page. A sentence in place of figures says why they are not there.

    Attributes:
        from_real_rows: Whether real rows were looked at: then nothing of this is private.
        stamp: What may be done with the page, in a sentence.
        free_to_publish: Whether the page may be given to anybody.
        created: When.
        software: By what.
        tables: By role: ``real`` (or ``release``), ``synthetic``, ``holdout``.
        target: The column that is predicted, if any.
        notes: What a reader should know.
        verdict: What to think of the synthetic table, in words.
        rows: Some synthetic rows to look at.
        promise: Of the release, if one was given.
        columns: One column each.
        pairs: All pairs, or why not.
        metrics: The five metrics of the paper, of the synthetic table and of independent columns.
        utility: Train on synthetic, test on real.
        detector: Real against synthetic.
        attacks: Closeness and membership.
        anonymity: Singling out and linking.
    """

    from_real_rows: bool
    stamp: str
    free_to_publish: bool
    created: str
    software: str
    tables: dict[str, TableSize]
    target: str | None
    notes: tuple[str, ...]
    verdict: Verdict
    rows: SomeRows
    promise: PromiseFigures | None
    columns: tuple[ColumnFigures, ...]
    pairs: AllPairs | str
    metrics: dict[str, dict[str, float | None]]
    utility: Utility | str
    detector: Detection | str
    attacks: Attacks | str
    anonymity: list[Risk] | str

    def __repr__(self) -> str:
        against = self.tables["real" if self.from_real_rows else "release"].origin
        return (
            f"<figures of {self.tables['synthetic'].origin} against {against}: {len(self.columns)} columns, "
            f"{self.pairs}, verdict {self.verdict.level} ({self.verdict.score:.2f})>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"format": FORMAT, "version": VERSION, **plain_figures(self)}


def plain_figures(value: Any) -> Any:
    """Records as dictionaries, arrays as lists, numbers that are none as null."""
    match value:
        case AllPairs():
            return _plain_pairs(value)
        case SomeRows():
            return value.to_list()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_figures(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain_figures(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_figures(inner) for inner in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def _plain_pairs(pairs: AllPairs) -> dict[str, Any]:
    """Matrices of all pairs; the worst ones with their tables."""
    figures = ("dependence", "dependence_error", "synthetic_dependence", "similarity", "gap", "floor")
    return {
        "names": list(pairs.names),
        "kept": plain_figures(pairs.kept),
        "kept_by_chance": pairs.kept_by_chance,
        **{what: plain_figures(pairs.matrix(what)) for what in figures},
        "worst": [plain_figures(pair) for pair in pairs.worst()],
    }
