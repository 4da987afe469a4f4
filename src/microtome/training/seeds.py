"""Seeds of all that is random and not private."""

from __future__ import annotations

import numpy as np

from microtome.errors import ParameterError


def seed_of(random_state: int | None) -> int:
    """The seed that is given, or a new one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not 0 <= random_state < 2**63:
        raise ParameterError(f"random_state is {random_state}; it must be between 0 and 2^63")
    return int(random_state)
