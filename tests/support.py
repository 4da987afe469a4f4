"""What the tests of the private half share: injected randomness, small tables, and a curator in one call."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from microtome import whole_file
from microtome.accounting import Ledger
from microtome.images import ImageSchema, ImageSet
from microtome.private import (
    Door,
    ImageSource,
    PrivacySettings,
    PrivateImages,
    Randomness,
    RunSettings,
    SystemRandomness,
    TableSource,
    open_table,
    people_of,
    randomness,
    sliced_rows,
)
from microtome.private.profile import Tally, total_weight
from microtome.private.profile_budget import ProfileBudget
from microtome.private.searching import SearchPass, chances_to_show, start_search
from microtome.published import ImageRelease, Release, ReleaseKind
from microtome.schema import Codebook, Column, Kind, Schema
from microtome.schema.view import view_of

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MICROTOME_DATA", ROOT.parent / "shared" / "data"))


class FixedRandomness:
    """Streams that anybody can repeat, so that two runs share their noise. Never private."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.asked: list[tuple[str, int]] = []

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        self.asked.append((purpose, block))
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode()), block])

    def require_secret(self) -> int:
        return self.seed

    def subkey(self, purpose: str) -> bytes:
        return hashlib.blake2b(f"{self.seed}/{purpose}".encode(), digest_size=32).digest()

    def forget(self) -> None:
        """Anybody knows it."""


class SilentGenerator(np.random.Generator):
    """Draws zeros for Gaussian noise, also of counts, and is random in all else."""

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        return np.zeros(() if size is None else size)


_discrete_gaussian = randomness.discrete_gaussian


