"""Private-PGM's estimate and AIM's model size as ``dpmm`` computes them, to the same values, several times as fast.

The package spends its time on objects for tiny tables: a domain and a factor for every sum, message and product.
Here the shapes of a junction tree are worked out once, and an iteration of mirror descent is arithmetic on arrays.
Without this, AIM on the widest tables would have to be given fewer rounds or a smaller model than it could use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
from dpmm.models import aim
from dpmm.models.base.matrix import EkteloMatrix
from dpmm.models.base.mbi import CliqueVector, Domain, Factor, factor
from dpmm.models.base.mbi.inference import FactoredInference
from scipy import sparse

Array = npt.NDArray[np.float64]
Tables = list[Array]
Clique = tuple[str, ...]
_HALVINGS = 25


def install() -> None:
    """Put these functions in the place of the package's."""
    FactoredInference.mirror_descent = mirror_descent
    aim.filter_candidates = filter_candidates
    factor.logsumexp = log_sum_exp


def mirror_descent(
    self: Any, measurements: list[Any], total: float | None = None, stepsize: None = None, callback: None = None
) -> float:
    """Estimate the model by mirror descent with a line search, as the method of this name does."""
    assert stepsize is None
    assert callback is None
    self._setup(measurements, total)
    model = self.model
    tree = JunctionTables(model.cliques, model.message_order, model.domain, model.total)
    wanted = [
        (tree.place[clique], Measurement.of(answer, clique, model.domain))
        for clique, answers in self.groups.items()
        for answer in answers
    ]
    potentials = [model.potentials[clique].values for clique in model.cliques]
    margins = tree.margins(potentials)
    loss, gradient = loss_and_gradient(wanted, margins)
    step = 1.0 / model.total**2
    for _ in range(self.iters if loss else 0):
        old = potentials, margins, loss
        step *= 2.0
        for _ in range(_HALVINGS):
            potentials = [one - step * slope for one, slope in zip(old[0], gradient, strict=True)]
            margins = tree.margins(potentials)
            loss, new_gradient = loss_and_gradient(wanted, margins)
            promised = sum(
                np.vdot(slope, before - after) for slope, before, after in zip(gradient, old[1], margins, strict=True)
            )
            if old[2] - loss >= 0.5 * step * promised:
                break
            step *= 0.5
        gradient = new_gradient
    model.potentials, model.marginals = (
        CliqueVector({name: Factor(model.domain.project(name), tables[place]) for name, place in tree.place.items()})
        for tables in (potentials, margins)
    )
    return loss


@dataclass(frozen=True)
class _Message:
    """From one clique to another: what is summed away, and how the rest lies in each of the two."""

    sender: int
    receiver: int
    summed: tuple[int, ...]
    in_sender: tuple[int, ...]
    in_receiver: tuple[int, ...]
    answered: int | None
    """The number of the message that went the other way before."""


class JunctionTables:
    """Belief propagation on the tables of a junction tree, whose cliques list their columns in the domain's order."""

    def __init__(self, cliques: Sequence[Clique], order: Sequence[tuple[Clique, Clique]], domain: Domain, total: float):
        self.place = {clique: number for number, clique in enumerate(cliques)}
        self._log_total = np.log(total)
        numbers = {edge: number for number, edge in enumerate(order)}
        self._messages = []
        for number, (sender, receiver) in enumerate(order):
            shared = set(sender) & set(receiver)
            answered = numbers[receiver, sender]
            self._messages.append(
                _Message(
                    sender=self.place[sender],
                    receiver=self.place[receiver],
                    summed=tuple(axis for axis, name in enumerate(sender) if name not in shared),
                    in_sender=_shape_within(sender, shared, domain),
                    in_receiver=_shape_within(receiver, shared, domain),
                    answered=answered if answered < number else None,
                )
            )

    def margins(self, potentials: Tables) -> Tables:
        """The table of every clique."""
        beliefs = [one.copy() for one in potentials]
        sent: Tables = []
        for message in self._messages:
            belief = beliefs[message.sender]
            if message.answered is not None:
                belief = belief - sent[message.answered].reshape(message.in_sender)
            sent.append(log_sum_exp(belief, message.summed))
            beliefs[message.receiver] += sent[-1].reshape(message.in_receiver)
        shift = self._log_total - float(log_sum_exp(beliefs[0]))
        return [np.exp(one + shift) for one in beliefs]


