"""A release says itself which columns it knows next to nothing of."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from microtome.published import Release, summary, unlearnt_in_words
from microtome.schema import Column, Schema
from support import publish


def test_columns_of_which_nothing_is_learnt_are_named(tmp_path: Path) -> None:
    """One column everybody has alike, one of names; three hundred records under the noise of ε = 1."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "kind": ["person"] * 300,
            "code": [f"code {number}" for number in rng.permutation(300)],
            "size": pa.array(rng.lognormal(0.0, 8.0, 300)),
        }
    )
    kinds = {"kind": "categorical", "code": "categorical", "size": "float"}
    schema = Schema(columns=tuple(Column(name=name, kind=kind) for name, kind in kinds.items()))
    opened = publish(table, schema, tmp_path / "t.release", epsilon=1.0, delta=1e-6, kind="aggregates")
    again = Release.load(opened.path)
    assert again.unlearnt == ("code", "size")
    assert [column["learnt"] for column in summary(again)["columns"]] == [True, False, False]
    assert summary(again)["unlearnt"] == ["code", "size"]
    (line,) = unlearnt_in_words(again)
    assert "code, size" in line
    drawn = again.codebook.draw(np.zeros((50, 3), np.int64), rng)
    assert drawn["size"].null_count == 0
    assert abs(np.asarray(drawn["size"])).max() < 1e6
    easy = publish(table.select(["kind"]), Schema(columns=schema.columns[:1]), tmp_path / "e.release")
    assert unlearnt_in_words(easy) == []
