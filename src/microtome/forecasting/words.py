"""A forecast in words, the verdict first."""

from __future__ import annotations

from collections.abc import Sequence

from microtome.forecasting.attacker import Attacker
from microtome.forecasting.columns import ColumnForecast
from microtome.forecasting.prediction import Forecast

LARGEST_EPSILON, SMALLEST_EPSILON = 10.0, 0.05
"""Outside of these, ε gets a word."""
_MOST_NAMED = 8


def in_words(forecast: Forecast) -> list[str]:
    """All there is to say, a line each."""
    return [
        heading(forecast),
        forecast.verdict.in_words,
        *what_is_learnt(forecast),
        when_useful(forecast),
        attacker_in_words(forecast.attacker),
        cost_in_words(forecast),
    ]


def what_is_learnt(forecast: Forecast) -> list[str]:
    """How much will come through, which columns will not, and what helps."""
    return [
        *_errors(forecast),
        *cautions(forecast.lost, forecast.release.settings.epsilon),
        *_named("Will be learnt roughly", forecast.rough),
        _counts(forecast),
    ]


def heading(forecast: Forecast) -> str:
    """What is foretold."""
    settings = forecast.release.settings
    return (
        f"{forecast.release.num_rows:,} records of {len(forecast.columns)} columns at ε = {settings.epsilon:g}, "
        f"δ = {settings.delta:g}, {settings.neighbours}, kind {settings.kind}."
    )


def cautions(lost: Sequence[ColumnForecast], epsilon: float) -> list[str]:
    """What the holder should know before spending: columns that come to nothing, and an unusual ε."""
    return [*_named("Will not be learnt", lost), *on_epsilon(epsilon)]


def on_epsilon(epsilon: float) -> list[str]:
    """A word on an ε that is unusually large or small."""
    if epsilon > LARGEST_EPSILON:
        return [
            f"ε = {epsilon:g} is large: the probability of whatever the file may say can change by a factor of "
            f"e^{epsilon:g} with one person's record."
        ]
    if epsilon < SMALLEST_EPSILON:
        return [
            f"ε = {epsilon:g} is small: noise of that size hides all but the coarsest facts unless there are very many "
            "records."
        ]
    return []


def _named(what: str, columns: Sequence[ColumnForecast]) -> list[str]:
    """Columns by what would help them."""
    lines = []
    for advice in dict.fromkeys(column.advice for column in columns):
        names = [column.name for column in columns if column.advice == advice]
        listed = ", ".join(names[:_MOST_NAMED]) + (
            f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else ""
        )
        helps = advice if len(names) == 1 else advice.replace("its ", "their ").replace("the column", "the columns")
        lines.append(f"{what}: {listed}. What helps: {helps}.")
    return lines


def _errors(forecast: Forecast) -> list[str]:
    lines = [
        f"Columns will be off by about {forecast.margins:.2g} on average, where 0 is perfect and 1 is nothing in "
        "common."
    ]
    if forecast.pairs is None:
        return [*lines, "Tables of two columns are not foretold: this release would not measure them."]
    kept = max(forecast.pairs.kept, 0.0)
    lines.append(
        f"Tables of two columns will be off by about {forecast.pairs.error:.2g}. Of what columns have to do with each "
        f"other, about {kept:.0%} will come through."
    )
    return [*lines, *_triples(forecast), _trust(forecast)]


def _triples(forecast: Forecast) -> list[str]:
    """What a second round would add, where there would be one."""
    tables = forecast.release.tables
    if tables is None or not tables.round.count:
        return []
    number = tables.round.count
    chosen = "1 table" if number == 1 else f"{number} tables"
    return [f"A second round would choose {chosen} of three columns, for what pairs do not tell."]


def _trust(forecast: Forecast) -> str:
    """How far to believe the errors."""
    if forecast.band is None:
        return (
            "How near such errors come was tried for aggregates with a profile of their own, under blank-one without a "
            "pivot, and not for this."
        )
    return f"On the tables this was tried on, such errors were mostly within a factor of {forecast.band:g}."


def _counts(forecast: Forecast) -> str:
    noisiest = max(forecast.columns, key=lambda column: column.count_noise)
    calmest = min(forecast.columns, key=lambda column: column.count_noise)
    shares = sorted(100.0 * column.smallest_share for column in forecast.columns)
    return (
        f"A count of records has noise of ±{calmest.count_noise:,.0f} ({calmest.name}) to ±{noisiest.count_noise:,.0f} "
        f"({noisiest.name}). A value shows as itself if at least {shares[0]:.2g} to {shares[-1]:.2g} % of the "
        "records have it."
    )


def when_useful(forecast: Forecast) -> str:
    """From which ε on the table would be useful; that takes forecasts of some others."""
    epsilon = forecast.useful_epsilon
    if epsilon is None:
        return "No ε up to 100 would make it useful: declare more, leave columns out, or collect more records."
    if forecast.verdict.is_useful:
        return f"It would be useful from about ε = {epsilon:g} on."
    return f"It becomes useful from about ε = {epsilon:g} on, or with more declared, fewer columns or more records."


def attacker_in_words(found: Attacker, among: str = "in the table") -> str:
    """What the best attack on one person would reach."""
    return (
        f"Whoever holds the file guesses whether one person is {among}, knowing everybody else, with at most "
        f"{found.best_guess:.1%} right (a coin has 50 %); accusing 5 % of the innocent, they find at most "
        f"{found.caught:.1%} of the others."
    )


def cost_in_words(forecast: Forecast) -> str:
    """Time, memory and the size of the file."""
    cost = forecast.cost
    return (
        f"The release takes about {_seconds(cost.release_seconds)} and a file of {_bytes(cost.file_bytes)}, the fit "
        f"about {_seconds(cost.fit_seconds)}, memory about {_bytes(cost.memory_bytes)}."
    )


def _seconds(value: float) -> str:
    if value < 90:
        return f"{max(value, 1):.0f} s"
    return f"{value / 60:.0f} minutes" if value < 5400 else f"{value / 3600:.1f} hours"


def _bytes(value: int) -> str:
    if value < 1 << 20:
        return f"{max(value >> 10, 1)} KiB"
    return f"{value / 2**20:,.0f} MiB" if value < 1 << 30 else f"{value / 2**30:,.1f} GiB"
