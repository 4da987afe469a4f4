"""A network for each class: the class follows its law, and everything else follows the class."""

import pytest
import torch
from torch import Tensor

from microtome.errors import ModelError
from microtome.generators import ColumnwiseGenerator, NetworkSettings, PivotGenerator, RowLayout

BLOCKS = ((0, 2), (2, 5), (5, 9))
SHARES = torch.tensor([0.2, 0.5, 0.3])
SETTINGS = NetworkSettings(latent_dim=4, hidden=(8,))


def margins() -> Tensor:
    """Margins of every class, other in each, with the class itself certain."""
    random = torch.Generator().manual_seed(1)
    rows = torch.rand(3, 9, generator=random) + 0.1
    for start, stop in BLOCKS:
        rows[:, start:stop] /= rows[:, start:stop].sum(dim=1, keepdim=True)
    rows[:, 2:5] = torch.eye(3)
    return rows


def made(shares: Tensor = SHARES) -> PivotGenerator:
    layout = RowLayout(blocks=BLOCKS, scale=torch.full((9,), 0.5), offset=torch.full((9,), 0.25))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PivotGenerator(layout, 1, shares, margins(), SETTINGS)


def latents(num_rows: int, seed: int = 2) -> Tensor:
    return torch.randn(num_rows, SETTINGS.latent_dim + 1, generator=torch.Generator().manual_seed(seed))


def test_it_is_a_columnwise_generator_with_one_more_latent() -> None:
    model = made()
    assert isinstance(model, ColumnwiseGenerator)
    assert model.latent_dim == SETTINGS.latent_dim + 1
    assert model.num_classes == 3


@torch.no_grad()
def test_probabilities_are_those_of_the_latents_own_class() -> None:
    model, latent = made(), latents(500)
    found, classes = model.probabilities(latent), model.classes(latent)
    for start, stop in BLOCKS:
        assert torch.allclose(found[:, start:stop].sum(dim=1), torch.ones(500))
    assert torch.equal(found[:, 2:5], torch.eye(3)[classes])
    for row in range(0, 500, 37):
        one = latent[row : row + 1]
        assert torch.allclose(found[row], model.class_probabilities(int(classes[row]), one)[0], atol=1e-6)
        network = model.network(int(classes[row])).probabilities(one[:, 1:])[0]
        assert torch.allclose(found[row, 5:], network[5:], atol=1e-6)
    assert torch.equal(model(latent), model.layout.encode(found))


@torch.no_grad()
@pytest.mark.parametrize(
    "shares", [SHARES, 10.0 * SHARES, torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.9, 0.0, 0.1])]
)
def test_classes_follow_their_shares(shares: Tensor) -> None:
    found = torch.bincount(made(shares).classes(latents(40_000)), minlength=3) / 40_000
    assert torch.allclose(found, shares / shares.sum(), atol=0.012)


@torch.no_grad()
def test_a_batch_without_some_classes_works() -> None:
    model = made()
    latent = latents(4)
    latent[:, 0] = 0.0
    assert model.classes(latent).tolist() == [1] * 4
    assert model.probabilities(latent).shape == (4, 9)


def test_draws_have_the_class_and_the_gradient_of_the_probabilities() -> None:
    model, latent = made(), latents(20_000)
    drawn = model.draw(latent, torch.Generator().manual_seed(3))
    one_hot = (drawn.detach() / 0.5 + 0.25).round()
    assert torch.equal(one_hot[:, 2:5], torch.eye(3)[model.classes(latent)])
    for start, stop in BLOCKS:
        assert torch.equal(one_hot[:, start:stop].sum(dim=1), torch.ones(20_000))
    assert torch.allclose(one_hot.mean(dim=0), model.probabilities(latent).mean(dim=0), atol=0.015)
    drawn[:, 0].sum().backward()
    assert all(model.network(number).head.bias.grad is not None for number in range(3))


@torch.no_grad()
def test_margins_of_every_class_are_set_exactly() -> None:
    model, latent = made(), latents(500)
    wanted = margins().roll(1, dims=0)
    before = model.class_probabilities(0, latent).mean(dim=0)
    model.match_margins(wanted, latent)
    others = [*range(2), *range(5, 9)]
    for number in range(3):
        found = model.class_probabilities(number, latent).mean(dim=0)
        assert torch.allclose(found[others], wanted[number, others], atol=1e-4)
    assert not torch.allclose(before[others], wanted[0, others], atol=0.05)


def test_shares_margins_and_classes_must_agree() -> None:
    layout = made().layout
    with pytest.raises(ModelError, match="2 shares and 3 margins for 3 classes"):
        PivotGenerator(layout, 1, SHARES[:2], margins(), SETTINGS)
    with pytest.raises(ModelError, match="3 shares and 3 margins for 2 classes"):
        PivotGenerator(layout, 0, SHARES, margins(), SETTINGS)
