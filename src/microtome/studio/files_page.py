"""Everything that may be taken away, and how to do the same without a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from microtome.published import Artefact
from microtome.published.statement import privacy_statement
from microtome.studio.desk import Contents
from microtome.studio.pages import desk_of, page, showing
from microtome.studio.receiving import Form
from microtome.studio.recipe import commands, program, schema_name, statement_name

HERE = "/files"
_DESCRIBED = {"card": "people", "croissant": "programs (Croissant)"}
_PUBLIC, _PRIVATE = "may be given to anybody", "for you alone: computed from private rows"


@dataclass(frozen=True, kw_only=True)
class Item:
    """Something to take away.

    Attributes:
        key: Its name in the address.
        name: Its name as a file.
        what: What it is.
        who: Who may have it.
        content: Where it lies, or its text.
    """

    key: str
    name: str
    what: str
    content: Path | str
    who: str = _PUBLIC

    @property
    def is_private(self) -> bool:
        """Whether it is for the holder alone."""
        return self.who == _PRIVATE


def items(desk: Contents) -> Iterator[Item]:
    """All there is."""
    released = desk.released
    schema = desk.schema if desk.images is None else desk.images.schema
    if schema is not None and released is None:
        who = "a draft: not public before you confirm it" if desk.is_draft else "public with a release"
        yield Item(key="schema", name="schema.yaml", what="schema", content=schema.to_yaml(), who=who)
    if released is None:
        return
    if released.schema is not None:
        text = released.schema.to_yaml()
        yield Item(key="schema", name=schema_name(released), what="schema, public with the release", content=text)
    yield Item(key="release", name=released.path.name, what="release", content=released.path)
    statement = privacy_statement(Artefact.load(released.path))
    yield Item(key="statement", name=statement_name(released), what="statement for whoever answers", content=statement)
    if desk.tuned is not None:
        yield Item(key="settings", name=desk.tuned.path.name, what="settings", content=desk.tuned.path)
    if desk.fitted is not None:
        yield Item(key="model", name=desk.fitted.path.name, what="model", content=desk.fitted.path)
    if desk.drawn is not None:
        yield Item(key="rows", name=desk.drawn.path.name, what=f"synthetic {desk.things}", content=desk.drawn.path)
        for (key, whom), path in zip(_DESCRIBED.items(), desk.drawn.described, strict=False):
            yield Item(key=key, name=path.name, what=f"what the {desk.things} are, for {whom}", content=path)
    if desk.reported is not None:
        who = _PRIVATE if desk.reported.of_real_rows else _PUBLIC
        yield Item(key="report", name=desk.reported.path.name, what="report", content=desk.reported.path, who=who)


def show(request: Request, form: Form) -> Response:
    """Files, commands and a program."""
    desk = desk_of(request).contents
    return page(
        request,
        "files.html.j2",
        here=HERE,
        given=form,
        items=list(items(desk)),
        commands=commands(desk),
        program=program(desk),
    )


def download(request: Request) -> Response:
    """One of them."""
    found = [item for item in items(desk_of(request).contents) if item.key == request.path_params["key"]]
    if not found:
        return PlainTextResponse("There is no such file yet.\n", 404)
    item = found[0]
    match item.content:
        case Path():
            return FileResponse(item.content, filename=item.name, media_type="application/octet-stream")
        case str():
            headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(item.name, safe='')}"}
            return Response(item.content, media_type="text/plain; charset=utf-8", headers=headers)


routes = [
    Route(HERE, showing(show), methods=["GET"]),
    Route("/files/{key}", download, methods=["GET"]),
]
