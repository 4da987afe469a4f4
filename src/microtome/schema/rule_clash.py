"""Whether rules can hold together, from the schema alone.

The line of every column is cut at the numbers that rules name, into points and the stretches between them, and
categories are points; then cells are chosen column by column, as long as no rule fails for certain. Where columns are
compared, the chosen cells and the comparisons that are left are differences x − y ≤ w, which have a solution unless
some of them add up, around a circle, to less than nothing (Bellman and Ford).

A failed search proves that no row keeps the rules, so whatever is refused is impossible. A search that is given up, or
sums, of which only the ends are compared, may let a clash pass. Missing values are left out of the search wherever no
rule speaks of them: rules that only empty columns keep are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from microtome.errors import SchemaError
from microtome.schema.formula import Either, Every, Extent, Floats, Formula, Gap, Limit, OneOf, Order, conditions
from microtome.schema.rules import Check, Lookup, Rule, Rules, Sum
from microtome.schema.scale import NOWHERE, Scale

_MOST_STEPS = 2_000
_MOST_POINTS = 64
"""Categories that are tried one by one where no rule names them."""
_ROUNDING = 1e-12
"""Below this share of the largest number two sums of floats are one."""
Row = dict[str, float | None]
"""A place for every column; ``None`` for a missing value."""


def refuse_clashes(rules: Rules) -> None:
    """An error with the fewest rules that cannot hold together, or with premises that can never be."""
    _refuse(rules)
    for check in rules.checks:
        if check.premise is not None:
            given = Check(text="", formula=check.premise)
            if example(rules, [given]).is_impossible:
                raise SchemaError(f"rule {check.text!r}: what stands after 'if' can never be")
            _refuse(rules, check, given)


def _refuse(rules: Rules, check: Check | None = None, *given: Rule) -> None:
    """An error if the rules cannot hold, or not where the premise of one of them does."""
    if not example(rules, [*given, *rules.all]).is_impossible:
        return
    needed = list(rules.all)
    for rule in rules.all:
        fewer = [one for one in needed if one is not rule]
        if example(rules, [*given, *fewer]).is_impossible:
            needed = fewer
    if check is not None and check not in needed:
        needed.append(check)
    texts = " and ".join(repr(rule.text) for rule in needed)
    where = "" if check is None else f" where what stands after 'if' in {check.text!r} holds"
    if len(needed) == 1:
        raise SchemaError(f"rule {texts} can never hold{where}, with the bounds and categories of the schema")
    raise SchemaError(f"rules {texts} clash: no row can keep them together{where}; take one out, or correct it")


@dataclass(frozen=True, kw_only=True)
class Example:
    """What a search found.

    Attributes:
        row: A row that keeps the rules, unless sums stand against it; ``None`` without one.
        is_impossible: Whether there is none for certain.
    """

    row: Row | None
    is_impossible: bool


def example(rules: Rules, wanted: Sequence[Rule]) -> Example:
    """A row that keeps some of the rules."""
    row: Row = {}
    for group in _groups(wanted):
        found = _Search(scales=rules.scales, rules=tuple(group)).found()
        if found.row is None:
            return found
        row |= found.row
    return Example(row=row, is_impossible=False)


def _groups(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Rules that share columns, directly or through others."""
    groups: list[tuple[set[str], list[Rule]]] = []
    for rule in rules:
        columns, own = set(rule.columns), [rule]
        for group in [one for one in groups if one[0] & columns]:
            groups.remove(group)
            columns, own = columns | group[0], [*group[1], *own]
        groups.append((columns, own))
    return [group for _, group in groups]


