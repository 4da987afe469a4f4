"""The built-in network: it starts at the margins, can be put back there, and passes gradients straight through."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from fit_support import LatentClasses, RowsOnly
from microtome.errors import ModelError, ParameterError
from microtome.generators import ColumnwiseGenerator, Generator, NetworkSettings, RowLayout, TabularGenerator

BLOCKS = ((0, 3), (3, 4), (4, 6))
MARGINS = torch.tensor([0.7, 0.3, 0.0, 1.0, 0.05, 0.95])
LAYOUT = RowLayout(
    blocks=BLOCKS,
    scale=torch.tensor([0.8, 0.8, 0.8, 0.0, 0.6, 0.6]),
    offset=torch.tensor([1 / 3, 1 / 3, 1 / 3, 1.0, 0.5, 0.5]),
)
SETTINGS = NetworkSettings(latent_dim=5, hidden=(16, 16))


def network(**changes: Any) -> TabularGenerator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return TabularGenerator(LAYOUT, MARGINS, replace(SETTINGS, **changes))


def latents(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(seed))


def strong(seed: int = 0) -> TabularGenerator:
    """A network far from its margins, as training may leave it."""
    model = network()
    with torch.no_grad():
        model.head.weight.normal_(std=2.0, generator=torch.Generator().manual_seed(seed))
    return model


def test_untrained_network_has_the_margins() -> None:
    found = network().probabilities(latents(4000)).mean(dim=0)
    assert torch.allclose(found, MARGINS, atol=5e-3)
    assert not torch.allclose(strong().probabilities(latents(4000)).mean(dim=0), MARGINS, atol=5e-2)


def test_untrained_columns_are_nearly_but_not_quite_constant_in_the_latent() -> None:
    spread = network().head(network().body(latents(4000))).std(dim=0)
    assert bool(((spread > 0.02) & (spread < 0.3)).all())


@pytest.mark.parametrize("hidden", [(), (7,), (16, 16, 16)])
def test_any_depth(hidden: tuple[int, ...]) -> None:
    assert network(hidden=hidden)(latents(3)).shape == (3, 6)


def test_matched_margins_are_exact_on_the_latents_that_are_drawn() -> None:
    model = strong()
    given = torch.randn(16_384, model.latent_dim, generator=torch.Generator().manual_seed(7))
    before = model.probabilities(given).mean(dim=0).detach()
    model.match_margins(MARGINS[None], torch.Generator().manual_seed(7))
    after = model.probabilities(given).mean(dim=0).detach()
    assert float((before - MARGINS).abs().max()) > 0.1
    assert float((after - MARGINS).abs().max()) < 1e-4


def test_matching_margins_keeps_what_columns_share() -> None:
    model, given = strong(), latents(4000)
    model.match_margins(MARGINS[None], torch.Generator().manual_seed(7))
    shares = model.probabilities(given)
    together = shares.T @ shares / len(shares)
    assert float((together.detach() - torch.outer(MARGINS, MARGINS))[:3, 4:].abs().max()) > 0.005


def test_blocks_sum_to_one_and_constant_columns_are_constant() -> None:
    shares = strong().probabilities(latents(100))
    for start, stop in BLOCKS:
        assert torch.allclose(shares[:, start:stop].sum(dim=1), torch.ones(100))
    rows = strong().draw(latents(100), torch.Generator().manual_seed(0))
    assert torch.equal(rows[:, 3], torch.zeros(100))


def test_called_it_returns_the_mean_of_its_draws() -> None:
    model, given = strong(), latents(1).expand(20_000, -1)
    with torch.no_grad():
        drawn, mean = model.draw(given, torch.Generator().manual_seed(0)), model(given[:1])[0]
    assert torch.allclose(drawn.mean(dim=0), mean, atol=0.02)


def test_draws_are_encoded_one_hot_rows() -> None:
    with torch.no_grad():
        rows = strong().draw(latents(200), torch.Generator().manual_seed(0))
    scale = torch.where(LAYOUT.scale > 0, LAYOUT.scale, 1.0)
    bare = rows / scale + LAYOUT.offset
    assert torch.allclose(bare, bare.round(), atol=1e-5)
    assert torch.allclose(bare.sum(dim=1), torch.full((200,), 3.0), atol=1e-4)


def test_gradient_passes_straight_through_the_draw() -> None:
    model, given = strong(), latents(50)
    slope = torch.randn(50, 6, generator=torch.Generator().manual_seed(4))

    def gradients(rows: torch.Tensor) -> list[torch.Tensor]:
        model.zero_grad()
        (rows * slope).sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    through_draw = gradients(model.draw(given, torch.Generator().manual_seed(0)))
    through_mean = gradients(model(given))
    assert len(through_draw) == len(list(model.parameters()))
    for drawn, mean in zip(through_draw, through_mean, strict=True):
        assert torch.allclose(drawn, mean, atol=1e-6)
    assert max(float(gradient.abs().max()) for gradient in through_mean) > 1e-3


def test_margins_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ModelError, match="5 margins for rows of 6"):
        TabularGenerator(LAYOUT, torch.ones(5), SETTINGS)


@pytest.mark.parametrize(
    "wrong", [{"latent_dim": 0}, {"hidden": (16, 0)}, {"start_spread": 0.0}, {"start_spread": float("nan")}]
)
def test_impossible_shapes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        NetworkSettings(**wrong)


def test_protocols_tell_generators_apart() -> None:
    for columnwise in (network(), LatentClasses(LAYOUT)):
        assert isinstance(columnwise, Generator)
        assert isinstance(columnwise, ColumnwiseGenerator)
    assert isinstance(RowsOnly(LAYOUT), Generator)
    assert not isinstance(RowsOnly(LAYOUT), ColumnwiseGenerator)
    assert not isinstance(nn.Linear(2, 2), Generator)
