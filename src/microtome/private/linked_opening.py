"""Opening several private tables: a folder of files that are named like them, or a dictionary of tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from microtome.errors import TableError, together
from microtome.private.opening import open_table
from microtome.private.table import PrivateTable
from microtome.schema import LinkedSchema
from microtome.schema.dialect import COMPRESSED, KNOWN


def open_linked(source: Any, schema: LinkedSchema) -> dict[str, PrivateTable]:
    """All private tables of a schema, by name, with all that is wrong."""
    match source:
        case Mapping():
            given = dict(source)
        case str() | Path():
            given = _files(Path(source), schema)
        case _:
            raise TableError(
                f"linked tables are a folder of files named like them, or a dictionary; this is {type(source).__name__}"
            )
    absent = [repr(name) for name in schema.names if name not in given]
    if absent:
        raise TableError(f"no table {', '.join(absent)}; there are {', '.join(map(str, given)) or 'none'}")
    tables = {}
    with together() as attempts:
        for table in schema.tables:
            with attempts:
                tables[table.name] = open_table(given[table.name], table.schema.file)
    return tables


def _files(folder: Path, schema: LinkedSchema) -> dict[str, str]:
    """The files of a folder that are named like tables."""
    if not folder.is_dir():
        raise TableError(f"{folder} is no folder; linked tables are files in one, named like the tables")
    found: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        name = path.name.removesuffix(path.suffix) if path.suffix in COMPRESSED else path.name
        stem, _, suffix = name.rpartition(".")
        if stem not in schema.names or f".{suffix}" not in KNOWN:
            continue
        if stem in found:
            raise TableError(f"{folder}: {Path(found[stem]).name} and {path.name} are both table {stem!r}; keep one")
        found[stem] = str(path)
    return found
