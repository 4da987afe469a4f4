"""What every noisy array of a table's release says of every target: profile, total, rows, and tables of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from microtome.accounting import GaussianEvent, events_of
from microtome.auditing.audit_data import Places
from microtome.auditing.audit_table import Records, TableAuditData
from microtome.auditing.evidence import NOWHERE, Evidence, Numbers, rows_evidence, rows_of_targets, sums_evidence
from microtome.auditing.observation import NOBODY, LinkedObservation, TableObservation
from microtome.errors import MicrotomeError
from microtome.private.cell_index import numbers_within_bounds
from microtome.published import AggregatesRelease, RecordsRelease, Release, Triples, narrowed
from microtome.schema import CategoryCells, Codebook, ColumnCode, NumberCells, Rounding
from microtome.schema.view import view_of


def linked_evidence(observation: LinkedObservation) -> Iterator[Evidence]:
    """What all views say: each of its own columns, of tables with what it inherits, and of steps to the next row."""
    for name, seen in observation.views():
        linked = observation.release.linked[name]
        own = replace(seen, data=replace(seen.data, schema=linked.view.own_schema))
        for piece in (*column_evidence(own), *table_evidence(seen), *step_evidence(seen, observation.data.rows)):
            yield replace(piece, name=f"{name}: {piece.name}")


def step_evidence(observation: TableObservation, rows: int) -> Iterator[Evidence]:
    """Steps from a row of a person to the next, all ``rows`` of whom are alike: from the last there is none.

    Where a column turned out to have a single level its steps were not counted, and tell nothing.
    """
    data, release = observation.data, narrowed(observation.release, AggregatesRelease)
    codebook, view = release.codebook, release.view
    present, *sides = (
        _coordinates(data, codebook, one) for one in (observation.present, data.targets, data.substitutes)
    )
    for place, name in enumerate(view.steps, start=len(view.schema.columns)):
        base = view.schema.names.index(name)
        here, following = codebook.blocks[base], codebook.blocks[place]
        scale = release.mechanism.pair_noise[base][place] or math.inf
        tables = []
        for at in (present, *sides):
            levels = at[:, base] - here.start
            tables.append(levels[:, None] * following.width + np.stack([levels, levels * 0 + following.width - 1], 1))
        share = np.array([(rows - 1) / rows, 1 / rows])
        taken = np.broadcast_to(share, tables[0].shape).ravel()
        exact = np.bincount(tables[0].ravel(), weights=taken, minlength=here.width * following.width)
        published = release.second[0, here.start : here.stop, following.start : following.stop]
        adds = np.broadcast_to((share / scale)[:, None], (len(data.targets), 2, 1))
        yield sums_evidence(
            observation,
            name=f"steps of {name!r}",
            noise=((published.ravel() - exact) / scale)[:, None],
            there=tables[1],
            gone=tables[2],
            adds=adds,
            other_adds=adds,
        )


def people_evidence(observation: TableObservation) -> Iterator[Evidence]:
    """A table of people with several rows each: columns, numbers of rows, tables of both, and steps."""
    schema = observation.data.schema
    data = observation.data.with_numbers_of_rows(view_of(schema).schema)
    seen = replace(observation, data=data, present=data.present(observation.coins))
    yield from profile_evidence(seen)
    yield from table_evidence(seen)
    yield from step_evidence(seen, 1 if schema.unit is None else schema.unit.max_rows)


def profile_evidence(observation: TableObservation) -> Iterator[Evidence]:
    """The profile, column by column, and the total where it is noisy."""
    yield from column_evidence(observation)
    if observation.data.neighbours.protects_count:
        yield _total_evidence(observation)


def _total_evidence(observation: TableObservation) -> Evidence:
    scale = _total_noise(observation.release)
    noise = np.array([(observation.release.num_records - len(observation.present)) / scale])
    everyone = np.zeros((len(observation.data.targets), 1), np.int64)
    return _cells_evidence(
        observation, name="number of records", noise=noise, scales=np.array([scale]), there=everyone, gone=everyone
    )


def column_evidence(observation: TableObservation) -> Iterator[Evidence]:
    """The profile, column by column.

    What is measured of people's rows beside their columns is left out: nobody differs in it.
    """
    data, release = observation.data, observation.release
    for index, code in enumerate(release.codebook.codes[: len(data.schema.columns)]):
        cells = [
            _counted_at(data, code, index, records.places[:, index]) for records in (data.targets, data.substitutes)
        ]
        present = _counted_at(data, code, index, observation.present.places[:, index])
        counts = np.bincount(present[present != NOWHERE], minlength=len(code.counts))
        yield _cells_evidence(
            observation,
            name=f"profile of {code.column.name!r}",
            noise=(code.counts - counts) / code.noise_scale,
            scales=np.full(len(code.counts), code.noise_scale),
            there=cells[0][:, None],
            gone=cells[1][:, None],
        )
        if code.rounding is not None:
            yield _rounding_evidence(observation, code, code.rounding)


def _rounding_evidence(observation: TableObservation, code: ColumnCode, rounding: Rounding) -> Evidence:
    """The counts of a column's rounding classes."""
    data, name = observation.data, code.column.name
    there, gone, present = (
        rounding.classes.locate(numbers_within_bounds(records.table[name].combine_chunks(), code.column))
        for records in (data.targets, data.substitutes, observation.present)
    )
    counts = np.bincount(present[present != NOWHERE], minlength=len(rounding.counts))
    return _cells_evidence(
        observation,
        name=f"rounding of {name!r}",
        noise=(rounding.counts - counts) / rounding.noise_scale,
        scales=np.full(len(counts), rounding.noise_scale),
        there=there[:, None],
        gone=gone[:, None],
    )


