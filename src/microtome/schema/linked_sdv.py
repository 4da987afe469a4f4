"""Linked tables as metadata of the Synthetic Data Vault, and back.

Metadata have tables by name and relationships: a parent's primary key stands in a child's foreign key. A tree of them,
whose root are people, is a linked schema; they say neither how many rows a parent may have nor what links own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from microtome.errors import ParameterError, SchemaError, together
from microtome.schema.aside import Action
from microtome.schema.exporting import Exported, Form, export_schema
from microtome.schema.importing import Imported, import_schema, json_document, schema_of, sdv_fields
from microtome.schema.linked import LinkedSchema
from microtome.schema.linked_table import LinkedTable, Parent

_SPEC = "V1"


@dataclass(frozen=True, kw_only=True)
class ImportedTables:
    """A schema of linked tables that was made of metadata.

    Attributes:
        schema: The schema.
        form: What the document is.
        remarks: What could not be taken over, and what to look at.
    """

    schema: LinkedSchema
    form: str
    remarks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Relationship:
    parent: str
    parent_key: str
    child: str
    foreign_key: str


def import_any_schema(path: str | Path, *, target: str | None = None) -> Imported | ImportedTables:
    """Make a schema of a dictionary, of one table or, where it is SDV's metadata, of several."""
    path = Path(path)
    match json_document(path):
        case {"tables": dict() as tables} as document if len(tables) > 1:
            if target is not None:
                raise ParameterError(f"{path} describes {len(tables)} tables; write the target of each in the schema")
            return _linked(tables, document.get("relationships"), path)
        case _:
            return import_schema(path, target=target)


def _linked(tables: Mapping[str, Any], related: Any, path: Path) -> ImportedTables:
    relationships = [_relationship(one, tables, path) for one in (related if isinstance(related, list) else [])]
    remarks: list[str] = []
    made: list[LinkedTable] = []
    with together() as attempts:
        for name, metadata in tables.items():
            with attempts:
                made.append(_table(name, metadata, relationships, path, remarks))
    for one in made:
        if one.parent is not None:
            remarks.append(
                f"{one.name}: at most {one.parent.most} rows of one of {one.parent.table} will count; correct max_rows "
                "where more are usual"
            )
    try:
        schema = LinkedSchema(tables=tuple(made))
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from error
    return ImportedTables(schema=schema, form="SDV metadata", remarks=tuple(remarks))


def _relationship(given: Any, tables: Mapping[str, Any], path: Path) -> _Relationship:
    match given:
        case {
            "parent_table_name": str() as parent,
            "parent_primary_key": str() as parent_key,
            "child_table_name": str() as child,
            "child_foreign_key": str() as foreign_key,
        } if parent in tables and child in tables:
            return _Relationship(parent=parent, parent_key=parent_key, child=child, foreign_key=foreign_key)
        case _:
            raise SchemaError(
                f"{path}: a relationship must name parent_table_name, parent_primary_key, child_table_name and "
                f"child_foreign_key, of tables that are described; found {given!r}"
            )


def _table(
    name: str, metadata: Any, relationships: Iterable[_Relationship], path: Path, remarks: list[str]
) -> LinkedTable:
    if not isinstance(metadata, Mapping):
        raise SchemaError(f"{path}: table {name!r} must be a map with 'columns'; found {metadata!r}")
    above = [one for one in relationships if one.child == name]
    if len(above) > 1:
        parents = ", ".join(f"{one.parent} ({one.foreign_key})" for one in above)
        raise SchemaError(
            f"{path}: rows of {name!r} hang on several tables: {parents}. Each row must belong to one person: keep one "
            "relationship, and declare the other table as public or leave its key out"
        )
    keys = {one.foreign_key for one in above} | {one.parent_key for one in relationships if one.parent == name}
    try:
        fields = [replace(one, action=Action.SURROGATE) if one.name in keys else one for one in sdv_fields(metadata)]
    except (TypeError, AttributeError) as error:
        raise SchemaError(f"{path}: values of table {name!r} make no sense: {error!r}") from error
    absent = keys - {one.name for one in fields}
    if absent:
        raise SchemaError(f"{path}: table {name!r} has no column {', '.join(map(repr, sorted(absent)))}")
    parent = Parent(table=above[0].parent, foreign_key=above[0].foreign_key) if above else None
    told: list[str] = []
    schema = schema_of(fields, path, told)
    remarks.extend(f"{name}.{line}" for line in told)
    known = {aside.name for aside in schema.aside if not aside.is_dropped}
    key = metadata.get("primary_key")
    return LinkedTable(name=name, schema=schema, key=key if key in known else None, parent=parent)


def export_linked(schema: LinkedSchema) -> Exported:
    """Write linked tables as metadata of the Synthetic Data Vault.

    Raises:
        SchemaError: The schema is a draft. Its types are private until somebody has confirmed them.
    """
    tables, related, remarks = {}, [], []
    keys = {table.name: table.key for table in schema.tables}
    for table in schema.tables:
        exported = export_schema(table.schema, Form.SDV)
        columns = exported.document["tables"]["table"]["columns"]
        tables[table.name] = {"columns": columns, **({} if table.key is None else {"primary_key": table.key})}
        remarks += [f"{table.name}: {line}" for line in exported.remarks]
        if table.parent is not None:
            held = table.parent.cardinality.is_held_by_parent
            parent, child = (table.name, table.parent.table) if held else (table.parent.table, table.name)
            related.append(
                {
                    "parent_table_name": parent,
                    "parent_primary_key": keys[parent],
                    "child_table_name": child,
                    "child_foreign_key": table.parent.foreign_key,
                }
            )
            remarks.append(f"{table.name}: how many rows hang on one of {table.parent.table} is not said")
    remarks += [f"{public.name}: left out, for it is public and would be modelled" for public in schema.public]
    document = {"METADATA_SPEC_VERSION": _SPEC, "tables": tables, "relationships": related}
    return Exported(document=document, remarks=tuple(remarks))
