"""Edges of images: they tell directions and places apart, are an image's own, and the generator's are the same."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from microtome.generators.strokes import MOVES, edges_of, moved, toned
from microtome.images import ImageCode, ImageSchema
from microtome.images.edges import DIRECTIONS, EDGE_DIM, PLACES, nearness
from microtome.images.image_schema import schema_of_layout

SIDE = 28
CODE = ImageCode(ImageSchema(height=SIDE, width=SIDE, low=0.0, high=1.0, classes=(0, 1), components=30, edges=True))


def bars(number: int) -> np.ndarray:
    """Bright bars in random places, upright and lying in turn."""
    rng, images = np.random.default_rng(0), np.zeros((number, SIDE, SIDE))
    for place, image in enumerate(images):
        first = rng.integers(3, SIDE - 5)
        (image if place % 2 else image.T)[3:-3, first : first + 2] = 1.0
    return images


def test_edges_tell_directions_and_places_apart() -> None:
    found = CODE.edges.of(bars(60)).reshape(60, PLACES, PLACES, DIRECTIONS)
    of_directions = found.sum(axis=(1, 2))
    upright, lying = of_directions[1::2].mean(axis=0), of_directions[::2].mean(axis=0)
    assert upright[[0, 4]].min() > 3 * upright[[2, 6]].max()
    assert np.allclose(upright[[0, 4]], lying[[2, 6]], rtol=0.2)
    spot = np.zeros((1, SIDE, SIDE))
    spot[0, 3:6, -6:-3] = 1.0
    places = CODE.edges.of(spot).reshape(PLACES, PLACES, DIRECTIONS).sum(axis=2)
    assert np.unravel_index(places.argmax(), places.shape) == (0, PLACES - 1)
    assert places[2:, :2].max() < 1e-9


def test_flat_images_have_no_edges_and_light_counts_little() -> None:
    assert not CODE.edges.of(np.full((3, SIDE, SIDE), 0.6)).any()
    bright = CODE.edges.of(bars(10))
    faint = CODE.edges.of(0.25 * bars(10))
    assert np.linalg.norm(faint) > 0.4 * np.linalg.norm(bright)


def test_a_place_never_counts_a_pixel_for_more_than_it_is() -> None:
    for size in (8, 9, 28, 33):
        assert nearness(size).sum(axis=1).max() < 1.05
        assert np.linalg.norm(np.kron(nearness(size), nearness(size)), axis=1).max() < 1.0


@pytest.mark.parametrize("channels", [1, 3])
def test_the_code_has_components_first_and_then_weighted_edges(channels: int) -> None:
    schema = ImageSchema(
        height=16, width=20, channels=channels, low=-1.0, high=3.0, classes=(0, 1), components=30, edges=True
    )
    pixels = np.random.default_rng(0).uniform(-1, 3, (7, *schema.shape))
    code, plain = ImageCode(schema), ImageCode(replace(schema, edges=False))
    rows = code.encode(pixels)
    assert rows.shape == (7, schema.dim) == (7, 30 * channels + EDGE_DIM)
    np.testing.assert_array_equal(rows[:, :-EDGE_DIM], plain.encode(pixels))
    light = ((pixels + 1) / 4).mean(axis=3)
    np.testing.assert_allclose(rows[:, -EDGE_DIM:] / code.edge_weight, code.edges.of(light), atol=1e-4)
    np.testing.assert_array_equal(code.decode(rows), plain.decode(plain.encode(pixels)))


@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 601, 1025])
def test_an_image_has_the_same_edges_in_any_company(size: int) -> None:
    """To the last bit: changes are rooted and cut, and which bin an image is in hangs on their sum."""
    pixels = np.random.default_rng(size).random((size, SIDE, SIDE, 1)) ** 4
    step = max(1, size // 20)
    alone = np.concatenate([CODE.encode(pixels[place : place + 1]) for place in range(0, size, step)])
    np.testing.assert_array_equal(CODE.encode(pixels)[::step], alone)
    order = np.random.default_rng(0).permutation(size)
    np.testing.assert_array_equal(CODE.encode(pixels[order]), CODE.encode(pixels)[order])


def test_the_generator_sees_the_same_edges_with_gradients() -> None:
    images = torch.tensor(np.random.default_rng(0).random((4, 1, SIDE, SIDE)), requires_grad=True)
    ours = edges_of(images, torch.tensor(CODE.edges.pooling))
    np.testing.assert_allclose(ours.detach(), CODE.edges.of(images.detach()[:, 0].numpy()), atol=1e-4)
    ours.sum().backward()
    assert images.grad is not None
    assert torch.isfinite(images.grad).all()


def test_edges_are_measured_where_the_schema_says_so() -> None:
    plain = schema_of_layout((28, 28, 1), "uint8", (0, 1))
    assert not plain.edges
    assert ImageSchema.from_dict(CODE.schema.to_dict()) == CODE.schema
    older = {key: value for key, value in plain.to_dict().items() if key != "edges"}
    assert ImageSchema.from_dict(older) == plain
    assert (CODE.schema.dim, plain.dim) == (30 + EDGE_DIM, 100)


def test_movement_goes_no_further_than_it_says_and_none_is_none() -> None:
    images = torch.tensor(bars(20), dtype=torch.float32)[:, None]
    far = torch.full((20, MOVES), 8.0)
    assert torch.equal(moved(images, far, 0.0), images)
    still = torch.zeros(20, MOVES)
    torch.testing.assert_close(moved(images, still, 1.0), images, atol=1e-4, rtol=0)
    shifted = torch.zeros(20, MOVES)
    shifted[:, 5] = 8.0
    at = torch.arange(SIDE, dtype=torch.float32)

    def middle(shown: torch.Tensor) -> torch.Tensor:
        return (shown[:, 0].sum(dim=2) @ at) / shown[:, 0].sum(dim=(1, 2))

    down = (middle(images) - middle(moved(images, shifted, 1.0)))[1::2]
    np.testing.assert_allclose(down, 0.1 * SIDE / 2, atol=0.1)


def test_tone_is_gain_above_a_floor() -> None:
    shown = toned(torch.tensor([[[[0.1, 0.3, 0.9]]]]), torch.tensor([2.0, 0.2]))
    torch.testing.assert_close(shown, torch.tensor([[[[0.0, 0.2, 1.0]]]]))
