"""Image files of every format read as the same images; what is wrong with a file is said."""

import gzip
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from microtome.errors import TableError
from microtome.images import ImageSet, read_images
from microtome.images.reading import is_image_set
from support import DATA

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 4), np.uint8)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def write_idx(path: Path, array: np.ndarray) -> Path:
    data = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_folder(path: Path) -> Path:
    for number, (picture, label) in enumerate(zip(PIXELS, LABELS, strict=True)):
        (path / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path / str(label) / f"{number}.png")
    return path


def written(form: str, folder: Path) -> tuple[Path, dict[str, str]]:
    """The six images in a file of a format, and what to say to read them."""
    if form.startswith("idx"):
        suffix = ".gz" if form.endswith("gz") else ""
        write_idx(folder / f"train-labels-idx1-ubyte{suffix}", LABELS)
        return write_idx(folder / f"train-images-idx3-ubyte{suffix}", PIXELS), {}
    if form == "npz":
        np.savez(folder / "six.npz", x=PIXELS, y=LABELS)
        return folder / "six.npz", {}
    if form == "npz parts":
        np.savez(folder / "six.npz", x_train=PIXELS, y_train=LABELS, x_test=PIXELS[:1], y_test=LABELS[:1])
        return folder / "six.npz", {"part": "train"}
    if form == "hdf5":
        with h5py.File(folder / "six.h5", "w") as file:
            for part, rows in (("train", slice(None)), ("test", slice(1))):
                file.create_group(part)
                file[part]["data"], file[part]["target"] = PIXELS[rows], LABELS[rows]
        return folder / "six.h5", {"part": "train"}
    if form == "zip":
        return packed(write_folder(folder / "six")), {}
    return write_folder(folder / "six"), {}


def packed(folder: Path) -> Path:
    """A folder as people pack it: with itself around everything, and what macOS adds."""
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*.png"), reverse=True):
            file.write(path, path.relative_to(folder.parent))
            file.writestr(f"__MACOSX/{path.relative_to(folder.parent)}", b"")
    return archive


@pytest.mark.parametrize("form", ["idx", "idx gz", "npz", "npz parts", "hdf5", "folder", "zip"])
def test_every_format_gives_the_same_images(form: str, tmp_path: Path) -> None:
    path, options = written(form, tmp_path)
    assert is_image_set(path)
    images = read_images(path, **options)  # type: ignore[arg-type]
    assert images.shape == (5, 4, 1)
    order = np.argsort(LABELS, kind="stable") if form in ("folder", "zip") else np.arange(6)
    np.testing.assert_array_equal(images.pixels[..., 0], PIXELS[order])
    assert images.labels is not None
    np.testing.assert_array_equal(images.labels, LABELS[order])


def test_labels_of_idx_images_can_be_named(tmp_path: Path) -> None:
    images, labels = write_idx(tmp_path / "a", PIXELS), write_idx(tmp_path / "b", LABELS)
    assert read_images(images).labels is None
    np.testing.assert_array_equal(read_images(images, labels=labels).labels, LABELS)  # type: ignore[arg-type]


def test_colours_sixteen_bits_and_folder_names(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "colour" / name).mkdir(parents=True)
        Image.fromarray(np.zeros((3, 2, 3), np.uint8)).save(tmp_path / "colour" / name / "one.png")
    colour = read_images(tmp_path / "colour")
    assert colour.shape == (3, 2, 3)
    assert colour.labels is not None
    assert colour.labels.tolist() == ["cat", "dog"]
    deep = np.array([[0, 40_000], [65_535, 1]], np.uint16)
    (tmp_path / "deep").mkdir()
    Image.fromarray(deep).save(tmp_path / "deep" / "one.png")
    read = read_images(tmp_path / "deep")
    assert read.labels is None
    np.testing.assert_array_equal(read.pixels[0, :, :, 0], deep)


