"""Images fitted: moments denoised, a generator that starts at them, losses, checkpoints, models on disk."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from microtome.accounting import Neighbours
from microtome.adaptation.target_moments import TargetMoments
from microtome.demo import digit_images
from microtome.errors import ModelError, ParameterError, ReleaseError
from microtome.generators.image import ImageNetworkSettings
from microtome.images import ImageSchema, ImageSet
from microtome.published import ImageRelease, ReleaseKind
from microtome.synthesis import Synthesizer
from microtome.training import ImageFitSettings, Trainer
from microtome.training.image_losses import MomentLoss
from microtome.training.image_moments import class_moments, denoised, stretched
from microtome.training.image_objective import build_image_generator
from microtome.training.image_settings import ImageLossKind, ImageStart
from support import FixedRandomness, publish_images

QUICK = ImageFitSettings(steps=20, batch_size=64, check_every=10)


@pytest.fixture(scope="module")
def digits() -> tuple[ImageSet, ImageSchema]:
    return digit_images()


@pytest.fixture(scope="module")
def releases(digits: tuple[ImageSet, ImageSchema], tmp_path_factory: pytest.TempPathFactory) -> dict[str, ImageRelease]:
    folder = tmp_path_factory.mktemp("releases")
    return {kind: publish_images(*digits, folder / kind, epsilon=50.0, kind=kind) for kind in ReleaseKind}


def nearest_mean_accuracy(train: ImageSet, test: ImageSet) -> float:
    """Of the simplest classifier there is: right only if every class's images are about the class."""
    assert train.labels is not None
    assert test.labels is not None
    flat = [one.pixels.reshape(len(one), -1).astype(float) for one in (train, test)]
    means = np.stack([flat[0][train.labels == label].mean(axis=0) for label in range(10)])
    distances = ((flat[1][:, None] - means) ** 2).sum(axis=2)
    return float((distances.argmin(axis=1) == test.labels).mean())


def test_denoising_finds_a_spike_and_drops_pure_noise() -> None:
    rng, dim, noise = np.random.default_rng(0), 60, 0.1
    raw = rng.normal(size=(dim, dim)) * noise / np.sqrt(2)
    symmetric = np.triu(raw, 1) + np.triu(raw, 1).T + np.diag(rng.normal(size=dim) * noise)
    cleaned, rank = denoised(symmetric, noise * 1.1)
    assert rank == 0
    assert not cleaned.any()
    spike = np.zeros((dim, dim))
    spike[0, 0], spike[1, 1] = 5.0, 2.5
    cleaned, rank = denoised(spike + symmetric, noise * 1.1)
    assert rank == 2
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(cleaned))[-2:], [2.5, 5.0], rtol=0.12)
    assert np.linalg.norm(cleaned - spike) < np.linalg.norm(symmetric)
    assert np.trace(stretched(cleaned, 9.0)) == pytest.approx(9.0)


@pytest.mark.parametrize("kind", ["aggregates", "records"])
def test_moments_are_near_the_truth_where_noise_is_small(
    kind: str, digits: tuple[ImageSet, ImageSchema], releases: dict[str, ImageRelease]
) -> None:
    (images, _), release = digits, releases[kind]
    assert images.labels is not None
    moments = class_moments(release)
    np.testing.assert_allclose(moments.shares, np.bincount(images.labels) / len(images), atol=0.01)
    rows = release.code.encode(images.pixels) / release.radius
    for number in range(10):
        mine = rows[images.labels == number]
        assert np.linalg.norm(moments.means[number] - mine.mean(axis=0)) < (0.1 if kind == "aggregates" else 0.25)
        values = np.linalg.eigvalsh(moments.covariances[number])
        assert values.min() > -1e-9
        assert values.sum() == pytest.approx(np.trace(np.cov(mine.T)), rel=0.25 if kind == "aggregates" else 0.6)


def test_the_generator_starts_at_the_moments_exactly(releases: dict[str, ImageRelease]) -> None:
    release = releases["aggregates"]
    moments = class_moments(release)
    generator = build_image_generator(release, ImageFitSettings(), moments, seed=0)
    latent = torch.randn(40_000, generator.latent_dim, generator=torch.Generator().manual_seed(0))
    drawn = latent[:, : generator.code_dim]
    bent = drawn + generator.bend(drawn)
    rows = (generator.means[3] + bent @ generator.factors[3].T).detach().numpy() / release.radius
    np.testing.assert_allclose(rows.mean(axis=0), moments.means[3], atol=0.02)
    np.testing.assert_allclose(np.cov(rows.T), moments.covariances[3], atol=0.01)
    images = generator(latent[:8], torch.full((8,), 3)).detach()
    assert images.shape == (8, 1, 8, 8)
    assert 0.0 <= float(images.min()) <= float(images.max()) <= 1.0


