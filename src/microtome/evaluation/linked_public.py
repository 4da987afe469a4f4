"""The report on linked tables from their release alone: free to publish.

Of every synthetic person one row of each table is drawn (``one_row_each``), and what these have together is compared
with the tables of the release, view by view: within a table, and across links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from microtome.evaluation.distributions import ColumnFigures
from microtome.evaluation.linked_figures import LinkFigures
from microtome.evaluation.linked_keys import check_synthetic_keys
from microtome.evaluation.linked_report import LinkedFigures, LinkedReport, TableFigures
from microtome.evaluation.linked_tables import LinkedTables, read_side
from microtome.evaluation.one_row_each import OneRowEach, one_path_each
from microtome.evaluation.pairs import AllPairs, Pair, PairFigures
from microtome.evaluation.released_pairs import compare_steps_with_release, compare_with_release
from microtome.evaluation.reporting import (
    NEEDS_ROWS,
    ONE_COLUMN,
    ONE_ROW_EACH,
    PUBLIC_STAMP,
    TEST_STAMP,
    TOO_NOISY,
    Stages,
    made_by,
)
from microtome.evaluation.sequences import SequenceFigures
from microtome.evaluation.verdict import judge
from microtome.progress import Progress
from microtome.published import LinkedRelease, Release
from microtome.schema.linked_view import LinkedView

_NO_ROW = "In tables below the people's, a missing value may also say that somebody has no row there."
_Compared = tuple[dict[str, ColumnFigures], dict[Pair, PairFigures]]


def against_linked_release(release: LinkedRelease, synthetic: Any, seed: int, progress: Progress) -> LinkedReport:
    """Synthetic linked tables, from a folder or by name, against a release."""
    stages, rng = Stages(progress, 2 + len(release.views)), np.random.default_rng(seed)
    with threadpool_limits(limits=1):
        side = read_side(synthetic, "synthetic", release.schema)
        stages.done("read")
        paths = one_path_each(side, release.linked, rng)
        compared: dict[str, _Compared] = {}
        sequences: dict[str, SequenceFigures | None] = {}
        for name, view in release.views.items():
            columns, pairs = compare_with_release(view, paths[name].table, rng)
            compared[name] = {one.name: one for one in columns}, {} if pairs is None else pairs.pairs
            sequences[name] = _sequence(release.linked[name], view, paths[name], compared[name][0], rng)
            stages.done(name)
    holds = release.manifest.promise.private
    figures = LinkedFigures(
        stamp=PUBLIC_STAMP if holds else TEST_STAMP,
        free_to_publish=holds,
        notes=(ONE_ROW_EACH, _NO_ROW),
        tables=tuple(_table(one, release, side, compared[name]) for name, one in release.linked.items()),
        links=tuple(
            _link(one, release, compared, sequences[name])
            for name, one in release.linked.items()
            if one.table.parent is not None
        ),
        keys=check_synthetic_keys(side),
        detector=NEEDS_ROWS,
        **made_by(),
    )
    stages.done("page")
    return LinkedReport(figures=figures)


def _table(one: LinkedView, release: LinkedRelease, side: LinkedTables, compared: _Compared) -> TableFigures:
    """A table's own columns, and what they have to do with each other."""
    columns, pairs = compared
    own = [column.name for column in one.table.schema.columns]
    within = {pair: found for pair, found in pairs.items() if set(found.names) <= set(own)}
    told = AllPairs(names=tuple(columns), pairs=within, kept=None, kept_by_chance=None)
    figures = tuple(columns[name] for name in own)
    real = round(release.num_records) if one.table.parent is None else None
    return TableFigures(
        name=one.table.name,
        rows=(real, side.coded[one.table.name].num_rows),
        columns=figures,
        pairs=told if within else ONE_COLUMN if len(own) < 2 else TOO_NOISY,
        verdict=judge(figures, told, from_real_rows=False),
    )


def _sequence(
    one: LinkedView, view: Release, path: OneRowEach, columns: dict[str, ColumnFigures], rng: np.random.Generator
) -> SequenceFigures | None:
    """Rows that follow each other, where they have an order: how a column goes on, and after how long."""
    if one.view.order is None or one.view.gap is None:
        return None
    steps = compare_steps_with_release(view, path.table, path.following, path.goes_on, rng)
    return SequenceFigures(order=one.view.order, steps=tuple(steps), gap=columns[one.view.gap], autocorrelation={})


def _link(
    one: LinkedView, release: LinkedRelease, compared: dict[str, _Compared], sequence: SequenceFigures | None
) -> LinkFigures:
    """What rows have to do with what they hang on, and how many there are."""
    assert one.table.parent is not None
    name, parent = one.table.name, one.table.parent.table
    number = release.linked[parent].counts[name]
    above = {*release.linked[parent].table.schema.names, number}
    own, inherited = {*one.table.schema.names}, {*one.view.inherited} - {one.view.rows}
    columns, pairs = compared[parent]
    across = [pair for pair in compared[name][1].values() if {*pair.names} & own and {*pair.names} & inherited]
    with_number = [pair for pair in pairs.values() if number in pair.names and {*pair.names} <= above]
    return LinkFigures(
        table=name, parent=parent, cardinality=columns[number], pairs=(*across, *with_number), sequence=sequence
    )