@dataclass(kw_only=True, eq=False)
class _Search:
    """A search for cells of some columns that keep all rules."""

    scales: Mapping[str, Scale]
    rules: tuple[Rule, ...]
    steps: int = field(default=0, init=False)

    def found(self) -> Example:
        try:
            row = next(self._rows({}), None)
        except _GivenUpError:
            return Example(row=None, is_impossible=False)
        return Example(row=row, is_impossible=row is None)

    @cached_property
    def _columns(self) -> list[str]:
        """Those with the fewest cells first: they decide the most."""
        names = dict.fromkeys(name for rule in self.rules for name in rule.columns)
        return sorted(names, key=lambda name: len(self._cells[name].low))

    @cached_property
    def _cells(self) -> dict[str, Extent]:
        names = dict.fromkeys(name for rule in self.rules for name in rule.columns)
        return {name: _cells(self.scales[name], self.rules) for name in names}

    @cached_property
    def _anything(self) -> dict[str, Extent]:
        """Columns of which nothing is chosen yet."""
        return {name: _all_of(cells) for name, cells in self._cells.items()}

    def _rows(self, chosen: dict[str, Extent]) -> Iterator[Row]:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _GivenUpError
        if len(chosen) == len(self._columns):
            row = _solution(self.scales, chosen, self.rules)
            if row is not None:
                yield row
            return
        name = self._columns[len(chosen)]
        cells = self._cells[name]
        extents = {**self._anything, **chosen, name: cells}
        failing = np.zeros(len(cells.low), dtype=bool)
        for rule in self.rules:
            if name in rule.columns:
                failing |= rule.fails(extents)
        for place in np.flatnonzero(~failing):
            yield from self._rows({**chosen, name: cells.take(np.array([place]))})


class _GivenUpError(Exception):
    """The search takes too long."""


def _cells(scale: Scale, rules: Sequence[Rule]) -> Extent:
    """The points and stretches that rules tell apart."""
    column, named, gaps, whole = scale.column, set[float](), False, False
    for rule in rules:
        match rule:
            case Check(formula=formula):
                for one in conditions(formula):
                    match one:
                        case Limit(column=name, number=number) if name == column.name:
                            named.add(number)
                        case OneOf(column=name, numbers=numbers) if name == column.name:
                            named |= set(numbers)
                        case Gap(column=name) if name == column.name:
                            gaps = True
                        case Order(left=left, right=right) if column.name in (left, right):
                            whole = True
                        case _:
                            pass
            case Lookup(source=source, places=places) as lookup:
                if source == column.name:
                    named |= set(places)
                    gaps |= lookup.of_missing is not None
                if lookup.column == column.name:
                    named |= {place for place in places.values() if place is not None}
                    gaps |= None in places.values()
            case Sum():
                whole = whole or column.name in rule.columns
    low, high = _categories(scale, named, whole) if column.kind.is_categorical else _stretches(scale, named)
    missing = np.arange(len(low) + (gaps and column.missing)) >= len(low)
    pad = np.zeros(int(missing.sum()))
    low, high = np.concatenate([low, pad]), np.concatenate([high, pad])
    return Extent(low=low, high=high, absent=missing, missing=missing, present=~missing)


def _categories(scale: Scale, named: set[float], whole: bool) -> tuple[Floats, Floats]:
    """All categories, or those that rules name and one of the others."""
    column = scale.column
    places = [scale.place(value) for value in column.categories or ()]
    if len(places) > _MOST_POINTS and not whole:
        others = [place for place in places if place not in named]
        places = [place for place in places if place in named] + others[:1]
    if column.categories is None:
        places = sorted(named)
    if column.categories is None or not column.outside.is_refused:
        places.append(NOWHERE)
    points = np.array(places)
    return points, points


def _stretches(scale: Scale, named: set[float]) -> tuple[Floats, Floats]:
    """The numbers that rules name, and what lies between them."""
    first, last = scale.bounds()
    points = sorted({number for number in (*named, first, last) if first <= number <= last})
    low, high = [], []
    for place, point in enumerate(points):
        if math.isfinite(point):
            low.append(point)
            high.append(point)
        if place + 1 < len(points):
            begin, end = _next(point, scale.step, 1), _next(points[place + 1], scale.step, -1)
            if begin <= end:
                low.append(begin)
                high.append(end)
    return np.array(low), np.array(high)


def _next(number: float, step: float | None, direction: int) -> float:
    """The neighbour of a number."""
    if not math.isfinite(number):
        return number
    if step is None:
        return float(np.nextafter(number, direction * math.inf))
    return math.floor(number) + 1.0 if direction > 0 else math.ceil(number) - 1.0


