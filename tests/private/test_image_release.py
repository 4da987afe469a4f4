"""Images through their door: sensitivity by brute force, noise as promised, the ledger before it, refusals."""

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import microtome as mt
from microtome.accounting import GaussianEvent, Ledger, Neighbours, delta, epsilon
from microtome.errors import BudgetError, OutputError, ParameterError, TableError
from microtome.images import ImageCode, ImageSchema, ImageSet
from microtome.private import PrivacySettings, PrivateImages
from microtome.private.image_plan import class_rows, plan_image_profile, plan_image_slices, plan_moments
from microtome.private.image_rows import ImageBlock
from microtome.private.image_source import ClassRows
from microtome.private.image_tally import ImageCounts, MeanSums, MomentSums, quantised
from microtome.private.slicing import SlicingMechanism
from microtome.published import (
    Artefact,
    ImageMomentsRelease,
    ImageRelease,
    ImageRowsRelease,
    Release,
    ReleaseKind,
    promise_in_words,
)
from support import FixedRandomness, SilentGenerator, SilentRandomness, publish_images

KINDS = list(ReleaseKind)
SCHEMA = ImageSchema(height=4, width=3, classes=(0, 1, 2), low=0, high=16, components=5)


class NoNoise(SilentRandomness):
    """No Gaussian noise anywhere, directions apart."""

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        usual = super().stream(purpose, block)
        return usual if purpose == "directions" else SilentGenerator(usual.bit_generator)


class Flow(FixedRandomness):
    """One stream for all, so that every release has new noise."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._flow = np.random.default_rng(seed)

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        return self._flow


def settings_of(**changes: Any) -> PrivacySettings:
    return PrivacySettings(
        **{"epsilon": 2.0, "delta": 1e-4, "kind": ReleaseKind.AGGREGATES, "profile_share": 0.05, **changes}
    )


def picture_set(num_images: int = 120, seed: int = 0, schema: ImageSchema = SCHEMA) -> ImageSet:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 17, (num_images, *schema.shape)).astype(np.uint8)
    return ImageSet.from_arrays(pixels, rng.integers(0, schema.num_classes, num_images))


def curate(
    images: ImageSet, output: Path, randomness: Any, ledger: Ledger | None = None, **changes: Any
) -> ImageRelease:
    settings = {"epsilon": 2.0, "delta": 1e-4, "kind": ReleaseKind.AGGREGATES, **changes}
    return publish_images(images, SCHEMA, output, randomness=randomness, ledger=ledger, **settings)


# Sensitivity


def extreme_rows(rng: np.random.Generator, dim: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of rows among which the worst are: opposite, orthogonal, equal, tiny, far too long, at the centre."""
    unit = np.eye(dim)
    yield unit[0] * 5, -unit[0] * 5
    yield unit[0] * 5, unit[1] * 5
    yield unit[0] * 1e-9, unit[1] * 1e9
    yield np.zeros(dim), unit[2] * 3
    for _ in range(60):
        yield rng.normal(size=dim) * rng.exponential(2), rng.normal(size=dim) * rng.exponential(2)


def published(rows: np.ndarray, classes: np.ndarray, plans: Any, centres: np.ndarray) -> list[np.ndarray]:
    """What each pass would publish without noise, in units of its noise: the coordinates of one Gaussian mechanism."""
    profile, moments = plans
    block = ImageBlock(rows, classes)
    counts, means = ImageCounts(3, 10.0), MeanSums(3, rows.shape[1], 1.0)
    seconds = MomentSums(centres, 1.0, 0.6, 1.8)
    for tally in (counts, means, seconds):
        tally.add(block)
    above = np.triu_indices(rows.shape[1], 1)
    return [
        np.concatenate([counts.classes, counts.contrasts]) / profile.noise,
        means.sums.ravel() / moments.mean_noise,
        np.concatenate(
            [
                np.diagonal(seconds.second, axis1=1, axis2=2).ravel() / moments.second_noise,
                np.sqrt(2) * seconds.second[:, above[0], above[1]].ravel() / moments.second_noise,
                seconds.spreads / moments.spread_noise,
            ]
        ),
    ]


