"""The page on images: what it shows, what it stamps, what it refuses."""

from pathlib import Path

import numpy as np
import pytest

import microtome as mt
from microtome.demo import digit_images
from microtome.errors import ParameterError, TableError
from microtome.evaluation.images import report_images
from microtome.images import ImageSchema, ImageSet
from microtome.images.writing import write_images
from microtome.published import ImageRelease
from support import repeatable_noise


@pytest.fixture(scope="module")
def digits() -> tuple[ImageSet, ImageSchema]:
    return digit_images()


@pytest.fixture(scope="module")
def release(digits: tuple[ImageSet, ImageSchema]) -> ImageRelease:
    with repeatable_noise():
        return mt.release(*digits, epsilon=5.0, delta=1e-5)


def halves(images: ImageSet) -> tuple[ImageSet, ImageSet]:
    assert images.labels is not None
    return tuple(  # type: ignore[return-value]
        ImageSet(pixels=images.pixels[part], labels=images.labels[part]) for part in (slice(0, 900), slice(900, None))
    )


def test_real_images_against_others_of_the_same_kind(digits: tuple[ImageSet, ImageSchema], tmp_path: Path) -> None:
    images, schema = digits
    one, other = halves(images)
    made = report_images(one, other, schema=schema)
    figures = made.figures
    assert not figures.free_to_publish
    assert "not itself private" in made.html
    assert figures.accuracy is not None
    assert figures.accuracy["synthetic"] > 0.85
    assert figures.nearest is not None
    ratio = figures.nearest["synthetic to real"] / figures.nearest["real to other real"]
    assert 0.8 < ratio < 1.3
    assert figures.mean_error is not None
    assert figures.mean_error < 0.1
    made.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4
    assert "<script" not in page
    assert "http://" not in page.replace("http-equiv", "")


def test_copies_are_at_distance_zero_and_wrong_labels_teach_nothing(digits: tuple[ImageSet, ImageSchema]) -> None:
    images, schema = digits
    one, other = halves(images)
    assert one.labels is not None
    copied = report_images(one, one, schema=schema).figures
    assert copied.nearest is not None
    assert copied.nearest["synthetic to real"] == pytest.approx(0.0, abs=1e-6)
    wrong = ImageSet(pixels=one.pixels, labels=(one.labels + 1) % 10)
    spoiled = report_images(one, wrong, schema=schema, holdout=other).figures
    assert spoiled.accuracy is not None
    assert spoiled.accuracy["synthetic"] < 0.1
    assert spoiled.accuracy["real"] > 0.85


def test_against_a_release_the_page_shows_no_real_image(
    digits: tuple[ImageSet, ImageSchema], release: ImageRelease, tmp_path: Path
) -> None:
    images, _ = digits
    write_images(tmp_path / "made.npz", halves(images)[0])
    made = report_images(None, tmp_path / "made.npz", release=release)
    assert made.figures.free_to_publish
    assert made.figures.real is None
    assert "Real images" not in made.html
    assert "(ε = 5" in made.html
    assert made.figures.mean_error is not None
    assert made.figures.mean_error < 0.15
    assert sum(share for _, share, _ in made.figures.classes if share) == pytest.approx(1.0)


def test_what_cannot_be_compared_is_refused(digits: tuple[ImageSet, ImageSchema], release: ImageRelease) -> None:
    images, _ = digits
    large = ImageSet.from_arrays(np.zeros((5, 9, 9)))
    with pytest.raises(TableError, match="only alike"):
        report_images(images, large)
    with pytest.raises(TableError, match="the release says"):
        report_images(None, large, release=release)
    with pytest.raises(ParameterError, match="or a release"):
        report_images(None, images)
    with pytest.raises(ParameterError, match="holdout and schema"):
        report_images(None, images, release=release, holdout=images)
