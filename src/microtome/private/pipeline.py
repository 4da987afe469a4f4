"""Working on several blocks at once while keeping their order, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from microtome.private.memory import keep_freed_memory

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(function: Callable[[Item], Result], items: Iterable[Item], *, threads: int) -> Iterator[Result]:
    """``map`` on several threads; at most ``threads + 1`` results wait to be taken.

    Numerical libraries are held to one thread meanwhile: the blocks already fill the cores. One thread is the
    caller's own: starting another takes longer than a small release.
    """
    keep_freed_memory()
    if threads == 1:
        with _numerical_libraries().limit(limits=1):
            yield from map(function, items)
        return
    with _numerical_libraries().limit(limits=1), ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@cache
def _numerical_libraries() -> ThreadpoolController:
    """The libraries whose threads are held, looked for once: that takes longer than a small release."""
    return ThreadpoolController()
