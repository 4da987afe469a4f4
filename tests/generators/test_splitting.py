"""Parts of components: what cannot be together is in none of them, and everything else stays as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from microtome.generators import MixtureGenerator, MixtureSettings, RowLayout
from microtome.generators.splitting import Support, split, weigh_groups

BLOCKS = ((0, 4), (4, 6), (6, 9))
FOLLOWS = Support(
    rows=slice(0, 4),
    columns=slice(4, 6),
    together=torch.tensor([[True, False], [True, False], [False, True], [True, True]]),
)


@pytest.fixture
def mixture() -> MixtureGenerator:
    layout = RowLayout(blocks=BLOCKS, scale=torch.ones(9), offset=torch.zeros(9))
    made = MixtureGenerator(layout, torch.full((1, 9), 0.3), MixtureSettings(components=16))
    made.leave_start(torch.Generator().manual_seed(1))
    return made


def table(mixture: MixtureGenerator, first: int, second: int) -> torch.Tensor:
    rows, weights = mixture.components().detach().double(), mixture.weights()
    (a, b), (c, d) = BLOCKS[first], BLOCKS[second]
    return (rows[:, a:b] * weights[:, None]).T @ rows[:, c:d]


def test_what_cannot_be_together_is_not(mixture: MixtureGenerator) -> None:
    assert float(table(mixture, 0, 1)[~FOLLOWS.together].sum()) > 0.1
    found = table(split(mixture, [FOLLOWS]), 0, 1)
    assert float(found[~FOLLOWS.together].sum()) < 1e-12
    assert float(found.sum()) == pytest.approx(1.0)
    assert (found[FOLLOWS.together] > 0).all()


def test_other_columns_stay_as_they_were(mixture: MixtureGenerator) -> None:
    parts = split(mixture, [FOLLOWS])
    assert torch.allclose(table(parts, 2, 2).sum(dim=0), table(mixture, 2, 2).sum(dim=0))
    assert len(parts.logits) > len(mixture.logits)


def test_nothing_certain_nothing_cut(mixture: MixtureGenerator) -> None:
    parts = split(mixture, [])
    assert torch.allclose(parts.components(), mixture.components(), atol=1e-6)
    assert torch.allclose(parts.weights(), mixture.weights())


def test_margins_stay(mixture: MixtureGenerator) -> None:
    parts = split(mixture, [FOLLOWS])
    found, before = (table(one, 0, 0).sum(dim=0) for one in (parts, mixture))
    for group in ([0, 1], [2], [3]):
        assert float(found[group].sum()) == pytest.approx(float(before[group].sum()), abs=1e-3)
    wanted = parts.layout.softmax(parts.logits).detach().T @ parts.weights().float()
    wanted[:2] = wanted[:2].flip(0)
    parts.match_margins(wanted[None], torch.Generator())
    assert torch.allclose(parts.weights().float() @ parts.components(), wanted, atol=1e-4)
    assert float(table(parts, 0, 1)[~FOLLOWS.together].sum()) < 1e-9


PAIRED = torch.tensor([[True, True, False, False]] * 2 + [[False, False, True, True]] * 2)


def wide_mixture(columns: int) -> MixtureGenerator:
    blocks = tuple((4 * place, 4 * place + 4) for place in range(columns))
    layout = RowLayout(blocks=blocks, scale=torch.ones(4 * columns), offset=torch.zeros(4 * columns))
    made = MixtureGenerator(layout, torch.full((1, 4 * columns), 0.25), MixtureSettings(components=16))
    made.leave_start(torch.Generator().manual_seed(1))
    return made


def relation(first: int, second: int, together: torch.Tensor = PAIRED) -> Support:
    return Support(rows=slice(4 * first, 4 * first + 4), columns=slice(4 * second, 4 * second + 4), together=together)


def test_parts_do_not_double_with_every_relation() -> None:
    """Eight relations of columns of their own would have made 256 parts of a component."""
    made, supports = wide_mixture(16), [relation(2 * place, 2 * place + 1) for place in range(8)]
    parts = split(made, supports)
    assert len(made.logits) < len(parts.logits) <= 4 * len(made.logits)
    rows, weights = parts.components().detach().double(), parts.weights()
    for support in supports:
        found = (rows[:, support.rows] * weights[:, None]).T @ rows[:, support.columns]
        assert float(found[~support.together].sum()) < 1e-6
    assert float(weights.sum()) == pytest.approx(1.0)


def test_groups_that_are_known_weigh_what_margins_say() -> None:
    made = wide_mixture(3)
    known = [replace(relation(0, 1), is_known=True), relation(1, 2)]
    parts, margins = split(made, known), torch.full((12,), 0.25)
    margins[:8] = torch.tensor([0.02, 0.03, 0.5, 0.45, 0.025, 0.025, 0.475, 0.475])
    weigh_groups(parts, known, margins)
    parts.match_margins(margins[None], torch.Generator())
    found = parts.weights().float() @ parts.components()
    assert torch.allclose(found[:4], margins[:4], atol=1e-4)
    levels = parts.components().detach()
    together = (levels[:, :4] * parts.weights().float()[:, None]).T @ levels[:, 4:8]
    assert float(together[~PAIRED].sum()) < 1e-6


def test_relations_that_contradict_each_other_leave_components_whole() -> None:
    made = wide_mixture(2)
    none = torch.zeros_like(PAIRED)
    parts = split(made, [relation(0, 1), relation(0, 1, ~PAIRED), relation(0, 1, none)])
    assert len(parts.logits) >= len(made.logits)
    assert torch.isfinite(parts.logits).all()
    assert float(parts.weights().sum()) == pytest.approx(1.0)
