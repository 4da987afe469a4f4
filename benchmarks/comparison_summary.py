"""What wins where, in a few sentences from the runs: the first thing on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median, stdev

from comparison import LOWER_IS_BETTER, METRICS, WHOLE_TABLES, Comparison, Row
from methods import METHODS

OURS = "aggregates"


@dataclass(frozen=True, kw_only=True)
class Contest:
    """A metric on a task at an ε: the private methods from the best to the worst, by means over seeds."""

    task: str
    metric: str
    rows: tuple[Row, ...]

    @property
    def best(self) -> Row:
        """The winner."""
        return self.rows[0]

    @property
    def ours(self) -> Row:
        """Microtome's default."""
        return next(row for row in self.rows if row.method == OURS)

    def is_close(self, one: Row, other: Row) -> bool:
        """Whether two methods are apart by less than the larger scatter of their seeds."""
        apart = abs(self.value(one) - self.value(other))
        return apart < max(stdev(values) if len(values := row.values(self.metric)) > 1 else 0.0 for row in (one, other))

    def value(self, row: Row) -> float:
        """The mean of a method."""
        found = row.mean(self.metric)
        assert found is not None
        return found


def contests(comparison: Comparison, epsilon: float) -> Iterator[Contest]:
    """Every metric on every task that our method has, and another private one."""
    for metric in METRICS:
        for task in comparison.tasks:
            rows = [row for row in comparison.rows(task, epsilon) if METHODS[row.method].uses_epsilon]
            contest = Contest(task=task, metric=metric, rows=tuple(row for row in rows if row.values(metric)))
            if len(contest.rows) > 1 and any(row.method == OURS for row in contest.rows):
                order = sorted(contest.rows, key=contest.value, reverse=metric not in LOWER_IS_BETTER)
                yield Contest(task=task, metric=metric, rows=tuple(order))


def in_short(comparisons: list[Comparison]) -> list[str]:
    """The section of the page."""
    found = points(comparisons)
    return ["## In short", "\n".join(f"- {point}" for point in found)] if found else []


def points(comparisons: list[Comparison]) -> list[str]:
    """What there is to say, a sentence or two each; of other comparisons than the first only who wins."""
    found = [point for comparison in comparisons for point in _who_wins(comparison)]
    return [*found, *_nearest_rival(comparisons[0]), *_records(comparisons[0]), *_as_printed(comparisons[0])]


def _who_wins(comparison: Comparison) -> Iterator[str]:
    for epsilon in WHOLE_TABLES:
        held = list(contests(comparison, epsilon)) if epsilon in comparison.epsilons else []
        if not held:
            continue
        won = [contest for contest in held if contest.best.method == OURS]
        lost = [contest for contest in held if contest.best.method != OURS]
        far = [_lost(contest) for contest in lost if not contest.is_close(contest.best, contest.ours)]
        yield (
            f"**{comparison.source.title}, ε = {epsilon:g}.** Of {len(held)} cells (task × metric) Microtome's {OURS} "
            f"are the best private method in {len(won)}, {_num_close(won)} of these by less than the seeds' scatter. "
            f"Others win {len(lost)}, {len(lost) - len(far)} of these within the scatter"
            + (f". Beyond it: {'; '.join(far)}." if far else ".")
        )


def _num_close(won: list[Contest]) -> int:
    return sum(contest.is_close(*contest.rows[:2]) for contest in won)


def _lost(contest: Contest) -> str:
    """Who won and by how much; beside F1, which a wrong share of labels can raise, the AUC."""
    parts = [_against(contest.value(contest.best), contest.value(contest.ours))]
    theirs, ours = (row.mean("auc") for row in (contest.best, contest.ours))
    if contest.metric == "f1" and theirs is not None and ours is not None:
        parts.append(f"{METRICS['auc']} {_against(theirs, ours)}")
    return f"{METRICS[contest.metric]} of {contest.task} ({contest.best.title} {', '.join(parts)})"


def _against(theirs: float, ours: float) -> str:
    """Two figures, with as many digits as it takes to tell them apart."""
    digits = 3 if f"{theirs:.3f}" != f"{ours:.3f}" else 5
    return f"{theirs:.{digits}f} against {ours:.{digits}f}"


def _nearest_rival(comparison: Comparison) -> list[str]:
    """The rival with the least pair error at the first ε, and what it costs."""
    epsilon = WHOLE_TABLES[0]
    means = comparison.averages(epsilon)
    rivals = {m: v["pair_error"] for m, v in means.items() if METHODS[m].uses_epsilon and m not in (OURS, "records")}
    if OURS not in means or not rivals:
        return []
    rival = min(rivals, key=rivals.__getitem__)
    shown = ("contingency", "auc", "pair_error", "detector_auc", "triples")
    figures = ", ".join(f"{METRICS[name]} {means[rival][name]:.3f} against {means[OURS][name]:.3f}" for name in shown)
    times = _processor_time(comparison, rival) / _processor_time(comparison, OURS)
    return [
        f"**The nearest rival** by pair error at ε = {epsilon:g} is {METHODS[rival].title}: {figures}; its median run "
        f"takes some {times:.0f} times the processor time."
    ]


def _records(comparison: Comparison) -> list[str]:
    """What noise on every record leaves of dependence, beside none."""
    figures = []
    for epsilon in sorted(WHOLE_TABLES):
        means = comparison.averages(epsilon)
        if "records" in means and "independent" in means:
            pair, auc = (
                f"{means['records'][name]:.3f} ({means['independent'][name]:.3f})" for name in ("pair_error", "auc")
            )
            figures.append(f"at ε = {epsilon:g} pair error {pair}, LR AUC {auc}")
    if not figures:
        return []
    return [
        "**Records**, which need no trusted collector, beside independent columns with DP margins (in brackets): "
        + "; ".join(figures)
        + "."
    ]


def _as_printed(comparison: Comparison) -> list[str]:
    """How far the paper's training got, and what it gave."""
    epsilon = WHOLE_TABLES[0]
    means = comparison.averages(epsilon).get("algorithm1")
    if means is None:
        return []
    runs = [run for task in comparison.tasks for row in comparison.rows(task, epsilon) for run in row.runs]
    epochs = [run["notes"]["epochs"] for run in runs if run["key"]["method"] == "algorithm1"]
    figures = ", ".join(f"{METRICS[name]} {means[name]:.3f}" for name in ("tv", "contingency", "auc", "pair_error"))
    return [
        f"**Algorithm 1 as printed** at ε = {epsilon:g}, after {min(epochs):.0f} to {max(epochs):.0f} of its 200 "
        f"epochs (what the time limit leaves): {figures}. The paper's printed figures, of the whole training on a GPU, "
        "stand beside it below."
    ]


def _processor_time(comparison: Comparison, method: str) -> float:
    return median(run["processor_seconds"] for run in comparison.runs if run["key"]["method"] == method)
