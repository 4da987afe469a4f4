"""How a data set stands in the book: what was spent on it, and what would still fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from microtome.accounting.accountant import delta as delta_of
from microtome.accounting.events import Event, GaussianEvent
from microtome.accounting.gaussian import gaussian_epsilon, gaussian_mu
from microtome.accounting.inversion import log_excess
from microtome.accounting.ledger_records import RESERVED, Budget, Entry, SetBudget


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """What is left of a budget.

    Attributes:
        mu: the largest μ of one further Gaussian mechanism that still fits, after all that was spent.
        epsilon: the ε which that mechanism has by itself at the budget's δ. It is not the budget's ε less
            the ε spent: budgets add in μ², so it is more than that.
    """

    mu: float
    epsilon: float


@dataclass(frozen=True, kw_only=True)
class Account:
    """How a data set stands.

    Attributes:
        dataset: its name.
        spent: ε of all that counts, by the exact accountant; ``inf`` where there is none at this δ.
        delta: the δ at which ``spent`` is stated: the budget's, if there is one.
        budget: the most that may be spent.
        left: what still fits; None without a budget.
        frozen: whether more is spent than the budget allows, so that nothing further is.
        entries: all entries, cancelled ones included, oldest first.
        budgets: all budgets that were ever set, oldest first.
    """

    dataset: str
    spent: float
    delta: float
    budget: Budget | None
    left: Remaining | None
    frozen: bool
    entries: tuple[Entry, ...]
    budgets: tuple[SetBudget, ...]

    @property
    def unsettled(self) -> tuple[Entry, ...]:
        """Reservations that were neither settled nor cancelled; they count."""
        return tuple(entry for entry in self.entries if entry.status == RESERVED)


def remaining_after(events: Sequence[Event], budget: Budget) -> Remaining:
    """What is left of a budget after ``events``."""
    mu = _largest_mu(events, budget)
    return Remaining(mu=mu, epsilon=gaussian_epsilon(budget.delta, mu))


def _largest_mu(events: Sequence[Event], budget: Budget) -> float:
    """Largest μ, rounded down, of a Gaussian mechanism that fits after ``events``."""

    def excess(mu: float) -> float:
        return log_excess(delta_of([*events, GaussianEvent(mu=mu)], budget.epsilon), budget.delta)

    high = gaussian_mu(budget.epsilon, budget.delta)
    if excess(high) <= 0:
        return high
    if excess(0.0) >= 0:
        return 0.0
    return max(0.0, float(scipy.optimize.brentq(excess, 0.0, high, xtol=1e-7 * high)) - math.ldexp(high, -22))
