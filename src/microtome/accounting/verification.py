"""Whether a stated promise is kept by what was done: whoever holds a file can compute it anew."""

import math
from functools import lru_cache

import numpy as np

from microtome.accounting.accountant import Accountant, delta, epsilon
from microtome.accounting.events import Event, FailureEvent, counted, events_of
from microtome.accounting.ranges import require_positive, require_probability
from microtome.errors import ParameterError

_MOST_EVENTS, _MOST_DIFFERENT = 10**7, 64
_SLACK = 1e-6
"""The relative slack of the numerical methods (``docs/privacy.md``, section 3)."""


def verify_promise(
    events: tuple[Event, ...], *, stated_epsilon: float, stated_delta: float, accountant: Accountant
) -> None:
    """Refuse a stated (ε, δ) that its own events contradict, by the accountant that is said to have computed it.

    Args:
        events: what was done to the data; none at all keep no promise.
        stated_epsilon: ε as stated.
        stated_delta: δ as stated.
        accountant: by whom.
    """
    for name, value in (("epsilon", stated_epsilon), ("delta", stated_delta)):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"{name} of the promise must be a number, got {value!r}")
    require_positive("epsilon of the promise", stated_epsilon)
    require_probability("delta of the promise", stated_delta)
    if not events:
        raise ParameterError("the promise lists no events: nothing says what was done to the data")
    if sum(count for _, count in counted(events)) > _MOST_EVENTS or len(set(events)) > _MOST_DIFFERENT:
        raise ParameterError("the promise lists more events than anybody can check")
    if len(events_of(FailureEvent, events)) == len(events):
        raise ParameterError("the promise lists nothing that was done to the data")
    with np.errstate(all="ignore"):  # absurd events overflow, and what is not a number is refused below
        spent = _spent(events, float(stated_epsilon), float(stated_delta), accountant)
    if not spent <= 1.0 + _SLACK:
        raise ParameterError(
            f"the promise of epsilon = {stated_epsilon:g} at delta = {stated_delta:g} is contradicted by its own "
            f"events, which cost {_cost(events, stated_delta, accountant)} by the {accountant} accountant"
        )


@lru_cache(maxsize=256)
def _spent(events: tuple[Event, ...], stated_epsilon: float, stated_delta: float, accountant: Accountant) -> float:
    """What the events cost, as a share of what is stated."""
    if accountant.is_exact:
        return delta(events, stated_epsilon) / stated_delta
    return epsilon(events, stated_delta, accountant) / stated_epsilon


def _cost(events: tuple[Event, ...], stated_delta: float, accountant: Accountant) -> str:
    with np.errstate(all="ignore"):
        found = epsilon(events, stated_delta, accountant)
    return f"epsilon = {found:.4g}" if math.isfinite(found) else "more than any epsilon"
