"""Fitting aggregates: views that do not know of each other, margins by class, and what only a pivot can teach."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from fit_support import (
    LatentClasses,
    QuietProfile,
    across,
    distance,
    from_independence,
    joint,
    planted,
    planted_release,
    planted_schema,
    quick,
    quick_mixture,
    true_tables,
    twisted,
    twisted_schema,
)
from microtome.accounting import Neighbours
from microtome.demo import population, population_schema
from microtome.errors import ParameterError
from microtome.generators import MixtureGenerator, MixtureSettings, RowLayout
from microtome.generators.likeness import with_likeness
from microtome.published import AggregatesRelease, ReleaseKind
from microtome.published.second_moments import level_margins
from microtome.schema import Column, Kind, Schema
from microtome.synthesis import Synthesizer
from microtome.training import (
    Checkpoint,
    FitSettings,
    LossMix,
    Trainer,
    aggregate_losses,
    aggregates_objective,
)
from microtome.training.aggregate_losses import _Presences, _prices, class_margins, class_shares, thinned_moments
from support import FixedRandomness, levels_of, publish

Make = Callable[..., AggregatesRelease]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Releases of the planted table, by pivot."""
    made: dict[str, AggregatesRelease] = {}

    def of(pivot: str = "large", **settings: Any) -> AggregatesRelease:
        key = repr((pivot, settings))
        if key not in made:
            path = tmp_path_factory.mktemp("releases") / "planted.release"
            opened = planted_release(path, kind=ReleaseKind.AGGREGATES, pivot=pivot, **settings)
            assert isinstance(opened, AggregatesRelease)
            made[key] = opened
        return made[key]

    return of


@pytest.mark.parametrize("held_out", [0.1, 0.5])
def test_thinned_views_are_independent_and_unbiased(held_out: float, make: Make, tmp_path: Path) -> None:
    """Over new noise of the release and of the split, in units of what the views say of themselves."""
    release = AggregatesRelease.load(make().path)
    assert isinstance(release, AggregatesRelease)
    rng, noise = np.random.default_rng(1), release.second_noise()
    exact = np.rint(release.second)
    upper, runs = np.triu(noise, 1) > 0, 150
    train, judge = [], []
    for seed in range(runs):
        drawn = np.triu(rng.standard_normal(exact.shape), 1)
        release.second = exact + noise * (drawn + drawn.transpose(0, 2, 1))
        seen, unseen = thinned_moments(
            release, class_margins(release), held_out, 64, torch.Generator().manual_seed(seed)
        )
        sizes = np.maximum(class_shares(release) * release.num_records, 1.0)
        for number, size in enumerate(sizes):
            ours, theirs = seen[number], unseen[number]
            assert np.array_equal(np.asarray(ours.second), np.asarray(ours.second).T)
            for view, into in ((ours, train), (theirs, judge)):
                apart = np.asarray(view.second) - exact[number] / size
                into.append(apart[upper] / np.asarray(view.second_noise)[upper])
        if seed == 0:
            assert np.asarray(seen[0].second_noise)[upper] == pytest.approx(
                noise[upper] / sizes[0] / np.sqrt(1 - held_out)
            )
            assert np.asarray(unseen[0].second_noise)[upper] == pytest.approx(
                noise[upper] / sizes[0] / np.sqrt(held_out)
            )
    ours, theirs = np.array(train), np.array(judge)
    error = 1.0 / np.sqrt(ours.size)
    for view in (ours, theirs):
        assert abs(view.mean()) < 4 * error
        assert abs(view.var() - 1.0) < 4 * np.sqrt(2) * error
    assert abs((ours * theirs).mean()) < 4 * error
    assert np.abs((ours * theirs).mean(axis=0)).max() < 5 / np.sqrt(len(ours))


@pytest.mark.parametrize("neighbours", Neighbours)
def test_margins_by_class_are_shares_near_the_truth(neighbours: Neighbours, make: Make) -> None:
    release = make("large", neighbours=neighbours)
    found, shares = class_margins(release), class_shares(release)
    table = true_tables(release, planted())
    assert shares.sum() == pytest.approx(1.0)
    assert (found >= 0).all()
    for index, block in enumerate(release.codebook.blocks):
        part = slice(block.start, block.stop)
        assert found[:, part].sum(axis=1) == pytest.approx(np.ones(2))
        if index == release.pivot:
            assert (found[:, part] == np.eye(2)).all()
            joint_shares = table[part]
    wanted = joint_shares / joint_shares.sum(axis=1, keepdims=True) * len(release.codebook.blocks)
    assert np.abs(found - wanted).max() < 0.02
    assert shares @ found == pytest.approx(level_margins(release), abs=0.01)


