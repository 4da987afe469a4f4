"""The work whose way through the files is told in docs/architecture.md: small releases of a table, a fit, a sample."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
from replay import Outcomes
from tracing import Sight, Trace, traced, way

import microtome as mt
from microtome.generators import MixtureSettings
from microtome.private import RunSettings
from support import repeatable_noise

KINDS = ("aggregates", "records")
_NUM_ROWS = 200

SCHEMA = mt.Schema(
    columns=(
        mt.Column(name="age", kind="integer", bounds=(18, 99), missing=False),
        mt.Column(name="district", kind="categorical"),
        mt.Column(name="income", kind="float"),
        mt.Column(name="insured", kind="boolean", missing=False),
    ),
    target="insured",
)


def people(*, replaced: bool = False) -> pd.DataFrame:
    """A table in which one person may be replaced by another who differs in every column.

    Both live in a district that others live in: how many districts are counted depends on the record, which is not
    hidden by noise but by a threshold, and paid for as a failure.
    """
    rng = np.random.default_rng(0)
    insured = rng.random(_NUM_ROWS) < 0.5
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, _NUM_ROWS) + 10 * insured,
            "district": rng.choice(["north", "south", "west"], _NUM_ROWS),
            "income": np.round(rng.gamma(2.0, 1000.0, _NUM_ROWS), 2),
            "insured": insured,
        }
    )
    one = (90, "south", 23_456.0, False) if replaced else (30, "north", 1000.0, True)
    frame.loc[_NUM_ROWS // 2] = one
    return frame


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder for the files of a run."""
    with TemporaryDirectory(prefix="microtome-way-") as folder:
        yield Path(folder)


def release(folder: Path, kind: str, *, replaced: bool = False) -> Path:
    """One release from a file to a file, with noise that can be repeated. The names of the files are always the same.

    One thread: the order of calls is then that of the program. What differs from run to run is kept out: how much
    memory is free, and an earlier release in the way (its number on the disk).
    """
    table, output, memory = folder / "people.csv", folder / "people.release", folder / "meminfo"
    output.unlink(missing_ok=True)
    memory.write_text("MemAvailable: 8000000 kB\n")
    people(replaced=replaced).to_csv(table, index=False)
    with repeatable_noise(), patch("microtome.machine._MEMINFO", memory):
        run = RunSettings(threads=1, force=True)
        mt.release(table, SCHEMA, epsilon=3.0, delta=1e-5, kind=kind, output=output, anyway=True, run=run)
    return output


@cache
def way_of_a_record(kind: str) -> tuple[Sight, ...]:
    """What one record passes on its way into a release of a kind."""
    outcomes = Outcomes()
    with workshop() as folder:
        release(folder, kind)  # what is done once only, such as imports, is done
        with outcomes.keep():
            first = traced(lambda: release(folder, kind), contents=True)
        other = traced(lambda: release(folder, kind, replaced=True), contents=True)
        with outcomes.repeat():
            replayed = traced(lambda: release(folder, kind, replaced=True), contents=True)
        again = traced(lambda: release(folder, kind), contents=True)
    return tuple(way(first, again, other, replayed))


def files_of_two_records(kind: str) -> tuple[bytes, bytes, bytes]:
    """A release; that of a table with another record; and the latter with the noise's outcomes of the first."""
    outcomes = Outcomes()
    with workshop() as folder:
        with outcomes.keep():
            first = release(folder, kind).read_bytes()
        other = release(folder, kind, replaced=True).read_bytes()
        with outcomes.repeat():
            replayed = release(folder, kind, replaced=True).read_bytes()
    return first, other, replayed


def trace_of_a_release(kind: str) -> Trace:
    """Everything that a release goes through."""
    with workshop() as folder:
        release(folder, kind)
        return traced(lambda: release(folder, kind))


def trace_of_a_fit() -> Trace:
    """Everything that ``fit`` goes through on a release of aggregates."""
    with workshop() as folder:
        path = release(folder, "aggregates")
        _fit(path)
        return traced(lambda: _fit(path))


def trace_of_a_sample() -> Trace:
    """Everything that ``sample`` goes through with the model of such a fit."""
    with workshop() as folder:
        model = _fit(release(folder, "aggregates"))
        model.sample(10)
        return traced(lambda: model.sample(10))


def _fit(path: Path) -> mt.Synthesizer:
    settings = mt.FitSettings(mixture=MixtureSettings(components=8), steps=20, check_every=5)
    return mt.Synthesizer(settings, random_state=0).fit(path)
