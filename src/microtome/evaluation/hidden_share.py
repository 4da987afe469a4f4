"""A share of records that is only known under noise, and cannot be less than nothing.

Of records beyond the ends that were learnt, or of categories that were not shown, a release has a noisy share x with
noise of standard deviation σ. That x does not stand out of its noise does not make the share 0: what is known of it is
the normal distribution around x, cut to what a share can be. Its mean is the *value*, its tails are the ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from scipy.stats import truncnorm

_TAIL = 0.05
_EXACT = 1e-9
"""Noise below this is none."""


@dataclass(frozen=True, kw_only=True)
class HiddenShare:
    """A share that noise hides, as far as it can be known.

    Attributes:
        value: What it is expected to be.
        low: Less than this is unlikely.
        high: More than this is unlikely.
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, share: float) -> Self:
        """A share that is known."""
        return cls(value=share, low=share, high=share)

    @classmethod
    def under_noise(cls, estimate: float, noise: float) -> Self:
        """What a noisy share says of the true one."""
        if noise < _EXACT:
            return cls.of(min(max(estimate, 0.0), 1.0))
        inside = truncnorm(-estimate / noise, (1.0 - estimate) / noise, loc=estimate, scale=noise)
        return cls(value=float(inside.mean()), low=float(inside.ppf(_TAIL)), high=float(inside.ppf(1.0 - _TAIL)))
