"""The draft, column by column: what is public about the table, said by its holder before anything is released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from microtome.errors import ParameterError
from microtome.private.first_rows import FirstRows, first_rows
from microtome.schema import Action, Aside, Column, Kind, Schema
from microtome.schema.column import Outside
from microtome.schema.editing import RELEASE, with_changes, with_target
from microtome.studio import images_page
from microtome.studio.desk import Contents, Desk, needed
from microtome.studio.pages import acting, desk_of, page, showing
from microtome.studio.receiving import Form

HERE = "/columns"
_ASIDE = {Action.DROP: "leave out", Action.SURROGATE: "keys made up anew"}
_LISTED = [str(kind) for kind in Kind if kind.is_categorical]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A column as the page shows it.

    Attributes:
        name: Its name.
        role: Its kind, or what becomes of it instead.
        values: What is declared of it, in words.
        categories: Its declared categories, one a line.
        low: Its smallest value.
        high: Its largest.
        missing: Whether values may be missing.
        outside: What becomes of values outside.
        codes: Values that are no measurements, one a line.
        unit: In words.
        format: How values are written.
        suggested: The entry of the public catalogue that its values are from.
        is_declared: Whether nothing has to be learnt but counts.
        is_aside: Whether it is not released.
        remarks: What the draft has to say of it.
    """

    name: str
    role: str
    values: str
    categories: str = ""
    low: str = ""
    high: str = ""
    missing: bool = True
    outside: str = str(Outside.REFUSE)
    codes: str = ""
    unit: str = ""
    format: str = ""
    suggested: str = ""
    is_declared: bool = False
    is_aside: bool = False
    remarks: tuple[str, ...] = ()


def show(request: Request, form: Form) -> Response:
    """All columns, each with a form of its own."""
    desk = desk_of(request).contents
    if desk.images is not None:
        return images_page.show(request, form)
    return page(
        request,
        "columns.html.j2",
        here=HERE,
        given=form,
        lines=_lines(desk),
        document="" if desk.schema is None else desk.schema.to_yaml(),
        rows=_rows(desk),
        kinds=[str(kind) for kind in Kind],
        listed=_LISTED,
        aside=_ASIDE,
        outside=[str(one) for one in Outside],
        remarked=len({remark.partition(": ")[0] for remark in desk.remarks}),
    )


def _rows(desk: Contents) -> FirstRows | None:
    """The first rows, for whoever has asked to look."""
    if not desk.looks or desk.table is None or desk.schema is None:
        return None
    return first_rows(desk.table.path, desk.schema)


def _lines(desk: Contents) -> list[Line]:
    if desk.schema is None:
        return []
    in_words = {str(row[0]): str(row[3]) for row in desk.schema.card().rows}
    remarks = desk.remarks if desk.looks else ()
    return [_line(one, in_words.get(one.name, ""), remarks) for one in desk.schema.layout()]


def _line(one: Column | Aside, values: str, remarks: tuple[str, ...]) -> Line:
    own = tuple(text.removeprefix(f"{one.name}: ") for text in remarks if text.startswith(f"{one.name}: "))
    match one:
        case Aside():
            return Line(name=one.name, role=str(one.action), values=_ASIDE[one.action], is_aside=True, remarks=own)
        case Column():
            low, high = ("", "") if one.bounds is None else map(_plain, one.bounds)
            return Line(
                name=one.name,
                role=str(one.kind),
                values=values,
                categories="\n".join(map(_plain, one.categories or ())),
                low=low,
                high=high,
                missing=one.missing,
                outside=str(one.outside),
                codes="\n".join(one.code_texts),
                unit=one.unit or "",
                format=one.format or "",
                suggested=one.suggested or "",
                is_declared=one.is_declared,
                remarks=own,
            )


def _plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def change_column(desk: Desk, form: Form) -> None:
    """Another description of a column."""
    schema = needed(desk.contents.schema, "open a table")
    before = next((line for line in _lines(desk.contents) if line.name == form["name"]), None)
    if before is None:
        raise ParameterError(f"there is no column {form['name']!r}")
    changes: dict[str, str | list[str]] = {}
    role = form["role"]
    if role in _ASIDE:
        changes = {"action": role}
    else:
        if before.is_aside:
            changes["action"] = RELEASE
        if role != before.role:
            changes["kind"] = role
        changes |= _described(form, listed=role in _LISTED)
    _put(desk, form, with_changes(schema, form["name"], changes))


def _described(form: Form, *, listed: bool) -> dict[str, str | list[str]]:
    changes: dict[str, str | list[str]] = {
        "missing": "allowed" if form["missing"] else "never",
        "outside": form["outside"],
        "unit": form["unit"],
    }
    if listed:
        return changes | {"categories": form.lines("categories")}
    bounds = [text for text in (form["low"], form["high"]) if text]
    return changes | {"bounds": bounds, "codes": form.lines("codes"), "format": form["format"]}


def change_target(desk: Desk, form: Form) -> None:
    """Another column to be predicted."""
    _put(desk, form, with_target(needed(desk.contents.schema, "open a table"), form["target"] or None))


def change_document(desk: Desk, form: Form) -> None:
    """The whole document, rules and all, as text."""
    _put(desk, form, Schema.loads(form["document"]))


def confirm(desk: Desk, form: Form) -> None:
    """Say that all of it is public knowledge."""
    if not form["public"]:
        raise ParameterError("nothing was confirmed: tick the box that says that all of this may be public")
    schema = needed(desk.contents.schema, "open a table")
    _put(desk, form, (schema if form["suggestions"] == "keep" else schema.without_suggestions()).confirm())


def look(desk: Desk, form: Form) -> None:
    """Show rows and remarks from here on, or show them no longer."""
    if form["looks"] and not form["alone"]:
        raise ParameterError("tick the box that says who is looking: rows of the table will be on this screen")
    desk.change(form["version"], replace(desk.contents, looks=bool(form["looks"])))


def _put(desk: Desk, form: Form, schema: Schema) -> None:
    desk.change(form["version"], replace(desk.contents, schema=schema))


routes = [
    Route(HERE, showing(show), methods=["GET"]),
    Route("/columns/change", acting(change_column, show, HERE), methods=["POST"]),
    Route("/columns/target", acting(change_target, show, HERE), methods=["POST"]),
    Route("/columns/document", acting(change_document, show, HERE), methods=["POST"]),
    Route("/columns/confirm", acting(confirm, show, "/promise"), methods=["POST"]),
    Route("/columns/look", acting(look, show, HERE), methods=["POST"]),
]