@pytest.mark.parametrize("per_class", [False, True])
def test_refinement_lowers_the_loss_of_the_start(per_class: bool, releases: dict[str, ImageRelease]) -> None:
    release = releases["aggregates"]
    settings = ImageFitSettings(network=ImageNetworkSettings(per_class=per_class), steps=120, batch_size=128)
    loss, moments = MomentLoss(class_moments(release)), class_moments(release)
    scores = []
    for generator in (
        build_image_generator(release, settings, moments, seed=0),
        Trainer(release, settings, seed=0).fit().generator,
    ):
        with torch.no_grad():
            random = torch.Generator().manual_seed(5)
            latent = torch.randn(2000, generator.latent_dim, generator=random)
            drawn = [generator.encoded(latent, torch.full((2000,), v)) for v in range(10)]
            scores.append(sum(float(loss(rows / release.radius, v, random)) for v, rows in enumerate(drawn)))
    assert scores[1] < 0.8 * scores[0]


@pytest.mark.parametrize("kind", ["aggregates", "records"])
def test_synthetic_digits_teach_a_classifier_the_real_ones(
    kind: str, digits: tuple[ImageSet, ImageSchema], releases: dict[str, ImageRelease]
) -> None:
    drawn = Synthesizer(QUICK, random_state=0).fit(releases[kind]).sample(1000)
    assert drawn.pixels.dtype == np.uint8
    assert drawn.pixels.max() <= 16
    assert nearest_mean_accuracy(drawn, digits[0]) > 0.8


@pytest.mark.parametrize("kind", ["aggregates", "records"])
def test_aligned_images_are_put_back_where_they_were(
    kind: str, digits: tuple[ImageSet, ImageSchema], tmp_path: Path
) -> None:
    """Digits in two places: what is drawn of a class is in both, and not a blur of both in the middle."""
    images, schema = digits
    rng = np.random.default_rng(0)
    moved = np.zeros((len(images), 16, 16, 1), np.uint8)
    for place, (across, digit) in enumerate(zip(rng.integers(0, 2, len(images)) * 8, images.pixels, strict=True)):
        moved[place, 4:12, across : across + 8] = digit
    wide = replace(schema, height=16, width=16, components=60, aligned=True)
    release = publish_images(
        ImageSet(pixels=moved, labels=images.labels), wide, tmp_path / "r", epsilon=50.0, kind=kind
    )
    drawn = Synthesizer(QUICK, random_state=0).fit(release).sample(500, random_state=0)
    light = drawn.pixels[..., 0].astype(float).sum(axis=1)
    centres = light @ np.arange(16) / np.maximum(light.sum(axis=1), 1.0)
    assert centres.std() > 1.2
    assert centres.mean() == pytest.approx(7.5, abs=1.0)
    with pytest.raises(ModelError, match="aligned"):
        TargetMoments.of_release(
            publish_images(
                ImageSet(pixels=moved, labels=None),
                replace(wide, classes=None),
                tmp_path / "unlabelled",
                epsilon=50.0,
                kind=kind,
            )
        )


@pytest.mark.parametrize("loss", ["wasserstein", "algorithm1", "kernel"])
def test_sliced_losses_train_from_nothing(
    loss: str, digits: tuple[ImageSet, ImageSchema], releases: dict[str, ImageRelease]
) -> None:
    """Enough slices a step that the noise of the release matters little: with fewer, some noises teach next to nothing.

    An untrained generator is right about 0.07 of the digits; trained, 0.6 or more with each of eight noises.
    """
    settings = ImageFitSettings(
        start=ImageStart.RANDOM,
        loss=ImageLossKind(loss),
        steps=100,
        batch_size=64,
        learning_rate=1e-2,
        num_slices=20,
    )
    model = Synthesizer(settings, random_state=0).fit(releases["records"])
    assert nearest_mean_accuracy(model.sample(1000, random_state=0), digits[0]) > 0.35
    with pytest.raises(ParameterError, match="looks at noisy rows"):
        Trainer(releases["aggregates"], settings, seed=0).fit()