def table_rows_evidence(observation: TableObservation) -> Evidence:
    """The row of every target, whose place in the file is known to the observer."""
    data, owners, order = observation.data, observation.owners, observation.order
    release = narrowed(observation.release, RecordsRelease)
    if owners is None or order is None:
        raise MicrotomeError("rows can be told apart in a observed release of records only")
    rows = np.empty((release.num_rows, release.directions.shape[1]))
    rows[order] = release.rows()
    means = row_means(release, data, observation.present)
    everywhere = np.zeros(len(rows), np.int64)
    return rows_evidence(
        observation,
        rows=rows,
        standing=np.where((owners == NOBODY)[:, None], 0.0, means[owners]),
        own=rows_of_targets(observation, owners, everywhere, np.zeros(len(data.targets), np.int64)),
        there=row_means(release, data, data.targets),
        gone=row_means(release, data, data.substitutes),
        noise_scale=release.noise_scale,
        subsample=release.mechanism.subsample,
    )


def table_evidence(observation: TableObservation) -> Iterator[Evidence]:
    """The tables of aggregates: of columns and pairs by class of the pivot, of pairs by group of the focus."""
    data, release = observation.data, narrowed(observation.release, AggregatesRelease)
    codebook, dim, focus = release.codebook, release.codebook.dim, release.mechanism.focus
    present, *sides = (
        _coordinates(data, codebook, one) for one in (observation.present, data.targets, data.substitutes)
    )
    one_hot = np.zeros((len(present), dim), np.float32)
    one_hot[np.arange(len(present))[:, None], present] = 1.0

    def read(name: str, published: Numbers, scales: Numbers, parts: Callable[[Places], Places]) -> Evidence:
        members = [one_hot[parts(present) == number] for number in range(len(published))]
        singles = published.ndim == 2
        exact = np.stack([rows.sum(axis=0) if singles else rows.T @ rows for rows in members]).astype(np.float64)
        wide = np.broadcast_to(scales, published.shape).ravel()
        measured = wide > 0
        noise = np.divide((published - exact).ravel(), wide, out=np.zeros(wide.shape), where=measured)
        cells = ((at if singles else _pairs(at, dim)) + (parts(at) * exact[0].size)[:, None] for at in sides)
        there, gone = (np.where(measured[side], side, NOWHERE) for side in cells)
        return _cells_evidence(observation, name=name, noise=noise, scales=wide, there=there, gone=gone)

    classes = partial(_classes, codebook, release.pivot)
    yield read("counts by class", release.first, release.first_noise(), classes)
    yield read("pairs", release.second, release.second_noise(), classes)
    if focus is not None and release.third is not None:
        groups, column = np.array(focus.groups), release.schema.names.index(focus.column)
        yield read("triples", release.third, release.third_noise(), lambda at: groups[_classes(codebook, column, at)])
    if release.mechanism.triples is not None and release.triples is not None:
        yield _chosen_evidence(observation, release.mechanism.triples, release.triples, present, sides)


