"""Noise whose outcome is kept and given again, whatever it is added to.

If a release of another table meets the same outcomes of all its noise, then everything that is public about it must
be the same too. What differs has gone around the noise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import numpy as np

import microtome
from microtome.private import randomness

THROUGH_NOISE: tuple[Callable[..., Any], ...] = (randomness.add_gaussian_noise, randomness.noisy_counts)
"""The functions that take exact numbers and give noisy ones."""


class Outcomes:
    """What came out of the noise, in the order in which it was drawn."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray[Any, Any]] = []

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Let the noise do its work, and remember what comes out."""
        self._kept.clear()

        def remember(outcome: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            self._kept.append(outcome.copy())
            return outcome

        with _noise_followed_by(remember):
            yield

    @contextmanager
    def repeat(self) -> Iterator[None]:
        """Let the noise do its work, and give what came out when it was kept."""
        kept = iter(self._kept)

        def recall(outcome: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            earlier = next(kept)
            assert earlier.shape == outcome.shape, "the noise has another shape than before"
            return earlier.copy()

        with _noise_followed_by(recall):
            yield
        assert next(kept, None) is None, "less noise was drawn than before"


@contextmanager
def _noise_followed_by(step: Callable[[Any], Any]) -> Iterator[None]:
    """Put a step after every function of ``THROUGH_NOISE``, wherever a module has imported it by name."""
    with ExitStack() as stack:
        for function in THROUGH_NOISE:
            followed = _followed_by(function, step)
            for module in [module for name, module in sys.modules.items() if name.startswith(microtome.__name__)]:
                if vars(module).get(function.__name__) is function:
                    stack.enter_context(patch.object(module, function.__name__, followed))
        yield


def _followed_by(function: Callable[..., Any], step: Callable[[Any], Any]) -> Callable[..., Any]:
    @wraps(function)
    def followed(*arguments: Any, **options: Any) -> Any:
        return step(function(*arguments, **options))

    return followed
