"""Pages: templates filled with what lies on the desk, and the errors of the library as they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from anyio import to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from microtome import __version__
from microtome.failure import in_words
from microtome.studio.desk import Desk
from microtome.studio.receiving import Form, read_form

REFUSED = 422
_STEPS = (
    ("/", "Table"),
    ("/columns", "Columns"),
    ("/promise", "Promise"),
    ("/model", "Model"),
    ("/report", "Report"),
    ("/files", "Files"),
)
Show = Callable[[Request, Form], Response]
"""Shows a page, with a form as it was typed."""
Act = Callable[[Desk, Form], None]
"""Does what a form asks for."""


@cache
def template_named(name: str) -> Template:
    """A template of this package."""
    environment = Environment(
        loader=PackageLoader("microtome.studio", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def desk_of(request: Request) -> Desk:
    """The desk of the studio that a request came to."""
    desk: Desk = request.app.state.desk
    return desk


def page(request: Request, template: str, *, here: str, given: Form, **context: Any) -> HTMLResponse:
    """A page; after an error, with a word on it and the form as it was typed."""
    desk, problem = desk_of(request), getattr(request.state, "problem", "")
    text = template_named(template).render(
        steps=_STEPS,
        here=here,
        desk=desk.contents,
        places=desk.places,
        version=request.state.version,
        work=desk.standing,
        problem=problem,
        given=given,
        software=f"microtome {__version__}",
        **context,
    )
    return HTMLResponse(text, REFUSED if problem else 200)


def showing(show: Show) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that shows a page."""

    async def endpoint(request: Request) -> Response:
        return await to_thread.run_sync(_shown, show, request, Form({}))

    return endpoint


def acting(act: Act, show: Show, then: str) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that does what a form asks for; it leads to a page, or shows the form again with what is wrong."""

    async def endpoint(request: Request) -> Response:
        form = Form({})
        try:
            form = await read_form(request)
            await to_thread.run_sync(act, desk_of(request), form)
        except Exception as error:
            return await refused(request, error, show, form)
        return RedirectResponse(then, 303)

    return endpoint


async def refused(request: Request, error: Exception, show: Show, form: Form) -> Response:
    """A page with what is wrong."""
    request.state.problem = in_words(error)
    return await to_thread.run_sync(_shown, show, request, form)


def _shown(show: Show, request: Request, form: Form) -> Response:
    """A page; where not even that can be shown (a damaged ledger), what is wrong."""
    request.state.version = desk_of(request).version  # first of all: what is shown must not be older than it says
    try:
        return show(request, form)
    except Exception as error:
        request.state.problem = in_words(error)
        return page(request, "problem.html.j2", here=request.url.path, given=form)
