"""``microtome release``: the only private step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microtome.card import account_in_words
from microtome.cli import images
from microtome.cli.choices import DrawnDirections, Engine, Kind, Neighbours, ReleaseAccountant
from microtome.cli.release_options import (
    AccountantOption,
    Capacity,
    DirectionsOption,
    FocusOption,
    Like,
    NeighboursOption,
    NumSlices,
    Pivot,
    ProfileShare,
    SliceDim,
    Subsample,
    TriplesOption,
)
from microtome.cli.schema import Decimal, Encoding, Separator, Sheet, one_character
from microtome.cli.screen import console, errors, plain, size_in_words, watch
from microtome.cli.source import Connect, QueryText, Tables, given_source, require_there
from microtome.cli.verb import Quiet
from microtome.errors import OutputError, ParameterError, noted, together

if TYPE_CHECKING:
    from microtome.accounting import Account
    from microtome.images import ImageSchema, ImageSet
    from microtome.published import Artefact
    from microtome.query import Query
    from microtome.schema import LinkedSchema, Schema

    Given = str | list[str] | Query


def release(
    epsilon: Annotated[float, typer.Option(help="Total ε, profile included.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Release file to write.")],
    tables: Tables = None,
    connect: Connect = None,
    query: QueryText = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            help="What is public about it; see 'microtome schema draft'. For images also the word 'image': the file's "
            "layout and --classes.",
            show_default="that of --like",
        ),
    ] = None,
    like: Like = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Total δ; must be below 1/n.", show_default="1e-6, or less where there are many rows"),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(
            help="aggregates: noise on counts over all records; by far the better data, and whoever runs this sees the "
            "table anyway. records: noise on every record by itself, as the paper does.",
        ),
    ] = Kind.AGGREGATES,
    pivot: Pivot = "none",
    focus: FocusOption = "target",
    triples: TriplesOption = 32,
    neighbours: NeighboursOption = Neighbours.BLANK_ONE,
    directions: DirectionsOption = DrawnDirections.ORTHOGONAL,
    num_slices: NumSlices = None,
    slice_dim: SliceDim = 1,
    subsample: Subsample = None,
    capacity: Capacity = None,
    accountant: AccountantOption = ReleaseAccountant.EXACT,
    profile_share: ProfileShare = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Book of what was spent.", show_default="TABLE.ledger.json beside the table")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The table's name in the book.", show_default="its file or folder name")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="With --schema image: '10' for the labels 0 … 9, or names: 'cat,dog'.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Images: IDX file of labels.", show_default="the one beside the images")
    ] = None,
    part: Annotated[str | None, typer.Option(help="Images: part of an NPZ or HDF5 file, such as 'train'.")] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    types_are_public: Annotated[
        bool, typer.Option("--types-are-public", help="Confirm the types of a drafted schema: they will be published.")
    ] = False,
    sign: Annotated[
        Path | None, typer.Option(help="Private key to sign the release with; see 'microtome key make'.")
    ] = None,
    allow_large_delta: Annotated[bool, typer.Option(help="Accept a δ of 1/n or more.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Release without a forecast, whatever it is worth.")] = False,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Who reads the table and counts: this process; Spark (Parquet files and folders; records become a "
            "folder); the database of --connect (sql: aggregates; its rows stay there)."
        ),
    ] = Engine.LOCAL,
    master: Annotated[
        str | None,
        typer.Option(help="Spark's master, such as spark://host:7077.", show_default="local[*], this machine"),
    ] = None,
    threads: Annotated[int, typer.Option(help="Blocks of rows worked on at once.")] = 2,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Read the private table or image set once and publish noisy slices or sums of it.

    This is the only step that sees private rows. It says first what to expect of the release, and refuses one that
    would hold next to nothing (see 'microtome forecast'). The file it writes may be given to anybody. What it costs
    is written to the ledger first, and a budget that is set there is enforced.
    """
    from microtome.accounting import Ledger
    from microtome.api import release as publish
    from microtome.published import ReleaseKind
    from microtome.settings import RunSettings

    given = given_source(tables, connect, query)
    in_shards = engine.writes_shards and not ReleaseKind(kind.value).is_of_sums
    _check_files(given, schema, like, output, ledger, dataset, force=force, folder=in_shards)
    book, name = _book(given, ledger, dataset)
    dialect = {"separator": one_character(separator), "encoding": encoding, "decimal": decimal, "sheet": sheet}
    stated = _stated_schema(schema, like)
    source, declared = _subject(given, stated, schema, classes, labels, part, types_are_public, dialect)
    with (
        watch(engine.unit if source is given else "images") as progress,
        _at(engine, master, source, output) as private,
    ):
        released: Artefact = publish(
            private,
            declared,
            epsilon=epsilon,
            delta=delta,
            kind=kind.value,
            pivot=pivot,
            focus=focus,
            triples=triples,
            neighbours=neighbours.value,
            accountant=accountant.value,
            directions=directions.value,
            num_slices=num_slices,
            slice_dim=slice_dim,
            subsample=subsample,
            capacity=capacity,
            profile_share=profile_share,
            allow_large_delta=allow_large_delta,
            like=like,
            anyway=anyway,
            output=output,
            ledger=book,
            dataset=name,
            sign=sign,
            run=RunSettings(threads=threads, force=force, progress=progress, tell=_foretell),
        )
    spent = released.manifest.promise.delta
    with noted(f"{output} is written and whole, and ε = {epsilon:g} at δ = {spent:g} is charged in the ledger."):
        _tell(output, released, Ledger(book).account(name, delta=spent))