def test_flat_rows_are_square_or_as_told() -> None:
    assert ImageSet.from_arrays(np.zeros((2, 16))).shape == (4, 4, 1)
    assert ImageSet.from_arrays(np.zeros((2, 24)), shape=(2, 4, 3)).shape == (2, 4, 3)
    with pytest.raises(TableError, match="cannot tell height"):
        ImageSet.from_arrays(np.zeros((2, 24)))
    with pytest.raises(TableError, match="channels come first"):
        ImageSet.from_arrays(np.zeros((2, 3, 8, 8)))


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    whole = write_idx(tmp_path / "images", PIXELS)
    (tmp_path / "cut").write_bytes(whole.read_bytes()[:-3])
    folder = write_folder(tmp_path / "mixed")
    Image.fromarray(np.zeros((9, 4), np.uint8)).save(folder / "2" / "odd.png")
    (tmp_path / "text.txt").write_text("no images")
    np.savez(tmp_path / "other.npz", weights=PIXELS)
    for path, message in [
        (tmp_path / "cut", "bytes of data where sizes"),
        (folder, "odd.png is 9 × 4 .* others are 5 × 4"),
        (tmp_path / "text.txt", "is no image set"),
        (tmp_path / "other.npz", "has no images"),
        (tmp_path / "nowhere", "no such file"),
    ]:
        with pytest.raises(TableError, match=message):
            read_images(path)
    with pytest.raises(TableError, match="one label for each"):
        ImageSet.from_arrays(PIXELS, LABELS[:5])
    with pytest.raises(TableError, match="not finite"):
        ImageSet.from_arrays(np.full((2, 3, 3), np.nan))
    with pytest.raises(TableError, match="labels are float64"):
        ImageSet.from_arrays(PIXELS, LABELS + 0.5)
    with pytest.raises(TableError, match="have parts"):
        read_images(whole, part="train")
    with pytest.raises(TableError, match="goes with IDX"):
        read_images(folder, labels=whole)


def test_groups_without_a_part_are_listed(tmp_path: Path) -> None:
    path, _ = written("hdf5", tmp_path)
    with pytest.raises(TableError, match="say which part: test, train"):
        read_images(path)


def test_the_real_sets_where_they_are() -> None:
    mnist, usps = DATA / "mnist" / "t10k-images-idx3-ubyte.gz", DATA / "usps" / "usps.h5"
    if not (mnist.exists() and usps.exists()):
        pytest.skip("MNIST and USPS are not here; set MICROTOME_DATA")
    images = read_images(mnist)
    assert images.labels is not None
    assert (images.pixels.shape, images.labels[:5].tolist()) == ((10_000, 28, 28, 1), [7, 2, 1, 0, 4])
    images = read_images(usps, part="test")
    assert (images.pixels.shape, len(np.unique(images.labels))) == ((2007, 16, 16, 1), 10)  # type: ignore[arg-type]


def test_a_class_without_images_is_no_error(tmp_path: Path) -> None:
    """Whether it is empty is a fact about the images, and refusing it would tell it."""
    folder = write_folder(tmp_path / "pictures")
    whole = read_images(folder)
    (folder / "7").mkdir()
    assert len(read_images(folder)) == len(whole)
    bare = tmp_path / "bare"
    (bare / "7").mkdir(parents=True)
    with pytest.raises(TableError, match="hold no images"):
        read_images(bare)


@pytest.mark.parametrize("around", ["", "six/"])
def test_an_archive_without_sub_folders_has_no_labels(tmp_path: Path, around: str) -> None:
    Image.fromarray(PIXELS[0]).save(tmp_path / "one.png")
    with zipfile.ZipFile(tmp_path / "six.zip", "w") as file:
        file.write(tmp_path / "one.png", f"{around}one.png")
    images = read_images(tmp_path / "six.zip")
    assert images.labels is None
    np.testing.assert_array_equal(images.pixels[0, ..., 0], PIXELS[0])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more"])
def test_a_broken_archive_is_told_of(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "six.zip").write_bytes(content)
    with pytest.raises(TableError, match=r"six.zip cannot be read as a ZIP archive"):
        read_images(tmp_path / "six.zip")
