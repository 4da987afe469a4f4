"""Models that the synthesis tests share."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fit_support import planted_release, quick
from microtome.published import Release
from microtome.synthesis import Synthesizer
from support import people, people_schema, publish


def people_with_gaps(num_rows: int = 3000) -> pa.Table:
    """People of whom some did not say their age, or whether they own."""
    table = people(num_rows)
    for name, every in (("age", 12), ("owner", 9)):
        gaps = pa.array(np.arange(num_rows) % every == 0)
        column = pc.if_else(gaps, pa.scalar(None, table[name].type), table[name])
        table = table.set_column(table.column_names.index(name), name, column)
    return table


@pytest.fixture(scope="session")
def people_table() -> pa.Table:
    return people_with_gaps()


@pytest.fixture(scope="session")
def people_release(people_table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder: Path = tmp_path_factory.mktemp("releases")
    schema = people_schema(age={"missing": True}, owner={"missing": True})
    return publish(people_table, schema, folder / "people.release", epsilon=60.0)


@pytest.fixture(scope="session")
def people_model(people_release: Release) -> Synthesizer:
    """A model of a column of every kind; whole numbers and booleans may be missing."""
    return Synthesizer(quick(steps=60), random_state=0).fit(people_release)


@pytest.fixture(scope="session")
def planted_model(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    """A model with strong dependence."""
    release = planted_release(tmp_path_factory.mktemp("releases") / "planted.release")
    return Synthesizer(quick(), random_state=0).fit(release)
