"""Whatever one record does is its own contribution, to the last bit.

Tallies of n and of n − 1 records, in any order and in any blocks, differ by exactly what the one record adds by itself:
on the whole private side, where a sensitivity is claimed. Floating-point libraries break this quietly: a matrix
product takes other last bits for another number of rows, and a bin or a clip that follows moves all records at once.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microtome.accounting import DirectionKind, Directions, Neighbours
from microtome.adaptation.network import build_network
from microtome.images import ImageCode, ImageSchema, ImageSet
from microtome.private.aggregating import AggregateTally, level_groups, plan_aggregates, plan_tables
from microtome.private.histograms import (
    NUM_BUCKETS,
    DenseHistogram,
    Histogram,
    bucket_histogram,
    category_histogram,
    cell_histogram,
    number_histogram,
    rounding_histogram,
)
from microtome.private.image_rows import PrivateImages
from microtome.private.image_tally import ImageCounts, MeanSums, MomentSums
from microtome.private.level_tally import PairsAndTriples
from microtome.private.plan import plan_profile
from microtome.private.profile import Tally
from microtome.private.profile_budget import ProfileBudget
from microtome.private.searching import SearchPass, is_searched, start_search
from microtome.private.second_round import TripleTally
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.published import ReleaseKind
from microtome.schema import Column, Kind, NumberCells, Schema, rounding_classes
from microtome.schema.domain import scale_cells
from microtome.schema.fixed_point import squared_norms
from microtome.settings import PrivacySettings
from support import FixedRandomness, SilentRandomness, levels_of, people, people_schema, searched

Counts = list[Any]
ASKED = ["Åbo", "Bern", "Köln", 0.0, 100.0, 0.1, 10.0]
"""Values whose counts are compared."""
EDGES = np.array([-1e5, -1.0, 0.0, 0.1, 0.30000000000000004, 1e6, 9.5e7])
BUDGET = ProfileBudget(mu=1.0, threshold_delta=1e-6, neighbours=Neighbours.BLANK_ONE)
SIZES = [1, 2, 3, 4, 7, 8, 12, 13, 16, 17, 31, 64, 65, 600, 601]
"""Around the sizes at which libraries take another kernel."""


def orders(num_rows: int, rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
    """Ways to come by: at once, one by one, and shuffled in uneven blocks."""
    yield [np.arange(num_rows)]
    if num_rows < 100:
        yield list(np.arange(num_rows)[:, None])
    cuts = np.sort(rng.integers(0, num_rows + 1, 3))
    yield [part for part in np.split(rng.permutation(num_rows), cuts) if len(part)]


def check_own_contribution(tally: Callable[[Sequence[np.ndarray]], Counts], num_rows: int, left_out: int) -> None:
    """``tally`` counts the rows of the given numbers, block by block, and gives all that it holds."""
    rng = np.random.default_rng(num_rows)
    whole = tally([np.arange(num_rows)])
    own = tally([np.array([left_out])])
    others = np.setdiff1d(np.arange(num_rows), [left_out])
    for blocks in orders(len(others), rng):
        for less, alone, all_of_it in zip(tally([others[b] for b in blocks]), own, whole, strict=True):
            assert np.array_equal(np.asarray(less) + alone, all_of_it)
    for blocks in orders(num_rows, rng):
        for again, all_of_it in zip(tally(blocks), whole, strict=True):
            assert np.array_equal(again, all_of_it)


def odd_numbers(num_rows: int) -> pa.Table:
    """Numbers on the edges of cells and rounding classes, in 32 and 64 bits."""
    rng = np.random.default_rng(5)
    edges = np.array([0.1, 0.3, 1e-7, 9.5e7, 0.95, 95.0, 1e6, 123456.7, 3.3333333, -0.0, 2.0**24 + 1, 1e-20, -1e5])
    values = rng.choice(edges, num_rows) * rng.choice([1.0, 1.0 + 2**-20, 1.0 - 2**-20], num_rows)
    return pa.table(
        {
            "single": pa.array(values.astype(np.float32)),
            "double": pa.array(values),
            "whole": pa.array(np.rint(values * 100).astype(np.int64)),
            "time": pa.array((values * 1e6).astype(np.int64)).cast(pa.timestamp("us")),
        }
    )


ODD = Schema(
    columns=(
        Column(name="single", kind=Kind.FLOAT, dtype="float32"),
        Column(name="double", kind=Kind.FLOAT, bounds=(-1e6, 1e8), outside="clamp"),  # type: ignore[arg-type]
        Column(name="whole", kind=Kind.INTEGER),
        Column(name="time", kind=Kind.DATETIME, bounds=(dt.datetime(1960, 1, 1), dt.datetime(2100, 1, 1))),
    )
)


@pytest.mark.parametrize("num_rows", SIZES)
@pytest.mark.parametrize(("make", "schema"), [(people, people_schema()), (odd_numbers, ODD)], ids=["people", "odd"])
def test_profile_of_a_table(make: Callable[[int], pa.Table], schema: Schema, num_rows: int) -> None:
    table = make(num_rows)

    searched_for = make(600)
    domains = searched(searched_for, schema, BUDGET, SilentRandomness())[0]._domains

    def tally(blocks: Sequence[np.ndarray]) -> Counts:
        counted = Tally(schema, domains)
        for rows in blocks:
            counted.add(table.take(pa.array(rows)))
        return [counted.num_rows, *_all_counts([*counted._histograms, *counted._rounding.values()])]

    check_own_contribution(tally, num_rows, num_rows // 2)


def _all_counts(histograms: Sequence[Histogram]) -> Counts:
    """Counts of cells, and of the values that sparse histograms are asked for."""
    return [
        histogram.counts if isinstance(histogram, DenseHistogram) else [histogram.counts[value] for value in ASKED]
        for histogram in histograms
    ]


@pytest.mark.parametrize("num_rows", SIZES)
@pytest.mark.parametrize(("make", "schema"), [(people, people_schema()), (odd_numbers, ODD)], ids=["people", "odd"])
def test_search_for_numbers(make: Callable[[int], pa.Table], schema: Schema, num_rows: int) -> None:
    """All questions of a search, one after the other: scale, rounding and buckets, then finer cells and numbers."""
    table = make(num_rows)
    places = [(place, column) for place, column in enumerate(schema.columns) if is_searched(column)]
    everywhere = np.ones(NUM_BUCKETS, dtype=bool)

    def asked() -> list[tuple[int, Histogram]]:
        found: list[tuple[int, Histogram]] = []
        for place, column in places:
            if column.kind.is_categorical:
                found.append((place, category_histogram(column)))
                continue
            classes = rounding_classes(column)
            cells = scale_cells(column), NumberCells.of(column, EDGES)
            histograms = [*(cell_histogram(column, one) for one in cells), number_histogram(column, everywhere)]
            histograms += [bucket_histogram(column), rounding_histogram(column, classes)]
            found += [(place, histogram) for histogram in histograms]
        return found

    def tally(blocks: Sequence[np.ndarray]) -> Counts:
        counted = asked()
        for rows in blocks:
            block = table.take(pa.array(rows))
            for place, histogram in counted:
                histogram.add(block.column(place).combine_chunks())
        return _all_counts([histogram for _, histogram in counted])

    check_own_contribution(tally, num_rows, num_rows // 2)


@pytest.mark.parametrize("num_rows", SIZES)
def test_first_look_at_all_columns(num_rows: int) -> None:
    """What is asked first, and what the profile will publish of declared columns, counted on the way."""
    table, schema = people(num_rows), people_schema()

    def tally(blocks: Sequence[np.ndarray]) -> Counts:
        first = start_search(schema, BUDGET, lambda domains, left, counted: None)  # type: ignore[arg-type, return-value]
        assert isinstance(first, SearchPass)
        assert first.tally.declared
        for rows in blocks:
            first.add(table.take(pa.array(rows)))
        return _all_counts([histogram for _, histogram in first.tally.questions])

    check_own_contribution(tally, num_rows, num_rows // 2)


@pytest.mark.parametrize("num_rows", SIZES)
@pytest.mark.parametrize("options", [{}, {"pivot": "grade"}, {"focus": "grade"}])
def test_tables_of_aggregates(num_rows: int, options: dict[str, str]) -> None:
    schema, wanted = people_schema(), PrivacySettings(epsilon=5.0, delta=1e-5, kind=ReleaseKind.AGGREGATES, **options)
    plan = plan_profile(wanted, schema)
    profile, left = searched(people(800), schema, plan.budget, FixedRandomness())
    codebook = profile.publish(left, FixedRandomness(), centred=True).codebook
    levels = levels_of(people(num_rows), codebook)
    tables = plan_aggregates(wanted, schema, codebook, plan_tables(wanted, schema, plan.events), 800.0)
    groups = [level_groups(code) for code in codebook.codes]

    def tally(blocks: Sequence[np.ndarray]) -> Counts:
        pairs, triples = AggregateTally(codebook, tables), TripleTally(groups, [(0, 1, 2)])
        both = PairsAndTriples(pairs, triples)
        for rows in blocks:
            both.add(levels[rows])
        return [pairs.num_rows, pairs._pairs(), triples._triples()]

    check_own_contribution(tally, num_rows, num_rows // 3)


@pytest.mark.parametrize("num_rows", SIZES)
def test_tables_of_three_columns(num_rows: int) -> None:
    rng = np.random.default_rng(0)
    groups = [np.arange(4), np.array([0, 1, 1]), np.array([0, 1])]
    levels = np.stack([rng.integers(0, len(one), num_rows) for one in groups], axis=1)

    def tally(blocks: Sequence[np.ndarray]) -> Counts:
        counted = TripleTally(groups, [(0, 1, 2)])
        for rows in blocks:
            counted.add(levels[rows])
        return [counted._triples()]

    check_own_contribution(tally, num_rows, num_rows // 3)


IMAGE_SCHEMAS = [
    ImageSchema(height=28, width=28, low=0.0, high=1.0, components=components, classes=(0, 1, 2), aligned=aligned)
    for components, aligned in ((2, False), (100, False), (20, True))
]


def images_on_edges(num_images: int, schema: ImageSchema) -> ImageSet:
    """Flat images whose contrast is exactly the edge of a bin, which the last bit of a product decides on."""
    values = np.resize([1 / 32, 1 / 32, 1 / 32, 0.5, 31 / 32, 0.7], num_images)
    pixels = np.broadcast_to(values[:, None, None, None], (num_images, *schema.shape)).copy()
    return ImageSet.from_arrays(pixels, np.arange(num_images) % 3)


@pytest.mark.parametrize("schema", IMAGE_SCHEMAS, ids=["2 components", "100 components", "aligned"])
@pytest.mark.parametrize("num_images", SIZES)
def test_sums_over_images(schema: ImageSchema, num_images: int) -> None:
    images = images_on_edges(num_images, schema)
    code = ImageCode(schema)
    centres = np.random.default_rng(0).normal(0, 0.1, (3, schema.dim))

    def tally(blocks: Sequence[np.ndarray]) -> Counts:
        counts = ImageCounts(3, code.largest)
        means = MeanSums(3, schema.dim, radius=code.largest / 32)
        moments = MomentSums(centres, code.largest / 32, 0.7, 2.1)
        for rows in blocks:
            part = ImageSet.from_arrays(images.pixels[rows], images.labels[rows])  # type: ignore[index]
            for block in PrivateImages(part, schema).blocks(500):
                for sums in (counts, means, moments):
                    sums.add(block)  # type: ignore[attr-defined]
        return [counts.classes, counts.contrasts, means.sums, moments.second, moments.spreads]

    check_own_contribution(tally, num_images, num_images // 2)


def test_the_old_product_of_images_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake that was made: last bits of a product of floats decide on a bin."""

    def by_floats(self: ImageCode, pixels: np.ndarray) -> np.ndarray:
        planes = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
        other_kernel = 1e-6 * (len(pixels) % 2 - 0.5)  # larger than a last bit, so that every machine shows it
        return planes @ self.plane.T + other_kernel

    monkeypatch.setattr(ImageCode, "encode", by_floats)
    with pytest.raises(AssertionError):
        test_sums_over_images(IMAGE_SCHEMAS[0], 601)


