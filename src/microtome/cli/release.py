"""``microtome release``: the only private step."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from microtome.accounting import Account, Accountant, DirectionKind, Ledger, Neighbours, dataset_name
from microtome.cli import images
from microtome.cli.ledger import cost_in_words
from microtome.cli.screen import console, plain, watch
from microtome.errors import ParameterError, noted
from microtome.published import Artefact, ReleaseKind, promise_in_words, unlearnt_in_words
from microtome.schema import Schema


class DrawnDirections(StrEnum):
    """Directions that a release may draw."""

    ORTHOGONAL = DirectionKind.ORTHOGONAL.value
    GAUSSIAN = DirectionKind.GAUSSIAN.value


class ReleaseAccountant(StrEnum):
    """Accountants that apply to a release."""

    EXACT = Accountant.EXACT.value
    RENYI = Accountant.RENYI.value
    THEOREM1 = Accountant.THEOREM1.value


def ledger_beside(table: Path) -> Path:
    """Where a table's ledger is kept unless told otherwise: beside the table."""
    return table.with_name(f"{table.name}.ledger.json")


def release(
    table: Annotated[
        Path,
        typer.Argument(help="The private table (CSV or Parquet), or images: IDX, NPZ, HDF5 or a folder of PNG files."),
    ],
    schema: Annotated[
        Path,
        typer.Option(
            help="What is public about it; see 'microtome schema draft'. For images also the word 'image': the file's "
            "layout and --classes."
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Total ε, profile included.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Release file to write.")],
    delta: Annotated[float, typer.Option(help="Total δ; must be below 1/n.")] = 1e-6,
    kind: Annotated[
        ReleaseKind,
        typer.Option(
            help="aggregates: noise on counts over all records; by far the better data, and whoever runs this sees the "
            "table anyway. records: noise on every record by itself, as the paper does.",
        ),
    ] = ReleaseKind.AGGREGATES,
    pivot: Annotated[
        str,
        typer.Option(
            help="aggregates: column by whose classes everything is counted apart, for what three columns share; "
            "'none' has less noise."
        ),
    ] = "none",
    neighbours: Annotated[
        Neighbours, typer.Option(help="Which tables must be hard to tell apart.")
    ] = Neighbours.BLANK_ONE,
    directions: Annotated[
        DrawnDirections, typer.Option(help="records: orthogonal needs least noise; gaussian is the paper's.")
    ] = DrawnDirections.ORTHOGONAL,
    num_slices: Annotated[
        int | None,
        typer.Option(help="records: number of slices.", show_default="as many as fill the encoded dimension"),
    ] = None,
    slice_dim: Annotated[int, typer.Option(help="records: dimension of a slice.")] = 1,
    subsample: Annotated[float | None, typer.Option(help="records: Poisson sampling rate, e.g. 0.25.")] = None,
    capacity: Annotated[
        int | None, typer.Option(help="records: public upper bound on their number, for add-remove.")
    ] = None,
    accountant: Annotated[
        ReleaseAccountant, typer.Option(help="How the noise is computed from ε and δ.")
    ] = ReleaseAccountant.EXACT,
    profile_share: Annotated[
        float | None,
        typer.Option(
            help="Share of the budget spent on one-way histograms.",
            show_default="0.2 for aggregates, 0.1 for records, up to 0.1 more for what is not declared",
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Book of what was spent.", show_default="TABLE.ledger.json beside the table")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The table's name in the book.", show_default="its file name")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="With --schema image: '10' for the labels 0 … 9, or names: 'cat,dog'.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Images: IDX file of labels.", show_default="the one beside the images")
    ] = None,
    part: Annotated[str | None, typer.Option(help="Images: part of an NPZ or HDF5 file, such as 'train'.")] = None,
    types_are_public: Annotated[
        bool, typer.Option("--types-are-public", help="Confirm the types of a drafted schema: they will be published.")
    ] = False,
    sign: Annotated[
        Path | None, typer.Option(help="Private key to sign the release with; see 'microtome key make'.")
    ] = None,
    allow_large_delta: Annotated[bool, typer.Option(help="Accept a δ of 1/n or more.")] = False,
    threads: Annotated[int, typer.Option(help="Blocks of rows worked on at once.")] = 2,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
) -> None:
    """Read the private table or image set once and publish noisy slices or sums of it.

    This is the only step that sees private rows. The file it writes may be given to anybody. What it costs is
    written to the ledger first, and a budget that is set there is enforced.
    """
    from microtome.private import RunSettings
    from microtome.private import release as publish

    of_images = images.describes_images(schema)
    if not of_images and (classes, labels, part) != (None, None, None):
        raise ParameterError("--classes, --labels and --part are for images; this is the schema of a table")
    real = Path(os.path.realpath(table))  # by whatever link it is reached, a table has one book and one name in it
    book, name = ledger or ledger_beside(real), dataset or dataset_name(table)
    with watch("images" if of_images else "rows") as progress:
        options: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "output": output,
            "neighbours": neighbours,
            "accountant": accountant,
            "directions": directions,
            "num_slices": num_slices,
            "slice_dim": slice_dim,
            "subsample": subsample,
            "capacity": capacity,
            "profile_share": profile_share,
            "kind": kind,
            "allow_large_delta": allow_large_delta,
            "ledger": book,
            "dataset": name,
            "sign": sign,
            "run": RunSettings(threads=threads, force=force, progress=progress),
        }
        released: Artefact
        if of_images:
            released = images.release(
                table, schema, classes=classes, labels=labels, part=part, pivot=pivot, options=options
            )
        else:
            declared = Schema.load(schema)
            released = publish(table, declared.confirm() if types_are_public else declared, pivot=pivot, **options)
    with noted(f"{output} is written and whole, and ε = {epsilon:g} at δ = {delta:g} is charged in the ledger."):
        _tell(output, released, Ledger(book).account(name, delta=delta))


def _tell(output: Path, released: Artefact, account: Account) -> None:
    """What was written, what it promises and what the data set has cost."""
    size = output.stat().st_size / 2**20
    console.print(f"[bold]{plain(output)}[/]: {size:,.1f} MiB", soft_wrap=True)
    for line in (*promise_in_words(released), *unlearnt_in_words(released), *cost_in_words(account)):
        console.print(plain(line), soft_wrap=True)
