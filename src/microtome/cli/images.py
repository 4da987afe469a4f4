"""What the verbs do where a release, a model or a data set is of images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from microtome.cli.screen import console, plain, print_json, watch
from microtome.errors import SchemaError

if TYPE_CHECKING:
    from microtome.images import ImageSchema, ImageSet
    from microtome.images.image_schema import Label

_MOST_COMPARED = 5000
"""Images that neighbours and the classifier of a report look at: every one is compared with every other."""
WORD = "image"
"""What is given as a schema to have one made of the file's layout and the declared classes."""


def draft(source: Path, *, classes: str | None, labels: Path | None, part: str | None) -> ImageSchema:
    """A schema from the layout of a file, and classes as declared."""
    from microtome.images import read_images
    from microtome.images.image_schema import draft_of_layout

    images = read_images(source, labels=labels, part=part)
    return draft_of_layout(images.shape, images.pixels.dtype.name, _declared(images, source, classes))


def schema_of(images: ImageSet, source: Path, classes: str | None) -> ImageSchema:
    """A schema for images that are read, which nobody reads before it is used."""
    from microtome.images.image_schema import schema_of_layout

    return schema_of_layout(images.shape, images.pixels.dtype.name, _declared(images, source, classes))


def _declared(images: ImageSet, source: Path, classes: str | None) -> tuple[Label, ...] | None:
    """The classes as they were declared; images with labels need some."""
    from microtome.images.image_schema import classes_from_text

    if classes is not None:
        return classes_from_text(classes)
    if images.labels is not None:
        raise SchemaError(
            f"{source} has labels: declare the classes, from public knowledge, with --classes 10 (for 0 … 9) or "
            "--classes cat,dog. They are not read off labels or sub-folders, of which a single image can have made one"
        )
    return None


def all_image_sets(paths: Sequence[Path]) -> bool:
    """Whether all paths are image sets."""
    from microtome.images.reading import is_image_set

    return all(is_image_set(path) for path in paths)


def report(
    paths: Sequence[Path],
    output: Path,
    *,
    release: Path | None,
    schema: Path | None,
    holdout: Path | None,
    sample: int,
    as_json: bool,
    seed: int,
    force: bool,
) -> None:
    """The page on images."""
    from microtome.evaluation.images import report_images
    from microtome.published import check_output

    check_output(output, force=force)
    with watch("parts") as progress:
        made = report_images(
            paths[0] if len(paths) == 2 else None,
            paths[-1],
            release=release,
            schema=schema,
            holdout=holdout,
            sample=min(sample, _MOST_COMPARED),
            random_state=seed,
            progress=progress,
        )
        made.save(output, force=force)
    if as_json:
        print_json(made.figures.to_dict(), indent=1)
        return
    console.print(f"[bold]{plain(output)}[/]: {plain(made.headline)}", soft_wrap=True)
