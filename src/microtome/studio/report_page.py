"""How good the rows are: a page from the release alone, or, for the holder's eyes, one that compares real rows."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from microtome.errors import ParameterError
from microtome.progress import Progress
from microtome.studio.desk import Contents, Desk, Reported, needed
from microtome.studio.guard import REPORT_POLICY
from microtome.studio.pages import acting, desk_of, page, showing
from microtome.studio.receiving import Form

HERE = "/report"


def show(request: Request, form: Form) -> Response:
    """The report in a frame, and a form to make one."""
    return page(request, "report.html.j2", here=HERE, given=form)


def make(desk: Desk, form: Form) -> None:
    """Compare the rows with the release, or with the table."""
    drawn = needed(desk.contents.drawn, f"draw {desk.contents.things}")
    released, table = needed(desk.contents.released, "make a release"), desk.contents.table
    real = form["against"] == "table"
    if real and table is None:
        raise ParameterError("open what the release was made of")
    if real and not form["alone"]:
        raise ParameterError("tick the box that says who is looking: the report will be on private rows or pictures")

    def work(progress: Progress) -> Contents:
        from microtome.evaluation import report
        from microtome.evaluation.images import report_images

        compare = report_images if released.is_of_images else report
        private = table.path if real and table is not None else None
        made = compare(private, drawn.path, release=released.path, progress=progress)
        path = desk.places.report(released.stem, of_real_rows=real)
        made.save(path)
        return replace(desk.contents, reported=Reported(path=path, of_real_rows=real, headline=made.headline))

    desk.start(form["version"], title="The report", page=HERE, work=work)


def framed(request: Request) -> Response:
    """The report itself, which may do nothing but be looked at."""
    reported = desk_of(request).contents.reported
    if reported is None:
        return PlainTextResponse("There is no report yet.\n", 404)
    return FileResponse(
        reported.path,
        media_type="text/html; charset=utf-8",
        headers={"content-security-policy": REPORT_POLICY},
    )


routes = [
    Route(HERE, showing(show), methods=["GET"]),
    Route("/report/make", acting(make, show, HERE), methods=["POST"]),
    Route("/report/page", framed, methods=["GET"]),
]
