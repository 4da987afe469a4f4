"""Drawing from many distributions in the same few steps each, however many values they have (Walker 1977).

A distribution over w values is cut into w parts of 1/w: part i has the value i up to a threshold, and another one, its
alias, above. A draw is one number: its leading bits say which part, the others on which side of the threshold. The
parts of all distributions are filled at once, light values from the heavy ones in rising order, w steps in all
(Hübschle-Schneider and Sanders 2022, the sweep).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BITS = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class AliasTable:
    """Distributions to draw from.

    Args:
        shares: A distribution a member (K × w), up to a factor.
    """

    def __init__(self, shares: Floats) -> None:
        self._width = shares.shape[1]
        shares = shares / shares.max(axis=1, keepdims=True)  # sums of the smallest floats have no inverse
        thresholds, aliases = _parts(shares * (self._width / shares.sum(axis=1, keepdims=True)))
        whole = np.minimum(thresholds * 2.0**32, 2.0**32 - 1.0).astype(np.uint64)
        self._packed: NDArray[np.uint64] = ((whole << _BITS) | aliases.astype(np.uint64)).ravel()

    def draw(self, members: Ints, numbers: NDArray[np.uint32]) -> Ints:
        """The value of each of the given members that a number of 32 random bits stands for."""
        scaled = numbers.astype(np.uint64) * np.uint64(self._width)
        parts = (scaled >> _BITS).view(np.int64)
        found = self._packed.take(members * self._width + parts)
        np.copyto(parts, (found & _LOW).view(np.int64), where=(scaled & _LOW) >= (found >> _BITS))
        return parts


def _parts(shares: Floats) -> tuple[Floats, Ints]:
    """Threshold and alias of every part, given shares that add up to the number of parts.

    Parts that rounding leaves over keep their own share and have the heaviest value as alias, so that what has no share
    is never drawn.
    """
    members, width = shares.shape
    order = np.argsort(shares, axis=1, kind="stable")
    rising = np.take_along_axis(shares, order, axis=1)
    thresholds, aliases = rising.copy(), np.full((members, width), width - 1)
    first_heavy = (rising <= 1.0).sum(axis=1)
    light, heavy, every = np.zeros(members, np.int64), np.minimum(first_heavy, width - 1), np.arange(members)
    left = rising[every, heavy]
    for _ in range(width):
        fills = (left > 1.0) & (light < first_heavy)
        following = np.minimum(heavy + 1, width - 1)
        place = np.where(fills, light, heavy)
        share = np.where(fills, rising[every, np.minimum(light, width - 1)], left)
        thresholds[every, place] = np.clip(share, 0.0, 1.0)
        aliases[every, place] = np.where(fills, heavy, following)
        left = np.where(fills, left + share - 1.0, rising[every, following] + left - 1.0)
        light, heavy = light + fills, np.where(fills, heavy, following)
    own, other = np.empty_like(thresholds), np.empty_like(aliases)
    np.put_along_axis(own, order, thresholds, axis=1)
    np.put_along_axis(other, order, np.take_along_axis(order, aliases, axis=1), axis=1)
    return own, other
