"""All columns of a release beside those of a synthetic table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import MISSING, ComparableTable
from microtome.evaluation.released_column import ReleasedColumn
from microtome.evaluation.released_listed import ListedColumn
from microtome.evaluation.released_measured import MeasuredColumn
from microtome.published import Release, TwoWayTables
from microtome.published.second_moments import level_margins, margin_noise
from microtome.schema import CategoryCells, ColumnCode, NumberCells

Floats = NDArray[np.float64]


def released_columns(release: Release, clean: TwoWayTables | None, synthetic: ComparableTable) -> list[ReleasedColumn]:
    """All columns of a release that a table has, their levels by its two-way tables where it has any.

    What the next row of a person has comes last in a release, and no table has it.
    """
    codes, blocks = release.codebook.codes, release.codebook.blocks
    if clean is None:
        profile = level_margins(release), margin_noise(release)
        margins, noise = ([one[block.start : block.stop] for block in blocks] for one in profile)
    else:
        margins, noise = list(clean.margins), list(clean.margin_noise)
    counted = clean is not None and clean.sums_inform
    return [
        _released_column(
            code, synthetic, total=release.num_records, level_shares=margins[index], level_noise=noise[index],
            ends_are_counted=counted,
        )
        for index, code in enumerate(codes)
        if code.column.name in synthetic.values
    ]  # fmt: skip


def _released_column(
    code: ColumnCode,
    table: ComparableTable,
    *,
    total: float,
    level_shares: Floats,
    level_noise: Floats,
    ends_are_counted: bool,
) -> ReleasedColumn:
    """A column of a release beside that of a synthetic table."""
    name = code.column.name
    values, gone = table.values[name], table.missing(name)
    match code.cells:
        case NumberCells() as cells:
            return MeasuredColumn(
                code=code, total=total, level_shares=level_shares, level_noise=level_noise, values=values, gone=gone,
                ends_are_counted=ends_are_counted, partition=cells,
                codes=table.codes.get(name, np.full(table.num_rows, MISSING)),
            )  # fmt: skip
        case CategoryCells() as cells:
            return ListedColumn(
                code=code, total=total, level_shares=level_shares, level_noise=level_noise, values=values, gone=gone,
                ends_are_counted=ends_are_counted, partition=cells, names=table.labels[name],
            )  # fmt: skip