@contextmanager
def _at(engine: Engine, master: str | None, source: str | list[str] | Query | ImageSet, output: Path) -> Iterator[Any]:
    """What is released, as whoever is to count it takes it."""
    match engine:
        case Engine.LOCAL:
            _refuse_master(master)
            yield source
        case Engine.SPARK:
            from microtome.private.engines.spark import parquet_on_spark

            if not isinstance(source, str):
                raise ParameterError(
                    "--engine spark reads one Parquet file or folder; give that, or leave the engine out"
                )
            if Path(source).resolve() in (output.resolve(), *output.resolve().parents):
                raise OutputError(f"{output} is the data, or among them; choose another output")
            with parquet_on_spark(Path(source), master) as frame:
                yield frame
        case Engine.SQL:
            from microtome.private.engines.sql_connection import query_in_place
            from microtome.query import Query

            _refuse_master(master)
            match source:
                case Query():
                    with query_in_place(source) as table:
                        yield table
                case _:
                    raise ParameterError("--engine sql counts in a database; give --connect and --query")


def _refuse_master(master: str | None) -> None:
    if master is not None:
        raise ParameterError("--master is Spark's; it goes with --engine spark")


def _foretell(expected: str, cautions: Sequence[str]) -> None:
    """What is to be expected, before anything is spent."""
    for line in (expected, *cautions):
        if line:
            errors.print(plain(line), soft_wrap=True)


def _book(source: Given, ledger: Path | None, dataset: str | None) -> tuple[Path, str]:
    """Where the book is and what it calls the data: by whatever link it is reached, a table has one of each."""
    from microtome.accounting import dataset_name, ledger_beside

    if ledger is not None and dataset is not None:
        return ledger, dataset
    place = str(source)  # of what has neither, none is left out
    return ledger or ledger_beside(place), dataset or dataset_name(place)


def _stated_schema(schema: Path | None, like: Path | None) -> Schema | LinkedSchema | ImageSchema | None:
    """What is declared: by a file, by the release that this one is to be like; nothing for the word 'image'."""
    from microtome.published import Release
    from microtome.schema_file import load_any_schema

    if schema is not None:
        return None if str(schema) == images.WORD else load_any_schema(schema)
    if like is not None:
        return Release.load(like).schema
    raise ParameterError("--schema is missing: what is public about the table; see 'microtome schema draft'")


