"""Aggregates through the one door: sensitivity by brute force, noise as promised, the ledger before it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from microtome import release
from microtome.accounting import Accountant, GaussianEvent, Ledger, Neighbours, delta, epsilon
from microtome.errors import BudgetError, MicrotomeError, ParameterError, TableError
from microtome.private import Door, PrivacySettings, RunSettings, TableSource, open_table
from microtome.private.aggregating import (
    MOST_CLASSES,
    AggregatePlan,
    AggregateTally,
    choose_focus,
    choose_pivot,
    level_groups,
    plan_aggregates,
    plan_tables,
)
from microtome.private.plan import check_size, plan_profile
from microtome.private.profile import Tally
from microtome.private.table import PrivateTable
from microtome.published import AggregatesRelease, ReleaseKind, promise_in_words, summary
from microtome.schema import WIDE, Codebook, Column, Kind, Schema
from support import (
    FixedRandomness,
    SilentGenerator,
    SilentRandomness,
    WatchedRandomness,
    lattice_step,
    levels_of,
    people,
    people_schema,
    publish,
)

AGGREGATES: dict[str, Any] = {"kind": ReleaseKind.AGGREGATES, "profile_share": 0.2}
PIVOTED = {**AGGREGATES, "pivot": "owner"}
PIVOTS = ["none", "c0"]
Tables = dict[str, np.ndarray]


class NoNoise(SilentRandomness):
    """Exact tables, rounded to the grid."""

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        return SilentGenerator(super().stream(purpose, block).bit_generator)


class Flow(FixedRandomness):
    """One stream for all, so that every release has new noise."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._flow = np.random.default_rng(seed)

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        return self._flow


def settings_of(**changes: Any) -> PrivacySettings:
    return PrivacySettings(**{"epsilon": 3.0, "delta": 1e-3, **AGGREGATES, **changes})


def schema_of(widths: tuple[int, ...], target: str | None = None) -> Schema:
    columns = [
        Column(name=f"c{i}", kind=Kind.CATEGORICAL, categories=tuple("abcdefgh"[:width]), missing=False)
        for i, width in enumerate(widths)
    ]
    return Schema(columns=tuple(columns), target=target)


