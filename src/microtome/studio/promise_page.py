"""The promise: a forecast under a slider of ε, what is left in the ledger, and the release, which spends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from microtome.accounting import Ledger, Neighbours
from microtome.api import release
from microtome.card import account_in_words
from microtome.errors import ParameterError, together
from microtome.failure import in_words
from microtome.images import ImageSchema
from microtome.progress import Progress
from microtome.published import Artefact, ReleaseKind, promise_in_words, unlearnt_in_words
from microtome.schema import Schema
from microtome.settings import RunSettings
from microtome.studio.desk import Contents, Desk, Released, needed
from microtome.studio.pages import acting, desk_of, page, showing, template_named
from microtome.studio.places import Opened
from microtome.studio.promise import (
    Curve,
    Outlook,
    curve,
    number_of_rows,
    outlook,
    outlook_of_images,
    promised,
    standing_in_book,
)
from microtome.studio.receiving import Form

HERE = "/promise"
MARKS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
"""Where the slider of ε stops."""
_USUAL_EPSILON = 1.0


def show(request: Request, form: Form) -> Response:
    """The promise, and what was released under one."""
    desk = desk_of(request).contents
    return page(
        request,
        "promise.html.j2",
        here=HERE,
        given=form,
        marks=MARKS,
        usual=_USUAL_EPSILON,
        relations=[(str(one), one.describes) for one in Neighbours],
        kinds=[str(kind) for kind in ReleaseKind],
        book=[] if desk.table is None else account_in_words(standing_in_book(desk.table)),
        made=_made(desk),
    )


def _made(desk: Contents) -> list[str]:
    """What the release on the desk promises, in words."""
    if desk.released is None:
        return []
    opened = Artefact.load(desk.released.path)
    return [*promise_in_words(opened), *unlearnt_in_words(opened)]


def foretell(request: Request) -> Response:
    """The forecast of what is typed, as a piece of the page."""

    def found(desk: Contents, table: Opened, rows: int, options: dict[str, Any]) -> Outlook:
        if desk.images is not None:
            return outlook_of_images(table, desk.images.schema, rows, options)
        return outlook(table, needed(desk.schema, "open a table"), rows, options)

    return _piece(request, "forecast.html.j2", found)


def foretell_others(request: Request) -> Response:
    """What is foretold of other ε, as another piece, which is asked for behind the first."""

    def found(desk: Contents, table: Opened, rows: int, options: dict[str, Any]) -> Curve:
        del table
        return curve(needed(desk.schema, "open a table"), rows, options)

    return _piece(request, "curve.html.j2", found)


def _piece(
    request: Request, template: str, foretold: Callable[[Contents, Opened, int, dict[str, Any]], Any]
) -> Response:
    desk, form = desk_of(request).contents, Form(dict(request.query_params))
    try:
        table = needed(desk.table, "open a table")
        with together() as attempts:
            with attempts:
                options = promised(form)
            with attempts:
                rows = number_of_rows(form, desk.num_rows)
        found, problem = foretold(desk, table, rows, options), ""
    except Exception as error:
        found, problem = None, in_words(error)
    return HTMLResponse(template_named(template).render(found=found, problem=problem))


def set_budget(desk: Desk, form: Form) -> None:
    """Set the most that may be spent on the table that the page showed."""
    with together() as attempts:
        with attempts:
            epsilon = form.number("budget")
        with attempts:
            delta = form.number("budget_delta")

    def step(seen: Contents) -> None:
        table = needed(seen.table, "open a table")
        Ledger(table.ledger).set_budget(table.dataset, epsilon=epsilon, delta=delta)

    desk.act(form["version"], step)


def make(desk: Desk, form: Form) -> None:
    """Release the table: the one private step."""
    table, images = needed(desk.contents.table, "open a table"), desk.contents.images
    schema: Schema | ImageSchema
    if images is None:
        schema, options = needed(desk.contents.schema, "open a table"), promised(form)
        options["anyway"] = bool(form["anyway"])
    elif images.is_confirmed:
        schema, options = images.schema, promised(form)
    else:
        raise ParameterError("nothing was done: confirm what is public about the images first")

    def work(progress: Progress) -> Contents:
        said: list[str] = []

        def tell(expected: str, cautions: Sequence[str]) -> None:
            said.extend(line for line in (expected, *cautions) if line)

        output = desk.places.result(table.stem, ".release")
        release(
            table.path,
            schema,
            **options,
            output=output,
            ledger=table.ledger,
            dataset=table.dataset,
            run=RunSettings(progress=progress, tell=tell),
        )
        done = Released(path=output, schema=schema, options=options, told=tuple(said), is_of_images=images is not None)
        return replace(desk.contents, released=done, tuned=None, fitted=None, drawn=None, reported=None)

    desk.start(form["version"], title="The release", page=HERE, work=work, counts_rows=True)


routes = [
    Route(HERE, showing(show), methods=["GET"]),
    Route("/promise/forecast", foretell, methods=["GET"]),
    Route("/promise/curve", foretell_others, methods=["GET"]),
    Route("/promise/budget", acting(set_budget, show, HERE), methods=["POST"]),
    Route("/promise/release", acting(make, show, HERE), methods=["POST"]),
]
