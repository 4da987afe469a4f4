"""Batches that are costly to prepare, each used several times before it makes room for a new one."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import torch

from microtome.errors import require_whole

Batch = TypeVar("Batch")


class BatchPool(Generic[Batch]):
    """A new batch every so often, and otherwise one of the last few at random, so that no batch is used in a row.

    Args:
        uses: how often a batch is used on average; with 1 every batch is new, and nothing is drawn to choose one.
        size: how many are kept.
    """

    def __init__(self, *, uses: int, size: int) -> None:
        require_whole("uses", uses, 1)
        require_whole("size", size, 1)
        self._uses, self._calls = uses, 0
        self._kept: deque[Batch] = deque(maxlen=size)

    def next(self, draw: Callable[[], Batch], generator: torch.Generator | None) -> Batch:
        """The batch of this step: a new one, made by `draw`, or one that is kept, chosen by `generator`."""
        self._calls += 1
        is_full = len(self._kept) == self._kept.maxlen
        if is_full and self._calls % self._uses:
            return self._kept[int(torch.randint(len(self._kept), (1,), generator=generator))]
        self._kept.append(draw())
        return self._kept[-1]

    def forget(self) -> None:
        """Start anew: what follows depends on nothing that was drawn before."""
        self._kept.clear()
        self._calls = 0