@settings(max_examples=40, deadline=None)
@given(
    num_rows=st.integers(1, 80), dim=st.integers(1, 60), kind=st.sampled_from(["orthogonal", "gaussian"]),
    seed=st.integers(0, 10**6), extra=st.integers(-1, 20),
)  # fmt: skip
def test_projected_rows(num_rows: int, dim: int, kind: str, seed: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    law = Directions(kind=DirectionKind(kind), dim=dim, num_slices=max(1, dim + extra), slice_dim=1)
    slicing = SlicingMechanism(
        directions=draw_directions(law, FixedRandomness(seed)),
        noise_scale=1.0,
        nonnegative=bool(seed % 2),
        randomness=FixedRandomness(),
    )
    rows = rng.normal(0, rng.choice([0.01, 1.0, 100.0]), (num_rows, dim))
    alone = np.concatenate([slicing.project(row[None]) for row in rows])
    assert np.array_equal(slicing.project(rows), alone)
    order = rng.permutation(num_rows)
    assert np.array_equal(slicing.project(rows[order])[np.argsort(order)], alone)


def test_exact_products_are_products() -> None:
    """What is cut for exactness is far below the noise, and no row becomes longer."""
    rng = np.random.default_rng(2)
    law = Directions(kind=DirectionKind.ORTHOGONAL, dim=300, num_slices=300, slice_dim=1)
    directions = draw_directions(law, FixedRandomness())
    slicing = SlicingMechanism(directions=directions, noise_scale=1.0, nonnegative=False, randomness=FixedRandomness())
    rows = rng.normal(size=(50, 300))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = slicing.project(rows)
    np.testing.assert_allclose(found, rows @ directions, atol=1e-5)
    assert squared_norms(found).max() <= 1.0


@pytest.mark.parametrize("num_records", [3, 128, 2500])
def test_features_of_the_network(num_records: int) -> None:
    """Blanking one record of a batch leaves the rows of all others as they are, also where batches are large."""
    network = build_network((1, 28, 28), 10, 10.0, seed=0)
    batch = np.random.default_rng(0).random((num_records, 1, 28, 28)).astype(np.float32)
    before = network.encode(batch)
    for record in (0, num_records // 2, num_records - 1):
        blanked = batch.copy()
        blanked[record] = 0.0
        changed = (network.encode(blanked) != before).any(axis=1)
        assert np.flatnonzero(changed).tolist() == [record]
