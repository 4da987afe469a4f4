"""``microtome schema``: write down what is public about a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microtome.cli import images
from microtome.cli.choices import SchemaForm, Suggestions
from microtome.cli.screen import console, errors, plain, print_document
from microtome.cli.source import Connect, QueryText, Tables, given_source
from microtome.cli.verb import Quiet, Verb
from microtome.errors import ParameterError
from microtome.whole_file import STANDARD, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from microtome.schema import LinkedSchema, Schema

app = typer.Typer(help="Write down what is public about a table.", no_args_is_help=True)

Separator = Annotated[
    str | None, typer.Option(help="Text file: what stands between values; 'tab' for a tab.", show_default=False)
]
Encoding = Annotated[str | None, typer.Option(help="Text file: such as utf-8, cp1252 or utf-16.", show_default=False)]
Decimal = Annotated[str | None, typer.Option(help="Text file: decimal sign of plain numbers.", show_default=False)]
Sheet = Annotated[str | None, typer.Option(help="Workbook: name of the sheet.", show_default=False)]


def one_character(separator: str | None) -> str | None:
    """A separator as it is, or the tab that nobody can type in a shell."""
    return "\t" if separator in ("tab", "\\t") else separator


@app.command(cls=Verb)
def draft(
    output: Annotated[Path, typer.Option("-o", "--output", help="YAML file to write.")],
    tables: Tables = None,
    connect: Connect = None,
    query: QueryText = None,
    target: Annotated[str | None, typer.Option(help="Column to be predicted.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    people: Annotated[
        str | None, typer.Option(help="Linked tables: the people's table.", show_default="by their names")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    classes: Annotated[str | None, typer.Option(help="Images: '10' for the labels 0 … 9, or names: 'cat,dog'.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Images: IDX file of labels.")] = None,
    part: Annotated[str | None, typer.Option(help="Images: part of an NPZ or HDF5 file, such as 'train'.")] = None,
    editor: Annotated[
        bool, typer.Option("--editor", help="Write microtome-schema.json beside it: editors complete and check it so.")
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, for you to correct and complete.

    Kinds, types and formats are read off the table; identifiers and free text are set aside; bounds and code lists
    that everybody knows are suggested. No value of the table is written down: what stays 'learn' is learnt with
    privacy budget. Remarks on the screen tell of values, and are for you alone.

    A folder with tables of different columns is drafted as linked tables: keys and what hangs on what are found out.
    """
    from microtome.data_kind import is_of_images
    from microtome.private.draft import draft as draft_table
    from microtome.private.linked_draft import has_several_tables
    from microtome.published import check_output

    check_output(output, force=force)
    source = given_source(tables, connect, query)
    if isinstance(source, str) and is_of_images(Path(source)):
        if target is not None or skip or editor or (separator, encoding, decimal, sheet) != (None, None, None, None):
            raise ParameterError(
                "--target, --skip, --separator, --encoding, --decimal, --sheet and --editor are for tables; the label "
                "of images is their pivot"
            )
        described = images.draft(Path(source), classes=classes, labels=labels, part=part)
        write_text(output, described.to_yaml())
        console.print(
            f"{plain(output)}: images of {described.height} × {described.width} × {described.channels}, "
            f"{described.num_classes} classes. Read it before you release: it is published with the release.",
            soft_wrap=True,
        )
        return
    if (classes, labels, part) != (None, None, None):
        raise ParameterError(f"--classes, --labels and --part are for images; {source} is a table")
    of_tables = (target, skip or None, separator, encoding, decimal, sheet)
    if isinstance(source, str) and has_several_tables(Path(source)):
        if of_tables != (None,) * len(of_tables):
            raise ParameterError("--target, --skip and how a file is written are for one table; edit the draft instead")
        _draft_linked(Path(source), people, output, editor=editor)
        return
    if people is not None:
        raise ParameterError(f"--people is for a folder of linked tables; {source} is one table")
    drafted = draft_table(
        source,
        target=target,
        skip=tuple(skip or ()),
        separator=one_character(separator),
        encoding=encoding,
        decimal=decimal,
        sheet=sheet,
    )
    _write_draft(output, drafted.schema.to_yaml(), editor=editor)
    for remark in drafted.remarks:
        errors.print(f"  {plain(remark)}", soft_wrap=True)
    console.print(_summary(output, drafted.schema), soft_wrap=True)


def _write_draft(output: Path, text: str, *, editor: bool) -> None:
    """A draft and, if wanted, what editors complete and check it by beside it."""
    from microtome.schema.document_schema import FILE_NAME, HINT, document_schema_text

    write_text(output, (HINT if editor else "") + text)
    if editor:
        write_text(output.parent / FILE_NAME, document_schema_text())


