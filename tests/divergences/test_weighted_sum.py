import pytest
import torch

import microtome.divergences as divergences
from microtome.divergences import Divergence, SlicedMMD, SlicedWasserstein, Term, WeightedSum, random_frames
from microtome.errors import ParameterError


@pytest.fixture
def parts(seeded):
    draw = seeded(0)
    directions = random_frames(6, 4, 1, generator=draw)
    slices = torch.randn(200, 6, 1, generator=draw)
    return (
        SlicedMMD.from_slices(slices, directions, noise_scale=0.2, generator=draw),
        SlicedWasserstein(slices, directions, noise_scale=0.2),
        torch.randn(30, 4, generator=draw),
    )


def test_sum_is_the_weighted_sum_of_its_parts_and_a_divergence(seeded, parts):
    mmd, wasserstein, rows = parts
    total = WeightedSum({"mmd": Term(divergence=mmd, weight=3.0), "w": Term(divergence=wasserstein, weight=0.5)})
    values = total.parts(rows, generator=seeded(1), num_slices=4)
    assert isinstance(total, Divergence)
    assert list(values) == ["mmd", "w"]
    expected = 3.0 * float(values["mmd"]) + 0.5 * float(values["w"])
    assert float(total(rows, generator=seeded(1), num_slices=4)) == pytest.approx(expected, rel=1e-6)
    nested = WeightedSum({"both": Term(divergence=total, weight=2.0)})
    assert float(nested(rows, generator=seeded(1), num_slices=4)) == pytest.approx(2 * expected, rel=1e-6)


def test_gradient_is_the_weighted_sum_of_gradients(seeded, parts):
    mmd, wasserstein, rows = parts
    total = WeightedSum({"mmd": Term(divergence=mmd, weight=3.0), "w": Term(divergence=wasserstein)})
    gradients = []
    for call in (total, mmd, wasserstein):
        x = rows.clone().requires_grad_()
        call(x, generator=seeded(1)).backward()
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[0], 3.0 * gradients[1] + gradients[2])


def test_terms_of_weight_zero_are_not_computed(parts):
    mmd, wasserstein, rows = parts
    total = WeightedSum({"mmd": Term(divergence=mmd), "w": Term(divergence=wasserstein, weight=0.0)})
    assert list(total.parts(rows)) == ["mmd"]


def test_bad_parameters_are_named(parts):
    with pytest.raises(ParameterError, match="weight=-1"):
        Term(divergence=parts[0], weight=-1.0)
    with pytest.raises(ParameterError, match="positive weight"):
        WeightedSum({"mmd": Term(divergence=parts[0], weight=0.0)})
    with pytest.raises(ParameterError, match="positive weight"):
        WeightedSum({})


def test_every_public_name_exists():
    assert all(hasattr(divergences, name) for name in divergences.__all__)
