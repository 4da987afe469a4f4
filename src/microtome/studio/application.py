"""All pages together, behind the guard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from microtome.studio import (
    columns_page,
    files_page,
    images_page,
    model_page,
    promise_page,
    report_page,
    table_page,
)
from microtome.studio.access import Access
from microtome.studio.desk import Desk
from microtome.studio.guard import Guard
from microtome.studio.pages import desk_of, template_named

_STATIC = Path(__file__).parent / "static"


def how_far(request: Request) -> Response:
    """How the work stands, for a page that watches it."""
    standing = desk_of(request).standing
    if standing is None:
        return JSONResponse({"running": False})
    return JSONResponse(
        {
            "running": standing.is_running,
            "words": standing.in_words,
            "note": standing.note,
            "share": standing.share,
        }
    )


def stop(request: Request) -> Response:
    """Have the work end at its next step."""
    desk = desk_of(request)
    desk.stop()
    standing = desk.standing
    return RedirectResponse("/" if standing is None else standing.page, 303)


def end(request: Request) -> Response:
    """End the studio."""
    request.app.state.end()
    return HTMLResponse(template_named("ended.html.j2").render(places=desk_of(request).places))


def make_application(desk: Desk, access: Access, end_studio: Callable[[], None]) -> ASGIApp:
    """The application of one studio."""
    pages = (table_page, columns_page, images_page, promise_page, model_page, report_page, files_page)
    routes = [route for one in pages for route in one.routes]
    routes += [
        Route("/under-way", how_far, methods=["GET"]),
        Route("/under-way/stop", stop, methods=["POST"]),
        Route("/end", end, methods=["POST"]),
    ]
    application = Starlette(routes=[*routes, Mount("/static", StaticFiles(directory=_STATIC))])
    application.state.desk, application.state.end = desk, end_studio
    return Guard(application, access)
