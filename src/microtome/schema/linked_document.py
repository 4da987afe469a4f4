"""The document of several tables: each with the entries of a table's own document, and what it hangs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from microtome.errors import SchemaError, together
from microtome.schema import document as of_table
from microtome.schema.document import Schema
from microtome.schema.linked import LinkedSchema, check_tree
from microtome.schema.linked_table import Cardinality, LinkedTable, Parent
from microtome.schema.public_table import PublicTable, public_rows, read_public_rows
from microtome.schema.rule_document import with_files
from microtome.schema.yaml_document import contents_of, parse_document, read_document, refuse_unknown, scalar

KEY = "microtome-linked"
VERSION = 1
_OF_SCHEMA = {"columns", "target", "index", "file", "rules"}
_OF_PARENT = {"foreign_key", "cardinality", "min_rows", "max_rows", "order", "owner"}
_OF_TABLE = {"table", "key", "parent", "references", "public"} | _OF_PARENT | _OF_SCHEMA
_OF_PUBLIC = {"table", "key", "rows", "public"}
_ONE_TO_ONE_IN_YAML = 61
"""What YAML makes of a bare 1:1, which it takes for minutes and seconds."""
_REMARKS = {
    "key": "tells its rows apart; never released, made up anew",
    "parent": "what its rows hang on",
    "max_rows": "of a parent; rows beyond are not counted",
    "order": "puts a parent's rows in sequence",
    "owner": "whose the row is, where several links name it",
    "references": "columns that hold keys of a public table",
}


def loads_linked(text: str, *, folder: Path) -> LinkedSchema:
    """Read the text of a YAML document, and the files in a folder that it names."""
    with contents_of("the schema"):
        return linked_from_dict(with_public_rows(parse_document(text), folder))


def load_linked(path: str | Path) -> LinkedSchema:
    """Read a YAML document, and the files of public tables that it names."""
    document = read_document(path)
    with contents_of(path):
        return linked_from_dict(with_public_rows(document, Path(path).parent))


def with_public_rows(document: Any, folder: Path) -> Any:
    """A document with rows, and tables of rules, in place of the names of files beside it."""
    if not isinstance(document, Mapping) or not isinstance(document.get("tables"), list):
        return document
    tables = []
    with together() as attempts:
        for entry in document["tables"]:
            with attempts:
                tables.append(_with_rows(entry, folder))
    return {**document, "tables": tables}


def _with_rows(entry: Any, folder: Path) -> Any:
    if isinstance(entry, Mapping) and isinstance(entry.get("rows"), str):
        return {**entry, "rows": read_public_rows(folder / entry["rows"], f"public table {entry.get('table')!r}")}
    return with_files(entry, folder)


def linked_from_dict(document: Any) -> LinkedSchema:
    """Build a schema from the parsed document, naming whatever is wrong in it."""
    if not isinstance(document, Mapping) or KEY not in document:
        raise SchemaError(f"not a schema of linked tables: the key '{KEY}' is missing")
    if document[KEY] != VERSION or isinstance(document[KEY], bool):
        raise SchemaError(f"version {document[KEY]!r} of linked tables is not known; this Microtome reads {VERSION}")
    refuse_unknown(document, {KEY, "tables", "drafted"}, "the schema")
    entries = document.get("tables")
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise SchemaError("'tables' must be a list of tables")
    tables: list[LinkedTable] = []
    public: list[PublicTable] = []
    with together() as attempts:
        for entry in entries:
            with attempts:
                match _read_table(entry, document.get("drafted", False)):
                    case LinkedTable() as table:
                        tables.append(table)
                    case PublicTable() as table:
                        public.append(table)
        with attempts:
            check_tree(_parents_in(entries))
    return LinkedSchema(tables=tuple(tables), public=tuple(public))


def _parents_in(entries: Sequence[Any]) -> dict[str, str | None]:
    """The parents of private tables, whatever else is wrong with these."""
    named = [one for one in entries if isinstance(one, Mapping) and isinstance(one.get("table"), str)]
    private = [one for one in named if one.get("public") is not True]
    return {one["table"]: one["parent"] if isinstance(one.get("parent"), str) else None for one in private}


def _read_table(entry: Any, drafted: Any) -> LinkedTable | PublicTable:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("table"), str):
        raise SchemaError(f"every table needs its name under 'table'; found {entry!r:.200}")
    name, is_public = entry["table"], entry.get("public", False)
    if not isinstance(is_public, bool):
        raise SchemaError(f"table {name!r}: 'public' is {is_public!r}; it must be true or false")
    refuse_unknown(entry, _OF_PUBLIC if is_public else _OF_TABLE, f"table {name!r}")
    for text in ("key", "parent", "foreign_key", "order"):
        if not isinstance(entry.get(text), str | None):
            raise SchemaError(f"table {name!r}: {text} is {entry[text]!r}; it must be a name")
    if is_public:
        rows = public_rows(entry.get("rows"), f"public table {name!r}")
        return PublicTable(name=name, key=entry.get("key") or "", rows=rows)
    return _private_table(name, entry, drafted)


def _private_table(name: str, entry: Mapping[str, Any], drafted: Any) -> LinkedTable:
    try:
        own = {key: value for key, value in entry.items() if key in _OF_SCHEMA}
        schema = Schema.from_dict({"microtome-schema": of_table.VERSION, "drafted": drafted, **own})
        parent = _parent(entry)
        references = _references(entry.get("references"))
    except SchemaError as error:
        raise SchemaError("\n".join(f"table {name!r}: {line}" for line in str(error).splitlines())) from None
    return LinkedTable(name=name, schema=schema, key=entry.get("key"), parent=parent, references=references)


def _parent(entry: Mapping[str, Any]) -> Parent | None:
    given = {key: entry[key] for key in _OF_PARENT if entry.get(key) is not None}
    if entry.get("parent") is None:
        if given:
            raise SchemaError(f"{', '.join(sorted(given))} is given, but no 'parent'")
        return None
    if "foreign_key" not in given:
        raise SchemaError(f"'foreign_key' is missing: the column with the key of {entry['parent']!r}")
    if given.get("cardinality") == _ONE_TO_ONE_IN_YAML:
        given["cardinality"] = Cardinality.ONE
    if "owner" in given:
        given["owner"] = _owner(given["owner"])
    return Parent(table=entry["parent"], **given)


def _owner(entry: Any) -> tuple[str, Any]:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise SchemaError(f"owner is {entry!r}; write {{column: value}} of the link that owns a row")
    ((column, value),) = entry.items()
    return str(column), value


def _references(entry: Any) -> dict[str, str]:
    if entry is None:
        return {}
    if not isinstance(entry, Mapping) or not all(isinstance(one, str) for pair in entry.items() for one in pair):
        raise SchemaError(f"references is {entry!r}; write {{column: public table}}")
    return dict(entry)


def linked_to_dict(schema: LinkedSchema) -> dict[str, Any]:
    """The document as plain values."""
    tables = [{**_links(table), **_own(table)} for table in schema.tables]
    return {
        KEY: VERSION,
        **({"drafted": True} if schema.drafted else {}),
        "tables": [*tables, *(one.to_dict() for one in schema.public)],
    }


def _own(table: LinkedTable) -> dict[str, Any]:
    document = table.schema.to_dict()
    return {key: value for key, value in document.items() if key in _OF_SCHEMA}


def _links(table: LinkedTable) -> dict[str, Any]:
    """What a table hangs on, without what goes without saying."""
    entries: dict[str, Any] = {"table": table.name, **({} if table.key is None else {"key": table.key})}
    if table.parent is not None:
        parent = table.parent
        entries |= {"parent": parent.table, "foreign_key": parent.foreign_key, "cardinality": str(parent.cardinality)}
        entries |= {"min_rows": parent.min_rows} if parent.min_rows else {}
        entries |= {"max_rows": parent.most} if parent.cardinality.is_many else {}
        entries |= {} if parent.order is None else {"order": parent.order}
        entries |= {} if parent.owner is None else {"owner": dict([parent.owner])}
    return entries | ({"references": table.references} if table.references else {})


def linked_to_yaml(schema: LinkedSchema) -> str:
    """The document with a remark on every line that says what is declared."""
    lines = [of_table.HEADER + f"{KEY}: {VERSION}", *([of_table.DRAFTED] if schema.drafted else []), "tables:"]
    for table in schema.tables:
        linked = [f"{key}: {scalar(value)}{_remark(key)}" for key, value in _links(table).items()]
        lines += _as_entry([*linked, *table.schema.lines()])
    for public in schema.public:
        entries = [f"table: {scalar(public.name)}", "public: true", f"key: {scalar(public.key)}", "rows:"]
        lines += _as_entry(
            [*entries, *(f"  {scalar(name)}: {scalar(list(public.rows[name]))}" for name in public.rows)]
        )
    return "\n".join(lines) + "\n"


def _remark(key: str) -> str:
    return f"  # {_REMARKS[key]}" if key in _REMARKS else ""


def _as_entry(lines: list[str]) -> list[str]:
    """Lines as an entry of a list."""
    return ["  - " + lines[0], *(f"    {line}" for line in lines[1:])]
