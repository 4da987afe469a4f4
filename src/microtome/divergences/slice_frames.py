"""Directions: choosing, applying and, where the release allows it, redrawing them.

A full orthogonal release (``docs/privacy.md``, section 7) is X plus isotropic noise, so any frame with orthonormal
columns drawn afterwards gives a valid noisy slice with the same noise scale. These are the frames worth
drawing: uniform on the Stiefel manifold as in the paper, inside one column of the table, or one direction
in each of two columns. A frame is a d×k matrix θ; rows are sliced as x·θ.
"""

from collections.abc import Sequence
from itertools import combinations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from microtome.errors import ParameterError

Block = tuple[int, int]
"""First and one past the last coordinate of one column of the table in encoded space."""


def random_frames(
    num_frames: int,
    dim: int,
    slice_dim: int,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "m d k"]:
    """Draws frames uniformly from the Stiefel manifold of d×k matrices with orthonormal columns."""
    _check_count("num_frames", num_frames)
    _check_count("slice_dim", slice_dim)
    if slice_dim > dim:
        raise ParameterError(f"slice_dim={slice_dim} directions cannot be orthonormal in dim={dim} dimensions")
    gaussian = torch.randn(num_frames, dim, slice_dim, generator=generator, dtype=torch.float64)
    q, r = torch.linalg.qr(gaussian)
    # Without the signs of R's diagonal the law of Q would depend on LAPACK's convention, not be uniform.
    signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0)
    frames: Tensor = q * signs.unsqueeze(-2)
    return frames.to(dtype)


def column_frames(
    num_frames: int,
    blocks: Sequence[Block],
    slice_dim: int,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "m d k"]:
    """Draws frames inside one column each, visiting the columns in turn in a random order.

    Columns narrower than `slice_dim` are passed over.
    """
    _check_count("num_frames", num_frames)
    dim = check_blocks(blocks)
    wide = [block for block in blocks if block[1] - block[0] >= slice_dim]
    if not wide:
        raise ParameterError(f"slice_dim={slice_dim}: no column block is that wide (blocks={list(blocks)})")
    frames = torch.zeros(num_frames, dim, slice_dim, dtype=dtype)
    for frame, which in zip(frames, _in_turn(num_frames, len(wide), generator), strict=True):
        start, stop = wide[which]
        frame[start:stop] = random_frames(1, stop - start, slice_dim, generator=generator, dtype=dtype)[0]
    return frames


def pair_frames(
    num_frames: int,
    blocks: Sequence[Block],
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "m d 2"]:
    """Draws 2-frames with one direction in each of two columns, visiting the pairs in a random order."""
    _check_count("num_frames", num_frames)
    dim = check_blocks(blocks)
    pairs = list(combinations(blocks, 2))
    if not pairs:
        raise ParameterError(f"pair_frames needs at least two column blocks, got blocks={list(blocks)}")
    frames = torch.zeros(num_frames, dim, 2, dtype=dtype)
    for frame, which in zip(frames, _in_turn(num_frames, len(pairs), generator), strict=True):
        for axis, (start, stop) in enumerate(pairs[which]):
            inside = random_frames(1, stop - start, 1, generator=generator, dtype=dtype)
            frame[start:stop, axis] = inside[0, :, 0]
    return frames


def choose_slices(
    available: int, num_slices: int | None, generator: torch.Generator | None
) -> Int[Tensor, " s"] | None:
    """Draws `num_slices` of the available slices without replacement; None stands for all of them."""
    if num_slices is None or num_slices == available:
        return None
    if not 1 <= num_slices <= available:
        raise ParameterError(f"num_slices={num_slices} must lie between 1 and the {available} slices there are")
    if generator is None:
        raise ParameterError(f"generator is needed to draw num_slices={num_slices} of {available} slices")
    return torch.randperm(available, generator=generator)[:num_slices]


def draw_subset(available: int, count: int, generator: torch.Generator) -> Int[Tensor, " c"]:
    """Draws `count` different numbers below `available`, each subset as likely: repeats are passed over."""
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        drawn |= dict.fromkeys(torch.randint(available, (count,), generator=generator).tolist())
    return torch.tensor(list(drawn)[:count])


def project(encoded: Float[Tensor, "b d"], directions: Float[Tensor, "s d k"]) -> Float[Tensor, "s b k"]:
    """Slices every row along every frame: [s, j] is x_j·θ_s."""
    if encoded.ndim != 2 or encoded.shape[1] != directions.shape[1]:
        raise ParameterError(
            f"encoded has shape {tuple(encoded.shape)}, the directions expect (rows, {directions.shape[1]})"
        )
    if encoded.shape[0] == 0:
        raise ParameterError("encoded has no rows")
    num_slices, dim, slice_dim = directions.shape
    # One product of matrices: broadcasting would make one of each slice, and take several times as long.
    stacked = directions.permute(1, 0, 2).reshape(dim, -1)
    return (encoded @ stacked).view(len(encoded), num_slices, slice_dim).transpose(0, 1)


def add_noise(
    projected: Float[Tensor, "*s b k"], noise_scale: float, generator: torch.Generator | None
) -> Float[Tensor, "*s b k"]:
    """Synthetic points under noise like that of the released ones, drawn now."""
    if noise_scale == 0.0:
        return projected
    if generator is None:
        raise ParameterError(f"generator is needed to draw noise of noise_scale={noise_scale}")
    return projected + noise_scale * torch.randn(projected.shape, generator=generator, dtype=projected.dtype)


def check_directions(directions: Float[Tensor, "m d k"], *, num_slices: int, slice_dim: int) -> None:
    """Raises unless there is one frame of the right width for every slice."""
    if directions.ndim != 3 or (directions.shape[0], directions.shape[2]) != (num_slices, slice_dim):
        raise ParameterError(
            f"directions has shape {tuple(directions.shape)}, the slices expect ({num_slices}, dimensions, {slice_dim})"
        )


def check_blocks(blocks: Sequence[Block]) -> int:
    """Checks that the blocks tile 0…d without gap or overlap, and returns d."""
    position = 0
    for start, stop in blocks:
        if start != position or stop <= start:
            raise ParameterError(f"blocks={list(blocks)} must tile the encoded columns; ({start}, {stop}) does not")
        position = stop
    if position == 0:
        raise ParameterError("blocks is empty")
    return position


def _in_turn(count: int, choices: int, generator: torch.Generator) -> list[int]:
    """Every choice once in a random order, then again, until there are `count`."""
    rounds = -(-count // choices)
    orders = [torch.randperm(choices, generator=generator) for _ in range(rounds)]
    return [int(i) for i in torch.cat(orders)[:count]]


def _check_count(name: str, value: int) -> None:
    if value < 1:
        raise ParameterError(f"{name}={value} must be at least 1")