def _all_of(cells: Extent) -> Extent:
    """One extent over all cells."""
    return Extent(
        low=np.array([cells.low.min()]),
        high=np.array([cells.high.max()]),
        absent=np.array([cells.absent.any()]),
        missing=np.array([cells.missing.all()]),
        present=np.array([cells.present.all()]),
    )


def _solution(scales: Mapping[str, Scale], chosen: Mapping[str, Extent], rules: Sequence[Rule]) -> Row | None:
    """Places within the chosen cells that keep the comparisons of columns which the cells leave open."""
    orders = [one for rule in rules for one in _forced(rule, chosen)]
    edges = [edge for order in orders for edge in _differences(order, scales, chosen)]
    names = list(chosen)
    for name, cell in chosen.items():
        edges += [(name, "", (float(cell.high[0]), 0)), ("", name, (-float(cell.low[0]), 0))]
    solved = _shortest([*names, ""], [edge for edge in edges if not math.isinf(edge[2][0])])
    if solved is None:
        return None
    return {name: None if chosen[name].missing[0] else _placed(name, solved, scales, chosen) for name in names}


def _placed(
    name: str, solved: Mapping[str, tuple[float, int]], scales: Mapping[str, Scale], chosen: Mapping[str, Extent]
) -> float:
    """The place that a column has in a solution, strict comparisons a float apart at least."""
    low, high = float(chosen[name].low[0]), float(chosen[name].high[0])
    if low == high:
        return low
    number, apart = solved[name][0] - solved[""][0], solved[name][1] - solved[""][1]
    if scales[name].step is None:
        number += apart * max(abs(number), 1.0) * 1e-6
    return min(max(number, low), high)


def _forced(rule: Rule, chosen: Mapping[str, Extent]) -> list[Order]:
    """Comparisons of columns that must hold for the rule to hold, given the cells."""
    match rule:
        case Check(formula=formula):
            return _forced_by(formula, chosen)
        case Sum() | Lookup():
            return []


def _forced_by(formula: Formula, chosen: Mapping[str, Extent]) -> list[Order]:
    match formula:
        case Order():
            return [formula]
        case Every(parts=parts):
            return [order for part in parts for order in _forced_by(part, chosen)]
        case Either(parts=parts):
            left = [part for part in parts if not part.fails(chosen).all()]
            return _forced_by(left[0], chosen) if len(left) == 1 else []
        case Limit() | OneOf() | Gap():
            return []


def _differences(
    order: Order, scales: Mapping[str, Scale], chosen: Mapping[str, Extent]
) -> list[tuple[str, str, tuple[float, int]]]:
    """A comparison as x − y ≤ (w, k), k counting what is strict among floats."""
    left, right = order.left, order.right
    if chosen[left].absent[0] or chosen[right].absent[0]:
        return []
    steps = (scales[left].step, scales[right].step)
    strict = (0.0, -1) if None in steps else (-1.0, 0)
    match order.operator:
        case "<":
            return [(left, right, strict)]
        case "<=":
            return [(left, right, (0.0, 0))]
        case ">":
            return [(right, left, strict)]
        case ">=":
            return [(right, left, (0.0, 0))]
        case "=":
            return [(left, right, (0.0, 0)), (right, left, (0.0, 0))]
        case _:
            return []


def _shortest(
    names: Sequence[str], edges: Sequence[tuple[str, str, tuple[float, int]]]
) -> dict[str, tuple[float, int]] | None:
    """Numbers that keep every difference x − y ≤ w; ``None`` if some of them form a circle below nothing."""
    distance = dict.fromkeys(names, (0.0, 0))
    rounding = _ROUNDING * max((abs(width) for _, _, (width, _) in edges), default=0.0)
    for _ in range(len(names) + 1):
        changed = False
        for left, right, (width, strict) in edges:
            reached = (distance[right][0] + width, distance[right][1] + strict)
            nearer = distance[left][0] - reached[0]
            if nearer > rounding or (nearer >= -rounding and reached[1] < distance[left][1]):
                distance[left], changed = reached, True
        if not changed:
            return distance
    return None
