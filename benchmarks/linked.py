"""Linked tables: a client and everything behind at one ε, against what else could be done with the same ε.

    python benchmarks/linked.py
    python benchmarks/linked.py --methods linked --seeds 0

- *linked*: one release of all tables, as ``mt.release(tables, schema)`` makes it.
- *one by one*: each table released by itself for the same people, with ε split so that all releases together promise
  what the one does (Gaussian mechanisms of equal μ² add up); synthetic rows are hung on parents at random.
- *children independent*: the tables of *linked*, with rows dealt out to parents at random: how many rows a parent has
  is kept, what parent and child have to do with each other is lost.
- *HMA*: SDV's hierarchical model, without any privacy, in the environment of rival methods (make bench-env). It takes
  five tables at most: cards are left out.

Figures are those of ``mt.report_linked``, against the tables that were released.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import microtome as mt
from bank import Tables, bank_schema, bank_tables, loan_auc, loan_auc_of_real, read_frame
from microtome.accounting.gaussian import gaussian_epsilon, gaussian_mu
from microtome.schema import LinkedSchema, LinkedTable
from microtome.schema.unit import Unit
from results import FOLDER, ResultFile

EPSILON, DELTA = 3.0, 1e-6
_LEFT_OUT_BY_HMA = "card"
_ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv-baselines"


class Linked:
    """One release of all tables, and what is drawn from it; made once a seed."""

    def __init__(self) -> None:
        self._drawn: dict[int, Tables] = {}

    def __call__(self, real: Tables, schema: LinkedSchema, seed: int) -> Tables:
        """The tables of a seed."""
        if seed not in self._drawn:
            self._drawn[seed] = _released(real, schema, seed)
        return self._drawn[seed]


linked = Linked()


def _released(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    release = mt.release(real, schema, epsilon=EPSILON, delta=DELTA)
    model = mt.Synthesizer(random_state=seed).fit(release)
    drawn = model.sample(len(real[schema.root.name]), random_state=seed)
    return {name: drawn[name] for name in schema.names}


def children_independent(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    """The tables of one release, rows dealt out to parents at random."""
    rng = np.random.default_rng(seed)
    tables = dict(linked(real, schema, seed))
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


def hma(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    """SDV's hierarchical model in an environment of its own; it takes five tables, so one is left out."""
    schema = _without(schema, _LEFT_OUT_BY_HMA)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("real", "synthetic"):
            (folder / part).mkdir()
        for name in schema.names:
            real[name][_compared(schema[name])].to_csv(folder / "real" / f"{name}.csv", index=False)
        said = {"seed": seed, "people": schema.root.name, "metadata": _metadata(schema)}
        (folder / "specification.json").write_text(json.dumps(said))
        python, script = _ENVIRONMENT / "bin" / "python", Path(__file__).with_name("hma.py")
        subprocess.run(
            [python, script, *(folder / part for part in ("specification.json", "real", "synthetic"))], check=True
        )
        return {name: read_frame(folder / "synthetic" / f"{name}.csv") for name in schema.names}


def _without(schema: LinkedSchema, name: str) -> LinkedSchema:
    return replace(schema, tables=tuple(table for table in schema.tables if table.name != name))


def _compared(table: LinkedTable) -> list[str]:
    return [one.name for one in table.schema.layout() if one.name in table.schema.names or not one.is_dropped]  # type: ignore[union-attr]


def _metadata(schema: LinkedSchema) -> dict[str, Any]:
    """Keys, links and kinds of columns as SDV wants them."""
    tables = {}
    for table in schema.tables:
        columns: dict[str, dict[str, str]] = {}
        for column in table.schema.columns:
            kind = "categorical" if column.kind.is_categorical else "numerical"
            columns[column.name] = (
                {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"} if column.kind.is_temporal else {"sdtype": kind}
            )
        columns |= {name: {"sdtype": "id"} for name in _compared(table) if name not in columns}
        tables[table.name] = {"columns": columns, **({} if table.key is None else {"primary_key": table.key})}
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": tables,
        "relationships": [_relationship(name, schema) for name in schema.links],
    }


def _relationship(name: str, schema: LinkedSchema) -> dict[str, str | None]:
    parent = schema.links[name]
    one, many = (name, parent.table) if parent.owner else (parent.table, name)
    return {
        "parent_table_name": one,
        "parent_primary_key": schema[one].key,
        "child_table_name": many,
        "child_foreign_key": parent.foreign_key,
    }


METHODS: dict[str, Callable[[Tables, LinkedSchema, int], Tables]] = {
    "linked": linked,
    "one by one": one_by_one,
    "children independent": children_independent,
    "HMA": hma,
}


def figures(real: Tables, synthetic: Tables, schema: LinkedSchema) -> dict[str, Any]:
    """What is measured of a method."""
    for name in set(schema.names) - set(synthetic):
        schema = _without(schema, name)
    found = mt.report_linked(real, synthetic, schema, sample=10_000).figures
    detector = found.detector
    return {
        "cardinality": {link.table: link.cardinality.score for link in found.links},
        "pair_tv": {link.table: link.distance for link in found.links},
        "chance": {link.table: link.floor for link in found.links},
        "kept": {link.table: link.kept for link in found.links},
        "within_tv": {table.name: _within(table.pairs) for table in found.tables},
        "broken_keys": found.broken_keys,
        "detector_auc": None if isinstance(detector, str) else max(detector.auc.values()),
        "rows": {table.name: table.rows[1] for table in found.tables},
    }


def _within(pairs: Any) -> float | None:
    """Mean total variation of all pairs of columns of one table."""
    if isinstance(pairs, str):
        return None
    return float(np.mean([1.0 - pair.similarity for pair in pairs.pairs.values()]))


def run(method: str, seed: int) -> dict[str, Any]:
    """The tables of a method, and what is measured of them."""
    schema = bank_schema()
    real = bank_tables(schema)
    started = time.perf_counter()
    synthetic = METHODS[method](real, schema, seed)
    seconds = time.perf_counter() - started
    found = figures(real, synthetic, schema)
    found |= {"loan_auc": loan_auc(synthetic, real), "loan_auc_real": loan_auc_of_real(real, seed)}
    epsilon = None if method == "HMA" else EPSILON
    return {"epsilon": epsilon, "delta": DELTA, "seconds": seconds, "figures": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    file = ResultFile(FOLDER / "linked.json")
    for seed, method in product(options.seeds, options.methods):
        key = {"data": "bank", "method": method, "seed": seed}
        if not file.has(key):  # what is there is not run again
            file.put(key, run(method, seed))
            print(key, json.dumps(file.find(key)), flush=True)


if __name__ == "__main__":
    main()
