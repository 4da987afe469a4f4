"""Builders that most tests of the accountants share."""

from collections.abc import Callable

import pytest

from microtome.accounting import DirectionKind, Directions, SliceEvent

SliceBuilder = Callable[..., SliceEvent]


@pytest.fixture
def slices() -> SliceBuilder:
    def build(kind: str, dim: int, count: int, sigma: float, distance: float = 1.0, slice_dim: int = 1) -> SliceEvent:
        directions = Directions(kind=DirectionKind(kind), dim=dim, num_slices=count // slice_dim, slice_dim=slice_dim)
        return SliceEvent(directions=directions, row_distance=distance, noise_scale=sigma)

    return build
