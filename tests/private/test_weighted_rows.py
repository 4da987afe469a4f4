"""Records by what they count for: all come back with their weight, siblings together, from one file."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from microtome.private.weighted_rows import WeightedRows


def test_thousands_of_weights_are_one_file(tmp_path: Path) -> None:
    weights = np.arange(3_000)
    with WeightedRows(tmp_path / "kept.arrow") as kept:
        for _ in range(2):
            kept.add(pa.table({"x": weights}), weights, np.ones_like(weights))
        found = {weight: table.column("x").to_pylist() for table, weight, _ in kept}
        assert len(list(tmp_path.iterdir())) == 1
    assert found == {weight: [weight, weight] for weight in range(3_000)}


def test_siblings_stay_together(tmp_path: Path) -> None:
    rows = pa.table({"owner": [0, 1, 1, 2, 3, 3], "x": [0, 10, 11, 20, 30, 31]})
    siblings = np.array([1, 2, 2, 1, 2, 2])
    with WeightedRows(tmp_path / "kept.arrow") as kept:
        kept.add(rows, 12 // siblings, siblings)
        found = {count: (table.column("x").to_pylist(), weight) for table, weight, count in kept}
        again = sum(table.num_rows for table, _, _ in kept)
    assert found == {1: ([0, 20], 12), 2: ([10, 11, 30, 31], 6)}
    assert again == 6


def test_no_records_are_no_tables(tmp_path: Path) -> None:
    with WeightedRows(tmp_path / "kept.arrow") as kept:
        assert list(kept) == []
