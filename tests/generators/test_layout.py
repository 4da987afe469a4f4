"""The code of a row: one-hot, encode, softmax by blocks, and draws with the right law."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from fit_support import planted, planted_release
from microtome.accounting import Neighbours
from microtome.errors import ModelError
from microtome.generators import RowLayout
from microtome.schema import Codebook
from support import levels_of

LAYOUT = RowLayout(
    blocks=((0, 3), (3, 4), (4, 6)),
    scale=torch.tensor([2.0, 2.0, 2.0, 0.0, 0.5, 0.5]),
    offset=torch.tensor([1 / 3, 1 / 3, 1 / 3, 1.0, 0.5, 0.5]),
)


def test_one_hot_puts_a_one_in_every_block() -> None:
    rows = LAYOUT.one_hot(torch.tensor([[2, 0, 0], [0, 0, 1]]))
    assert rows.tolist() == [[0, 0, 1, 1, 1, 0], [1, 0, 0, 1, 0, 1]]


def test_encode_shifts_and_stretches_and_forgets_constant_columns() -> None:
    encoded = LAYOUT.encode(LAYOUT.one_hot(torch.tensor([[2, 0, 0]])))
    assert encoded[0].tolist() == pytest.approx([-2 / 3, -2 / 3, 4 / 3, 0.0, 0.25, -0.25])


@pytest.mark.parametrize("neighbours", [Neighbours.BLANK_ONE, Neighbours.REPLACE_ONE])
def test_encode_agrees_with_the_codebook(neighbours: Neighbours, tmp_path: Path) -> None:
    table = planted(60)
    release = planted_release(tmp_path / "r.release", table=table, neighbours=neighbours)
    codebook: Codebook = release.codebook
    levels = levels_of(table, codebook)
    layout = RowLayout.of(release.codebook)
    encoded = layout.encode(layout.one_hot(torch.from_numpy(levels)))
    np.testing.assert_allclose(encoded.numpy(), codebook.encode(levels), atol=1e-6)


def test_softmax_blocks_sum_to_one_even_far_out() -> None:
    logits = torch.randn(50, 6, generator=torch.Generator().manual_seed(0)) * 200.0
    shares = LAYOUT.softmax(logits)
    for start, stop in LAYOUT.blocks:
        assert torch.allclose(shares[:, start:stop].sum(dim=1), torch.ones(50))
    assert bool((shares >= 0).all())
    assert torch.equal(shares[:, 3], torch.ones(50))


def test_draws_have_the_law_they_are_drawn_from() -> None:
    num_draws = 20_000
    shares = torch.tensor([[0.6, 0.3, 0.1, 1.0, 0.25, 0.75]])
    levels = LAYOUT.draw_levels(shares.expand(num_draws, -1), torch.Generator().manual_seed(1))
    assert levels.shape == (num_draws, 3)
    for column, (start, stop) in enumerate(LAYOUT.blocks):
        found = np.bincount(levels[:, column].numpy(), minlength=stop - start)
        expected = num_draws * shares[0, start:stop].double().numpy()
        expected *= num_draws / expected.sum()
        if stop - start > 1:
            assert chisquare(found, expected).pvalue > 1e-3
            assert chisquare(found, np.roll(expected, 1)).pvalue < 1e-9
        else:
            assert found.tolist() == [num_draws]


def test_levels_of_no_probability_are_never_drawn() -> None:
    shares = torch.tensor([[0.0, 1.0, 0.0, 1.0, 1.0, 0.0]]).expand(5_000, -1)
    levels = LAYOUT.draw_levels(shares, torch.Generator().manual_seed(2))
    assert levels.unique(dim=0).tolist() == [[1, 0, 0]]


def test_wrong_widths_are_refused() -> None:
    with pytest.raises(ModelError, match="5 and 6 entries, not 6"):
        RowLayout(blocks=((0, 6),), scale=torch.ones(5), offset=torch.ones(6))