@dataclass(frozen=True)
class Measurement:
    """Noisy answers to queries on some columns of a clique, each already divided by its noise."""

    queries: Any
    answers: Array
    summed: tuple[int, ...]
    order: tuple[int, ...]
    """Of the axes that remain, to that of the queried columns."""
    kept: tuple[int, ...]
    """The shape of the remaining table within the clique's."""

    @classmethod
    def of(cls, answer: tuple[Any, Array, float, Clique], clique: Clique, domain: Domain) -> Measurement:
        """From the package's tuple of queries, answers, noise and columns."""
        queries, values, noise, columns = answer
        remaining = [name for name in clique if name in columns]
        matrix = sparse.csr_matrix(queries.matrix if isinstance(queries, EkteloMatrix) else queries) / noise
        diagonal = matrix.diagonal()
        is_diagonal = matrix.shape[0] == matrix.shape[1] and matrix.count_nonzero() == np.count_nonzero(diagonal)
        return cls(
            queries=diagonal if is_diagonal else matrix,
            answers=np.asarray(values) / noise,
            summed=tuple(axis for axis, name in enumerate(clique) if name not in columns),
            order=tuple(remaining.index(name) for name in columns),
            kept=_shape_within(clique, set(columns), domain),
        )

    def loss_and_slope(self, table: Array) -> tuple[float, Array]:
        """Half the squared error, and its derivative by the clique's table (to be broadcast over it)."""
        margin = table.sum(axis=self.summed).transpose(self.order)
        if isinstance(self.queries, np.ndarray):
            error = self.queries * margin.ravel() - self.answers
            slope = self.queries * error
        else:
            error = self.queries @ margin.ravel() - self.answers
            slope = self.queries.T @ error
        unsorted = np.argsort(self.order)
        return 0.5 * float(error @ error), slope.reshape(margin.shape).transpose(unsorted).reshape(self.kept)


def loss_and_gradient(wanted: list[tuple[int, Measurement]], margins: Tables) -> tuple[float, Tables]:
    """Of all measurements together."""
    loss, gradient = 0.0, [np.zeros_like(one) for one in margins]
    for place, measurement in wanted:
        more, slope = measurement.loss_and_slope(margins[place])
        loss += more
        gradient[place] += slope
    return loss, gradient


def log_sum_exp(values: Array, axis: tuple[int, ...] | None = None) -> Array:
    """The logarithm of a sum of exponentials over some axes (all of them), of real numbers only."""
    top = values.max(axis=axis, keepdims=True)
    summed = np.exp(values - top).sum(axis=axis)
    return np.log(summed) + top.reshape(np.shape(summed))


def filter_candidates(candidates: dict[Clique, float], model: Any, size_limit: float | None) -> dict[Clique, float]:
    """Those that the model has already, and those that keep it within its size (MB)."""
    free = set(aim.downward_closure(model.cliques))
    sizes = dict(zip(model.domain.attrs, model.domain.shape, strict=True))
    return {
        clique: weight
        for clique, weight in candidates.items()
        if clique in free or size_limit is None or model_megabytes(sizes, [*model.cliques, clique]) <= size_limit
    }


def model_megabytes(sizes: dict[str, int], cliques: list[Clique]) -> float:
    """The tables of a junction tree over these cliques, in the order of elimination that the package would choose."""
    graph = nx.Graph()
    graph.add_nodes_from(sizes)
    for clique in cliques:
        graph.add_edges_from((one, other) for one in clique for other in clique if one != other)
    for bag in eliminated(sizes, cliques):
        graph.add_edges_from((one, other) for one in bag for other in bag if one != other)
    cells = sum(prod(sizes[name] for name in clique) for clique in nx.find_cliques(graph))
    return cells * 8 / 2**20


def eliminated(sizes: dict[str, int], cliques: list[Clique]) -> list[set[str]]:
    """Columns taken out one by one, the cheapest first: each with all that share a table with it by then."""
    sets, left, bags = {frozenset(clique) for clique in cliques}, list(sizes), []
    while left:
        bag_of = {name: set().union(*(one for one in sets if name in one)) for name in left}
        name = min(left, key=lambda one: prod(sizes[other] for other in bag_of[one]))
        left.remove(name)
        sets = {one for one in sets if name not in one} | {frozenset(bag_of[name] - {name})}
        bags.append(bag_of[name])
    return bags


def _shape_within(clique: Clique, names: set[str], domain: Domain) -> tuple[int, ...]:
    """The shape of a table over some of a clique's columns, broadcast to all of them."""
    return tuple(domain[name] if name in names else 1 for name in clique)
