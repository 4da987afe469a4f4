"""One thread for every test here: two on a busy machine are slower than one."""

from collections.abc import Callable, Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def seeded() -> Callable[[int], torch.Generator]:
    return lambda seed: torch.Generator().manual_seed(seed)