def planned(
    widths: tuple[int, ...], settings: PrivacySettings, target: str | None = None
) -> tuple[Codebook, AggregatePlan]:
    """Columns of the given numbers of levels, and the plan for them."""
    schema = schema_of(widths, target)
    profile = plan_profile(settings, schema)
    tally = Tally(schema)
    even = {f"c{i}": [*"abcdefgh"[:width]] * (5040 // width) for i, width in enumerate(widths)}
    tally.add(pa.table(even))
    codebook = tally.publish(profile.budget, NoNoise(), centred=settings.neighbours.centred).codebook
    assert tuple(block.width for block in codebook.blocks) == widths
    budget = plan_tables(settings, schema, profile.events)
    return codebook, plan_aggregates(settings, schema, codebook, budget, total=5040)


def tables(codebook: Codebook, plan: AggregatePlan, levels: np.ndarray, randomness: Any = None) -> Tables:
    """What is published of these records; exact without a source of noise."""
    tally = AggregateTally(codebook, plan)
    tally.add(levels)
    noisy = tally.publish(randomness or NoNoise())
    return noisy if randomness else {name: np.rint(table) for name, table in noisy.items()}


def apart(one: Tables, two: Tables) -> Tables:
    return {name: two[name] - one[name] for name in one}


def by_table(codebook: Codebook, plan: AggregatePlan, found: Tables) -> Iterator[tuple[np.ndarray, float]]:
    """Every measured table with its noise, each pair of columns once."""
    parts = [slice(block.start, block.stop) for block in codebook.blocks]
    for a, left in enumerate(parts):
        if plan.first_noise[a] > 0:
            yield found["first"][:, left], plan.first_noise[a]
        for b, right in enumerate(parts[:a]):
            if plan.pair_noise[a, b] > 0:
                yield found["second"][:, left, right], plan.pair_noise[a, b]
            if plan.triple_noise[a, b] > 0:
                yield found["third"][:, left, right], plan.triple_noise[a, b]


def shift(codebook: Codebook, plan: AggregatePlan, one: np.ndarray, two: np.ndarray) -> float:
    """Squared distance of the exact tables in units of their noise: the μ² of telling these two apart."""
    moved = apart(tables(codebook, plan, one), tables(codebook, plan, two))
    return sum(float((table**2).sum()) / noise**2 for table, noise in by_table(codebook, plan, moved))


def planned_mu(plan: AggregatePlan) -> float:
    (event,) = [event for event in plan.events if isinstance(event, GaussianEvent)]
    return event.mu


def neighbouring(levels: np.ndarray, widths: tuple[int, ...], neighbours: Neighbours) -> Iterator[np.ndarray]:
    """Every neighbour that has no more records."""
    for row in range(len(levels)):
        if neighbours is not Neighbours.REPLACE_ONE:
            yield np.delete(levels, row, axis=0)
            continue
        for record in product(*map(range, widths)):
            other = levels.copy()
            other[row] = record
            yield other


# Sensitivity


@pytest.mark.parametrize("target", [None, "c0", "c1"])
@pytest.mark.parametrize("pivot", PIVOTS)
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("widths", [(2, 2), (3, 2, 2), (2, 3, 1, 2)])
def test_no_neighbour_is_further_than_planned_and_the_worst_is_as_far(
    widths: tuple[int, ...], neighbours: Neighbours, pivot: str, target: str | None
) -> None:
    codebook, plan = planned(widths, settings_of(neighbours=neighbours, pivot=pivot), target)
    levels = np.random.default_rng(len(widths)).integers(0, widths, (4, len(widths)))
    shifts = [shift(codebook, plan, levels, other) for other in neighbouring(levels, widths, neighbours)]
    assert max(shifts) <= planned_mu(plan) ** 2 * (1 + 1e-9)
    if neighbours is Neighbours.REPLACE_ONE:
        worst = levels.copy()
        worst[0] = (levels[0] + 1) % widths
        assert shift(codebook, plan, levels, worst) == pytest.approx(planned_mu(plan) ** 2, rel=1e-9)
        assert min(shifts) == 0.0
    else:
        assert min(shifts) == pytest.approx(planned_mu(plan) ** 2, rel=1e-9)


@pytest.mark.parametrize("pivot", PIVOTS)
@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_costs_of_all_tables_add_up_to_the_plan(neighbours: Neighbours, pivot: str) -> None:
    _, plan = planned((2, 3, 8, 1), settings_of(neighbours=neighbours, pivot=pivot))
    changed = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    noise = np.concatenate([plan.first_noise, plan.pair_noise[np.triu_indices(4, 1)]])
    assert changed * (noise[noise > 0] ** -2.0).sum() == pytest.approx(planned_mu(plan) ** 2, rel=1e-12)
    assert (plan.pair_noise == plan.pair_noise.T).all()


def test_a_pivot_costs_pairs_no_more_than_its_own_tables() -> None:
    """Classes are disjoint: V times as many cells for the same μ; only the tables by class take a share of it."""
    _, plain = planned((3, 4, 4, 4), settings_of(pivot="none"))
    _, pivoted = planned((3, 4, 4, 4), settings_of(pivot="c0"))
    assert planned_mu(pivoted) == pytest.approx(planned_mu(plain), rel=1e-6)
    assert (pivoted.pair_noise[0] == 0).all()
    assert (plain.first_noise == 0).all()
    assert pivoted.first_noise[0] == 0
    weights = np.array([3 * 12.0 * 2.0, 3 * 4.0])  # three tables by class and three pairs of 16 cells
    assert pivoted.pair_noise[1, 2] == pytest.approx(math.sqrt(weights.sum() / 4.0) / planned_mu(pivoted), rel=1e-9)


def test_tables_with_the_target_get_more_and_cost_no_more() -> None:
    _, plain = planned((4, 4, 4), settings_of())
    _, aimed = planned((4, 4, 4), settings_of(focus="none"), target="c1")
    assert planned_mu(aimed) == pytest.approx(planned_mu(plain), rel=1e-6)
    assert aimed.pair_noise[0, 2] ** 2 / aimed.pair_noise[0, 1] ** 2 == pytest.approx(3.0, rel=1e-3)
    assert aimed.pair_noise[0, 1] == aimed.pair_noise[1, 2] < plain.pair_noise[0, 1]
    noise = aimed.pair_noise[np.triu_indices(3, 1)]
    assert (noise**-2.0).sum() == pytest.approx(planned_mu(aimed) ** 2, rel=1e-12)


def test_few_records_go_to_the_target_and_cost_no_more() -> None:
    """The noise of tables without it, over that of tables with it: as the weights say, or far more."""
    schema, wanted = schema_of((4, 4, 4, 4), "c0"), settings_of(focus="none", triples=0)
    codebook, _ = planned((4, 4, 4, 4), wanted, "c0")
    budget = plan_tables(wanted, schema, plan_profile(wanted, schema).events)
    few, many = (plan_aggregates(wanted, schema, codebook, budget, total) for total in (50, 500_000))
    assert many.pair_noise[1, 2] / many.pair_noise[0, 1] == pytest.approx(math.sqrt(3.0), rel=0.01)
    assert few.pair_noise[1, 2] / few.pair_noise[0, 1] > 5.0
    assert few.pair_noise[0, 1] < many.pair_noise[0, 1]
    assert planned_mu(few) == pytest.approx(planned_mu(many))
    fewest = plan_aggregates(wanted, schema, codebook, budget, 1)
    assert fewest.pair_noise.max() < 1e6 * fewest.pair_noise[0, 1], "noise that cannot be drawn would end the release"


def test_wide_tables_get_more_but_do_not_drown_the_rest() -> None:
    _, plan = planned((2, 2, 8, 8), settings_of(pivot="none"))
    assert plan.pair_noise[0, 1] ** 2 / plan.pair_noise[2, 3] ** 2 == pytest.approx(math.sqrt(64 / 4))


# Tables of three columns


def test_pairs_are_counted_by_levels_of_the_target_too() -> None:
    codebook, plan = planned((3, 2, 4), settings_of(), target="c1")
    levels = np.random.default_rng(0).integers(0, (3, 2, 4), (300, 3))
    found = tables(codebook, plan, levels)
    assert (plan.focus, plan.groups.tolist()) == (1, [0, 1])
    expected = [[[((levels == (a, g, b)).all(axis=1)).sum() for b in range(4)] for a in range(3)] for g in range(2)]
    assert (found["third"][:, :3, 5:] == np.array(expected)).all()
    assert (found["third"].sum(axis=0)[:3, 5:] == found["second"][0, :3, 5:]).all()
    assert (plan.triple_noise[1] == 0).all()


def test_many_levels_are_counted_in_few_groups() -> None:
    codebook, plan = planned((8, 2, 3), settings_of(), target="c0")
    assert plan.groups.tolist() == [0, 1, 2, 3, 3, 3, 3, 3]
    assert tables(codebook, plan, np.array([[7, 1, 2]]))["third"][:, 9, 12].tolist() == [0, 0, 0, 1]


def test_numbers_are_counted_in_groups_of_neighbours() -> None:
    schema = Schema(columns=(Column(name="x", kind=Kind.INTEGER, bounds=(0, 99), missing=False),))
    tally = Tally(schema)
    tally.add(pa.table({"x": np.arange(10_000) % 100}))
    profile = plan_profile(settings_of(), schema)
    groups = level_groups(tally.publish(profile.budget, NoNoise(), centred=True).codebook.codes[0])
    assert (np.diff(groups) >= 0).all()
    assert set(groups) == {0, 1, 2, 3}


def test_few_records_give_next_to_nothing_to_tables_of_three_columns() -> None:
    schema, wanted = schema_of((8, 8, 8, 2), "c3"), settings_of(epsilon=1.0)
    codebook, _ = planned((8, 8, 8, 2), wanted, "c3")
    budget = plan_tables(wanted, schema, plan_profile(wanted, schema).events)
    plans = [plan_aggregates(wanted, schema, codebook, budget, total) for total in (50, 200_000)]
    shares = [(plan.triple_noise[plan.triple_noise > 0] ** -2.0).sum() / 2 * budget.unit_noise**2 for plan in plans]
    assert shares[0] < 0.05 < 0.1 < shares[1]


def test_a_focus_beside_a_pivot_or_out_of_nowhere_is_refused() -> None:
    schema = schema_of((3, 2, 2), "c1")
    with pytest.raises(ParameterError, match="'nobody' is not a column"):
        choose_focus(settings_of(focus="nobody"), schema)
    with pytest.raises(ParameterError, match="take one of them"):
        choose_focus(settings_of(focus="c2", pivot="c0"), schema)
    assert choose_focus(settings_of(pivot="c0"), schema) is None
    assert choose_focus(settings_of(focus="none"), schema) is None
    assert choose_focus(settings_of(focus="c2"), schema) == 2


def test_a_wide_table_has_a_focus_only_if_one_is_named() -> None:
    columns = tuple(Column(name=f"c{number}", kind=Kind.BOOLEAN) for number in range(WIDE + 1))
    for count, focus in ((WIDE, 3), (WIDE + 1, None)):
        schema = Schema(columns=columns[:count], target="c3")
        assert choose_focus(settings_of(), schema) == focus
        assert choose_focus(settings_of(focus="c3"), schema) == 3


# Noise


def many() -> tuple[Codebook, AggregatePlan, np.ndarray]:
    widths = (3, 5, 4, 6, 7, 8)
    codebook, plan = planned(widths, settings_of(pivot="c0"))
    return codebook, plan, np.random.default_rng(1).integers(0, widths, (500, len(widths)))


def louder(plan: AggregatePlan, factor: float) -> AggregatePlan:
    """The same with more noise than planned."""
    names = ("first_noise", "pair_noise", "triple_noise")
    return replace(plan, **{name: getattr(plan, name) * factor for name in names})


def noise_energy(factor: float) -> float:
    """Probability under the planned noise of a χ² further out than that of tables noised with ``factor`` times it."""
    codebook, plan, levels = many()
    noisy, exact = tables(codebook, louder(plan, factor), levels, FixedRandomness(5)), tables(codebook, plan, levels)
    moved = list(by_table(codebook, plan, apart(exact, noisy)))
    energy = sum(float((table**2).sum()) / noise**2 for table, noise in moved)
    cells = sum(table.size for table, _ in moved)
    assert cells == 3 * (30 + (30**2 - 25 - 16 - 36 - 49 - 64) // 2)
    return float(2 * min(chi2.cdf(energy, cells), chi2.sf(energy, cells)))


def test_noise_has_the_planned_scale() -> None:
    assert noise_energy(1.0) > 0.01


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_noise_of_another_scale_is_noticed(factor: float) -> None:
    assert noise_energy(factor) < 1e-9


def test_every_entry_is_noised_once_and_known_blocks_are_not_measured() -> None:
    codebook, plan, levels = many()
    first, second = tables(codebook, plan, levels, FixedRandomness(2)).values()
    assert (second == second.transpose(0, 2, 1)).all()
    owner = np.repeat(np.arange(6), [block.width for block in codebook.blocks])
    unmeasured = (owner[:, None] == owner) | (owner[:, None] == 0) | (owner == 0)
    assert (second[:, unmeasured] == 0).all()
    assert (first[:, owner == 0] == 0).all()
    once = np.concatenate([first[:, owner > 0].ravel(), second[:, np.triu(~unmeasured)].ravel()])
    assert (once != 0).mean() > 0.99
    assert len(np.unique(once)) > 0.9 * len(once)  # those of one table share a grid, so some meet by chance


def test_no_stream_is_used_twice(tmp_path: Path) -> None:
    randomness = FixedRandomness()
    publish(people(), people_schema(), tmp_path / "t.release", randomness=randomness, **PIVOTED)
    assert len(randomness.asked) == len(set(randomness.asked))
    asked = {purpose.partition(" ")[0] for purpose, _ in randomness.asked}
    assert asked == {"search", "profile", "first", "second"}


def test_published_numbers_are_on_the_lattice() -> None:
    codebook, plan, levels = many()
    noisy = tables(codebook, plan, levels, FixedRandomness(3))
    for table, noise in by_table(codebook, plan, noisy):
        steps = table / lattice_step(noise)
        assert (steps == np.rint(steps)).all()
        assert len(np.unique(steps % 256)) > 5


# What an attacker sees


def advantage(
    neighbours: Neighbours, pivot: str, factor: float, level: float, target: str | None = None
) -> tuple[float, float, float]:
    """P'(A) − e^ε P(A) for the best event A, by simulation of two neighbours; its error; what was promised."""
    widths, runs = (2, 3, 2), 4000
    codebook, plan = planned(widths, settings_of(neighbours=neighbours, pivot=pivot), target)
    drawn = louder(plan, factor)
    one = np.random.default_rng(4).integers(0, widths, (6, 3))
    two = one[1:] if neighbours is not Neighbours.REPLACE_ONE else np.vstack([(one[0] + 1) % widths, one[1:]])
    centres = [tables(codebook, plan, levels) for levels in (one, two)]
    flow, hits = Flow(9), []
    for levels in (one, two):
        tally = AggregateTally(codebook, drawn)
        tally.add(levels)
        losses = np.zeros(runs)
        for run in range(runs):
            noisy = tally.publish(flow)
            pieces = (list(by_table(codebook, plan, kind)) for kind in (noisy, *centres))
            for (seen, noise), (ours, _), (theirs, _) in zip(*pieces, strict=True):
                losses[run] += (((seen - ours) ** 2 - (seen - theirs) ** 2).sum()) / (2 * noise**2)
        hits.append(losses > level)
    ours, theirs = (hit.mean() for hit in hits)
    error = math.sqrt((theirs * (1 - theirs) + math.exp(2 * level) * ours * (1 - ours)) / runs)
    return theirs - math.exp(level) * ours, error, delta([GaussianEvent(mu=planned_mu(plan))], level)


@pytest.mark.parametrize(
    ("neighbours", "pivot", "target"),
    [
        (Neighbours.BLANK_ONE, "c0", None),
        (Neighbours.REPLACE_ONE, "c0", None),
        (Neighbours.ADD_REMOVE, "none", None),
        (Neighbours.REPLACE_ONE, "none", "c0"),
    ],
)
def test_simulated_privacy_loss_is_the_promised_one(neighbours: Neighbours, pivot: str, target: str | None) -> None:
    found, error, promised = advantage(neighbours, pivot, 1.0, 0.5, target)
    assert promised > 0.1
    assert abs(found - promised) < 4 * error < promised


def test_simulated_privacy_loss_notices_too_little_noise() -> None:
    found, error, promised = advantage(Neighbours.BLANK_ONE, "c0", 0.7, 0.5)
    assert found > promised + 4 * error


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("accountant", [Accountant.EXACT, Accountant.RENYI])
@pytest.mark.parametrize("pivot", ["owner", "none"])
def test_the_whole_release_keeps_its_promise(
    neighbours: Neighbours, accountant: Accountant, pivot: str, tmp_path: Path
) -> None:
    """Profile, tables and all failures together, recomputed from the file."""
    options = {**AGGREGATES, "neighbours": neighbours, "accountant": accountant, "pivot": pivot}
    opened = publish(people(), people_schema(), tmp_path / "t.release", epsilon=2.0, delta=1e-6, **options)
    assert isinstance(opened, AggregatesRelease)
    events, mechanism = opened.manifest.promise.events, opened.mechanism
    assert 1.99 < epsilon(events, 1e-6, accountant) <= 2.0
    assert epsilon(events, 1e-6) <= 2.0
    changed = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    profile, counted = (event.mu for event in events if isinstance(event, GaussianEvent))
    noise = np.concatenate([mechanism.first_noise, np.array(mechanism.pair_noise)[np.triu_indices(7, 1)]])
    assert (changed * noise[noise > 0] ** -2.0).sum() <= counted**2 * (1 + 1e-9)
    assert sum(changed / code.noise_scale**2 for code in opened.codebook.codes) <= profile**2 * (1 + 1e-9)


# The ledger


def test_the_whole_promise_is_reserved_before_any_noise_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    seen: list[tuple[str, list[str]]] = []

    def watch(purpose: str, block: int) -> None:
        seen.append((purpose, [entry.status for entry in Ledger(path).entries("people")]))

    opened = publish(
        people(),
        people_schema(),
        tmp_path / "t.release",
        randomness=WatchedRandomness(watch),
        ledger=Ledger(path),
        **PIVOTED,
    )
    assert {purpose.partition(" ")[0] for purpose, _ in seen} == {"search", "profile", "first", "second"}
    assert all(statuses == ["reserved"] for _, statuses in seen)
    (entry,) = Ledger(path).entries()
    assert (entry.status, entry.artefact) == ("released", opened.fingerprint)
    assert entry.events == opened.manifest.promise.events
    assert Ledger(path).spent("people", delta=1e-5) == pytest.approx(epsilon(opened.manifest.promise.events, 1e-5))


@pytest.mark.parametrize("crash_at", ["profile", "first", "second"])
def test_a_crash_leaves_what_was_reserved_counted_and_no_file(crash_at: str, tmp_path: Path) -> None:
    def watch(purpose: str, block: int) -> None:
        if purpose == crash_at:
            raise RuntimeError("power cut")

    ledger, randomness = Ledger(tmp_path / "ledger.json"), WatchedRandomness(watch)
    with pytest.raises(RuntimeError, match="power cut"):
        publish(people(), people_schema(), tmp_path / "t.release", randomness=randomness, ledger=ledger, **PIVOTED)
    again = Ledger(tmp_path / "ledger.json")
    assert [entry.status for entry in again.entries()] == ["reserved"]
    assert again.spent("people", delta=1e-5) == pytest.approx(5.0, rel=1e-5)
    assert [path.name for path in tmp_path.iterdir() if "ledger" not in path.name] == []


def test_a_budget_of_exactly_one_release_allows_exactly_one(tmp_path: Path) -> None:
    ledger, randomness = Ledger(), FixedRandomness()
    ledger.set_budget("people", epsilon=5.0, delta=1e-5)
    publish(people(), people_schema(), tmp_path / "one.release", ledger=ledger, **PIVOTED)
    with pytest.raises(BudgetError, match="nothing was spent"):
        publish(
            people(),
            people_schema(),
            tmp_path / "two.release",
            ledger=ledger,
            randomness=randomness,
            epsilon=0.1,
            **PIVOTED,
        )
    assert len(ledger.entries()) == 1
    assert randomness.asked == []
    assert not (tmp_path / "two.release").exists()


def test_a_second_release_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.set_budget("people", epsilon=6.0, delta=1e-5)
    publish(people(), people_schema(), tmp_path / "one.release", ledger=ledger, epsilon=3.0)
    left = ledger.remaining("people")
    assert left is not None
    for attempt, share in enumerate((1.02, 1.0, 0.999, 0.98)):
        before, path = len(ledger.entries()), tmp_path / f"{attempt}.release"
        try:
            publish(people(), people_schema(), path, ledger=ledger, epsilon=share * left.epsilon, **PIVOTED)
        except BudgetError:
            assert len(ledger.entries()) == before
        else:
            assert len(ledger.entries()) == before + 1
            return
    raise AssertionError("nearly what is left was refused")


# What is refused


def test_the_pivot_is_as_named_and_never_the_target_by_itself() -> None:
    wide = [str(number) for number in range(MOST_CLASSES + 1)]

    def chosen(pivot: str, target: str | None, **column: Any) -> int | None:
        other = Column(name="x", kind=Kind.CATEGORICAL, **column)
        plain = Column(name="y", kind=Kind.BOOLEAN)
        return choose_pivot(settings_of(pivot=pivot), Schema(columns=(plain, other), target=target))

    assert chosen("none", "x", categories=("a", "b")) is None
    assert chosen("y", "x", categories=("a", "b")) == 0
    assert chosen("x", None, categories=wide[1:]) == 1
    for column in ({"categories": wide}, {}):
        with pytest.raises(ParameterError, match="must have its categories declared, at most 32"):
            chosen("x", "x", **column)


@pytest.mark.parametrize(("pivot", "message"), [("nobody", "not a column"), ("town", "declared"), ("age", "declared")])
def test_a_bad_pivot_spends_nothing(pivot: str, message: str, tmp_path: Path) -> None:
    ledger, randomness = Ledger(tmp_path / "ledger.json"), FixedRandomness()
    with pytest.raises(ParameterError, match=message):
        publish(
            people(),
            people_schema(),
            tmp_path / "t.release",
            ledger=ledger,
            randomness=randomness,
            pivot=pivot,
            **AGGREGATES,
        )
    assert len(ledger.entries()) == 0
    assert randomness.asked == []


@pytest.mark.parametrize(
    "option",
    [
        {"directions": "gaussian"},
        {"num_slices": 5},
        {"slice_dim": 2},
        {"subsample": 0.5},
        {"capacity": 500},
        {"accountant": "theorem1"},
    ],
)
def test_options_of_records_are_refused(option: dict[str, Any]) -> None:
    name = next(iter(option)) if "accountant" not in option else "theorem1"
    with pytest.raises(ParameterError, match=name):
        release(people(), people_schema(), epsilon=1.0, delta=1e-5, kind="aggregates", **option)


def test_records_have_no_pivot() -> None:
    with pytest.raises(ParameterError, match="a pivot, a focus and triples are for aggregates"):
        release(people(), people_schema(), epsilon=1.0, delta=1e-5, kind="records", pivot="owner")


@pytest.mark.parametrize("bad", [-1, 3])
def test_levels_outside_their_column_are_refused(bad: int) -> None:
    codebook, plan = planned((2, 3, 2), settings_of(pivot="none"))
    levels = np.array([[0, 0, 0], [1, bad, 1]])
    with pytest.raises(MicrotomeError, match="outside its column"):
        tables(codebook, plan, levels)


def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    class Growing:
        """A table that has more rows each time it is read."""

        def __init__(self, table: PrivateTable) -> None:
            self.inner, self.reads, self.origin, self.num_rows = table, 0, table.origin, None
            self.check_columns, self.counter, self.is_of_people = table.check_columns, None, False

        def pieces(self, schema: Schema, num_rows: int) -> Iterator[pa.Table]:
            self.reads += 1
            for _ in range(self.reads):
                yield from self.inner.pieces(schema, num_rows)

    door = Door(
        settings=settings_of(),
        run=RunSettings(threads=1),
        ledger=Ledger(),
        dataset="people",
        randomness=FixedRandomness(),
    )
    growing: Any = Growing(open_table(people()))
    with pytest.raises(TableError, match="changed while it was read"):
        door.release(TableSource(table=growing, schema=people_schema()), tmp_path / "t.release")
    assert not (tmp_path / "t.release").exists()


# What is released


def test_tables_are_the_counts_of_the_table(tmp_path: Path) -> None:
    table = people(500)
    opened = publish(table, people_schema(), tmp_path / "t.release", randomness=NoNoise(), **PIVOTED)
    assert isinstance(opened, AggregatesRelease)
    assert opened.pivot == people_schema().names.index("owner")
    levels, blocks = levels_of(table, opened.codebook), opened.codebook.blocks
    rows = np.concatenate([np.eye(block.width)[levels[:, i]] for i, block in enumerate(blocks)], axis=1)
    for number in range(2):
        ours = rows[levels[:, opened.pivot] == number]
        measured = opened.second_noise() > 0
        assert (opened.second[number] == ours.T @ ours)[measured].all()
        some = opened.first_noise() > 0
        assert (opened.first[number] == ours.sum(axis=0))[some].all()


def test_blocks_and_threads_do_not_change_what_is_released(tmp_path: Path) -> None:
    runs = [
        RunSettings(threads=1),
        RunSettings(threads=1, block_entries=1 << 11),
        RunSettings(threads=3, block_entries=1),
    ]
    first, *others = (
        publish(people(700), people_schema(), tmp_path / f"{number}.release", run=run, **PIVOTED)
        for number, run in enumerate(runs)
    )
    for other in others:
        assert other.fingerprint == first.fingerprint


def test_the_size_of_the_file_does_not_depend_on_the_number_of_records(tmp_path: Path) -> None:
    widths, sizes = (2, 3, 4), []
    for number, num_rows in enumerate((120, 60_000)):
        values = {f"c{i}": [*"abcd"[:width]] * (num_rows // width) for i, width in enumerate(widths)}
        options = {**AGGREGATES, "neighbours": Neighbours.ADD_REMOVE, "triples": 0}  # those follow the noisy number
        opened = publish(pa.table(values), schema_of(widths), tmp_path / f"{number}.release", epsilon=60.0, **options)
        assert opened.manifest.contents.num_rows == 0
        assert opened.codebook.dim == 9
        sizes.append(opened.path.stat().st_size)
    assert abs(sizes[0] - sizes[1]) <= 8  # the digits of a noisy count in the manifest
    assert max(sizes) < 10_000


def test_add_remove_needs_no_capacity_and_hides_the_number_of_records(tmp_path: Path) -> None:
    options = {**PIVOTED, "neighbours": Neighbours.ADD_REMOVE}
    opened = publish(people(400), people_schema(), tmp_path / "t.release", **options)
    assert opened.manifest.contents.records_exact is False
    assert opened.num_records != 400
    assert abs(opened.num_records - 400) < 100
    public = publish(people(400), people_schema(), tmp_path / "p.release", **PIVOTED)
    assert (public.num_records, public.manifest.contents.records_exact) == (400, True)


def test_injected_randomness_is_marked_and_system_randomness_is_not(tmp_path: Path) -> None:
    opened = publish(people(), people_schema(), tmp_path / "t.release", **PIVOTED)
    assert opened.manifest.promise.private is False
    assert "NOT PRIVATE" in " ".join(promise_in_words(opened))
    assert summary(opened)["promise"]["private"] is False
    one, two = (release(people(), people_schema(), epsilon=3.0, delta=1e-5, kind="aggregates") for _ in range(2))
    assert isinstance(one, AggregatesRelease)
    assert isinstance(two, AggregatesRelease)
    assert one.manifest.promise.private
    assert not np.array_equal(one.second, two.second)


@pytest.mark.parametrize("columns", [("owner",), ("owner", "grade"), ("grade",)])
def test_tables_of_few_columns_can_be_released(columns: tuple[str, ...], tmp_path: Path) -> None:
    schema = Schema(columns=tuple(column for column in people_schema().columns if column.name in columns))
    schema = Schema(columns=schema.columns, target="owner" if "owner" in columns else None)
    opened = publish(people().select(schema.names), schema, tmp_path / "t.release", **AGGREGATES)
    assert epsilon(opened.manifest.promise.events, 1e-5) <= 5.0
    assert promise_in_words(opened)


def test_more_rows_than_can_be_shuffled_can_be_counted() -> None:
    check_size(settings_of(delta=1e-12), 2 * 10**9, "the table")