def _draft_linked(folder: Path, people: str | None, output: Path, *, editor: bool) -> None:
    from microtome.private.linked_draft import draft_linked
    from microtome.schema.table_folder import tables_in

    drafted = draft_linked(tables_in(folder), people=people)
    _write_draft(output, drafted.schema.to_yaml(), editor=editor)
    for remark in drafted.remarks:
        errors.print(f"  {plain(remark)}", soft_wrap=True)
    file = plain(output)
    for name, parent in drafted.schema.links.items():
        console.print(f"  {plain(name)} hangs on {plain(parent.table)} ({parent.cardinality})", soft_wrap=True)
    console.print(
        f"{file}: {len(drafted.schema.tables)} linked tables; people are in {plain(drafted.schema.root.name)}.\n"
        "It is a draft: types and keys were read off the tables, where one record can change them. Read it, say how "
        f"many rows there can be (max_rows) and what is public, then 'microtome schema confirm {file}'.",
        soft_wrap=True,
    )


def _summary(output: Path, schema: Schema) -> str:
    """What a draft holds, and what to do next."""
    learnt = sum(not column.is_declared for column in schema.columns)
    suggested = sum(column.suggested is not None for column in schema.columns)
    file = plain(output)
    return (
        f"{file}: {len(schema.columns)} columns to release, {learnt} of them to be learnt with budget, {suggested} "
        f"with a suggestion from the public catalogue; {len(schema.aside)} set aside.\n"
        "Read it before you release: whole numbers that are codes want 'kind: categorical', and every bound or "
        "category list that you can declare from public knowledge saves budget.\n"
        "It is a draft: its types were read off the table, where one record can change them. Correct them "
        f"('microtome schema edit {file}', or any editor), then 'microtome schema confirm {file}'."
    )


@app.command(cls=Verb)
def confirm(
    schema: Annotated[Path, typer.Argument(help="YAML file of a table to confirm.")],
    suggestions: Annotated[
        Suggestions, typer.Option(help="Suggestions of the public catalogue: declare them, or learn instead.")
    ] = Suggestions.KEEP,
) -> None:
    """State that the types in a drafted schema are public knowledge. Reads no table.

    A draft has its types from the table: one record can turn whole numbers into decimals, or numbers into text. What is
    shown here is published with the release, so confirm what you would say of the table without having seen it.
    """
    from microtome.images import ImageSchema
    from microtome.schema import LinkedSchema, Schema
    from microtome.schema.document import confirmed_text
    from microtome.schema_file import load_any_schema

    described = load_any_schema(schema)
    loads: Callable[..., Schema | LinkedSchema]
    match described:
        case ImageSchema():
            raise ParameterError(f"{schema} is about images, whose layout needs no confirmation")
        case Schema():
            loads = Schema.loads
            _show(described, keep=suggestions.are_kept)
        case LinkedSchema():
            loads = LinkedSchema.loads
            _show_linked(described, keep=suggestions.are_kept)
    if not described.drafted:
        console.print(f"{plain(schema)} was confirmed before.", soft_wrap=True)
        return
    wanted = described if suggestions.are_kept else described.without_suggestions()
    before = schema.read_text(encoding="utf-8")
    after = confirmed_text(before, suggestions=suggestions.are_kept)
    if loads(after, folder=schema.parent) != wanted.confirm():
        raise ParameterError(
            f"{schema}: 'drafted: true' or a suggestion does not stand on a line of its own; change it by hand"
        )
    write_text(schema, after)
    console.print(f"{plain(schema)}: confirmed. All of the above will be public.", soft_wrap=True)


def _show(schema: Schema, *, keep: bool) -> None:
    """What a schema says, a line a column."""
    for column in schema.columns:
        missing = "may be missing" if column.missing else "never missing"
        line = f"  {plain(column.name)}: {column.kind} ({plain(column.described)}), {missing}"
        if column.suggested is not None:
            word = "from the public catalogue" if keep else "not declared; to be learnt"
            line += f", {plain(column.suggested)}: {word}"
        console.print(line, soft_wrap=True)
    for aside in schema.aside:
        console.print(f"  {plain(aside.name)}: not released ({aside.action})", soft_wrap=True)
    for rule in schema.ruled.all:
        console.print(f"  rule: {plain(rule.text)}", soft_wrap=True)


def _show_linked(schema: LinkedSchema, *, keep: bool) -> None:
    """What a schema of several tables says, table by table."""
    for table in schema.tables:
        parent = table.parent
        hangs = (
            "people" if parent is None else f"hangs on {parent.table} ({parent.cardinality}, up to {parent.most} rows)"
        )
        console.print(f"{plain(table.name)}: {plain(hangs)}", soft_wrap=True)
        _show(table.schema, keep=keep)
    for public in schema.public:
        console.print(f"{plain(public.name)}: public, published as it is ({len(public.keys):,} rows)", soft_wrap=True)


