"""``forecast``: what a release would be worth, before anything is spent, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from microtome.accounting import Neighbours, default_delta
from microtome.errors import ParameterError, require_whole
from microtome.forecasting.anticipated import Anticipated, anticipate
from microtome.forecasting.attacker import Attacker, strongest_attacker
from microtome.forecasting.columns import LOST, ROUGH, ColumnForecast, forecast_columns
from microtome.forecasting.cost import Cost, forecast_cost
from microtome.forecasting.pairs import PairForecast, forecast_pairs
from microtome.forecasting.verdict import Verdict, verdict_of
from microtome.private.plan import check_size
from microtome.published import Release, ReleaseKind
from microtome.schema import Schema
from microtome.schema.view import view_of
from microtome.settings import NO_PIVOT, PrivacySettings

BAND, BAND_LEARNT = 1.8, 3.0
"""Factors within which measured errors were of the forecast, nineteen of twenty where everything is declared, and nine
of ten where categories or bounds are to be learnt. Read off the very points that they describe; how others did is
in ``docs/choosing-epsilon.md``. ``BAND_BELOW`` counts as the same."""
BAND_BELOW = 0.01
_CURVE = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_SEARCHED = (*(digit * 10.0**power for power in range(-2, 2) for digit in (1, 1.5, 2, 3, 4, 5, 7)), 100.0)
"""Among which the smallest useful ε is looked for."""


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """What is foretold for one ε.

    Attributes:
        epsilon: ε.
        margins: Mean error of the columns.
        pairs: What is foretold of two-way tables; ``None`` where they are not measured.
        verdict: What the release would be worth.
        attacker: What the best attack would reach.
    """

    epsilon: float
    margins: float
    pairs: PairForecast | None
    verdict: Verdict
    attacker: Attacker


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a release would be worth.

    Print it for the words; in a notebook it shows itself with its tables. Errors are between 0, perfect, and 1, nothing
    in common. ``band`` is the factor within which they were foretold on the tables it was tried on.
    """

    release: Anticipated
    _by_epsilon: dict[float, Forecast] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._by_epsilon.setdefault(self.release.settings.epsilon, self)

    def at(self, epsilon: float) -> Forecast:
        """The same for another ε. What was found out for one of them is not found out again."""
        if epsilon not in self._by_epsilon:
            other = Forecast(release=self.release.at(epsilon))
            object.__setattr__(other, "_by_epsilon", self._by_epsilon)
            self._by_epsilon[epsilon] = other
        return self._by_epsilon[epsilon]

    @cached_property
    def columns(self) -> tuple[ColumnForecast, ...]:
        """What is foretold of every column."""
        return forecast_columns(self.release)

    @cached_property
    def margins(self) -> float:
        """Mean error of the columns."""
        return fmean(column.error for column in self.columns)

    @cached_property
    def pairs(self) -> PairForecast | None:
        """What is foretold of two-way tables; ``None`` where they are not measured."""
        return forecast_pairs(self.release)

    @property
    def band(self) -> float | None:
        """The factor within which errors were foretold: what is to be learnt makes it wider.

        ``None`` for releases of which none was made to compare with.
        """
        settings = self.release.settings
        tried = (ReleaseKind.AGGREGATES, Neighbours.BLANK_ONE, NO_PIVOT)
        if (settings.kind, settings.neighbours, settings.pivot) != tried or not self.release.has_profile:
            return None
        return BAND if all(column.declared for column in self.columns) else BAND_LEARNT

    @cached_property
    def cost(self) -> Cost:
        """Memory and time."""
        return forecast_cost(self.release)

    @cached_property
    def attacker(self) -> Attacker:
        """What the best attack on one person would reach."""
        return strongest_attacker(self.release.events)

    @cached_property
    def verdict(self) -> Verdict:
        """What the release would be worth. A table without pairs is judged by its columns."""
        return verdict_of(self.margins, 1.0 if self.pairs is None else self.pairs.kept)

    @property
    def lost(self) -> tuple[ColumnForecast, ...]:
        """Columns that would not be learnt."""
        return tuple(column for column in self.columns if column.error >= LOST)

    @property
    def rough(self) -> tuple[ColumnForecast, ...]:
        """Columns that would be learnt roughly."""
        return tuple(column for column in self.columns if ROUGH <= column.error < LOST)

    @cached_property
    def curve(self) -> tuple[CurvePoint, ...]:
        """The forecast over ε."""
        return tuple(self.at(epsilon).as_point() for epsilon in sorted({*_CURVE, self.release.settings.epsilon}))

    @cached_property
    def useful_epsilon(self) -> float | None:
        """About the smallest ε at which the table becomes useful; ``None`` where none up to 100 does."""
        low, high = 0, len(_SEARCHED)
        while low < high:
            middle = (low + high) // 2
            if self.at(_SEARCHED[middle]).verdict.is_useful:
                high = middle
            else:
                low = middle + 1
        return _SEARCHED[low] if low < len(_SEARCHED) else None

    def as_point(self) -> CurvePoint:
        """The forecast as a point of the curve."""
        return CurvePoint(
            epsilon=self.release.settings.epsilon,
            margins=self.margins,
            pairs=self.pairs,
            verdict=self.verdict,
            attacker=self.attacker,
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        from microtome.forecasting.figures import figures

        return figures(self)

    def __str__(self) -> str:
        from microtome.forecasting.words import in_words

        return "\n".join(in_words(self))

    def _repr_html_(self) -> str:
        from microtome.forecasting.page import fragment

        return fragment(self)


def forecast_of(settings: PrivacySettings, schema: Schema, num_rows: int, like: Release | None = None) -> Forecast:
    """The forecast of a release with these settings, on the codebook of another if there is to be one."""
    return Forecast(release=anticipate(settings, schema, num_rows, like))


def forecast(
    schema: Schema | str | Path | None = None,
    *,
    rows: int,
    epsilon: float,
    delta: float | None = None,
    like: Release | str | Path | None = None,
    **options: Any,
) -> Forecast:
    """Say beforehand what a release would be worth. Reads no table, and costs nothing.

    Args:
        schema: What is public about the table, or the path of its YAML document; with ``like`` that release's own
            unless given.
        rows: How many records it has, or with a unit people, as far as that is public; a guess will do.
        epsilon: Total ε.
        delta: Total δ; by default one that fits ``rows``.
        like: The release, or its path, whose codebook is to be used.
        **options: Whatever else ``PrivacySettings`` takes.

    Returns:
        The forecast: print it, or look at its ``columns``, ``pairs``, ``curve`` and ``useful_epsilon``.

    Example:
        >>> import microtome as mt
        >>> age = mt.Column(name="age", kind="integer", bounds=(18, 99), missing=False)
        >>> schema = mt.Schema(columns=(age, mt.Column(name="insured", kind="boolean", missing=False)))
        >>> found = mt.forecast(schema, rows=30_000, epsilon=1.0)
        >>> found.verdict.value, found.margins < 0.02, [column.learning.value for column in found.columns]
        ('good', True, ['learnt', 'learnt'])
    """
    require_whole("rows", rows, 2)
    capacity = options.get("capacity")
    fitting = default_delta(rows if capacity is None else capacity) if delta is None else delta
    settings = PrivacySettings(epsilon=epsilon, delta=fitting, **options)
    check_size(settings, rows, "the table")
    other = Release.load(like) if isinstance(like, str | Path) else like
    return forecast_of(settings, view_of(_described(schema, other)).schema, rows, other)


def _described(schema: Schema | str | Path | None, like: Release | None) -> Schema:
    match schema:
        case Schema():
            return schema
        case str() | Path():
            return Schema.load(schema)
        case None if like is not None:
            return like.schema
        case _:
            raise ParameterError(f"schema is {schema!r}; it must be a Schema or a path, or leave it out beside like")
