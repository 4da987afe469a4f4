"""The report on images: real and synthetic ones side by side, class means, nearest neighbours, a classifier.

With real images every picture on the page is private. With a release *instead of* them only what it holds is shown,
and the page is as free to publish as the release.
"""

from __future__ import annotations

import warnings
from base64 import b64encode
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

from microtome.errors import ParameterError, TableError
from microtome.evaluation.html_page import HtmlPage, render_template
from microtome.evaluation.image_verdict import judged_by_classifier, judged_by_means, root_mean_square
from microtome.evaluation.verdict import Level
from microtome.images import ImageSchema, ImageSet, read_images
from microtome.images.writing import grey, grid, png
from microtome.progress import Progress, silent
from microtome.published import ImageMomentsRelease, ImageRelease, promise_in_words

_PRIVATE_STAMP = "Shows private images and is not itself private. Show it to nobody who may not see them."
_PUBLIC_STAMP = (
    "Free to publish. Everything here comes from the release and from the synthetic images, provided that these were "
    "made from the release and nothing else."
)
_TEST_STAMP = "The noise of this release was injected for a test: it promises nothing, and neither does this page."
_NO_MEANS = "This release holds noisy rows and no means, so that little can be said of the images: look at them."
_SHOWN, _NEIGHBOURS_SHOWN = 12, 12
_TRAIN_SHARE = 0.75

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ImageFigures:
    """What the page says in numbers.

    Attributes:
        stamp: Whether the page may be shown.
        free_to_publish: The same as a flag.
        promise: The release's promise in words; empty without a release.
        real: Number of real images, if they were given.
        synthetic: Number of synthetic images.
        classes: Labels with their shares among real (or released) and synthetic images.
        accuracy: On real images, of a logistic regression trained on synthetic ones and on other real ones.
        nearest: Median distance of a synthetic image to the nearest real one, and of a real one to the nearest other,
            as root mean squares over pixels in units of the range.
        mean_error: Root mean square, over classes and pixels, of the difference of class means.
        mean_noise: The same of what the known noise alone does to the released means; ``None`` without noise.
        level: How good the images are, in a word; ``None`` where that cannot be told.
        verdict: The same, a sentence each.
    """

    stamp: str
    free_to_publish: bool
    promise: tuple[str, ...]
    real: int | None
    synthetic: int
    classes: tuple[tuple[str, float | None, float], ...]
    accuracy: dict[str, float] | None
    nearest: dict[str, float] | None
    mean_error: float | None
    mean_noise: float | None
    level: Level | None
    verdict: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImageReport(HtmlPage):
    """Figures and pictures, and the page made of them."""

    figures: ImageFigures
    pictures: tuple[tuple[str, str, bytes], ...]

    @cached_property
    def html(self) -> str:
        """One self-contained page: no scripts, no network."""
        pictures = [(title, says, b64encode(data).decode()) for title, says, data in self.pictures]
        return render_template("images.html.j2", figures=self.figures, pictures=pictures)

    @property
    def headline(self) -> str:
        """The verdict, and what may be done with the page."""
        return " ".join((*self.figures.verdict, self.figures.stamp))