def _chosen_evidence(
    observation: TableObservation, chosen: Triples, published: Numbers, present: Places, sides: list[Places]
) -> Evidence:
    """The tables of a second round. Which ones these are is not read: the choice is tested by itself."""
    names, groups = observation.release.schema.names, np.concatenate([np.array(one) for one in chosen.groups])
    shape = published.shape[1:]

    def cells(at: Places) -> Places:
        grouped = groups[at]
        tables = [
            np.ravel_multi_index(grouped[:, [names.index(one) for one in three]].T, shape) for three in chosen.columns
        ]
        return np.stack([table + number * published[0].size for number, table in enumerate(tables)], axis=1)

    exact = np.bincount(cells(present).ravel(), minlength=published.size)
    scales = np.full(published.size, chosen.noise)
    there, gone = (cells(side) for side in sides)
    noise = (published.ravel() - exact) / chosen.noise
    return _cells_evidence(observation, name="chosen tables", noise=noise, scales=scales, there=there, gone=gone)


def _pairs(at: Places, dim: int) -> Places:
    """The cells of all pairs of columns (records × pairs)."""
    pairs = [at[:, a] * dim + at[:, b] for a, b in combinations(range(at.shape[1]), 2)]
    return np.stack(pairs, axis=1) if pairs else at[:, :0]


def row_means(release: RecordsRelease, data: TableAuditData, records: Records) -> Numbers:
    """Where the rows of some records would be without noise."""
    starts = np.array([block.start for block in release.codebook.blocks])
    levels = _coordinates(data, release.codebook, records) - starts
    return release.codebook.encode(levels) @ release.directions


def _cells_evidence(
    observation: TableObservation, *, name: str, noise: Numbers, scales: Numbers, there: Places, gone: Places
) -> Evidence:
    """What counts tell: a target that is there adds 1 at ``there``, its substitute, if it has one, at ``gone``."""
    unit = np.divide(1.0, scales, out=np.zeros(scales.shape), where=scales > 0)
    return sums_evidence(
        observation,
        name=name,
        noise=noise[:, None],
        there=there,
        gone=gone,
        adds=unit[there][..., None],
        other_adds=unit[gone][..., None],
    )


def _counted_at(data: TableAuditData, code: ColumnCode, index: int, places: Places) -> Places:
    """The published count to which a value at each place belongs; nowhere if it is not among the published ones."""
    match code.cells:
        case _ if code.column.is_declared:
            return places
        case NumberCells() as cells:
            numbers = numbers_within_bounds(data.spots[index], code.column)[places]
            inside = (numbers >= cells.edges[0]) & (numbers < cells.edges[-1])
            return np.where(inside, cells.locate(numbers), NOWHERE)
        case CategoryCells() as cells:
            return _shown(data, cells, index)[places]


def _coordinates(data: TableAuditData, codebook: Codebook, records: Records) -> Places:
    """The coordinate of the encoded row that each value of each record sets (records × columns)."""
    found = np.empty_like(records.places)
    own = len(data.schema.columns)
    for index, (code, block) in enumerate(zip(codebook.codes[:own], codebook.blocks[:own], strict=True)):
        places = records.places[:, index]
        match code.cells:
            case _ if code.column.is_declared:
                cells = places
            case NumberCells() as numbers:
                cells = numbers.locate(numbers_within_bounds(data.spots[index], code.column))[places]
            case CategoryCells() as named:
                shown = _shown(data, named, index)[places]
                cells = np.where(shown == NOWHERE, len(named.categories), shown)
        found[:, index] = block.start + code.levels[cells]
    return found


def _shown(data: TableAuditData, cells: CategoryCells, index: int) -> Places:
    """For every spot of a column whose categories are learnt, its number among the published ones."""
    numbers = {value: number for number, value in enumerate(cells.categories)}
    return np.array([numbers.get(value, NOWHERE) for value in data.spots[index].to_pylist()])


def _classes(codebook: Codebook, pivot: int | None, coordinates: Places) -> Places:
    if pivot is None:
        return np.zeros(len(coordinates), np.int64)
    return coordinates[:, pivot] - codebook.blocks[pivot].start


def _total_noise(release: Release) -> float:
    """Noise of the number of records: what the profile's μ² is not spent on by its histograms."""
    profile, *_ = events_of(GaussianEvent, release.manifest.promise.events)
    scales = [code.noise_scale for code in release.codebook.codes]
    scales += [code.rounding.noise_scale for code in release.codebook.codes if code.rounding is not None]
    scales += [scale for code in release.codebook.codes for scale in code.search_noise]
    rest = profile.mu**2 - sum(1.0 / scale**2 for scale in scales)
    return float(1.0 / np.sqrt(rest))
