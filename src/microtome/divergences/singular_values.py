"""Denoising a matrix whose noise level is known, by its singular values.

A p×q matrix of independent noise of standard deviation σ has no singular value much above its operator norm,
σ(√p + √q); a low-rank signal stands out above it. Three rules, with β = min(p,q)/max(p,q) and y the singular
value in units of σ·√max(p,q):

| rule | y becomes | from |
|---|---|---|
| HARD | y if y > λ*(β), else 0 | Gavish and Donoho (2014), λ* = √(2(β+1) + 8β/(β+1+√(β²+14β+1))) |
| SOFT | max(y − (1 + √β), 0) | shrinkage by the operator norm |
| OPTIMAL | √((y² − β − 1)² − 4β)/y if y > 1 + √β, else 0 | Gavish and Donoho (2017), least squared error |
"""

import math
from enum import Enum
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.errors import ParameterError


class Denoising(Enum):
    """What to do with the singular values of a noisy block."""

    NONE = "none"
    HARD = "hard"
    SOFT = "soft"
    OPTIMAL = "optimal"

    @property
    def shrinks(self) -> bool:
        """Whether anything is done."""
        match self:
            case Denoising.NONE:
                return False
            case Denoising.HARD | Denoising.SOFT | Denoising.OPTIMAL:
                return True


def denoise(
    matrix: Float[Tensor, "p q"],
    noise_level: float,
    rule: Denoising,
    *,
    freedom: tuple[int, int] | None = None,
) -> Float[Tensor, "p q"]:
    """Estimates the low-rank signal under independent noise of standard deviation `noise_level`.

    Args:
        matrix: signal plus noise.
        noise_level: σ of an entry's noise.
        rule: how singular values are treated.
        freedom: (p, q) of the noise if it fills a smaller space than the matrix, as after a projection.
    """
    if not 0.0 <= noise_level < math.inf:
        raise ParameterError(f"noise_level={noise_level} must be finite and not negative")
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    return torch.matmul(left * shrink(values, noise_level, rule, freedom=freedom or matrix.shape), right)


def shrink(
    values: Float[Tensor, " r"], noise_level: float, rule: Denoising, *, freedom: tuple[int, ...]
) -> Float[Tensor, " r"]:
    """The rule on singular values alone, for a p×q matrix (`freedom`) under noise of the given level."""
    p, q = freedom
    if not rule.shrinks or noise_level == 0.0 or min(p, q) < 1:
        return values
    unit = noise_level * math.sqrt(max(p, q))
    shrunk: Tensor = unit * _in_units(values / unit, min(p, q) / max(p, q), rule)
    return shrunk


def _in_units(y: Float[Tensor, " r"], beta: float, rule: Denoising) -> Float[Tensor, " r"]:
    edge = 1.0 + math.sqrt(beta)
    match rule:
        case Denoising.NONE:
            return y
        case Denoising.SOFT:
            return (y - edge).clamp_min(0.0)
        case Denoising.HARD:
            root = math.sqrt(beta**2 + 14.0 * beta + 1.0)
            threshold = math.sqrt(2.0 * (beta + 1.0) + 8.0 * beta / (beta + 1.0 + root))
            return torch.where(y > threshold, y, torch.zeros_like(y))
        case Denoising.OPTIMAL:
            kept = ((y.square() - beta - 1.0).square() - 4.0 * beta).clamp_min(0.0).sqrt() / y.clamp_min(edge)
            return torch.where(y > edge, kept, torch.zeros_like(y))
        case _:
            assert_never(rule)
