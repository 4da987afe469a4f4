"""A mixture: components by their weights, the pivot certain in each class, margins set exactly."""

import pytest
import torch
from torch import Tensor

from microtome.errors import ModelError
from microtome.generators import ColumnwiseGenerator, MixtureGenerator, MixtureSettings, RowLayout

BLOCKS = ((0, 2), (2, 5), (5, 9))
SHARES = torch.tensor([0.2, 0.5, 0.3])
SETTINGS = MixtureSettings(components=8)
LAYOUT = RowLayout(blocks=BLOCKS, scale=torch.full((9,), 0.5), offset=torch.full((9,), 0.25))


def margins() -> Tensor:
    """Margins of every class, other in each, with the class itself certain."""
    random = torch.Generator().manual_seed(1)
    rows = torch.rand(3, 9, generator=random) + 0.1
    for start, stop in BLOCKS:
        rows[:, start:stop] /= rows[:, start:stop].sum(dim=1, keepdim=True)
    rows[:, 2:5] = torch.eye(3)
    return rows


def made(shares: Tensor = SHARES, *, spread: bool = True) -> MixtureGenerator:
    model = MixtureGenerator(LAYOUT, margins(), SETTINGS, pivot=1, shares=shares)
    if spread:
        model.leave_start(torch.Generator().manual_seed(0))
    return model


def latents(num_rows: int, seed: int = 2) -> Tensor:
    return torch.randn(num_rows, 1, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_untrained_it_has_independent_columns_with_the_margins() -> None:
    model = made(spread=False)
    assert isinstance(model, ColumnwiseGenerator)
    for number, rows in enumerate(model.components().chunk(3)):
        assert torch.allclose(rows, margins()[number].expand_as(rows), atol=1e-6)
    assert torch.unique(made().components(), dim=0).shape[0] == 24


@torch.no_grad()
def test_probabilities_are_those_of_the_latents_own_component() -> None:
    model, latent = made(), latents(500)
    found, chosen = model.probabilities(latent), model.component_of(latent)
    assert torch.equal(found, model.components()[chosen])
    for start, stop in BLOCKS:
        assert torch.allclose(found[:, start:stop].sum(dim=1), torch.ones(500))
    assert torch.equal(found[:, 2:5], torch.eye(3)[chosen // 8])
    assert torch.equal(model(latent), LAYOUT.encode(found))


@torch.no_grad()
@pytest.mark.parametrize(
    "shares", [SHARES, 10.0 * SHARES, torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.9, 0.0, 0.1])]
)
def test_components_follow_their_weights(shares: Tensor) -> None:
    model = made(shares)
    wanted = (shares / shares.sum()).double().repeat_interleave(8) / 8
    assert torch.allclose(model.weights(), wanted)
    found = torch.bincount(model.component_of(latents(60_000)), minlength=24) / 60_000
    assert torch.allclose(found.double(), wanted, atol=0.006)


@torch.no_grad()
def test_margins_are_set_exactly_class_by_class() -> None:
    model, wanted = made(), margins().flip(1)[:, [7, 8, 4, 5, 6, 0, 1, 2, 3]]
    for start, stop in BLOCKS:
        wanted[:, start:stop] /= wanted[:, start:stop].sum(dim=1, keepdim=True)
    wanted[:, 2:5] = torch.eye(3)
    model.match_margins(wanted, torch.Generator())
    for number, rows in enumerate(model.components().chunk(3)):
        assert torch.allclose(rows.mean(dim=0), wanted[number], atol=1e-4)


def test_draws_have_the_class_and_the_gradient_of_the_probabilities() -> None:
    model, latent = made(), latents(20_000)
    drawn = model.draw(latent, torch.Generator().manual_seed(3))
    one_hot = (drawn.detach() / 0.5 + 0.25).round()
    assert torch.equal(one_hot[:, 2:5], torch.eye(3)[model.component_of(latent) // 8])
    assert torch.allclose(one_hot.mean(dim=0), model.probabilities(latent).detach().mean(dim=0), atol=0.015)
    drawn.sum().backward()
    assert model.logits.grad is not None


def test_without_a_pivot_there_is_one_class() -> None:
    model = MixtureGenerator(LAYOUT, margins()[:1], SETTINGS)
    assert (model.num_classes, model.pivot) == (1, None)
    assert torch.allclose(model.weights(), torch.full((8,), 1 / 8, dtype=torch.float64))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelError, match="2 shares"):
        MixtureGenerator(LAYOUT, margins(), SETTINGS, pivot=1, shares=SHARES[:2])
    with pytest.raises(ModelError, match="for 2 classes"):
        MixtureGenerator(LAYOUT, margins(), SETTINGS, pivot=0, shares=SHARES)
    with pytest.raises(ModelError, match="for 1 classes"):
        MixtureGenerator(LAYOUT, margins(), SETTINGS)


def test_more_components_where_the_records_exceed_the_noise_by_more() -> None:
    chosen = [MixtureSettings().count(clarity) for clarity in (0.0, 200.0, 1_599.0, 1_600.0, 12_800.0, 1e9)]
    assert chosen == [1024, 1024, 1024, 2048, 4096, 4096]
    assert MixtureSettings(components=7).count(1e9) == 7