def test_margins_by_class_lean_on_the_profile_where_that_knows_better(make: Make) -> None:
    """Shifted counts are pulled back: with a profile without noise, all of the shift that classes have in common."""
    release = AggregatesRelease.load(make("large").path)
    assert isinstance(release, AggregatesRelease)
    before = class_margins(release)
    for code in release.codebook.codes:
        object.__setattr__(code, "noise_scale", 1e-9)
    exact = class_margins(release)
    part = slice(release.codebook.blocks[0].start, release.codebook.blocks[0].stop)
    release.first[:, part] += [300.0, 0.0, -300.0]
    assert class_margins(release)[:, part] == pytest.approx(exact[:, part], abs=1e-6)
    assert before[:, part] == pytest.approx(exact[:, part], abs=0.02)


@pytest.mark.parametrize("pivot", ["none", "insured"])
def test_tables_of_pairs_know_margins_better_than_many_cells_do(pivot: str, tmp_path: Path) -> None:
    """Columns without declared bounds are counted on hundreds of cells; all that noise is in the profile's margins."""
    people = population(10_000)
    release = publish(
        people, population_schema(), tmp_path / "t.release", epsilon=2.0, kind=ReleaseKind.AGGREGATES, pivot=pivot
    )
    assert isinstance(release, AggregatesRelease)
    truth = true_tables(release, people).diagonal()
    found = class_shares(release) @ class_margins(release)
    for code, block in zip(release.codebook.codes, release.codebook.blocks, strict=True):
        part = slice(block.start, block.stop)
        assert found[part].sum() == pytest.approx(1.0)
        if code.column.name in ("income", "registered", "commute"):
            by_profile = np.abs(level_margins(release)[part] - truth[part]).sum()
            assert np.abs(found[part] - truth[part]).sum() < 0.5 * by_profile


def test_a_single_column_has_the_margins_of_the_profile(tmp_path: Path) -> None:
    schema = Schema(columns=planted_schema().columns[:1])
    release = planted_release(
        tmp_path / "t.release", table=planted().select(["shape"]), schema=schema, kind=ReleaseKind.AGGREGATES
    )
    assert isinstance(release, AggregatesRelease)
    assert class_margins(release) == pytest.approx(level_margins(release)[None])


@pytest.mark.parametrize("pivot", ["large", "none", "shape"])
def test_planted_dependence_is_learnt(pivot: str, make: Make) -> None:
    release = make(pivot)
    model = Synthesizer(quick_mixture(), random_state=0).fit(release)
    generator = model.model.generator
    assert isinstance(generator, MixtureGenerator)
    assert generator.pivot == {"large": 2, "none": None, "shape": 0}[pivot]
    frame, table = model.sample(20_000), planted()
    for pair in (("shape", "colour"), ("shape", "large"), ("colour", "large")):
        wanted = joint(table, *pair)
        assert distance(joint(frame, *pair), wanted) < 0.2 * from_independence(wanted)
    assert min(score for _, score in model.fit_.history) < 0.5
    assert model.fit_.history[0][1] == pytest.approx(1.0, abs=1e-3)
    assert 0 < model.fit_.score_error < (2.0 if pivot == "shape" else 0.1)  # little is left to learn given the shape


def agreement(tmp_path: Path, **settings: Any) -> list[float]:
    """Share of synthetic rows whose left and right agree, where the switch is off and where it is on."""
    options = {"randomness": QuietProfile(), "epsilon": 5.0, **settings}
    release = publish(twisted(), twisted_schema(), tmp_path / "twisted.release", **options)
    fitted = quick_mixture() if settings.get("kind") else quick(steps=150)
    frame = Synthesizer(fitted, random_state=0).fit(release).sample(20_000)
    return [float((part["left"] == part["right"]).mean()) for _, part in frame.groupby("switch")]


def test_a_pivot_teaches_what_no_two_columns_show(tmp_path: Path) -> None:
    off, on = agreement(tmp_path, kind=ReleaseKind.AGGREGATES, pivot="switch")
    assert off < 0.15  # 0.05 in the table
    assert on > 0.85  # 0.95 in the table


def test_so_does_the_focus(tmp_path: Path) -> None:
    off, on = agreement(tmp_path, kind=ReleaseKind.AGGREGATES, focus="switch")
    assert off < 0.15
    assert on > 0.85


