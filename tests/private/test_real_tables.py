"""A census table as it comes: drafted, released and drawn again in its own types."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from microtome.private import draft_schema
from support import DATA, publish

TABLE = DATA / "acs_ca" / "ACSPublicCoverage_CA2018_40pct.parquet"


@pytest.mark.skipif(not TABLE.exists(), reason="no census table; set MICROTOME_DATA to the folder that holds acs_ca")
def test_a_census_table_as_it_comes(tmp_path: Path) -> None:
    opened = publish(TABLE, draft_schema(TABLE).confirm(), tmp_path / "t.release", delta=1e-6)
    stored = pq.ParquetFile(TABLE)
    assert opened.num_rows == stored.metadata.num_rows
    levels = np.zeros((20, len(opened.schema.columns)), np.int64)
    drawn = opened.codebook.draw(levels, np.random.default_rng(0))
    assert drawn.schema.names == [name for name in stored.schema_arrow.names if name != "folktables_row"]  # a key
    assert all(len(code.cells) > 1 for code in opened.codebook.codes)
