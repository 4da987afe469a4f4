"""Where private rows come from, as a command line says it: files of any number and place, a pipe, or a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microtome.errors import ParameterError, TableError

if TYPE_CHECKING:
    from microtome.query import Query

Tables = Annotated[
    list[str] | None,
    typer.Argument(
        help="The private table: files (text, workbook, Parquet, Arrow), a folder of them, a pattern, an address "
        "(s3://…), - for standard input; or images: IDX, NPZ, HDF5 or a folder of PNG files.",
        show_default=False,
    ),
]
Connect = Annotated[
    str | None,
    typer.Option(help="Database to ask instead of reading files: postgresql://…, sqlite:///FILE or duckdb:///FILE."),
]
QueryText = Annotated[
    str | None,
    typer.Option("--query", help="What to ask it: 'select … from …'. With --engine sql also the name of a table."),
]


def given_source(tables: list[str] | None, connect: str | None, query: str | None) -> str | list[str] | Query:
    """The one source that a command line names."""
    from microtome.query import Query

    if (connect is None) != (query is None):
        raise ParameterError("--connect says which database and --query what to ask it; give both")
    if connect is not None and query is not None:
        if tables:
            raise ParameterError(f"{tables[0]} and --query are two sources; release them one at a time")
        return Query(connection=connect, text=query)
    if not tables:
        raise ParameterError("no table is given; give its file or files, or --connect and --query")
    return tables[0] if len(tables) == 1 else tables


def require_there(source: str | list[str] | Query) -> None:
    """Name all files that are not there, before anything is worked with."""
    from microtome.private.spool import is_read_once
    from microtome.private.stored_file import table_files

    match source:
        case str() if not (is_read_once(source) or Path(source).exists()):
            table_files(source)
        case list():
            once = [one for one in source if is_read_once(one)]
            if once:
                raise TableError(f"{once[0]} is read once, and not beside other files; give it alone")
            absent = [one for one in source if not Path(one).exists()]
            if absent:
                table_files(absent)
