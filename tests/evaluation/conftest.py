"""A real table, a synthetic one that is a little off, and rows that were held out."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from microtome.demo import population


def blurred(table: pa.Table, share: float, seed: int) -> pa.Table:
    """Every value of a share of each column replaced by that of another row: margins stay, dependence fades."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in table.column_names:
        places = np.arange(table.num_rows)
        changed = rng.random(table.num_rows) < share
        places[changed] = rng.permutation(places[changed])
        columns[name] = table.column(name).combine_chunks().take(pa.array(places))
    return pa.table(columns)


@pytest.fixture(scope="session")
def town() -> pa.Table:
    return population(4_000, seed=1)


@pytest.fixture(scope="session")
def held_out() -> pa.Table:
    return population(4_000, seed=1).take(np.arange(3_000, 4_000))


@pytest.fixture(scope="session")
def used() -> pa.Table:
    return population(4_000, seed=1).take(np.arange(3_000))


@pytest.fixture(scope="session")
def made(used: pa.Table) -> pa.Table:
    return blurred(used, 0.3, seed=5)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "report.html"
