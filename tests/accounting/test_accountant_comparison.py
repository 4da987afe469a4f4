"""The tables of the ``budget`` command."""

import pytest

from microtome.accounting import (
    DirectionKind,
    Directions,
    Neighbours,
    epsilon_by_accountant,
    noise_by_accountant,
)
from microtome.errors import ParameterError


def directions(kind: str, dim: int = 100, count: int = 200) -> Directions:
    return Directions(kind=DirectionKind(kind), dim=dim, num_slices=count, slice_dim=1)


def noise(kind: str, neighbours: Neighbours = Neighbours.BLANK_ONE, subsample: float | None = None, **options):
    return noise_by_accountant(
        epsilon=5.1,
        delta=1e-5,
        directions=directions(kind),
        neighbours=neighbours,
        subsample=subsample,
        **options,
    )


def test_check_values() -> None:
    table = noise("gaussian")
    assert list(table) == ["exact", "renyi", "theorem1"]
    assert round(table["exact"], 3) == 1.268
    assert round(table["theorem1"], 3) == 1.553
    assert table["exact"] < table["renyi"] < table["theorem1"]


def test_what_does_not_apply_is_none() -> None:
    assert noise("orthogonal")["theorem1"] is None
    fixed = noise("fixed")
    assert fixed["theorem1"] is None
    assert fixed["exact"] < fixed["renyi"] < fixed["prop3"]


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal", "fixed"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("subsample", [None, 0.25])
def test_both_ways(kind: str, neighbours: Neighbours, subsample: float | None) -> None:
    for name, sigma in noise(kind, neighbours, subsample).items():
        if sigma is not None:
            back = epsilon_by_accountant(
                sigma=sigma, delta=1e-5, directions=directions(kind), neighbours=neighbours, subsample=subsample
            )
            assert back[name] == pytest.approx(5.1, rel=1e-4)
            assert back[name] <= 5.1 * (1 + 1e-9)


def test_replacing_costs_its_distance() -> None:
    blank, replaced = noise("orthogonal"), noise("orthogonal", Neighbours.REPLACE_ONE)
    assert replaced["exact"] == pytest.approx(2 * blank["exact"], rel=1e-5)
    nonnegative = noise("orthogonal", Neighbours.REPLACE_ONE, nonnegative=True)
    assert nonnegative["exact"] == pytest.approx(2**0.5 * blank["exact"], rel=1e-5)


def test_subsampling_needs_less_noise() -> None:
    assert noise("gaussian", subsample=0.25)["exact"] < noise("gaussian")["exact"]


def test_bad_sigma_is_named() -> None:
    with pytest.raises(ParameterError, match="sigma"):
        epsilon_by_accountant(
            sigma=0.0, delta=1e-5, directions=directions("gaussian"), neighbours=Neighbours.BLANK_ONE, subsample=None
        )