def _silent_or_discrete(widths: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    return np.zeros_like(widths) if isinstance(stream, SilentGenerator) else _discrete_gaussian(widths, stream)


randomness.discrete_gaussian = _silent_or_discrete
"""Noise of counts is made of whole numbers, of which no stream knows what they are for, and the program has no switch
that turns noise off. So it is put in here."""


def lattice_step(scale: float) -> float:
    """The lattice that counts are published on: at least 2²⁶ steps a standard deviation, and 2²⁶/σ if σ < 1."""
    exponent = math.frexp(scale)[1]
    return 2.0 ** (exponent - 27 - max(1 - exponent, 0))


class SilentRandomness(FixedRandomness):
    """No noise on counts and rows; directions, samples and order as usual."""

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        usual = super().stream(purpose, block)
        if purpose in ("noise", "profile", "profile-total") or purpose.startswith("search"):
            return SilentGenerator(usual.bit_generator)
        return usual


class WatchedRandomness(FixedRandomness):
    """Calls ``watch(purpose, block)`` before it gives a stream."""

    def __init__(self, watch: Callable[[str, int], None], seed: int = 0) -> None:
        super().__init__(seed)
        self._watch = watch

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        self._watch(purpose, block)
        return super().stream(purpose, block)


@contextmanager
def repeatable_noise(seed: int = 0) -> Iterator[None]:
    """Secrets that anybody can repeat in place of the system's, another for every release made in here.

    For what has no place to inject a ``Randomness``: public functions, commands, examples, audits. No statistic of
    theirs is then left to chance, and the code that draws and forgets the noise is still the production one.
    """
    numbers = count()

    def start(self: SystemRandomness) -> None:
        self._secret = hashlib.blake2b(f"{seed}/{next(numbers)}".encode(), digest_size=32).digest()

    with patch.object(SystemRandomness, "__init__", start):
        yield


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no file can be completed."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_file.os, "fsync", full)


def publish(
    source: Any,
    schema: Schema,
    output: Path,
    *,
    randomness: Randomness | None = None,
    ledger: Ledger | None = None,
    run: RunSettings | None = None,
    epsilon: float = 5.0,
    delta: float = 1e-5,
    kind: str = ReleaseKind.RECORDS,
    **settings: Any,
) -> Release:
    """A release with injected randomness, marked as not private."""
    door = Door(
        settings=PrivacySettings(epsilon=epsilon, delta=delta, kind=kind, **settings),
        run=run or RunSettings(threads=1),
        ledger=ledger or Ledger(),
        dataset="people",
        randomness=randomness or FixedRandomness(),
    )
    hidden = door.settings.neighbours.protects_count
    with ExitStack() as held:
        table: Any = open_table(source)
        if schema.unit is not None:
            gathered = people_of(
                table, schema, view_of(schema), key=b"lots" * 8, progress=door.run.progress, count_is_public=not hidden
            )
            table = held.enter_context(gathered)
        elif not hidden:
            table = table.counted(schema)
        released = door.release(TableSource(table=table, schema=schema), output)
    assert isinstance(released, Release)
    return released


def publish_images(
    images: ImageSet,
    schema: ImageSchema,
    output: Path,
    *,
    randomness: Randomness | None = None,
    ledger: Ledger | None = None,
    epsilon: float = 5.0,
    delta: float = 1e-5,
    kind: str = ReleaseKind.RECORDS,
    **settings: Any,
) -> ImageRelease:
    """The same of images."""
    door = Door(
        settings=PrivacySettings(epsilon=epsilon, delta=delta, kind=kind, **settings),
        run=RunSettings(threads=1, force=True),
        ledger=ledger or Ledger(),
        dataset="pictures",
        randomness=randomness or FixedRandomness(),
    )
    released = door.release(ImageSource(images=PrivateImages(images, schema)), output)
    assert isinstance(released, ImageRelease)
    return released


def people(num_rows: int = 400, seed: int = 1) -> pa.Table:
    """A small table with a column of every kind."""
    rng = np.random.default_rng(seed)
    days = dt.date(2020, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal() + rng.integers(0, 900, num_rows)
    income = np.where(rng.random(num_rows) < 0.4, 0.0, np.round(rng.lognormal(9, 1, num_rows), 2))
    return pa.table(
        {
            "town": pa.array(rng.choice(["Åbo", "Bern", "Köln"], num_rows, p=[0.6, 0.3, 0.1])),
            "grade": pa.array(rng.choice(["low", "mid", "high"], num_rows), mask=rng.random(num_rows) < 0.1),
            "owner": pa.array(rng.random(num_rows) < 0.3),
            "age": pa.array(rng.integers(0, 100, num_rows)),
            "income": pa.array(income, mask=rng.random(num_rows) < 0.05),
            "joined": pa.array(days.astype(np.int32)).cast(pa.date32()),
            "seen": pa.array(days * 86_400_000_000 + rng.integers(0, 86_400_000_000, num_rows)).cast(
                pa.timestamp("us")
            ),
        }
    )


def people_schema(**changes: dict[str, Any]) -> Schema:
    """What is declared of ``people``; town, income and seen are to be learnt. ``changes`` by column name."""
    described: dict[str, dict[str, Any]] = {
        "town": {"kind": Kind.CATEGORICAL, "missing": False},
        "grade": {"kind": Kind.ORDERED, "categories": ("low", "mid", "high")},
        "owner": {"kind": Kind.BOOLEAN, "missing": False},
        "age": {"kind": Kind.INTEGER, "bounds": (0, 120), "missing": False, "bins": 8},
        "income": {"kind": Kind.FLOAT, "bins": 8},
        "joined": {"kind": Kind.DATE, "bounds": (dt.date(2020, 1, 1), dt.date(2022, 12, 31)), "missing": False},
        "seen": {"kind": Kind.DATETIME, "missing": False, "bins": 4},
    }
    columns = [Column(name=name, **{**entries, **changes.get(name, {})}) for name, entries in described.items()]
    return Schema(columns=tuple(columns), target="owner")


def searched(
    table: pa.Table, schema: Schema, budget: ProfileBudget, randomness: Randomness
) -> tuple[Tally, ProfileBudget]:
    """The counts of a table on the cells that its search finds, and what the search leaves of the budget."""
    protects = budget.neighbours.protects_count
    whole = replace(
        budget,
        weight=total_weight(schema.columns, protects_count=protects),
        num_chances=max(sum(map(chances_to_show, schema.columns)), 1),
    )
    counting: Any = start_search(schema, whole, lambda domains, left, counted: (Tally(schema, domains, counted), left))  # type: ignore
    while isinstance(counting, SearchPass):
        counting.add(table)
        counting = counting.publish(randomness, table.num_rows).following
    counting[0].add(table)
    return counting


def sorted_rows(rows: np.ndarray) -> np.ndarray:
    """Rows in lexicographic order, to compare files whatever the order of their rows."""
    return rows[np.lexsort(rows.T[::-1])]


def levels_of(table: pa.Table, codebook: Codebook) -> np.ndarray:
    """The level of every value of a table."""
    return sliced_rows.levels_of(table.combine_chunks(), codebook)
