"""The first pass: what it costs, what it shows, and what it must not show."""

import datetime as dt
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from microtome.accounting import FailureEvent, GaussianEvent, Neighbours, delta
from microtome.errors import TableError
from microtome.private import PrivacySettings
from microtome.private.cell_index import numbers_within_bounds
from microtome.private.plan import plan_profile
from microtome.private.profile import Profile, Tally
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import LATTICE_GAP, noisy_counts
from microtome.schema import CategoryCells, Column, Kind, Outside, Schema, rounding_classes
from support import FixedRandomness, SilentRandomness, lattice_step, people, people_schema, searched

TEXT = Schema(columns=(Column(name="x", kind=Kind.CATEGORICAL, missing=False),))


def tally_of(table: pa.Table, schema: Schema) -> Tally:
    """The counts of a table; numbers that have to be searched for are on the cells that are found without noise."""
    return searched(table, schema, budget(), SilentRandomness())[0]


def budget(mu: float = 1.0, *, threshold: float = 1e-6, neighbours: Neighbours = Neighbours.BLANK_ONE) -> ProfileBudget:
    return ProfileBudget(mu=mu, threshold_delta=threshold, neighbours=neighbours)


def published(table: pa.Table, schema: Schema, share: ProfileBudget, randomness: FixedRandomness) -> Profile:
    tally, left = searched(table, schema, share, randomness)
    return tally.publish(left, randomness, centred=True)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("widths", [[2], [3, 500, 1, 1024], [2, 2, 2, 8]])
def test_costs_of_all_columns_add_up_to_the_budget(neighbours: Neighbours, widths: list[int]) -> None:
    changed = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    scales = budget(0.7, neighbours=neighbours).noise_scales(widths)
    assert sum(changed / scale**2 for scale in scales) == pytest.approx(0.7**2)
    by_width = [scale for _, scale in sorted(zip(widths, scales, strict=True), reverse=True)]
    assert by_width == sorted(by_width)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_scales_of_a_published_profile_spend_no_more_than_the_budget(neighbours: Neighbours) -> None:
    """With every histogram noised once, those of rounding too; the protected total, where there is one, is one more."""
    codes = published(people(), people_schema(), budget(0.7, neighbours=neighbours), FixedRandomness()).codebook.codes
    changed = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    spent = sum(changed / code.noise_scale**2 for code in codes)
    rounded = [code.rounding for code in codes if code.rounding is not None]
    assert {code.column.name for code in codes if code.rounding is not None} == {"income", "seen"}
    spent += sum(changed / rounding.noise_scale**2 for rounding in rounded)
    assert {code.column.name for code in codes if code.search_noise} == {"town", "income", "seen"}
    spent += sum(changed / scale**2 for code in codes for scale in code.search_noise)
    if neighbours.protects_count:
        assert spent < 0.7**2 * (1 - 1e-4)
    else:
        assert spent == pytest.approx(0.7**2)


@pytest.mark.parametrize(("neighbours", "touched"), [("blank-one", 27 + 1), ("replace-one", 2 * 27 + 1)])
def test_the_gap_of_every_noisy_number_that_a_record_touches_is_in_delta(neighbours: str, touched: int) -> None:
    """Seven columns; three are searched for, in up to six ways, and two of these by rounding; and the total."""
    settings = PrivacySettings(epsilon=1.0, delta=1e-6, neighbours=Neighbours(neighbours))
    failures = [event for event in plan_profile(settings, people_schema()).events if isinstance(event, FailureEvent)]
    assert failures[0].probability == pytest.approx(touched * LATTICE_GAP)


@pytest.mark.parametrize("wrong", [0.7, 1.0, 1.4])
def test_counts_of_rounding_carry_the_noise_they_state(wrong: float) -> None:
    column = Column(name="x", kind=Kind.FLOAT, bounds=(0, 1e8), missing=False)
    values = np.round(np.random.default_rng(0).uniform(1, 1000, 4000), 2)
    code = published(pa.table({"x": values}), Schema(columns=(column,)), budget(), FixedRandomness()).codebook.codes[0]
    assert code.rounding is not None
    exact = code.rounding.classes.count(values)
    assert exact.sum() == 4000
    statistic = float(((code.rounding.counts - exact) ** 2).sum()) / (wrong * code.rounding.noise_scale) ** 2
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], len(exact))
    assert (low < statistic < high) == (wrong == 1.0)
    steps = code.rounding.counts / lattice_step(code.rounding.noise_scale)
    assert (steps == np.rint(steps)).all()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (
            Column(name="x", kind=Kind.INTEGER, bounds=(-5000, 5000), outside=Outside.CLAMP),
            [0, 7, 1500, -40, 9999, None],
        ),
        (Column(name="x", kind=Kind.FLOAT), [0.0, 2.5, 1 / 3, float("nan"), 1e300, -7e-300, None]),
        (Column(name="x", kind=Kind.DATETIME), [dt.datetime(1970, 1, 1), dt.datetime(2020, 1, 1, 12, 30), None]),
    ],
    ids=["integer", "float", "datetime"],
)
def test_a_record_counts_at_most_once_in_the_histogram_of_rounding(column: Column, values: list[object]) -> None:
    classes = rounding_classes(column)
    assert classes is not None
    for value in values:
        array = pa.array([value], type=column.arrow_type)
        assert classes.count(numbers_within_bounds(array, column)).sum() in (0, 1)
    both = pa.array(values, type=column.arrow_type)
    without = classes.count(numbers_within_bounds(both[1:], column))
    assert np.abs(classes.count(numbers_within_bounds(both, column)) - without).sum() <= 1


