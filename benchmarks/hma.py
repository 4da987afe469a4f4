"""SDV's HMA on linked tables, without privacy; runs in the environment of rival methods.

python benchmarks/hma.py SPECIFICATION REAL SYNTHETIC

SPECIFICATION is JSON: the people's table, keys and foreign keys, and what each column is. REAL and SYNTHETIC are
folders of CSV files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def main(specification: Path, real: Path, synthetic: Path) -> None:
    from sdv.metadata import Metadata
    from sdv.multi_table import HMASynthesizer

    said = json.loads(specification.read_text())
    tables = {name: pd.read_csv(real / f"{name}.csv", keep_default_na=False) for name in said["metadata"]["tables"]}
    np.random.seed(said["seed"])  # noqa: NPY002 - what the package draws from
    metadata = Metadata.load_from_dict(said["metadata"])
    model = HMASynthesizer(metadata, verbose=False)
    model.fit(tables)
    people = said["people"]
    for name, table in model.sample(num_rows=len(tables[people]), main_table_name=people).items():
        table.to_csv(synthetic / f"{name}.csv", index=False)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
