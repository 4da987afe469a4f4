"""``mt.release``: the private step as one call, of a table or of images.

    what is promised → what is released → through the door → signed

Everything after it is post-processing: ``mt.Synthesizer``, ``mt.report``.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, overload

from microtome.accounting import Ledger, dataset_name, default_delta
from microtome.errors import OutputError, ParameterError, noted
from microtome.forecasting.foresight import foresee, foresee_images
from microtome.images import ImageSchema, ImageSet
from microtome.private import (
    Door,
    ImageSource,
    LinkedSource,
    PeopleTable,
    PrivateImages,
    PrivateTable,
    Source,
    SystemRandomness,
    TableSource,
    fresh_key,
    linked_people,
    open_linked,
    open_table,
    people_of,
    require_confirmed,
)
from microtome.private.arrow_stream import is_of_data_sets
from microtome.private.image_rows import open_images
from microtome.private.naming import is_of_person
from microtome.private.spool import is_read_once, read_again
from microtome.private.stored_file import local_files, names_one_place
from microtome.published import Artefact, ImageRelease, LinkedRelease, Release, keep_temporary
from microtome.published.signature import Signer
from microtome.schema import LinkedSchema, Schema
from microtome.schema.view import view_of
from microtome.schema_file import load_any_schema
from microtome.settings import PrivacySettings, RunSettings

_OWN = ("privacy", "like", "anyway", "output", "ledger", "dataset", "sign", "run")
_OF_READING = ("labels", "part", "shape")


@overload
def release(
    source: Any,
    schema: Schema | None = None,
    *,
    privacy: PrivacySettings | None = None,
    like: Release | str | Path | None = None,
    epsilon: float = ...,
    delta: float | None = ...,
    anyway: bool = ...,
    output: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
    **options: Any,
) -> Release: ...


@overload
def release(
    source: Any,
    schema: ImageSchema,
    *,
    privacy: PrivacySettings | None = None,
    epsilon: float = ...,
    delta: float | None = ...,
    anyway: bool = ...,
    output: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
    **options: Any,
) -> ImageRelease: ...


@overload
def release(
    source: Any,
    schema: LinkedSchema,
    *,
    privacy: PrivacySettings | None = None,
    epsilon: float = ...,
    delta: float | None = ...,
    output: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
    **options: Any,
) -> LinkedRelease: ...


@overload
def release(
    source: Any,
    schema: str | Path,
    *,
    privacy: PrivacySettings | None = None,
    epsilon: float = ...,
    delta: float | None = ...,
    anyway: bool = ...,
    output: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
    **options: Any,
) -> Release | LinkedRelease | ImageRelease: ...


def release(
    source: Any,
    schema: Schema | LinkedSchema | ImageSchema | str | Path | None = None,
    *,
    privacy: PrivacySettings | None = None,
    like: Release | str | Path | None = None,
    anyway: bool = False,
    output: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
    **options: Any,
) -> Artefact:
    """Publish a private table or image set once, under (ε, δ)-differential privacy.

    Args:
        source: A table: files of any number (text, workbooks, Parquet, Arrow), by path, list, pattern, folder or
            address (``s3://…``); a pandas, polars or Arrow table; a data set or a stream of Arrow's, a lazy frame, a
            relation of DuckDB's, a ``Query``. What can be read only once is kept in a private file meanwhile.
            Linked tables: a folder of files that are named like them, or a dictionary of tables.
            Images: an ``ImageSet``, such as ``mt.read_images`` gives, or the path of one.
        schema: What is public about it, a ``Schema``, a ``LinkedSchema`` or an ``ImageSchema``, or the path of its YAML
            document.
        privacy: What is promised.
        like: A release, or its path, whose codebook to use, so that the two can be compared and pooled (``mt.pool``):
            there is no profile then, and all of the budget goes to the tables. The schema is its own unless given.
        anyway: Release a table without a forecast, even if next to nothing would be learnt.
        output: Where to write the release; without it, a temporary file that lives as long as the result.
        ledger: The book of what was spent, or its path; without it nothing remembers what was spent.
        dataset: The name of the data in the book; by default that of the file or folder. What has no name of its own
            (several files, a stream, a query) needs one wherever there is a book.
        sign: File of the private key to sign the release with, such as ``microtome key make`` writes.
        run: How the work is done.
        **options: Instead of ``privacy``, what ``PrivacySettings`` takes: ``epsilon=5, kind="records"``. Without
            ``delta`` it is one that fits the number of records, as far as that is public.

    Returns:
        The release, open for reading.

    Raises:
        ForecastError: Next to nothing would be learnt; nothing is spent.
    """
    given = {name: value for name, value in options.items() if (name, value) != ("delta", None)}
    settings, run = _promise(privacy, given), run or RunSettings()
    signer = None if sign is None else Signer.load(sign)
    other = Release.load(like) if isinstance(like, str | Path) else like
    name = dataset or _usual_name(source, ledger)
    if output is not None:
        _refuse_own_input(
            Path(output), (*_files(source), *_files(schema), *_files(ledger), *_files(sign), *_files(like))
        )
    with read_again(source, run.progress) as rows, ExitStack() as held:
        private = _opened(rows, schema, settings, run, held, anyway=anyway, like=other)
        if privacy is None and options.get("delta") is None:
            settings = replace(settings, delta=default_delta(settings.public_size(private.num_records)))
        door = Door(settings=settings, run=run, ledger=Ledger.of(ledger), dataset=name, randomness=SystemRandomness())
        if output is not None:
            return _signed(door, private, signer, Path(output))
        directory = Path(mkdtemp(prefix="microtome-"))
        try:
            return keep_temporary(_signed(door, private, signer, directory / "private.release"), directory)
        except BaseException:
            shutil.rmtree(directory)
            raise


def _promise(privacy: PrivacySettings | None, options: dict[str, Any]) -> PrivacySettings:
    """What is promised, as settings or as the options that make them."""
    known = [field.name for field in fields(PrivacySettings)]
    unknown = [_unknown(name, [*known, *_OWN]) for name in options if name not in known]
    if unknown:
        raise ParameterError("\n".join(unknown))
    match privacy:
        case None if "epsilon" in options:
            return PrivacySettings(**options)
        case None:
            raise ParameterError("nothing is promised: give epsilon=, or privacy=PrivacySettings(…)")
        case PrivacySettings() if options:
            raise ParameterError(f"privacy= says all of the promise; say {', '.join(options)} in it, not beside it")
        case PrivacySettings():
            return privacy
        case _:
            raise ParameterError(
                f"privacy is {privacy!r}; it must be PrivacySettings, such as mt.PrivacySettings(epsilon=1)"
            )


def _unknown(name: str, known: list[str]) -> str:
    if name in _OF_READING:
        return f"{name} says how to read images, not how to release them: release(read_images(path, {name}=…), …)"
    if name in [field.name for field in fields(RunSettings)]:
        return f"{name} is no part of the promise, but of how the work is done: run=RunSettings({name}=…)"
    near = get_close_matches(name, known, n=1)
    return f"release has no option {name!r}; " + (f"is it {near[0]}?" if near else f"it has {', '.join(known)}")


def _opened(
    source: Any,
    schema: Schema | LinkedSchema | ImageSchema | str | Path | None,
    settings: PrivacySettings,
    run: RunSettings,
    held: ExitStack,
    *,
    anyway: bool,
    like: Release | None,
) -> Source:
    """What is released; ``held`` holds what has to be cleared away afterwards."""
    match schema:
        case str() | Path():
            return _opened(source, load_any_schema(schema), settings, run, held, anyway=anyway, like=like)
        case None if like is not None:
            return _opened(source, like.schema, settings, run, held, anyway=anyway, like=like)
        case Schema():
            run.tell("", _whose_rows(schema))
            table = _rows(open_table(source, schema.file), schema, settings, run, held)
            return TableSource(
                table=table, schema=schema, foresee=partial(foresee, anyway=anyway, like=like), like=like
            )
        case LinkedSchema() if anyway or like is not None:
            raise ParameterError("anyway and like are for a single table; there is no forecast of linked ones")
        case LinkedSchema():
            require_confirmed(schema)
            tables = open_linked(source, schema)
            people = linked_people(schema, tables, key=fresh_key(), progress=run.progress, tell=run.tell)
            return LinkedSource(
                people=held.enter_context(people),
                schema=schema,
                count_is_public=not settings.neighbours.protects_count,
            )
        case ImageSchema() if anyway or like is not None:
            raise ParameterError("anyway and like are for tables; there is no forecast and no codebook of images")
        case ImageSchema():
            foresee_images(settings, tell=run.tell)
            return ImageSource(images=PrivateImages(open_images(source), schema))
        case _:
            raise ParameterError(
                f"schema is {type(schema).__name__}; it must be a Schema, a LinkedSchema, an ImageSchema, or a path; "
                "for a table mt.draft_schema(table) makes one, to be read, corrected and confirmed"
            )


def _whose_rows(schema: Schema) -> list[str]:
    """A word to whoever may have forgotten that people have several rows: by names of columns, which are public."""
    keys = [] if schema.unit is not None else [name for name in schema.names_aside if is_of_person(name)]
    return [
        f"The promise is for one row. If {name!r} is in several rows, say so in the schema ('unit: {name}'): then it "
        "is for all rows of a person."
        for name in keys
    ]


def _rows(
    table: PrivateTable, schema: Schema, settings: PrivacySettings, run: RunSettings, held: ExitStack
) -> PrivateTable | PeopleTable:
    """The rows of a table, or those that are kept of its people; their number is known where it is public."""
    hides_count = settings.neighbours.protects_count
    if schema.unit is None:
        return table if hides_count else table.counted(schema)
    require_confirmed(schema)
    gathered = people_of(
        table, schema, view_of(schema), key=fresh_key(), progress=run.progress, count_is_public=not hides_count
    )
    return held.enter_context(gathered)


def _signed(door: Door, private: Source, signer: Signer | None, path: Path) -> Artefact:
    published = door.release(private, path)
    if signer is not None:
        with noted(f"{path} is written and whole but not signed, and its promise is charged in the ledger."):
            signer.sign(published.file)
    return published


def _files(given: object) -> tuple[Path, ...]:
    """The files that an argument names, or was read from; none for what is in memory."""
    match given:
        case str() | Path() | list() | tuple():
            return tuple(local_files(given))
        case Ledger():
            return () if given.path is None else (Path(given.path),)
        case ImageSet():
            return given.files
        case Release():
            return (given.path,)
        case _:
            return ()


def _usual_name(source: Any, ledger: object) -> str:
    """What the book calls data that were given no name: as their file or folder, or by what they are in memory."""
    match source:
        case ImageSet():
            return dataset_name(source.files[0]) if source.files else "images"
        case [only]:
            return _usual_name(only, ledger)
        case _ if names_one_place(source) and not is_read_once(source):
            return dataset_name(source)
        case _ if ledger is None or not (is_read_once(source) or _is_gathered(source)):
            return "table"
        case _:
            raise ParameterError(
                "these data have no name of their own in the book; give one (dataset=, --dataset), the same for all "
                "releases of the same people, so that what they cost is added up"
            )


def _is_gathered(source: Any) -> bool:
    """Whether these are data of several places, or of another machine."""
    match source:
        case PrivateTable(counter=counter):
            return counter is not None
        case str() | Path() | list() | tuple():
            return True
        case _:
            return is_of_data_sets(source, "Dataset")


def _refuse_own_input(output: Path, inputs: tuple[Path, ...]) -> None:
    """Never overwrite the data, their schema, their ledger or the key, whatever ``force`` says."""
    if output.resolve() in [path.resolve() for path in inputs]:
        raise OutputError(f"{output} is the data, their schema or ledger, or the key; choose another output")
