"""The first page: a table is opened, by its path, from the browser, or the built-in town to try things out."""

from __future__ import annotations

import shutil
from dataclasses import replace

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from microtome.data_kind import is_of_images
from microtome.demo import population, population_schema, write_people
from microtome.errors import ParameterError
from microtome.failure import in_words
from microtome.file_kind import kind_of
from microtome.images import read_images
from microtome.images.image_schema import draft_of_layout
from microtome.private.draft import Draft, draft
from microtome.private.first_rows import number_of_rows
from microtome.progress import Progress
from microtome.published import Artefact, ImageRelease, Release
from microtome.studio.desk import Contents, Desk, Images, Released
from microtome.studio.pages import REFUSED, acting, desk_of, page, showing
from microtome.studio.places import Opened
from microtome.studio.receiving import Form, receive_file

HERE, _NEXT = "/", "/columns"
_PEOPLE = 20_000


def show(request: Request, form: Form) -> Response:
    """What is open, and ways to open something."""
    return page(request, "table.html.j2", here=HERE, given=form, people=_PEOPLE)


def open_path(desk: Desk, form: Form) -> None:
    """Open a file or folder of this machine where it is."""
    _open(desk, form["version"], desk.places.of_path(form["path"]))


def open_town(desk: Desk, form: Form) -> None:
    """Open a table of people whom nobody has to protect."""
    path = desk.places.room_for_upload() / "people.csv"
    write_people(path, population(_PEOPLE))
    declared = replace(population_schema(), drafted=True)  # what its office would say, for whoever tries it to confirm
    _open(desk, form["version"], desk.places.of_try_out(path), Draft(schema=declared, remarks=()))


async def open_upload(request: Request) -> Response:
    """Copy a file from the browser into the private folder, and open it. A script sends it, and is told where to go."""
    desk = desk_of(request)
    folder = await to_thread.run_sync(desk.places.room_for_upload)
    try:
        path = await receive_file(request, folder, largest=desk.places.largest_upload)
        opened = desk.places.of_upload(path)
        await to_thread.run_sync(_open, desk, request.query_params.get("version", ""), opened)
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        return JSONResponse({"problem": in_words(error)}, REFUSED)
    return JSONResponse({"next": _NEXT if desk.contents.released is None else "/model"})


def _open(desk: Desk, version: str, opened: Opened, known: Draft | None = None) -> None:
    if opened.path.is_file() and kind_of(opened.path) == "a release":
        desk.change(version, Contents(released=_released(desk, opened)))
        return

    def work(progress: Progress) -> Contents:
        try:
            found = _images(opened) if is_of_images(opened.path) else _table(opened, known, progress)
        except BaseException:
            desk.places.forget(opened)
            raise
        before = desk.contents.table
        if before is not None:
            desk.places.forget(before)
        return found

    desk.start(version, title=f"Reading {opened.path.name}", page=_NEXT, work=work, counts_rows=True)


def _released(desk: Desk, opened: Opened) -> Released:
    """A release to go on with, of a table or of images."""
    release = Artefact.load(opened.path)
    match release:
        case Release() | ImageRelease():
            kept = desk.places.kept(release.file) if opened.is_copy else release.file
            return Released(path=kept, is_of_images=release.manifest.mechanism.of_images)
        case _:
            raise ParameterError(
                f"{opened.path.name} is a release of {release.holds}, which is for the command line: 'microtome fit "
                "--help'"
            )


def _table(opened: Opened, known: Draft | None, progress: Progress) -> Contents:
    progress("looking at its columns", 0, 2)
    drafted = known or draft(opened.path)
    progress("counting its rows", 1, 2)
    counted = number_of_rows(opened.path, drafted.schema)
    return Contents(table=opened, schema=drafted.schema, remarks=drafted.remarks, num_rows=counted)


def _images(opened: Opened) -> Contents:
    """The layout of the file is all that is taken from it; classes are for the holder to declare."""
    images = read_images(opened.path)
    layout = draft_of_layout(images.shape, images.pixels.dtype.name)
    return Contents(
        table=opened, images=Images(schema=layout, has_labels=images.labels is not None), num_rows=len(images)
    )


routes = [
    Route(HERE, showing(show), methods=["GET"]),
    Route("/open/path", acting(open_path, show, _NEXT), methods=["POST"]),
    Route("/open/town", acting(open_town, show, _NEXT), methods=["POST"]),
    Route("/open/upload", open_upload, methods=["POST"]),
]