def _subject(
    source: Given,
    declared: Schema | LinkedSchema | ImageSchema | None,
    schema: Path | None,
    classes: str | None,
    labels: Path | None,
    part: str | None,
    types_are_public: bool,
    dialect: dict[str, str | None],
) -> tuple[Given, Schema | LinkedSchema] | tuple[ImageSet, ImageSchema]:
    """What is to be released, and what is public about it; refuses options that are for the other of the two."""
    from microtome.images import read_images
    from microtome.schema import LinkedSchema, Schema

    match declared:
        case LinkedSchema():
            if (classes, labels, part) != (None, None, None) or any(value is not None for value in dialect.values()):
                raise ParameterError("linked tables say in their schema how their files are written; leave options out")
            return source, declared.confirm() if types_are_public else declared

        case Schema():
            if (classes, labels, part) != (None, None, None):
                raise ParameterError("--classes, --labels and --part are for images; this is the schema of a table")
            stated = _in_dialect(declared, source, dialect)
            return source, stated.confirm() if types_are_public else stated
    if types_are_public:
        raise ParameterError("--types-are-public is for tables; the layout of images needs no confirmation")
    if any(value is not None for value in dialect.values()):
        raise ParameterError("--separator, --encoding, --decimal and --sheet are for tables; these are images")
    if classes is not None and declared is not None:
        raise ParameterError(f"{schema} declares the classes; --classes goes with --schema {images.WORD}")
    if not isinstance(source, str):
        raise ParameterError("images are one file or folder; give one")
    held = read_images(source, labels=labels, part=part)
    return held, declared or images.schema_of(held, Path(source), classes)


def _check_files(
    source: Given,
    schema: Path | None,
    like: Path | None,
    output: Path,
    ledger: Path | None,
    dataset: str | None,
    *,
    force: bool,
    folder: bool,
) -> None:
    """Name all files that are not as they have to be, before any is worked with."""
    from microtome.published import check_output

    with together() as attempts:
        with attempts:
            require_there(source)
        with attempts:
            _stated_schema(schema, like)
        with attempts:
            check_output(output, force=force, folder=folder)
        with attempts:
            _require_book(source, ledger, dataset)


def _require_book(source: Given, ledger: Path | None, dataset: str | None) -> None:
    """What is no single file or folder has no place beside which its book could be, and no name."""
    from microtome.private.spool import is_read_once
    from microtome.private.stored_file import names_one_place

    wanted = [name for name, given in (("--ledger", ledger), ("--dataset", dataset)) if given is None]
    if not wanted or (names_one_place(source) and not is_read_once(source)):
        return
    what = "data that are piped, asked for or in several files have"
    raise ParameterError(
        f"{what} no place and no name of their own; give {' and '.join(wanted)}, the same for all releases of the same "
        "people, so that what they cost is added up"
    )


def _in_dialect(schema: Schema, source: Given, options: dict[str, str | None]) -> Schema:
    """The schema with the dialect that options force."""
    from microtome.schema import Dialect

    if all(value is None for value in options.values()):
        return schema
    first = source[0] if isinstance(source, list) else source
    file = schema.file or (Dialect.usual(Path(first)) if isinstance(first, str) else Dialect())
    return replace(schema, file=file.with_options(**options))


def _tell(output: Path, released: Artefact, account: Account) -> None:
    """What was written, what it promises and what the data set has cost."""
    from microtome.published import promise_in_words, unlearnt_in_words

    files = output.iterdir() if output.is_dir() else [output]
    size = size_in_words(sum(file.stat().st_size for file in files))
    console.print(f"[bold]{plain(output)}[/]: {size}", soft_wrap=True)
    for line in (*promise_in_words(released), *unlearnt_in_words(released), *account_in_words(account)):
        console.print(plain(line), soft_wrap=True)