def report_images(
    real: ImageSet | str | Path | None,
    synthetic: ImageSet | str | Path,
    *,
    release: ImageRelease | str | Path | None = None,
    schema: ImageSchema | str | Path | None = None,
    holdout: ImageSet | str | Path | None = None,
    sample: int = 5000,
    random_state: int = 0,
    progress: Progress = silent,
) -> ImageReport:
    """Compare synthetic images with real ones, or, where ``real`` is ``None``, with a release.

    Args:
        real: The real images or their path.
        synthetic: The synthetic ones.
        release: The release: its promise is shown; needed where ``real`` is ``None``.
        schema: Shape, range and classes; by default the release's, or the layout of the real images.
        holdout: Real images that were not used: the classifier is tested on them.
        sample: Images that neighbours and the classifier use at most.
        random_state: Seed of samples and splits.
        progress: Told how far it is.
    """
    if sample < 100:
        raise ParameterError(f"sample={sample} must be at least 100")
    opened = ImageRelease.load(release) if isinstance(release, str | Path) else release
    drawn = _opened(synthetic)
    if real is None:
        if opened is None:
            raise ParameterError("give the real images, or a release in their place")
        if holdout is not None or schema is not None:
            raise ParameterError("holdout and schema are for real images; a release brings its own schema")
        return _against_release(opened, _unit(drawn, opened.schema), drawn.labels)
    true = _opened(real)
    if true.shape != drawn.shape:
        raise TableError(
            f"{drawn.origin}: images are {drawn.shape}, real ones {true.shape}; only alike can be compared"
        )
    low, high = _range(true, opened, ImageSchema.load(schema) if isinstance(schema, str | Path) else schema)
    return _against_images(
        _scaled(true, low, high),
        _scaled(drawn, low, high),
        None if holdout is None else _scaled(_opened(holdout), low, high),
        opened,
        sample,
        np.random.default_rng(random_state),
        progress,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _LabelledImages:
    """Images between 0 and 1 with labels, all one label where there were none."""

    pixels: Floats
    labels: NDArray[Any]

    @property
    def flat(self) -> Floats:
        return self.pixels.reshape(len(self.pixels), -1)

    def some(self, number: int, rng: np.random.Generator) -> _LabelledImages:
        chosen = rng.permutation(len(self.pixels))[:number]
        return _LabelledImages(pixels=self.pixels[chosen], labels=self.labels[chosen])

    def means(self, classes: NDArray[Any]) -> Floats:
        blank = np.zeros(self.pixels.shape[1:])
        rows = [self.pixels[self.labels == label] for label in classes]
        return np.stack([row.mean(axis=0) if len(row) else blank for row in rows])


def _against_images(
    real: _LabelledImages,
    synthetic: _LabelledImages,
    holdout: _LabelledImages | None,
    release: ImageRelease | None,
    sample: int,
    rng: np.random.Generator,
    progress: Progress,
) -> ImageReport:
    classes = np.unique(np.concatenate([real.labels, synthetic.labels]))
    parts = 3
    few_real, few_made = real.some(sample, rng), synthetic.some(sample, rng)
    accuracy = _accuracy(few_real, few_made, holdout) if len(classes) > 1 else None
    progress("report", 1, parts)
    distances, places = _nearest(few_real, few_made.flat, 1)
    own, _ = _nearest(few_real, few_real.flat, 2)
    progress("report", 2, parts)
    means = [one.means(classes) for one in (real, synthetic)]
    promise = () if release is None else tuple(promise_in_words(release))
    shown = _one_of_each(few_made, classes)
    pictures = (
        ("Real images", "A row for each class.", _sheet(real)),
        ("Synthetic images", "A row for each class.", _sheet(synthetic)),
        ("Class means", "Above of real images, below of synthetic ones.", _lines(means[0], means[1])),
        (
            "Nearest real neighbours",
            f"Above synthetic images, below the real image nearest to each among {len(few_real.pixels):,}. A synthetic "
            "image that repeats a real one would show here.",
            _lines(few_made.pixels[shown], few_real.pixels[places[shown, 0]]),
        ),
    )
    progress("report", parts, parts)
    return ImageReport(
        figures=ImageFigures(
            stamp=_PRIVATE_STAMP,
            free_to_publish=False,
            promise=promise,
            real=len(real.pixels),
            synthetic=len(synthetic.pixels),
            classes=_shares(classes, real.labels, synthetic.labels),
            accuracy=accuracy,
            nearest={
                "synthetic to real": float(np.median(distances[:, 0])),
                "real to other real": float(np.median(own[:, 1])),
            },
            mean_error=root_mean_square(means[0] - means[1]),
            mean_noise=None,
            **judged_by_classifier(accuracy, len(classes)),
        ),
        pictures=pictures,
    )


def _against_release(release: ImageRelease, pixels: Floats, labels: NDArray[Any] | None) -> ImageReport:
    """Only what the release holds beside the synthetic images: shares, and the class means of aggregates."""
    classes = np.array(release.schema.classes if release.schema.classes is not None else ("all",))
    made = _LabelledImages(pixels=pixels, labels=np.full(len(pixels), "all") if labels is None else labels)
    pictures = [("Synthetic images", "A row for each class.", _sheet(made))]
    found: dict[str, Any] = {"mean_error": None, "mean_noise": None, "level": None, "verdict": (_NO_MEANS,)}
    match release:
        case ImageMomentsRelease():
            means, published = made.means(classes), _published_means(release)
            found = judged_by_means(means - published, published, _means_noise(release))
            says = "Above as released, with noise and low frequencies only, below of synthetic images."
            pictures.append(("Class means", says, _lines(published, means)))
    shares = dict(zip(classes.tolist(), release.class_shares.tolist(), strict=True))
    private = release.manifest.promise.private
    return ImageReport(
        figures=ImageFigures(
            stamp=_PUBLIC_STAMP if private else _TEST_STAMP,
            free_to_publish=private,
            promise=tuple(promise_in_words(release)),
            real=None,
            synthetic=len(pixels),
            classes=tuple(
                (str(label), float(shares[label]), float((made.labels == label).mean())) for label in classes.tolist()
            ),
            accuracy=None,
            nearest=None,
            **found,
        ),
        pictures=tuple(pictures),
    )


def _published_means(release: ImageMomentsRelease) -> Floats:
    return np.clip(release.code.decode(release.centres * release.radius), 0.0, 1.0)


def _means_noise(release: ImageMomentsRelease) -> float:
    """Root mean square, over classes and pixels, of what the known noise does to class means."""
    scale = release.mechanism.mean_noise / np.maximum(release.counts, 1.0) * release.contrast.brightness
    noise = scale[:, None] * np.random.default_rng(0).standard_normal(release.centres.shape)
    plain, moved = (release.code.decode((release.centres + shift) * release.radius) for shift in (0.0 * noise, noise))
    return root_mean_square(moved - plain)


def _accuracy(real: _LabelledImages, synthetic: _LabelledImages, holdout: _LabelledImages | None) -> dict[str, float]:
    """A logistic regression on real images: trained on synthetic ones, and on real ones for comparison."""
    cut = len(real.pixels) if holdout is not None else int(_TRAIN_SHARE * len(real.pixels))
    test = (holdout.flat, holdout.labels) if holdout is not None else (real.flat[cut:], real.labels[cut:])
    trained = {"synthetic": (synthetic.flat, synthetic.labels), "real": (real.flat[:cut], real.labels[:cut])}
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, (rows, labels) in trained.items():
            if len(np.unique(labels)) > 1:
                scores[name] = float(LogisticRegression(C=0.1, max_iter=50).fit(rows, labels).score(*test))
    return scores


def _nearest(real: _LabelledImages, rows: Floats, number: int) -> tuple[Floats, NDArray[np.int64]]:
    """Distances, as root mean squares over pixels, to the nearest real images, and which these are."""
    search = NearestNeighbors(n_neighbors=min(number, len(real.pixels)), algorithm="brute").fit(real.flat)
    distances, places = search.kneighbors(rows)
    return distances / np.sqrt(rows.shape[1]), places


def _one_of_each(images: _LabelledImages, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Places of the first image of each class, and of more where there is room."""
    per_class = max(1, _NEIGHBOURS_SHOWN // len(classes))
    places = [np.flatnonzero(images.labels == label)[:per_class] for label in classes]
    return np.concatenate(places)[: 2 * _NEIGHBOURS_SHOWN].astype(np.int64)


def _sheet(images: _LabelledImages) -> bytes:
    labels = None if len(np.unique(images.labels)) == 1 else images.labels
    return png(grid(grey(images.pixels, 0.0, 1.0), labels, columns=_SHOWN), _scale(images.pixels))


def _lines(above: Floats, below: Floats) -> bytes:
    both = np.concatenate([above, below])
    marks = np.repeat([0, 1], len(above))
    return png(grid(grey(both, 0.0, 1.0), marks, columns=len(above)), _scale(above))


def _scale(pixels: Floats) -> int:
    """How large a pixel is drawn, so that small images can be seen."""
    return max(1, 48 // int(pixels.shape[1]))


def _shares(
    classes: NDArray[Any], real: NDArray[Any], synthetic: NDArray[Any]
) -> tuple[tuple[str, float | None, float], ...]:
    return tuple(
        (str(label), float((real == label).mean()), float((synthetic == label).mean())) for label in classes.tolist()
    )


def _opened(source: ImageSet | str | Path) -> ImageSet:
    images = read_images(source) if isinstance(source, str | Path) else source
    if len(images) < 2:
        raise TableError(f"{images.origin} has {len(images)} images; a report needs at least 2")
    return images


def _range(images: ImageSet, release: ImageRelease | None, schema: ImageSchema | None) -> tuple[float, float]:
    known = schema if schema is not None else None if release is None else release.schema
    if known is not None:
        return known.low, known.high
    whole = images.pixels.dtype.kind in "iu"
    return 0.0, float(np.iinfo(images.pixels.dtype).max) if whole else 1.0


def _unit(images: ImageSet, schema: ImageSchema) -> Floats:
    if images.shape != schema.shape:
        raise TableError(f"{images.origin}: images are {images.shape}, the release says {schema.shape}")
    return _scaled(images, schema.low, schema.high).pixels


def _scaled(images: ImageSet, low: float, high: float) -> _LabelledImages:
    pixels = np.clip((images.pixels.astype(np.float64) - low) / (high - low), 0.0, 1.0)
    labels = np.full(len(images), "all") if images.labels is None else images.labels
    return _LabelledImages(pixels=pixels, labels=labels)
