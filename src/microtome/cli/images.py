"""What the verbs do where a release, a model or a data set is of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microtome.cli.screen import EndedEarly, console, plain, print_json, watch
from microtome.errors import ModelError, OutputError, ParameterError, SchemaError
from microtome.file_kind import format_of

if TYPE_CHECKING:
    from microtome.images import ImageSet
    from microtome.release import ImageRelease
    from microtome.schema import ImageSchema
    from microtome.schema.image import Label

_MOST_COMPARED = 5000
"""Images that neighbours and the classifier of a report look at: every one is compared with every other."""
_GRID_COLUMNS = 10
WORD = "image"
"""What is given as a schema to have one made of the file's layout and the declared classes."""


def describes_images(schema: Path) -> bool:
    """Whether a schema is the word ``image`` or a document about images."""
    from microtome.schema.image import is_image_document

    return str(schema) == WORD or is_image_document(schema)


def draft(source: Path, *, classes: str | None, labels: Path | None, part: str | None) -> ImageSchema:
    """A schema from the layout of a file, and classes as declared."""
    from microtome.images import read_images

    return schema_of(read_images(source, labels=labels, part=part), source, classes)


def schema_of(images: ImageSet, source: Path, classes: str | None) -> ImageSchema:
    """A schema for images that are read."""
    from microtome.schema.image import classes_from_text, schema_of_layout

    declared: tuple[Label, ...] | None = None
    if classes is not None:
        declared = classes_from_text(classes)
    elif images.labels is not None:
        raise SchemaError(
            f"{source} has labels: declare the classes, from public knowledge, with --classes 10 (for 0 … 9) or "
            "--classes cat,dog. They are not read off labels or sub-folders, of which a single image can have made one"
        )
    return schema_of_layout(images.shape, images.pixels.dtype.name, declared)


def release(
    source: Path,
    schema: Path,
    *,
    classes: str | None,
    labels: Path | None,
    part: str | None,
    pivot: str,
    options: Mapping[str, Any],
) -> ImageRelease:
    """Publish an image set."""
    from microtome.images import read_images
    from microtome.private import release_images
    from microtome.schema import ImageSchema

    if pivot != "none":
        raise ParameterError("images have their label as pivot; --pivot is for tables")
    if classes is not None and str(schema) != WORD:
        raise ParameterError(f"{schema} declares the classes; --classes goes with --schema {WORD}")
    images = read_images(source, labels=labels, part=part)
    declared = schema_of(images, source, classes) if str(schema) == WORD else ImageSchema.load(schema)
    _refuse_inputs(Path(options["output"]), source, labels, options["ledger"], options["sign"])
    return release_images(images, declared, **options)


def _refuse_inputs(output: Path, *inputs: Path | None) -> None:
    if any(path is not None and path.resolve() == output.resolve() for path in inputs):
        raise OutputError(f"{output} is the image set or its ledger, or the key; choose another output")


def fit(
    release: ImageRelease,
    output: Path,
    settings: Mapping[str, object],
    *,
    grid: Path | None,
    seed: int | None,
    resume: bool,
    force: bool,
) -> None:
    """Train an image model; the counterpart of what ``microtome fit`` does for tables."""
    from microtome.images.writing import write_images
    from microtome.release import check_output
    from microtome.synthesis.image_synthesizer import ImageSynthesizer
    from microtome.training.image_trainer import ImageFitSettings

    checkpoint = output.with_name(f"{output.name}.checkpoint")
    replaces = force or (resume and checkpoint.exists())
    check_output(output, force=replaces)
    if grid is not None:
        _check_grid(grid, force=replaces)
    synthesizer = ImageSynthesizer(ImageFitSettings.from_dict(settings), random_state=seed)
    with watch("steps") as progress:
        synthesizer.fit(release, checkpoint=checkpoint, resume=resume, progress=progress)
    synthesizer.save(output, force=replaces)
    if grid is not None:
        schema = synthesizer.schema
        drawn = synthesizer.sample(_GRID_COLUMNS * schema.num_classes, balanced=True, random_state=seed)
        write_images(grid, drawn, low=schema.low, high=schema.high)
    result = synthesizer.fit_
    assert result is not None
    note = f"loss {result.history[-1][1]:.3f} after {result.history[-1][0]} steps" if result.history else "no steps"
    console.print(f"[bold]{plain(output)}[/]: {note}", soft_wrap=True)
    if not result.finished:
        goes_on = plain(f"--resume goes on from {checkpoint}")
        console.print(f"interrupted: this is the model so far; {goes_on}", soft_wrap=True)
        raise EndedEarly
    checkpoint.unlink(missing_ok=True)


def _check_grid(path: Path, *, force: bool) -> None:
    from microtome.release import check_output

    if path.suffix != ".png":
        raise ParameterError(f"{path}: a grid is a .png file")
    check_output(path, force=force)


def is_image_model(path: Path) -> bool:
    """Whether a model file draws images, of whichever version it is."""
    return (format_of(path) or "").startswith("microtome-image-model-")


def sample(model: Path, output: Path, number: int, where: Sequence[str], *, seed: int | None, force: bool) -> None:
    """Draw images to an NPZ archive, a folder of PNG files, or a grid."""
    from microtome.images.writing import write_images
    from microtome.release import check_output
    from microtome.synthesis.image_synthesizer import ImageSynthesizer

    if output.is_dir() and not output.suffix:
        if not force:
            raise OutputError(f"{output} exists; choose another name, or say --force to replace it")
    else:
        check_output(output, force=force)
    synthesizer = ImageSynthesizer.load(model)
    wanted = _labels(where, synthesizer.schema)
    with watch("images") as progress:
        images = synthesizer.sample(number, labels=wanted, random_state=seed, progress=progress)
        write_images(output, images, low=synthesizer.schema.low, high=synthesizer.schema.high, progress=progress)
    console.print(f"[bold]{plain(output)}[/]: {number:,} images", soft_wrap=True)


def _labels(where: Sequence[str], schema: ImageSchema) -> list[Label] | None:
    """The classes that conditions such as ``label=3|5`` ask for."""
    if not where:
        return None
    names = {str(label): label for label in schema.classes or ()}
    wanted: list[Label] = []
    for text in where:
        name, equals, value = (part.strip() for part in text.partition("="))
        parts = value.split("|")
        if name != "label" or not equals or any(one not in names for one in parts):
            raise ModelError(
                f"condition {text!r}: images take label=a|b with labels of {', '.join(names) or 'no class'}"
            )
        wanted += [names[one] for one in parts]
    return wanted


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
    from microtome.release import check_output

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
    console.print(f"[bold]{plain(output)}[/]: {plain(made.figures.stamp)}", soft_wrap=True)