@pytest.mark.parametrize("wrong", [0.7, 1.0, 1.4])
def test_counts_carry_the_noise_they_state(wrong: float) -> None:
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 400), missing=False)
    table = pa.table({"x": pa.array(np.arange(4000) % 401)})
    exact = np.bincount(np.arange(4000) % 401)
    code = published(table, Schema(columns=(column,)), budget(), FixedRandomness()).codebook.codes[0]
    statistic = float(((code.counts - exact) ** 2).sum()) / (wrong * code.noise_scale) ** 2
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], len(exact))
    assert (low < statistic < high) == (wrong == 1.0)
    steps = code.counts / lattice_step(code.noise_scale)
    assert (steps == np.rint(steps)).all()


def test_large_counts_have_the_noise_of_small_ones_to_the_last_bit() -> None:
    """The rounding error of a sum near 10⁸ would move one number in 10⁸ to another step."""
    stream, count = FixedRandomness(1), 100_000_001.0
    small = noisy_counts(np.zeros(50_000), 3.0, stream.stream("profile"))
    assert (noisy_counts(np.full(50_000, count), 3.0, stream.stream("profile")) - count == small).all()


@pytest.mark.parametrize("neighbours", [Neighbours.BLANK_ONE, Neighbours.REPLACE_ONE])
def test_one_record_changes_one_cell_of_each_column_by_one(neighbours: Neighbours) -> None:
    table, schema = people(60), people_schema()
    tally = tally_of(table, schema)
    other = Tally(schema, tally._domains)
    other.add(table.filter(pa.array([row != 7 for row in range(60)])))
    if neighbours is Neighbours.REPLACE_ONE:
        other.add(table.slice(3, 1))
    largest = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    for index in range(len(schema.columns)):
        mine, theirs = tally._histograms[index].counts, other._histograms[index].counts
        if isinstance(mine, Counter):
            mine = mine.copy()
            mine.subtract(theirs)
            changed = [abs(count) for count in mine.values() if count]
        else:
            changed = [abs(count) for count in mine - theirs if count]
        assert len(changed) <= largest
        assert all(count == 1 for count in changed)


def test_released_counts_of_neighbours_differ_in_one_count_a_column() -> None:
    """The same noise for both tables; every category is common, so that the same are shown."""
    table, schema = people(3000), people_schema()
    rest = table.slice(1)
    tally = tally_of(table, schema)
    full = tally.publish(budget(2.0), FixedRandomness(), centred=True).codebook
    less = Tally(schema, tally._domains)
    less.add(rest)
    less.num_rows += 1  # the null record: no value in any column, but counted in the public number of records
    blank = less.publish(budget(2.0), FixedRandomness(), centred=True).codebook
    squared = 0.0
    for one, two in zip(full.codes, blank.codes, strict=True):
        if len(one.counts) != len(two.counts):
            continue
        derived = isinstance(one.cells, CategoryCells) and one.cells.other
        apart = np.abs(one.counts - two.counts)
        if derived:
            apart = np.delete(apart, len(one.cells.categories))  # type: ignore[union-attr]
        assert (apart > 1e-9).sum() <= 1
        assert apart.max() <= 1.0
        squared += float((apart**2).sum()) / one.noise_scale**2
    assert 0 < squared <= 2.0**2 * (1 + 1e-9)


TRIALS = 2000
SHARE = 0.05


