"""What a drafted schema is worth beside a declared one: nothing is public but names, types and the target.

    python benchmarks/drafted.py
    python benchmarks/drafted.py --tables housing --seeds 0 --schemas drafted

*Drafted* is ``draft_schema`` as it comes, confirmed, with the target declared. *Declared* has bounds and code lists as
a code book would have them (for want of one, codes that occur anywhere in the file, and bounds rounded outwards).
Figures are taken alike for both, by the stored types alone: a column of numbers with more than 16 different values in
16 quantile bins of the real rows, any other by its values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from census import Source, data_folder, load_task
from microtome.api import release
from microtome.private import draft_schema
from microtome.published import Release
from microtome.schema import Column, Kind, NumberCells, Outside, Schema
from microtome.synthesis import Synthesizer
from results import FOLDER, ResultFile

BINS = 16
DELTA = 1e-6
_HOUSING = {
    "longitude": (-125.0, -114.0),
    "latitude": (32.0, 42.0),
    "housing_median_age": (0, 52),
    "total_rooms": (0, 40_000),
    "total_bedrooms": (0.0, 7_000.0),
    "population": (0, 40_000),
    "households": (0, 7_000),
    "median_income": (0.0, 15.1),
    "median_house_value": (0, 500_001),
}
_CREDIT = {
    "duration_in_month": (0, 72),
    "credit_amount": (0, 20_000),
    "installment_rate_in_percentage_of_disposable_income": (1, 4),
    "present_residence_since": (1, 4),
    "age_in_years": (18, 80),
    "number_of_existing_credits_at_this_bank": (1, 4),
    "number_of_people_being_liable_to_provide_maintenance_for": (1, 2),
}
Bounds = dict[str, tuple[float, float]]
Shares = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Example:
    """A table, and what its code book would say."""

    frame: pd.DataFrame
    declared: Schema

    @property
    def target(self) -> str:
        """The column to be predicted."""
        assert self.declared.target is not None
        return self.declared.target

    def drafted(self) -> Schema:
        """The draft, with the target declared."""
        draft = draft_schema(self.frame, target=self.target)
        columns = [self.declared[column.name] if column.name == self.target else column for column in draft.columns]
        return replace(draft, columns=tuple(columns)).confirm()


def housing(seed: int, rows: int | None = 16_512) -> Example:
    frame = pd.read_parquet(data_folder() / "housing" / "california_housing_1990.parquet")
    return _example(frame, _HOUSING, "median_house_value", seed, rows=rows)


def german_credit(seed: int) -> Example:
    frame = pd.read_csv(data_folder() / "german_credit" / "german_credit.csv")
    frame = frame.rename(columns={"telephone": "has_line"})  # a draft may take the name for an identifier's
    return _example(frame, _CREDIT, "credit_risk", seed, rows=800)


def _task(name: str, source: Source) -> Callable[[int], Example]:
    def load(seed: int) -> Example:
        task = load_task(name, seed, source=source)
        return Example(frame=task.train, declared=task.schema)

    return load


TABLES: dict[str, Callable[[int], Example]] = {
    "housing": housing,
    "Adult": _task("Adult", Source.ADULT),
    "Income (California)": _task("Income", Source.CALIFORNIA),
    "PublicCoverage (California)": _task("PublicCoverage", Source.CALIFORNIA),
    "Mobility (California)": _task("Mobility", Source.CALIFORNIA),
    "german_credit": german_credit,
}


def _example(frame: pd.DataFrame, bounds: Bounds, target: str, seed: int, *, rows: int | None) -> Example:
    chosen = np.random.default_rng(seed).permutation(len(frame))[:rows]
    columns = tuple(_declared(frame[name], bounds.get(str(name))) for name in frame.columns)
    return Example(frame=frame.iloc[chosen].reset_index(drop=True), declared=Schema(columns=columns, target=target))


def _declared(values: pd.Series, bounds: tuple[float, float] | None) -> Column:
    name, missing = str(values.name), bool(values.isna().any())
    if bounds is None:
        stored = "string" if values.dtype == object or str(values.dtype) == "str" else str(values.dtype)
        codes = tuple(sorted(values.dropna().unique().tolist()))
        return Column(name=name, kind=Kind.CATEGORICAL, dtype=stored, categories=codes, missing=missing)
    kind = Kind.INTEGER if pd.api.types.is_integer_dtype(values.dtype) else Kind.FLOAT
    return Column(name=name, kind=kind, bounds=bounds, missing=missing, outside=Outside.CLAMP)


def figures(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """How far synthetic rows are from the real ones; all but ``ks`` and ``tv`` are distances."""
    levels = {name: _levels(real[name], made[name]) for name in real.columns}
    pairs = [_apart(levels[a], levels[b]) for a, b in combinations(levels, 2)]
    numeric = [name for name in real.columns if _is_measured(real[name])]
    named = [name for name in real.columns if name not in numeric]
    return {
        "pair_tv": float(np.mean(pairs)),
        "worst_pair_tv": float(np.max(pairs)),
        "ks": float(np.mean([1.0 - ks_2samp(real[name].dropna(), made[name].dropna()).statistic for name in numeric])),
        "worst_ks": min(1.0 - ks_2samp(real[name].dropna(), made[name].dropna()).statistic for name in numeric),
        "tv": float(np.mean([1.0 - _apart(levels[name], levels[name]) for name in named])),
        "spurious_missing": float(sum(made[name].isna().any() and not real[name].isna().any() for name in real)),
    }


def learnt(released: Release, real: pd.DataFrame) -> dict[str, Any]:
    """What the release has learnt of each column whose domain was not declared."""
    found = {}
    for code in released.codebook.codes:
        if code.column.is_declared:
            continue
        entry: dict[str, Any] = {"levels": code.num_levels}
        if isinstance(code.cells, NumberCells):
            low, high = code.cells.edges[[0, -1]] - [0.0, float(code.cells.integral)]
            values = real[code.column.name].dropna().astype(float)
            entry["width"] = float((high - low) / max(values.max() - values.min(), 1e-12))
            entry["outside"] = float(((values < low) | (values > high)).mean())
        else:
            entry["other"] = float(code.margins[len(code.cells.categories)])
        found[code.column.name] = entry
    return found


def _is_measured(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > BINS


def _levels(real: pd.Series, made: pd.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both sides of a column as levels: quantile bins of the real numbers, or values; missing ones are a level."""
    if _is_measured(real):
        edges = np.unique(np.quantile(real.dropna(), np.linspace(0, 1, BINS + 1)))[1:-1]
        sides = [
            np.where(side.isna(), len(edges) + 1, np.searchsorted(edges, side, side="right")) for side in (real, made)
        ]
        return sides[0].astype(np.int64), sides[1].astype(np.int64)
    both = pd.concat([real, made], ignore_index=True).astype(object)
    codes = pd.factorize(both.where(both.notna(), "(missing)").map(_named))[0].astype(np.int64)
    return codes[: len(real)], codes[len(real) :]


