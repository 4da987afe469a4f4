"""Images written as archives, folders and grids come back as they were; nothing half-written is left."""

from pathlib import Path

import numpy as np
import pytest

from microtome.errors import OutputError, ParameterError
from microtome.images import ImageSet, read_images
from microtome.images.writing import grey, grid, png, write_images

RNG = np.random.default_rng(0)
IMAGES = ImageSet.from_arrays(RNG.integers(0, 256, (30, 5, 4, 3), np.uint8), np.repeat(["a", "b", "c"], 10))


@pytest.mark.parametrize("name", ["set.npz", "set"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    for _ in range(2):
        write_images(tmp_path / name, IMAGES)
    again = read_images(tmp_path / name)
    np.testing.assert_array_equal(again.pixels, IMAGES.pixels)
    np.testing.assert_array_equal(again.labels, IMAGES.labels)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_without_labels(tmp_path: Path) -> None:
    bare = ImageSet(pixels=IMAGES.pixels, labels=None)
    for name in ("set.npz", "set", "set.png"):
        write_images(tmp_path / name, bare)
    assert read_images(tmp_path / "set.npz").labels is None
    np.testing.assert_array_equal(read_images(tmp_path / "set").pixels, IMAGES.pixels)


def test_a_grid_has_a_row_for_each_class() -> None:
    sheet = grid(IMAGES.pixels, IMAGES.labels, columns=4)
    assert sheet.shape == (3 * 6 - 1, 4 * 5 - 1, 3)
    np.testing.assert_array_equal(sheet[6:11, 5:9], IMAGES.pixels[11])
    assert (sheet[5] == 255).all()
    assert png(sheet, 2)[:4] == b"\x89PNG"
    np.testing.assert_array_equal(grey(np.array([-1.0, 0.0, 8.0, 16.0, 99.0]), 0, 16), [0, 0, 128, 255, 255])


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="images are written to"):
        write_images(tmp_path / "set.jpg", IMAGES)
    with pytest.raises(OutputError, match="cannot be written"):
        write_images(tmp_path / "nowhere" / "set.npz", IMAGES)
    assert not list(tmp_path.iterdir())
