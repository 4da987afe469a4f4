"""What the tests of evaluation share: a synthetic table that is a little off."""

import numpy as np
import pyarrow as pa


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
