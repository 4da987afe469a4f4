"""Aligned images: a pose that follows what is shown, a way back, and numbers that are an image's own."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from microtome.generators.image import placed
from microtome.images import ImageCode, ImageSchema
from microtome.images.frame import POSE_DIM, STILL, Frame, bounded
from microtome.images.image_schema import schema_of_layout
from microtome.schema.fixed_point import on_grid

SIZE = 28
FRAME = Frame(SIZE, SIZE)
CODE = ImageCode(ImageSchema(height=SIZE, width=SIZE, low=0.0, high=1.0, classes=(0, 1), aligned=True))


def blobs(cx: Any, cy: Any, slant: Any = 0.0, wide: Any = 0.3, high: Any = 0.4) -> np.ndarray:
    """Smooth spots (n × height × width) at places between −1 and 1."""
    at = 2 * (np.arange(SIZE) + 0.5) / SIZE - 1
    y, x = np.meshgrid(at, at, indexing="ij")
    cx, cy, slant, wide, high = (np.reshape(value, (-1, 1, 1)) for value in (cx, cy, slant, wide, high))
    return np.exp(-0.5 * (((x - cx - slant * (y - cy)) / wide) ** 2 + ((y - cy) / high) ** 2))


def poses(images: np.ndarray) -> np.ndarray:
    return FRAME.poses(on_grid(images.reshape(len(images), -1), 20))


def test_the_pose_follows_what_is_shown() -> None:
    found = poses(blobs([0.0, 0.25, 0.0, 0.0], [0.0, -0.125, 0.0, 0.0], [0, 0, 0.4, 0], 0.2, [0.2, 0.2, 0.2, 0.3]))
    np.testing.assert_allclose(found[:, 0], [0, 0.25, 0, 0], atol=0.01)
    np.testing.assert_allclose(found[:, 1], [0, -0.125, 0, 0], atol=0.01)
    assert found[2, 2] > 0.2 > abs(found[0, 2])
    assert found[3, 4] > found[0, 4] + 0.1


def test_images_in_their_frames_are_more_alike_and_can_be_put_back() -> None:
    rng = np.random.default_rng(0)
    images = blobs(rng.uniform(-0.3, 0.3, 50), rng.uniform(-0.3, 0.3, 50), rng.uniform(-0.4, 0.4, 50), 0.15, 0.2)
    seen = FRAME.upright(images[:, None], poses(images))
    assert seen.var(axis=0).sum() < 0.1 * images.var(axis=0).sum()
    back = FRAME.placed(seen, poses(images))[:, 0]
    assert np.sqrt(np.square(back - images).mean()) < 0.02
    decoded = CODE.decode(CODE.encode(images[..., None]))[..., 0]
    assert np.sqrt(np.square(decoded - images).mean()) < 0.02


def test_the_generator_puts_images_where_the_code_does() -> None:
    rng = np.random.default_rng(0)
    given = bounded(STILL + rng.normal(0, 0.4, (20, POSE_DIM)))
    images = rng.random((20, 2, SIZE, SIZE))
    ours = placed(torch.tensor(images), torch.tensor(given)).numpy()
    np.testing.assert_allclose(ours, FRAME.placed(images, given), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)), st.integers(0, 2**32 - 1), st.booleans())
def test_any_image_has_a_pose_and_none_is_longer_than_the_largest(
    shape: tuple[int, int, int], seed: int, even: bool
) -> None:
    rng = np.random.default_rng(seed)
    height, width, channels = shape
    code = ImageCode(
        ImageSchema(height=height, width=width, channels=channels, low=-1, high=3, mean=(0.5,), aligned=True)
    )
    shades = [-1.0, 3.0, 3.0 if even else rng.uniform(-1, 3)]
    pixels = np.concatenate([rng.choice(shades, (4, *shape)), np.full((1, *shape), -1.0), np.full((1, *shape), 3.0)])
    pixels[0] = -1.0
    pixels[0].flat[rng.integers(pixels[0].size)] = 3.0
    rows = code.encode(pixels)
    assert rows.shape == (6, code.schema.dim)
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() <= code.largest + 1e-5
    assert np.isfinite(code.decode(rows)).all()
    assert np.isfinite(code.decode(10.0 * rng.normal(size=rows.shape))).all()


@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 601, 1025])
def test_an_aligned_image_has_the_same_numbers_in_any_company(size: int) -> None:
    """To the last bit: poses are divided, rooted and rounded, and what is seen of an image hangs on them."""
    rng = np.random.default_rng(size)
    pixels = rng.random((size, SIZE, SIZE, 1)) ** 4 * blobs(*rng.uniform(-0.4, 0.4, (3, size)))[..., None]
    alone = np.concatenate([CODE.encode(pixels[place : place + 1]) for place in range(0, size, max(1, size // 20))])
    assert np.array_equal(CODE.encode(pixels)[:: max(1, size // 20)], alone)
    order = rng.permutation(size)
    assert np.array_equal(CODE.encode(pixels[order]), CODE.encode(pixels)[order])


def test_images_are_aligned_where_the_schema_says_so() -> None:
    plain = schema_of_layout((8, 8, 1), "uint8", (0, 1))
    assert not plain.aligned
    assert ImageSchema.from_dict(CODE.schema.to_dict()) == CODE.schema
    older = {key: value for key, value in plain.to_dict().items() if key != "aligned"}
    assert ImageSchema.from_dict(older) == plain
    assert (CODE.schema.dim, plain.dim) == (105, 38)
