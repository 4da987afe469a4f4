"""Parts of components: what cannot be together is in none of them, and everything else stays as it was."""

from __future__ import annotations

import pytest
import torch

from microtome.generators import MixtureGenerator, MixtureSettings, RowLayout, splitting
from microtome.generators.splitting import Support, split

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


def test_parts_are_bounded_and_keep_what_cannot_be_apart(
    mixture: MixtureGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splitting, "_MOST_PARTS", 20)
    parts = split(mixture, [FOLLOWS, FOLLOWS])
    assert len(mixture.logits) < len(parts.logits) <= 20
    assert float(table(parts, 0, 1)[~FOLLOWS.together].sum()) < 1e-12
    assert torch.allclose(table(parts, 2, 2).sum(dim=0), table(mixture, 2, 2).sum(dim=0))