def times_shown(threshold_share: float, num_columns: int, neighbours: Neighbours) -> int:
    """In how many of TRIALS profiles a category of one record shows, threshold set for ``threshold_share``."""
    columns = tuple(Column(name=f"c{index}", kind=Kind.CATEGORICAL, missing=False) for index in range(num_columns))
    values = pa.array(["common"] * 50 + ["only one"])
    tally = tally_of(
        pa.table([values] * num_columns, names=[column.name for column in columns]), Schema(columns=columns)
    )
    share = replace(budget(2.0, threshold=threshold_share, neighbours=neighbours), num_chances=num_columns)
    shown = 0
    for seed in range(TRIALS // num_columns):
        codes = tally.publish(share, FixedRandomness(seed), centred=True).codebook.codes
        shown += any("only one" in code.cells.categories for code in codes)  # type: ignore[union-attr]
    return shown


@pytest.mark.parametrize("num_columns", [1, 4])
def test_a_category_of_one_record_shows_no_more_often_than_stated(num_columns: int) -> None:
    """The stated probability is for all learnt columns together; ten times as much would be caught."""
    trials = TRIALS // num_columns
    limit = stats.binom.isf(1e-6, trials, SHARE)
    shown = times_shown(SHARE, num_columns, Neighbours.BLANK_ONE)
    assert shown <= limit
    assert shown >= stats.binom.ppf(1e-6, trials, SHARE)
    assert times_shown(10 * SHARE, num_columns, Neighbours.BLANK_ONE) > limit


def test_replacing_a_record_halves_the_probability() -> None:
    """A replaced record may take one category away and bring another: each has half of the share."""
    shown = times_shown(SHARE, 1, Neighbours.REPLACE_ONE)
    assert stats.binom.ppf(1e-6, TRIALS, SHARE / 2) <= shown <= stats.binom.isf(1e-6, TRIALS, SHARE / 2)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("scale", [0.9, 7.3])
def test_the_threshold_counts_the_lattice(neighbours: Neighbours, scale: float) -> None:
    share = replace(budget(threshold=1e-7, neighbours=neighbours), num_chances=3)
    step = lattice_step(scale)
    first_shown = math.floor(share.threshold(scale) / step) + 1
    passes = stats.norm.sf((first_shown - 0.5) * step, loc=1.0, scale=scale * (1 + 2.0**-22))
    assert passes * 3 * (2 if neighbours is Neighbours.REPLACE_ONE else 1) <= 1e-7 * (1 + 1e-9)


def test_learnt_categories_are_those_with_many_records() -> None:
    values = ["b"] * 500 + ["a"] * 300 + [f"rare {index}" for index in range(200)]
    table = pa.table({"x": values})
    cells = published(table, TEXT, budget(), FixedRandomness()).codebook.codes[0].cells
    assert isinstance(cells, CategoryCells)
    assert cells.categories == ("a", "b")
    assert cells.other
    counts = published(table, TEXT, budget(), SilentRandomness()).codebook.codes[0].counts
    assert np.allclose(counts, [300, 500, 200], atol=0.01)


def test_declared_categories_are_all_and_no_other_appears() -> None:
    column = Column(name="x", kind=Kind.CATEGORICAL, categories=("a", "never"), outside=Outside.CLAMP, missing=False)
    table = pa.table({"x": ["a"] * 50 + ["secret"] * 500})
    code = published(table, Schema(columns=(column,)), budget(), FixedRandomness()).codebook.codes[0]
    assert isinstance(code.cells, CategoryCells)
    assert code.cells.categories == ("a", "never")
    drawn = code.draw(np.arange(code.num_levels).repeat(100), np.random.default_rng(0)).to_pylist()
    assert "secret" not in drawn


def test_cells_that_hold_nobody_are_noised_like_the_others() -> None:
    column = Column(name="x", kind=Kind.CATEGORICAL, categories=tuple("abcdefgh"), missing=False)
    table = pa.table({"x": ["a"] * 50})
    code = published(table, Schema(columns=(column,)), budget(), FixedRandomness()).codebook.codes[0]
    assert (code.counts[1:] != 0).sum() >= 6


def test_the_number_of_records_is_noised_where_it_is_protected() -> None:
    share = budget(0.5, neighbours=Neighbours.ADD_REMOVE)
    table = people(500)
    totals = [published(table, people_schema(), share, FixedRandomness(seed)).total for seed in range(40)]
    assert len(set(totals)) > 30
    assert abs(np.mean(totals) - 500) < 5 * np.std(totals) / math.sqrt(40)
    assert published(table, people_schema(), budget(), FixedRandomness()).total == 500.0


def test_too_many_values_are_refused_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microtome.private.histograms.MOST_CATEGORIES", 10)
    with pytest.raises(TableError, match="column 'x' has more than 10 different values"):
        tally_of(pa.table({"x": [str(number) for number in range(11)]}), TEXT)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_plan_counts_every_failure_in_delta(neighbours: Neighbours) -> None:
    capacity = 1000 if neighbours.protects_count else None
    settings = PrivacySettings(
        epsilon=2.0, delta=1e-6, kind="records", neighbours=neighbours, capacity=capacity, profile_share=0.999
    )
    plan = plan_profile(settings, people_schema())
    reasons = [event.reason for event in plan.events if isinstance(event, FailureEvent)]
    assert any("of one record alone" in reason for reason in reasons)
    assert any("discrete noise" in reason for reason in reasons)
    assert delta(plan.events, 2.0) <= 1e-6
    declared = Schema(columns=(Column(name="x", kind=Kind.BOOLEAN),))
    without = plan_profile(settings, declared)
    assert not any("alone shows" in event.reason for event in without.events if isinstance(event, FailureEvent))
    assert without.budget.threshold_delta == 0.0
    (gaussian,) = [event for event in plan.events if isinstance(event, GaussianEvent)]
    assert gaussian.mu == plan.budget.mu