@pytest.mark.parametrize("settings", [{"kind": ReleaseKind.AGGREGATES, "focus": "none"}, {"epsilon": 60.0}])
def test_without_either_it_cannot_be_learnt(settings: dict[str, Any], tmp_path: Path) -> None:
    off, on = agreement(tmp_path, **settings)
    assert abs(on - off) < 0.35


def test_noise_alone_teaches_nothing(tmp_path: Path) -> None:
    """Independent columns at a tiny ε: the judge does not take noise for dependence."""
    table, options = planted(strength=0.0), {"kind": ReleaseKind.AGGREGATES, "randomness": FixedRandomness(3)}
    release = planted_release(tmp_path / "t.release", table=table, epsilon=0.05, **options)
    fit = Trainer(release, quick_mixture(), seed=0).fit()
    assert min(score for _, score in fit.history) > 1.0 - 4 * fit.score_error


def test_resumed_run_is_the_uninterrupted_one(make: Make, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def stop(stage: str, done: int, total: int | None, note: str = "") -> None:
        if done == 25:
            raise Killed

    settings, path = quick_mixture(steps=60), tmp_path / "checkpoint"
    whole = Trainer(make(), settings, seed=0).fit()
    with pytest.raises(Killed):
        Trainer(make(), settings, seed=0, checkpoint=path, progress=stop).fit()
    assert Checkpoint.load(path).step == 20
    resumed = Trainer(make(), settings, seed=0, checkpoint=path).fit(resume=True)
    assert resumed.history == whole.history
    latent = torch.randn(50, whole.generator.latent_dim, generator=torch.Generator().manual_seed(1))
    assert torch.equal(resumed.generator(latent), whole.generator(latent))


@pytest.mark.parametrize("name", ["kernel", "algorithm1", "wasserstein", "mmd"])
def test_sliced_losses_are_refused(name: str, make: Make) -> None:
    for loss in (LossMix(**{"moments": 0.0, name: 1.0}), LossMix(**{name: 0.1})):
        with pytest.raises(ParameterError, match=f"loss {name} needs slices"):
            Trainer(make(), quick_mixture(loss=loss), seed=0).fit()


def test_a_generator_of_ones_own_needs_a_release_without_a_pivot(make: Make) -> None:
    with pytest.raises(ParameterError, match="release with pivot 'none'"):
        Trainer(make(), quick(), seed=0, generator=LatentClasses(RowLayout.of(make().codebook))).fit()
    release = make("none")
    fit = Trainer(release, quick(steps=200), seed=0, generator=LatentClasses(RowLayout.of(release.codebook))).fit()
    assert min(score for _, score in fit.history) < 0.65


def test_settings_of_the_network_do_not_apply(make: Make) -> None:
    with pytest.raises(ParameterError, match="settings of the network do not apply"):
        Trainer(make(), quick(), seed=0).fit()
    with pytest.raises(ParameterError, match="settings of the mixture do not apply"):
        quick_mixture().pace(mixture=False)


def test_the_prior_keeps_noise_out(tmp_path: Path) -> None:
    """Where tables are wide and noisy, those of a mixture that pays for what it knows are nearer to the truth."""
    people = population(10_000)
    release = publish(
        people, population_schema(), tmp_path / "t.release", epsilon=1.0, delta=1e-5, kind=ReleaseKind.AGGREGATES
    )
    assert isinstance(release, AggregatesRelease)
    truth = true_tables(release, people)
    errors = []
    for prior in (0.0, MixtureSettings().prior):
        settings, path = (
            quick_mixture(mixture=MixtureSettings(components=64, prior=prior, smoothness=0.0, likeness=0.0)),
            tmp_path / f"run {prior}",
        )
        Trainer(release, settings, seed=0, checkpoint=path).fit()
        model = MixtureGenerator(RowLayout.of(release.codebook), torch.ones(1, release.codebook.dim), settings.mixture)
        model.load_state_dict(dict(Checkpoint.load(path).model))
        rows = model.components().detach().double()
        found = (rows * model.weights()[:, None]).T @ rows
        errors.append(float(np.abs(found.numpy() - truth)[across(release)].sum()))
    assert errors[1] < 0.9 * errors[0], errors


def test_what_is_certain_in_the_tables_is_certain_in_the_mixture(tmp_path: Path) -> None:
    """Whether somebody was born here follows from the country: hardly a row may contradict that."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 6, 30_000)
    country = np.minimum(rng.integers(0, 3, 30_000) * (rng.random(30_000) < 0.3) + (hidden > 4) * 2, 4)
    columns = {"country": country.astype(str), "native": country == 0}
    columns |= {f"other {i}": ((hidden * (i + 1) + rng.integers(0, 3, 30_000)) % 8).astype(str) for i in range(8)}
    table = pa.table(columns)
    schema = Schema(
        columns=tuple(
            Column(name=name, kind=Kind.BOOLEAN, missing=False)
            if name == "native"
            else Column(name=name, kind=Kind.CATEGORICAL, categories=tuple(sorted(set(values))), missing=False)
            for name, values in columns.items()
        )
    )
    release = publish(table, schema, tmp_path / "t.release", epsilon=10.0, delta=1e-5, kind=ReleaseKind.AGGREGATES)
    fit = Trainer(release, FitSettings(), seed=0).fit()
    assert isinstance(fit.generator, MixtureGenerator)
    rows = fit.generator.components().detach().double().numpy()
    country_block, native_block = release.codebook.blocks[:2]
    there, here = rows[:, country_block.start], rows[:, native_block.stop - 1]
    contradicting = there * (1 - here) + (1 - there) * here
    assert fit.generator.weights().numpy() @ contradicting < 0.009


def test_a_pivot_of_one_class_changes_nothing(make: Make) -> None:
    release = make("day")
    assert release.mechanism.num_classes == 1
    frame = Synthesizer(quick_mixture(), random_state=0).fit(release).sample(5000)
    wanted = joint(planted(), "shape", "colour")
    assert distance(joint(frame, "shape", "colour"), wanted) < 0.3 * from_independence(wanted)
    assert len(levels_of(planted(), release.codebook)) == 4000


def test_margins_by_class_are_computed_once_a_fit(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[AggregatesRelease] = []

    def counted(release: AggregatesRelease) -> np.ndarray:
        calls.append(release)
        return class_margins(release)

    for module in (aggregate_losses, aggregates_objective):
        monkeypatch.setattr(module, "class_margins", counted)
    Trainer(make(), quick_mixture(steps=2), seed=0).fit()
    assert len(calls) == 1


def test_the_quick_fit_is_the_same_when_a_run_is_resumed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made anew, from the seed: a resumed run has the kernels of the one that was interrupted."""
    found = []

    def noted(*given: Any) -> Any:
        found.append(with_likeness(*given))
        return found[-1]

    monkeypatch.setattr("microtome.training.aggregates_objective.with_likeness", noted)
    settings = quick_mixture(mixture=MixtureSettings(components=16))
    for _ in range(2):
        Trainer(make("none"), settings, seed=3, checkpoint=tmp_path / "run.ckpt").fit(resume=True)
    assert len(found) == 2
    for first, second in zip(*found, strict=True):
        assert first is second is None or torch.equal(first, second)


def test_that_a_row_is_there_costs_nothing_in_its_columns_and_what_it_has_does() -> None:
    """Numbers of rows pay for that; a column that is missing where there is no row pays for its values alone."""
    blocks = [SimpleNamespace(start=0, stop=2, width=2), SimpleNamespace(start=2, stop=5, width=3)]
    release = SimpleNamespace(presence=SimpleNamespace(absent={1: 2}), codebook=SimpleNamespace(blocks=blocks))
    price, margins = torch.full((5,), 3.0), torch.tensor([0.5, 0.5, 0.06, 0.04, 0.9])
    free = _Presences(release, price)  # type: ignore[arg-type]

    def paid(rows: torch.Tensor) -> float:
        surprise = rows.clamp_min(1e-9).log() - margins.log()
        return float((price * rows * surprise)[:, 2:].sum(dim=1).mean() - free(rows, margins))

    nobody, somebody = torch.tensor([[0.5, 0.5, 0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.5, 0.6, 0.4, 0.0]])
    assert paid(torch.cat([nobody, somebody])) == pytest.approx(0.0, abs=1e-5)
    knowing = torch.tensor([[0.5, 0.5, 1.0, 0.0, 0.0]])
    assert paid(torch.cat([nobody, knowing])) == pytest.approx(3.0 * math.log(1.0 / 0.6) / 2.0, rel=1e-4)


def test_knowledge_of_rare_rows_costs_more() -> None:
    code = SimpleNamespace(level_margins=np.array([0.1, 0.15, 0.75]))
    blocks = [SimpleNamespace(start=0, stop=3, width=3)]
    made = {
        "codebook": SimpleNamespace(blocks=blocks, codes=[code]),
        "levels_met": lambda: np.array([10]),
    }
    usual = _prices(SimpleNamespace(presence=None, **made))  # type: ignore[arg-type]
    rare = _prices(SimpleNamespace(presence=SimpleNamespace(absent={0: 2}), **made))  # type: ignore[arg-type]
    torch.testing.assert_close(rare, 2.0 * usual)
