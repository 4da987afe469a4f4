"""δ of ε and ε of δ for a list of events, by the accountant of choice.

    exact      the privacy profile itself (``docs/privacy.md``, sections 3 to 5); the default
    renyi      exact Rényi divergences, converted
    theorem1   the paper's Theorem 1 as printed, to reproduce it
    prop3      the paper's Proposition 3, for directions that somebody chose

All are valid. For the same noise exact ≤ renyi ≤ theorem1 in ε.
"""

from collections.abc import Sequence
from enum import StrEnum

from microtome.accounting.directions import DirectionKind
from microtome.accounting.events import Event
from microtome.accounting.inversion import smallest_epsilon
from microtome.accounting.paper import prop3_epsilon, theorem1_epsilon
from microtome.accounting.privacy_profile import exact_profile
from microtome.accounting.ranges import require_nonnegative, require_probability
from microtome.accounting.renyi import renyi_epsilon
from microtome.errors import ParameterError


class Accountant(StrEnum):
    """How ε is computed from what was done."""

    EXACT = "exact"
    RENYI = "renyi"
    THEOREM1 = "theorem1"
    PROP3 = "prop3"

    @property
    def is_exact(self) -> bool:
        """Whether it states the least ε that is true."""
        match self:
            case Accountant.EXACT:
                return True
            case Accountant.RENYI | Accountant.THEOREM1 | Accountant.PROP3:
                return False

    @property
    def needs(self) -> DirectionKind | None:
        """The only directions that it is for; ``None`` for any mechanism, sliced or not."""
        match self:
            case Accountant.EXACT | Accountant.RENYI:
                return None
            case Accountant.THEOREM1:
                return DirectionKind.GAUSSIAN
            case Accountant.PROP3:
                return DirectionKind.FIXED


def delta(events: Sequence[Event], epsilon: float) -> float:
    """δ(ε) of all ``events`` together, exact or from above.

    Args:
        events: what was done to the data.
        epsilon: ε ≥ 0.

    Example:
        >>> from microtome.accounting import GaussianEvent, delta
        >>> once = GaussianEvent(mu=0.5)
        >>> f"{delta([once], 1.0):.3g}", f"{delta([once, once], 1.0):.3g}"  # twice costs more
        ('0.00683', '0.0396')
    """
    require_nonnegative("epsilon", epsilon)
    return exact_profile(events)(epsilon)


def epsilon(events: Sequence[Event], delta: float, accountant: Accountant = Accountant.EXACT) -> float:
    """ε of all ``events`` together at ``delta``: never below the true value, ``inf`` if there is none.

    Args:
        events: what was done to the data.
        delta: δ, strictly between 0 and 1.
        accountant: how to compute it. Theorem 1 and Proposition 3 refuse directions they do not cover.

    Example:
        >>> from microtome.accounting import GaussianEvent, epsilon
        >>> round(epsilon([GaussianEvent(mu=0.5)], 1e-6), 3)
        2.254
    """
    require_probability("delta", delta)
    try:
        accountant = Accountant(accountant)
    except ValueError:
        names = ", ".join(known.value for known in Accountant)
        raise ParameterError(f"accountant must be one of {names}, got {accountant!r}") from None
    match accountant:
        case Accountant.EXACT:
            return smallest_epsilon(exact_profile(events), delta)
        case Accountant.RENYI:
            return renyi_epsilon(events, delta)
        case Accountant.THEOREM1:
            return theorem1_epsilon(events, delta)
        case Accountant.PROP3:
            return prop3_epsilon(events, delta)