@pytest.mark.parametrize("neighbours", Neighbours)
def test_no_neighbour_is_further_than_planned_and_the_worst_is_as_far(neighbours: Neighbours) -> None:
    settings = settings_of(neighbours=neighbours)
    profile = plan_image_profile(settings)
    moments = plan_moments(settings, SCHEMA, profile.events)
    planned = [event.mu for event in (*profile.events, *moments.events) if isinstance(event, GaussianEvent)]
    rng, dim = np.random.default_rng(0), SCHEMA.dim
    centres = np.zeros((3, dim))
    others, marks = rng.normal(size=(6, dim)), rng.integers(0, 3, 6)
    worst = np.zeros(3)
    for one, other in extreme_rows(rng, dim):
        ours = published(np.vstack([others, one]), np.append(marks, 0), (profile, moments), centres)
        if neighbours is Neighbours.REPLACE_ONE:
            changed = [(np.vstack([others, other]), np.append(marks, label)) for label in (0, 1)]
        else:
            changed = [(others, marks)]
        for rows, classes in changed:
            theirs = published(rows, classes, (profile, moments), centres)
            worst = np.maximum(worst, [np.linalg.norm(a - b) for a, b in zip(ours, theirs, strict=True)])
    assert (worst <= np.array(planned) * (1 + 1e-9)).all()
    np.testing.assert_allclose(worst, planned, rtol=1e-3)


def test_rows_are_never_longer_than_one_whatever_they_were() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 7)) * np.exp(rng.normal(size=(500, 1)) * 9)
    cut = quantised(rows)
    assert np.linalg.norm(cut, axis=1).max() <= 1.0
    np.testing.assert_array_equal(cut, np.rint(cut * 2**15) / 2**15)
    order = rng.permutation(500)
    np.testing.assert_array_equal(cut.T @ cut, cut[order].T @ cut[order])


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_neighbour_moves_rows_of_a_records_release_by_no_more_than_planned(
    neighbours: Neighbours,
) -> None:
    """With the same randomness and no noise, padded rows of neighbours differ by one row, at most as far as said."""
    capacity = 500 if neighbours is Neighbours.ADD_REMOVE else None
    plan = plan_image_slices(
        settings_of(kind=ReleaseKind.RECORDS, neighbours=neighbours, capacity=capacity), SCHEMA, ()
    )
    images = picture_set(40)
    pixels = images.pixels.copy()
    pixels[-1] = 16 - pixels[-1]
    gone = ImageSet(pixels=images.pixels[:-1], labels=images.labels[:-1])  # type: ignore[index]
    changed = ImageSet(pixels=pixels, labels=images.labels)
    other = changed if neighbours is Neighbours.REPLACE_ONE else gone
    radius = 2.0
    totals = []
    for which in (images, other):
        slicing = SlicingMechanism(
            directions=np.eye(SCHEMA.dim), noise_scale=1.0, nonnegative=False, randomness=FixedRandomness()
        )
        padded = ClassRows(sizes=(60, 60, 60), slicing=slicing, radius=radius, subsample=None, width=12)
        rows = [clipped(rows) for rows in padded.padded(PrivateImages(which, SCHEMA).blocks(17))]
        totals.append(np.stack([part.sum(axis=0) for part in rows]))
        assert all(len(part) == 60 for part in rows)
    assert np.linalg.norm(totals[0] - totals[1]) <= plan.row_distance + 1e-9


def clipped(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)


# Noise


@pytest.mark.parametrize("factor", [1.0, 0.7, 1.4])
def test_the_noise_in_the_file_is_as_stated(factor: float, tmp_path: Path) -> None:
    images = picture_set()
    exact = curate(images, tmp_path / "exact", NoNoise())
    drawn = []
    for seed in range(12):
        noisy = curate(images, tmp_path / "noisy", Flow(seed))
        drawn += [(noisy.counts - exact.counts) / noisy.count_noise]
        drawn += [(noisy.contrasts - exact.contrasts) / noisy.count_noise]
    spread = np.concatenate(drawn) / factor
    statistic = chi2(len(spread)).cdf(float((spread**2).sum()))
    assert (1e-3 < statistic < 1 - 1e-3) == (factor == 1.0)


@pytest.mark.parametrize("subsample", [None, 0.3])
@pytest.mark.parametrize("factor", [1.0, 0.7, 1.4])
def test_the_noise_of_rows_is_as_the_manifest_says(factor: float, subsample: float | None, tmp_path: Path) -> None:
    """The same sample, padding and directions with and without noise: what is between them is the noise, row by row."""
    images, options = picture_set(300), {"kind": ReleaseKind.RECORDS, "subsample": subsample}
    exact = curate(images, tmp_path / "exact", SilentRandomness(3), **options)
    noisy = curate(images, tmp_path / "noisy", FixedRandomness(3), **options)
    assert isinstance(exact, ImageRowsRelease)
    assert isinstance(noisy, ImageRowsRelease)
    np.testing.assert_array_equal(exact.directions, noisy.directions)
    assert noisy.mechanism.class_rows == exact.mechanism.class_rows
    for number in range(3):
        drawn = (noisy.rows(number) - exact.rows(number)) / (factor * noisy.noise_scale)
        statistic = chi2(drawn.size).cdf(float((drawn**2).sum()))
        assert (1e-5 < statistic < 1 - 1e-5) == (factor == 1.0)
        nulls = np.abs(exact.rows(number)).max(axis=1) == 0.0
        assert 0 < nulls.sum() < len(nulls)
        of_nulls = chi2(drawn[nulls].size).cdf(float((drawn[nulls] ** 2).sum()))
        assert 1e-5 < of_nulls < 1 - 1e-5 or factor != 1.0