def test_a_run_that_stops_goes_on_as_if_it_had_not(tmp_path: Path, releases: dict[str, ImageRelease]) -> None:
    release, path = releases["aggregates"], tmp_path / "run"
    whole = Trainer(release, QUICK, seed=3).fit().generator.state_dict()

    def stop(stage: str, done: int, total: int | None, note: str = "") -> None:
        if done == 15:
            raise KeyboardInterrupt

    assert not Trainer(release, QUICK, seed=3, checkpoint=path, progress=stop).fit().finished
    resumed = Trainer(release, QUICK, seed=3, checkpoint=path).fit(resume=True)
    assert resumed.finished
    assert all(torch.equal(whole[name], value) for name, value in resumed.generator.state_dict().items())
    with pytest.raises(ModelError, match="seed 3"):
        Trainer(release, QUICK, seed=4, checkpoint=path).fit(resume=True)
    with pytest.raises(ModelError, match="another release"):
        Trainer(releases["records"], QUICK, seed=3, checkpoint=path).fit(resume=True)


def test_models_on_disk_draw_the_same_images(tmp_path: Path, releases: dict[str, ImageRelease]) -> None:
    model = Synthesizer(QUICK, random_state=0).fit(releases["aggregates"])
    model.save(tmp_path / "digits.model")
    again = Synthesizer.load(tmp_path / "digits.model")
    ours, theirs = (one.sample(50, random_state=7) for one in (model, again))
    np.testing.assert_array_equal(ours.pixels, theirs.pixels)
    np.testing.assert_array_equal(ours.labels, theirs.labels)  # type: ignore[arg-type]
    only = model.sample(40, conditions={"label": [3, 8]}, balanced=True)
    assert only.labels is not None
    assert np.bincount(only.labels, minlength=10)[[3, 8]].tolist() == [20, 20]
    with pytest.raises(ModelError, match="the classes are 0, 1"):
        model.sample(5, conditions={"label": 11})
    with pytest.raises(ModelError, match="nothing is fitted"):
        Synthesizer().sample(5)
    (tmp_path / "broken").write_bytes((tmp_path / "digits.model").read_bytes()[:-9])
    with pytest.raises(ModelError):
        Synthesizer.load(tmp_path / "broken")


def test_a_class_that_does_not_stand_out_cannot_be_asked_for(
    digits: tuple[ImageSet, ImageSchema], tmp_path: Path
) -> None:
    images, schema = digits
    assert images.labels is not None
    without = ImageSet(pixels=images.pixels, labels=np.where(images.labels == 9, 8, images.labels))
    noises = map(FixedRandomness, range(50))
    made = (publish_images(without, schema, tmp_path / "d", randomness=noise, epsilon=20.0) for noise in noises)
    release = next(release for release in made if release.class_shares[9] == 0)
    model = Synthesizer(ImageFitSettings(steps=0), random_state=0).fit(release)
    assert 9 not in model.sample(500).labels  # type: ignore[operator]
    with pytest.raises(ModelError, match="stood out from the noise"):
        model.sample(5, conditions={"label": 9})


def test_settings_are_checked_and_survive_json() -> None:
    settings = ImageFitSettings(network=ImageNetworkSettings(per_class=True), loss=ImageLossKind.KERNEL, steps=3)
    assert ImageFitSettings.from_dict(settings.to_dict()) == settings
    for wrong in ({"steps": -1}, {"learning_rate": 0.0}, {"colour": 1}, {"loss": "none"}, {"network": {"width": 0}}):
        with pytest.raises(ParameterError):
            ImageFitSettings.from_dict(wrong)


def test_too_few_directions_have_no_moments(digits: tuple[ImageSet, ImageSchema], tmp_path: Path) -> None:
    release = publish_images(*digits, tmp_path / "d", kind=ReleaseKind.RECORDS, num_slices=10)
    with pytest.raises(ReleaseError, match="do not span"):
        class_moments(release)


def test_a_protected_count_and_colours(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    schema = ImageSchema(height=6, width=5, channels=3, low=0, high=1, mean=(0.5, 0.4, 0.3), classes=("a", "b"))
    images = ImageSet.from_arrays(rng.random((300, 6, 5, 3)), np.array(["a", "b"])[rng.integers(0, 2, 300)])
    for kind, options in ((ReleaseKind.AGGREGATES, {}), (ReleaseKind.RECORDS, {"capacity": 1000})):
        settings = {"epsilon": 20.0, "neighbours": Neighbours.ADD_REMOVE, "kind": kind, **options}
        release = publish_images(images, schema, tmp_path / kind, **settings)
        assert not release.manifest.contents.records_exact
        drawn = Synthesizer(ImageFitSettings(steps=2, batch_size=16), random_state=0).fit(release).sample(20)
        assert drawn.shape == (6, 5, 3)
        assert drawn.labels is not None
        assert set(drawn.labels) <= {"a", "b"}
