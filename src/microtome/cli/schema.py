"""``microtome schema``: write down what is public about a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microtome.cli import images
from microtome.cli.screen import console, plain
from microtome.cli.verb import Quiet, Verb
from microtome.errors import ParameterError
from microtome.spool import read_again
from microtome.whole_file import write_text

app = typer.Typer(help="Write down what is public about a table.", no_args_is_help=True)


@app.command(cls=Verb)
def draft(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file, or - for standard input, or an image set.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="YAML file to write.")],
    target: Annotated[str | None, typer.Option(help="Column to be predicted.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    classes: Annotated[str | None, typer.Option(help="Images: '10' for the labels 0 … 9, or names: 'cat,dog'.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Images: IDX file of labels.")] = None,
    part: Annotated[str | None, typer.Option(help="Images: part of an NPZ or HDF5 file, such as 'train'.")] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draft a schema from column names and types alone, for you to correct and complete.

    Nothing else is read off the data: declare bounds and categories where public knowledge gives them; what
    stays 'learn' is learnt with privacy budget.
    """
    from microtome.images.reading import is_image_set
    from microtome.private import draft_schema
    from microtome.published import check_output

    check_output(output, force=force)
    if is_image_set(table):
        if target is not None or skip:
            raise ParameterError("--target and --skip are for tables; the label of images is their pivot")
        described = images.draft(table, classes=classes, labels=labels, part=part)
        write_text(output, described.to_yaml())
        console.print(
            f"{plain(output)}: images of {described.height} × {described.width} × {described.channels}, "
            f"{described.num_classes} classes. Read it before you release: it is published with the release.",
            soft_wrap=True,
        )
        return
    if (classes, labels, part) != (None, None, None):
        raise ParameterError(f"--classes, --labels and --part are for images; {table} is a table")
    with read_again(table) as rows:
        schema = draft_schema(rows, target=target, skip=tuple(skip or ()))
    write_text(output, schema.to_yaml())
    learnt = sum(not column.is_declared for column in schema.columns)
    console.print(
        f"{plain(output)}: {len(schema.columns)} columns, {learnt} of them to be learnt with budget.\n"
        "Read it before you release: whole numbers that are codes want 'kind: categorical', and every bound or "
        "category list that you can declare from public knowledge saves budget.\n"
        "It is a draft: its types were read off the table, where one record can change them. Correct them, then "
        f"'microtome schema confirm {plain(output)}'.",
        soft_wrap=True,
    )


@app.command(cls=Verb)
def confirm(schema: Annotated[Path, typer.Argument(help="YAML file of a table to confirm.")]) -> None:
    """State that the types in a drafted schema are public knowledge. Reads no table.

    A draft has its types from the table: one record can turn whole numbers into decimals, or numbers into text. What is
    shown here is published with the release, so confirm what you would say of the table without having seen it.
    """
    from microtome.schema import ImageSchema, load_schema
    from microtome.schema.document import confirmed_text

    described = load_schema(schema)
    if isinstance(described, ImageSchema):
        raise ParameterError(f"{schema} is about images, whose layout needs no confirmation")
    for column in described.columns:
        missing = "may be missing" if column.missing else "never missing"
        console.print(f"  {plain(column.name)}: {column.kind} ({column.dtype}), {missing}", soft_wrap=True)
    if not described.drafted:
        console.print(f"{plain(schema)} was confirmed before.", soft_wrap=True)
        return
    before = schema.read_text(encoding="utf-8")
    after = confirmed_text(before)
    if after == before:
        raise ParameterError(f"{schema}: 'drafted: true' does not stand on a line of its own; delete it by hand")
    write_text(schema, after)
    console.print(f"{plain(schema)}: confirmed. All of the above will be public.", soft_wrap=True)


@app.command(cls=Verb)
def check(
    schema: Annotated[Path, typer.Argument(help="YAML file to check.")],
    quiet: Quiet = False,
) -> None:
    """Check a schema without touching any table."""
    from microtome.schema import ImageSchema, Schema, load_schema

    match load_schema(schema):
        case ImageSchema() as layout:
            found, draft = f"{layout.num_classes} classes of images", ""
        case Schema() as table:
            found = f"{len(table.columns)} columns"
            draft = " It is a draft: read it, then 'microtome schema confirm'." if table.drafted else ""
    console.print(f"{plain(schema)}: {found}, no errors.{draft}", soft_wrap=True)
