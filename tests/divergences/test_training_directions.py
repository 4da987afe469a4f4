import pytest
import torch

from microtome.divergences import column_frames, pair_frames, random_frames
from microtome.errors import ParameterError

BLOCKS = [(0, 4), (4, 5), (5, 8)]
DOUBLE = torch.float64


def assert_orthonormal(frames: torch.Tensor) -> None:
    gram = frames.transpose(1, 2) @ frames
    torch.testing.assert_close(gram, torch.eye(frames.shape[2], dtype=frames.dtype).expand_as(gram))


def test_random_frames_are_orthonormal_uniform_and_reproducible(seeded):
    frames = random_frames(20_000, 5, 2, generator=seeded(0), dtype=DOUBLE)
    assert_orthonormal(frames)
    # Uniform on the Stiefel manifold: E θθᵀ = (k/d) I and E θ = 0, each within five standard errors.
    error = 5 / (20_000**0.5)
    outer = (frames @ frames.transpose(1, 2)).mean(0)
    assert float((outer - 0.4 * torch.eye(5, dtype=DOUBLE)).abs().max()) < error
    assert float(frames.mean(0).abs().max()) < error
    again = random_frames(20_000, 5, 2, generator=seeded(0), dtype=DOUBLE)
    other = random_frames(20_000, 5, 2, generator=seeded(1), dtype=DOUBLE)
    assert torch.equal(frames, again)
    assert not torch.equal(frames, other)


def test_column_frames_stay_inside_one_wide_enough_column_each_in_turn(seeded):
    frames = column_frames(6, BLOCKS, 2, generator=seeded(0))
    assert_orthonormal(frames)
    homes = [{c for c, (start, stop) in enumerate(BLOCKS) if bool(frame[start:stop].any())} for frame in frames]
    assert all(len(home) == 1 for home in homes)
    assert sorted(home.pop() for home in homes) == [0, 0, 0, 2, 2, 2]


def test_pair_frames_have_one_direction_in_each_of_two_columns(seeded):
    frames = pair_frames(6, BLOCKS, generator=seeded(0))
    assert_orthonormal(frames)
    pairs = []
    for frame in frames:
        axes = [[c for c, (start, stop) in enumerate(BLOCKS) if bool(frame[start:stop, axis].any())] for axis in (0, 1)]
        assert [len(axis) for axis in axes] == [1, 1]
        pairs.append((axes[0][0], axes[1][0]))
    assert sorted(pairs) == [(0, 1), (0, 1), (0, 2), (0, 2), (1, 2), (1, 2)]


def test_bad_parameters_are_named(seeded):
    with pytest.raises(ParameterError, match="slice_dim=4"):
        random_frames(2, 3, 4, generator=seeded(0))
    with pytest.raises(ParameterError, match="num_frames=0"):
        random_frames(0, 3, 1, generator=seeded(0))
    with pytest.raises(ParameterError, match="slice_dim=5"):
        column_frames(2, BLOCKS, 5, generator=seeded(0))
    with pytest.raises(ParameterError, match="two column blocks"):
        pair_frames(2, [(0, 4)], generator=seeded(0))
    with pytest.raises(ParameterError, match="tile"):
        pair_frames(2, [(0, 4), (3, 6)], generator=seeded(0))
