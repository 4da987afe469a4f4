"""Whether the keys of synthetic tables are intact: every row hangs on one parent, and on no more than there may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microtome.evaluation.linked_tables import LinkedTables


@dataclass(frozen=True, kw_only=True)
class KeyFigures:
    """Keys of one synthetic table.

    Attributes:
        table: The table.
        rows: Its rows.
        orphans: Rows that hang on no parent.
        repeated: Rows whose key another row has.
        too_many: Parents with more rows than there may be.
        too_few: Parents with fewer.
    """

    table: str
    rows: int
    orphans: int
    repeated: int
    too_many: int
    too_few: int

    @property
    def is_intact(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.orphans or self.repeated or self.too_many or self.too_few)


def check_synthetic_keys(side: LinkedTables) -> tuple[KeyFigures, ...]:
    """Keys of synthetic tables, table by table."""
    found = []
    for table in side.schema.tables:
        rows = side.coded[table.name].num_rows
        distinct = rows if table.key is None else len(side.raw[table.name].data.column(table.key).unique())
        counts = np.zeros(0, dtype=np.int64) if table.parent is None else side.counts(table.name)
        most, least = (rows, 0) if table.parent is None else (table.parent.most, table.parent.min_rows)
        orphans = 0 if table.parent is None else int((side.parents[table.name] < 0).sum())
        found.append(
            KeyFigures(
                table=table.name,
                rows=rows,
                orphans=orphans,
                repeated=rows - distinct,
                too_many=int((counts > most).sum()),
                too_few=int((counts < least).sum()),
            )
        )
    return tuple(found)
