"""What is public about an image set: its layout, read off the file, and what its holder declares."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from microtome.errors import ParameterError, together
from microtome.images.image_schema import classes_from_text
from microtome.studio.desk import Desk, Images, needed
from microtome.studio.pages import acting, desk_of, page
from microtome.studio.receiving import Form

HERE = "/columns"
_UNDECLARED = (
    "the images have labels: declare the classes, from public knowledge, before you confirm. They are not read off "
    "labels or sub-folders, of which a single image can have made one"
)


def show(request: Request, form: Form) -> Response:
    """The layout, and forms for what is declared."""
    images = needed(desk_of(request).contents.images, "open an image set")
    classes = images.schema.classes or ()
    counted = classes == tuple(range(len(classes))) and bool(classes)
    return page(
        request,
        "images.html.j2",
        here=HERE,
        given=form,
        classes=str(len(classes)) if counted else ", ".join(map(str, classes)),
        mean="" if images.schema.mean is None else ", ".join(f"{value:g}" for value in images.schema.mean),
        document=images.schema.to_yaml(),
    )


def change(desk: Desk, form: Form) -> None:
    """Declare classes, range, mean and components."""
    images = needed(desk.contents.images, "open an image set")
    with together() as attempts:
        with attempts:
            classes = classes_from_text(form["classes"]) if form["classes"] else None
        with attempts:
            low, high = form.number("low"), form.number("high")
        with attempts:
            components = form.whole("components") if form["components"] else None
        with attempts:
            mean = tuple(_number(text) for text in form["mean"].split(",")) if form["mean"] else None
    schema = replace(images.schema, classes=classes, low=low, high=high, components=components, mean=mean)
    _put(desk, form, replace(images, schema=schema, is_confirmed=False))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"mean is {text.strip()!r}; it must be a number, or one a channel with commas") from None


def confirm(desk: Desk, form: Form) -> None:
    """Say that all of it is public knowledge."""
    images = needed(desk.contents.images, "open an image set")
    if images.has_labels and images.schema.classes is None:
        raise ParameterError(_UNDECLARED)
    if not form["public"]:
        raise ParameterError("nothing was confirmed: tick the box that says that all of this may be public")
    _put(desk, form, replace(images, is_confirmed=True))


def _put(desk: Desk, form: Form, images: Images) -> None:
    desk.change(form["version"], replace(desk.contents, images=images))


routes = [
    Route("/columns/images", acting(change, show, HERE), methods=["POST"]),
    Route("/columns/images/confirm", acting(confirm, show, "/promise"), methods=["POST"]),
]