@pytest.mark.parametrize("factor", [1.0, 0.7, 1.4])
def test_the_noise_of_moments_is_as_stated_on_and_off_the_diagonal(factor: float) -> None:
    settings = settings_of()
    plan = plan_moments(settings, SCHEMA, ())
    moments = MomentSums(np.zeros((3, 40)), 1.0, 1.0, 2.0)
    second, spreads = moments.publish(plan.second_noise, plan.spread_noise, FixedRandomness(5))
    np.testing.assert_array_equal(second, second.transpose(0, 2, 1))
    above = np.triu_indices(40, 1)
    for values, noise in [
        (np.diagonal(second, axis1=1, axis2=2), plan.second_noise),
        (second[:, above[0], above[1]], plan.second_noise / math.sqrt(2)),
    ]:
        statistic = chi2(values.size).cdf(float((values**2).sum()) / (noise * factor) ** 2)
        assert (1e-4 < statistic < 1 - 1e-4) == (factor == 1.0)
    assert np.abs(spreads).max() < 6 * plan.spread_noise


@pytest.mark.parametrize("neighbours", Neighbours)
def test_simulated_privacy_loss_of_the_worst_pair_is_as_promised(neighbours: Neighbours) -> None:
    """Monte Carlo: the likelihood ratio of all that is published, for the worst neighbours, against δ(ε)."""
    settings = settings_of(neighbours=neighbours, epsilon=1.0, delta=1e-2, allow_large_delta=True)
    profile = plan_image_profile(settings)
    moments = plan_moments(settings, SCHEMA, profile.events)
    centres = np.zeros((3, SCHEMA.dim))
    one = np.eye(SCHEMA.dim)[:1] * 5
    ours = np.concatenate(published(one, np.array([0]), (profile, moments), centres))
    if neighbours is Neighbours.REPLACE_ONE:
        theirs = np.concatenate(published(-one, np.array([1]), (profile, moments), centres))
    else:
        theirs = np.concatenate(published(one[:0], np.array([], dtype=np.int64), (profile, moments), centres))
    shift, rng = ours - theirs, np.random.default_rng(0)
    noise = rng.standard_normal((200_000, len(shift)))
    losses = noise @ shift + shift @ shift / 2
    found = np.maximum(1 - np.exp(settings.epsilon - losses), 0).mean()
    promised = delta([*profile.events, *moments.events], settings.epsilon)
    assert found <= settings.delta * 1.1
    assert promised <= settings.delta
    if neighbours is not Neighbours.REPLACE_ONE:
        assert found == pytest.approx(promised, rel=0.15)
    assert np.maximum(1 - np.exp(settings.epsilon - 2.2 * losses), 0).mean() > 1.3 * settings.delta


# Ledger and promise


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_debited_before_noise_and_the_promise_is_kept(kind: ReleaseKind, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "book.json")
    images = picture_set(400)
    made = mt.release(
        images, SCHEMA, epsilon=2.0, delta=1e-4, kind=kind, ledger=ledger, output=tmp_path / "one.release"
    )
    spent = [event for entry in ledger.entries("images") for event in entry.events]
    assert tuple(spent) == made.manifest.promise.events
    assert epsilon(spent, 1e-4) == pytest.approx(2.0, rel=1e-3)
    assert epsilon(spent, 1e-4) <= 2.0 + 1e-9
    assert made.manifest.promise.private
    assert "(ε = 2, δ = 0.0001)" in promise_in_words(made)[0]
    again = ImageRelease.load(tmp_path / "one.release")
    assert again.fingerprint == made.fingerprint
    with pytest.raises(Exception, match="release of images"):
        Release.load(tmp_path / "one.release")
    assert isinstance(Artefact.load(tmp_path / "one.release"), ImageRelease)