def _named(value: Any) -> str:
    """One name for 1 and 1.0, which differ in nothing but how a column is stored."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _apart(a: tuple[NDArray[np.int64], ...], b: tuple[NDArray[np.int64], ...]) -> float:
    """Total variation between the two sides' tables of two columns."""
    width = max(int(side.max()) for side in b) + 1
    tables = [np.bincount(left * width + right) for left, right in zip(a, b, strict=True)]
    size = max(map(len, tables))
    real, made = (np.pad(table, (0, size - len(table))) / table.sum() for table in tables)
    return float(np.abs(real - made).sum() / 2)


def run(example: Example, schema: Schema, epsilon: float, seed: int) -> dict[str, Any]:
    released = release(example.frame, schema, epsilon=epsilon, delta=DELTA, allow_large_delta=True, anyway=True)
    model = Synthesizer(random_state=seed).fit(released)
    made = model.sample(len(example.frame), random_state=seed)
    unlearnt = list(getattr(released, "unlearnt", ()))
    return {
        "figures": figures(example.frame, made),
        "rows": len(example.frame),
        "columns": learnt(released, example.frame),
        "unlearnt": unlearnt,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--schemas", nargs="+", choices=["drafted", "declared"], default=["declared", "drafted"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--results", default="drafted")
    options = parser.parse_args()
    results = ResultFile(FOLDER / f"{options.results}.json")
    for seed in options.seeds:
        for name in options.tables:
            example = TABLES[name](seed)
            for kind in options.schemas:
                key = {"table": name, "schema": kind, "epsilon": options.epsilon, "seed": seed}
                if results.has(key):
                    continue
                schema = example.drafted() if kind == "drafted" else example.declared
                found = run(example, schema, options.epsilon, seed)
                results.put(key, found)
                print(key, found["figures"], found["unlearnt"], flush=True)


if __name__ == "__main__":
    main()
