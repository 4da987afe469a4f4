"""What is to be promised, as it was typed, and what the library foretells of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from microtome.accounting import Account, Event, Ledger, Neighbours
from microtome.card import account_in_words
from microtome.errors import BudgetError, ParameterError, together
from microtome.forecasting import Forecast, forecast
from microtome.forecasting.curve_drawing import curve_picture
from microtome.forecasting.image_prediction import NOT_FORETOLD, forecast_images
from microtome.forecasting.page import COLUMN_HEADINGS, CURVE_HEADINGS, column_rows, curve_rows
from microtome.forecasting.words import (
    attacker_in_words,
    cost_in_words,
    heading,
    on_epsilon,
    what_is_learnt,
    when_useful,
)
from microtome.images import ImageSchema
from microtome.schema import Schema
from microtome.settings import PrivacySettings
from microtome.studio.places import Opened
from microtome.studio.receiving import Form

_ONE_AT_A_TIME = threading.Lock()
_REMEMBERED = 8
_FIRST = 1.0
"""The ε that the forecasts of all others are had from."""
_DELTA = 1e-6
"""At which the book is stated where no budget sets δ."""


def promised(form: Form) -> dict[str, Any]:
    """The options of ``mt.release`` that a form gives; all that is wrong with it at once."""
    options: dict[str, Any] = {"neighbours": form["neighbours"], "kind": form["kind"]}
    with together() as attempts:
        with attempts:
            options["epsilon"] = form.number("epsilon")
        if form["delta"]:
            with attempts:
                options["delta"] = form.number("delta")
        if form["capacity"]:
            with attempts:
                options["capacity"] = form.whole("capacity")
    return {name: value for name, value in options.items() if value != ""}


def number_of_rows(form: Form, counted: int | None) -> int:
    """How many rows a forecast is for: what was typed, or the table's own number where a release would tell it."""
    if form["rows"]:
        return form.whole("rows")
    if counted is None or Neighbours(form["neighbours"] or Neighbours.BLANK_ONE).protects_count:
        raise ParameterError(
            "the number of records is protected, and no forecast reads it: name a number for the forecast, from public "
            "knowledge"
        )
    return counted


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What is foretold of a promise.

    Attributes:
        heading: Of what it is foretold.
        verdict: What the release would be worth.
        grade: The same in a word.
        learnt: How much would come through.
        attacker: What the best attack would reach.
        cost: What it would take.
        ledger: What would stand in the book afterwards.
        refusal: Why the book would refuse it; empty where it would not.
        columns: A table of columns, its headings first; nothing for images.
    """

    heading: str
    verdict: str
    grade: str
    learnt: list[str]
    attacker: str
    cost: str
    ledger: list[str]
    refusal: str
    columns: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How a promise changes with ε: forecasts of many, which take longer than that of one.

    Attributes:
        picture: Drawn, as HTML.
        useful: From which ε on the table would be useful.
        rows: The same in figures, headings first.
    """

    picture: str
    useful: str
    rows: list[list[str]]


def outlook(table: Opened, schema: Schema, rows: int, options: dict[str, Any]) -> Outlook:
    """What is foretold, and what would stand in the book."""
    with _ONE_AT_A_TIME:  # a slider asks more often than there are processors
        found = _at(schema, rows, options)
        after, refusal = _afterwards(table, found.release.settings, found.release.events)
        return Outlook(
            heading=heading(found),
            verdict=found.verdict.in_words,
            grade=str(found.verdict),
            learnt=what_is_learnt(found),
            attacker=attacker_in_words(found.attacker),
            cost=cost_in_words(found),
            ledger=account_in_words(after),
            refusal=refusal,
            columns=[list(COLUMN_HEADINGS), *column_rows(found)],
        )


def curve(schema: Schema, rows: int, options: dict[str, Any]) -> Curve:
    """What is foretold of other ε."""
    with _ONE_AT_A_TIME:
        found = _at(schema, rows, options)
        return Curve(
            picture=curve_picture(found),
            useful=when_useful(found),
            rows=[list(CURVE_HEADINGS), *curve_rows(found)],
        )


def _at(schema: Schema, rows: int, options: dict[str, Any]) -> Forecast:
    others = {name: value for name, value in options.items() if name != "epsilon"}
    return _foretold(schema, rows, (("epsilon", _FIRST), *others.items())).at(options["epsilon"])


def outlook_of_images(images: Opened, schema: ImageSchema, number: int, options: dict[str, Any]) -> Outlook:
    """The same for images, of which it is not foretold what will be learnt."""
    with _ONE_AT_A_TIME:
        found = forecast_images(schema, images=number, **options)
        after, refusal = _afterwards(images, found.settings, found.events)
        return Outlook(
            heading=found.heading,
            verdict="What an attacker gains is known beforehand; how good the images will be is not.",
            grade="",
            learnt=[NOT_FORETOLD, *on_epsilon(found.settings.epsilon)],
            attacker=attacker_in_words(found.attacker, "among the images"),
            cost="",
            ledger=account_in_words(after),
            refusal=refusal,
        )


def standing_in_book(table: Opened) -> Account:
    """How the table stands in its book."""
    return Ledger(table.ledger).account(table.dataset, delta=_DELTA)


def _afterwards(table: Opened, settings: PrivacySettings, events: Sequence[Event]) -> tuple[Account, str]:
    """How the table would stand in its book, and whether the book would have it."""
    book = Ledger(table.ledger)
    try:
        book.check(table.dataset, events, neighbours=settings.neighbours)
        refusal = ""
    except BudgetError as error:
        refusal = str(error)
    return book.account(table.dataset, delta=settings.delta, planned=events), refusal


@lru_cache(maxsize=_REMEMBERED)
def _foretold(schema: Schema, rows: int, options: tuple[tuple[str, Any], ...]) -> Forecast:
    """One forecast for every other option, from which those of all ε are had: a slider asks for one after the other."""
    return forecast(schema, rows=rows, **dict(options))