def test_a_spent_budget_refuses_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "book.json")
    ledger.set_budget("pictures", epsilon=1.0, delta=1e-3)
    randomness = FixedRandomness()
    with pytest.raises(BudgetError):
        curate(picture_set(), tmp_path / "x", randomness, ledger)
    assert randomness.asked == []
    assert ledger.entries("pictures") == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_refused_before_anything_is_spent(
    kind: ReleaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(tmp_path)
    ledger, randomness = Ledger(tmp_path / "book.json"), FixedRandomness()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free._replace(free=500))
    with pytest.raises(OutputError, match="MiB free"):
        curate(picture_set(), tmp_path / "x", randomness, ledger, kind=kind)
    assert randomness.asked == []
    assert ledger.entries("pictures") == []
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_the_release_holds_the_true_sums(kind: ReleaseKind, tmp_path: Path) -> None:
    images = picture_set(200)
    made = curate(images, tmp_path / "x", NoNoise(), kind=kind)
    assert not made.manifest.promise.private
    assert promise_in_words(made)[0].startswith("NOT PRIVATE")
    assert images.labels is not None
    np.testing.assert_allclose(made.counts, np.bincount(images.labels), atol=0.1)
    rows = ImageCode(SCHEMA).encode(images.pixels) / made.radius
    for number in range(3):
        wanted = clipped(rows[images.labels == number]).sum(axis=0)
        if isinstance(made, ImageMomentsRelease):
            np.testing.assert_allclose(made.sums[number], wanted, atol=0.2)
            residuals = clipped((rows[images.labels == number] - made.centres[number]) / made.mechanism.residual_radius)
            np.testing.assert_allclose(made.second[number], residuals.T @ residuals, atol=0.2)
        else:
            assert isinstance(made, ImageRowsRelease)
            np.testing.assert_allclose((made.rows(number) @ made.directions.T).sum(axis=0), wanted, atol=0.2)
            assert (np.abs(made.rows(number)).max(axis=1) > 1e-6).sum() == (images.labels == number).sum()


def test_padding_hides_the_size_of_a_class_but_for_the_failure_that_is_counted() -> None:
    settings = settings_of(kind=ReleaseKind.RECORDS)
    noise = plan_image_profile(settings).noise
    rng = np.random.default_rng(0)
    sizes = [class_rows((100 + noise * rng.standard_normal(3)).tolist(), noise, settings) for _ in range(2000)]
    assert np.min(sizes) >= 100
    sampled = settings_of(kind=ReleaseKind.RECORDS, subsample=0.1)
    (size,) = class_rows([1000.0], 1.0, sampled)
    assert 130 < size < 200
    assert class_rows([-50.0], 1.0, settings) == (1,)


# Refusals


def test_bad_input_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    good = picture_set()
    assert good.labels is not None
    bright = ImageSet(pixels=good.pixels + np.uint8(200), labels=good.labels)
    strange = ImageSet(pixels=good.pixels, labels=good.labels + 1)
    named = ImageSet(pixels=good.pixels, labels=good.labels.astype(str))
    bare = ImageSet(pixels=good.pixels, labels=None)
    large = ImageSet.from_arrays(np.zeros((5, 9, 9)))
    for images, message in [
        (bright, r"outside the declared range \[0, 16\]"),
        (strange, "not among the 3 declared classes"),
        (named, "labels are names, the declared classes are numbers"),
        (bare, "has no labels"),
        (large, "the schema says"),
    ]:
        with pytest.raises(TableError, match=message):
            mt.release(images, SCHEMA, epsilon=1, delta=1e-4)
    with pytest.raises(TableError, match="only one row"):
        mt.release(ImageSet(pixels=good.pixels[:1], labels=good.labels[:1]), SCHEMA, epsilon=1, delta=1e-4)
    with pytest.raises(ParameterError, match="subsample is for records"):
        mt.release(good, SCHEMA, epsilon=1, delta=1e-4, subsample=0.1)
    with pytest.raises(ParameterError, match="δ would permit"):
        mt.release(good, SCHEMA, epsilon=1, delta=0.01)
    (tmp_path / "there").write_text("")
    with pytest.raises(OutputError, match="exists"):
        mt.release(good, SCHEMA, epsilon=1, delta=1e-4, output=tmp_path / "there")


def test_an_empty_class_is_a_fact_about_the_images_and_is_not_refused(tmp_path: Path) -> None:
    images = picture_set(400)
    assert images.labels is not None
    without = ImageSet(pixels=images.pixels, labels=np.where(images.labels == 2, 1, images.labels))
    made = curate(without, tmp_path / "x", FixedRandomness(), epsilon=5.0)
    assert made.count_noise < 6, "of 400 images, so that the share of none is small whatever the noise"
    assert made.class_shares[2] < 0.1
