"""What is to be promised, as it was typed, and what the library foretells of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from microtome.accounting import Account, Ledger, Neighbours
from microtome.card import account_in_words
from microtome.errors import BudgetError, ParameterError, together
from microtome.forecasting import Forecast, forecast
from microtome.forecasting.curve_drawing import curve_picture
from microtome.forecasting.page import COLUMN_HEADINGS, CURVE_HEADINGS, column_rows, curve_rows
from microtome.forecasting.words import attacker_in_words, cost_in_words, heading, what_is_learnt
from microtome.schema import Schema
from microtome.studio.places import Opened
from microtome.studio.receiving import Form

_ONE_AT_A_TIME = threading.Lock()
_REMEMBERED = 32
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
        columns: A table of columns, its headings first.
        curve: A table over ε, its headings first.
        picture: The same drawn, as HTML.
        ledger: What would stand in the book afterwards.
        refusal: Why the book would refuse it; empty where it would not.
    """

    heading: str
    verdict: str
    grade: str
    learnt: list[str]
    attacker: str
    cost: str
    columns: list[list[str]]
    curve: list[list[str]]
    picture: str
    ledger: list[str]
    refusal: str


def outlook(table: Opened, schema: Schema, rows: int, options: dict[str, Any]) -> Outlook:
    """What is foretold, and what would stand in the book."""
    with _ONE_AT_A_TIME:  # a slider asks more often than there are processors
        found = _foretold(schema, rows, tuple(options.items()))
        after, refusal = _afterwards(table, found)
        return Outlook(
            heading=heading(found),
            verdict=found.verdict.in_words,
            grade=str(found.verdict),
            learnt=what_is_learnt(found),
            attacker=attacker_in_words(found),
            cost=cost_in_words(found),
            columns=[list(COLUMN_HEADINGS), *column_rows(found)],
            curve=[list(CURVE_HEADINGS), *curve_rows(found)],
            picture=curve_picture(found),
            ledger=account_in_words(after),
            refusal=refusal,
        )


def standing_in_book(table: Opened) -> Account:
    """How the table stands in its book."""
    return Ledger(table.ledger).account(table.dataset, delta=_DELTA)


def _afterwards(table: Opened, found: Forecast) -> tuple[Account, str]:
    """How the table would stand in its book, and whether the book would have it."""
    book, settings, events = Ledger(table.ledger), found.release.settings, found.release.events
    try:
        book.check(table.dataset, events, neighbours=settings.neighbours)
        refusal = ""
    except BudgetError as error:
        refusal = str(error)
    return book.account(table.dataset, delta=settings.delta, planned=events), refusal


@lru_cache(maxsize=_REMEMBERED)
def _foretold(schema: Schema, rows: int, options: tuple[tuple[str, Any], ...]) -> Forecast:
    return forecast(schema, rows=rows, **dict(options))
