"""Keys of linked tables, made up anew: every foreign key names a row that is there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import ModelError
from microtome.schema import LinkedSchema, LinkedTable

Ints = NDArray[np.int64]
_KEYS = 0x6B657973
"""Keeps the draws of keys apart from those of rows, which have the same seed."""


class Keys:
    """Makes up the keys of tables, some people after the other.

    Args:
        schema: How the tables hang together.
        seed: Seed of the draw.
    """

    def __init__(self, schema: LinkedSchema, seed: int) -> None:
        self._schema, self._rng = schema, np.random.default_rng([seed, _KEYS])
        self._done = dict.fromkeys(schema.names, 0)

    def made(
        self, records: dict[str, pa.Table], owners: dict[str, Ints], rng: np.random.Generator
    ) -> dict[str, dict[str, pa.Array]]:
        """The keys of all tables.

        Args:
            records: The rows of each table.
            owners: For each row the row of its parent that it hangs on.
            rng: Chooses which row a link names that owns none.
        """
        found: dict[str, dict[str, pa.Array]] = {}
        for table in self._schema.tables:
            found[table.name] = self._made_up(table, records[table.name].num_rows)
        for table in self._schema.tables[1:]:
            parent = table.parent
            if parent is None:
                continue
            above = self._schema[parent.table]
            if parent.owner is not None:
                self._name(table, above, found, owners[table.name], records, rng)
            else:
                keys = found[above.name][str(above.key)]
                found[table.name][parent.foreign_key] = keys.take(pa.array(owners[table.name]))
        return found

    def _name(
        self,
        table: LinkedTable,
        link: LinkedTable,
        found: dict[str, dict[str, pa.Array]],
        owners: Ints,
        records: Mapping[str, pa.Table],
        rng: np.random.Generator,
    ) -> None:
        """Have every link name a row: the one that it owns, or any."""
        count, rows = records[link.name].num_rows, records[table.name].num_rows
        if count and not rows:
            raise ModelError(f"table {table.name!r} came out empty, so {link.name!r} has nothing to name; draw more")
        named = rng.integers(0, max(rows, 1), count)
        named[owners] = np.arange(rows)
        assert table.parent is not None
        found[link.name][table.parent.foreign_key] = found[table.name][str(table.key)].take(pa.array(named))

    def _made_up(self, table: LinkedTable, count: int) -> dict[str, pa.Array]:
        first, self._done[table.name] = self._done[table.name], self._done[table.name] + count
        return {one.name: one.made_up(first, count, self._rng) for one in table.schema.aside if not one.is_dropped}