@app.command("import", cls=Verb)
def import_(
    dictionary: Annotated[
        Path, typer.Argument(help="Code book or dictionary: JSON (also SDV, Frictionless, Croissant) or CSV.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="YAML file to write.")],
    target: Annotated[str | None, typer.Option(help="Column to be predicted.")] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make a schema of a code book or data dictionary. Reads no table.

    What such a document says is public already, so the schema is no draft. What it does not say is to be learnt.
    """
    from microtome.published import check_output
    from microtome.schema import LinkedSchema, Schema
    from microtome.schema.linked_sdv import import_any_schema

    check_output(output, force=force)
    imported = import_any_schema(dictionary, target=target)
    write_text(output, imported.schema.to_yaml())
    for remark in imported.remarks:
        errors.print(f"  {plain(remark)}", soft_wrap=True)
    match imported.schema:
        case Schema() as schema:
            columns, of = schema.columns, ""
        case LinkedSchema() as linked:
            columns = tuple(column for table in linked.tables for column in table.schema.columns)
            of = f" of {len(linked.tables)} tables"
    learnt = sum(not column.is_declared for column in columns)
    console.print(
        f"{plain(output)}: {len(columns)} columns{of} from {imported.form}, {learnt} of them to be learnt with budget. "
        "Read it before you release: it is published with the release.",
        soft_wrap=True,
    )


@app.command(cls=Verb)
def export(
    schema: Annotated[Path, typer.Argument(help="YAML file of a table, or of several for SDV.")],
    form: Annotated[SchemaForm, typer.Option("--to", help="What to write it as.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="JSON file to write, or - for standard output.")],
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a schema as a document of others: SDV's metadata, a Frictionless table schema, JSON Schema of a row."""
    from microtome.images import ImageSchema
    from microtome.published import check_output
    from microtome.schema import LinkedSchema, Schema
    from microtome.schema.exporting import Form, export_schema
    from microtome.schema.linked_sdv import export_linked
    from microtome.schema_file import load_any_schema

    match load_any_schema(schema), Form(form):
        case Schema() as described, wanted:
            exported = export_schema(described, wanted)
        case LinkedSchema() as linked, Form.SDV:
            exported = export_linked(linked)
        case LinkedSchema(), wanted:
            raise ParameterError(f"{schema} is about several tables, and {wanted} is for one; take sdv")
        case ImageSchema(), _:
            raise ParameterError(f"{schema} is about images; these forms are for tables")
    text = json.dumps(exported.document, indent=2, ensure_ascii=False) + "\n"
    if output == STANDARD:
        print_document(text)
    else:
        check_output(output, force=force)
        write_text(output, text)
        console.print(f"{plain(output)}: {plain(schema)} as {form}", soft_wrap=True)
    for remark in exported.remarks:
        errors.print(f"  {plain(remark)}", soft_wrap=True)


@app.command(cls=Verb)
def edit(schema: Annotated[Path, typer.Argument(help="YAML file of a table to change.")]) -> None:
    """Change a schema in the terminal, question by question; the file is written whole, at the end."""
    from microtome.cli import schema_editor
    from microtome.images import ImageSchema
    from microtome.schema import LinkedSchema, Schema
    from microtome.schema_file import load_any_schema

    match load_any_schema(schema):
        case ImageSchema():
            raise ParameterError(f"{schema} is about images; change it in any text editor")
        case LinkedSchema():
            raise ParameterError(f"{schema} is about linked tables; change it in any text editor")
        case Schema() as described:
            schema_editor.edit(schema, described)


@app.command(cls=Verb)
def check(
    schema: Annotated[Path, typer.Argument(help="YAML file to check.")],
    quiet: Quiet = False,
) -> None:
    """Check a schema without touching any table."""
    from microtome.images import ImageSchema
    from microtome.schema import LinkedSchema, Schema
    from microtome.schema_file import load_any_schema

    match load_any_schema(schema):
        case ImageSchema() as layout:
            found, drafted = f"{layout.num_classes} classes of images", False
        case LinkedSchema() as linked:
            found, drafted = f"{len(linked.tables)} linked tables, {len(linked.public)} public", linked.drafted
        case Schema() as table:
            found, drafted = f"{len(table.columns)} columns", table.drafted
            if table.rules:
                found += f" and {len(table.rules)} rules that can hold together"
    draft = " It is a draft: read it, then 'microtome schema confirm'." if drafted else ""
    console.print(f"{plain(schema)}: {found}, no errors.{draft}", soft_wrap=True)
