"""Schemas from documents that describe a table already: code books, data dictionaries, and three formats of others.

    a list or map of fields, JSON      {"age": {"type": "integer", "min": 0, "max": 120}, …}
    the same as CSV, also REDCap's     name,type,min,max,values
    SDV metadata                       {"columns": {"age": {"sdtype": "numerical"}}}
    Frictionless table schema          {"fields": [{"name": "age", "type": "integer", "constraints": …}]}
    Croissant                          {"recordSet": [{"field": [{"name": "age", "dataType": "sc:Integer"}]}]}

All of them become the same plain entries (``Field``), and these a schema. What a document does not say is to be learnt;
a type that is not known is an error, and all errors are told at once.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from microtome.errors import SchemaError
from microtome.schema.aside import Action, Aside
from microtome.schema.column import Column
from microtome.schema.dialect import Dialect
from microtome.schema.document import Schema, told_apart
from microtome.schema.kind import Kind

_LARGEST = 64 * 2**20
_KINDS = {
    Kind.INTEGER: (
        "integer", "int", "int8", "int16", "int32", "int64", "long", "count", "whole", "number_integer", "year",
        "sc:integer", "xsd:integer", "cr:int64",
    ),
    Kind.FLOAT: (
        "number", "float", "double", "decimal", "real", "numeric", "numerical", "continuous", "float32",
        "float64", "percent", "calc", "slider", "sc:float", "sc:number", "cr:float64",
    ),
    Kind.BOOLEAN: (
        "boolean", "bool", "logical", "binary", "yesno", "truefalse", "sc:boolean",
    ),
    Kind.DATE: (
        "date", "sc:date", "date_ymd", "date_mdy", "date_dmy",
    ),
    Kind.DATETIME: (
        "datetime", "timestamp", "date-time", "sc:datetime", "datetime_ymd", "datetime_seconds_ymd",
    ),
    Kind.TIME: (
        "time", "sc:time",
    ),
    Kind.CATEGORICAL: (
        "string", "str", "text", "character", "char", "categorical", "category", "factor", "nominal", "enum",
        "code", "radio", "dropdown", "checkbox", "any", "sc:text", "object",
    ),
    Kind.ORDERED: (
        "ordered", "ordinal",
    ),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
_KEYS = frozenset(["id", "identifier", "key", "uuid", "primary_key"])
_PERSONAL = frozenset((
    "email", "phone_number", "phone", "ssn", "name", "first_name", "last_name", "address", "street_address",
    "credit_card_number", "iban", "ipv4_address", "ipv6_address", "mac_address", "user_name", "license_plate",
    "free_text", "notes", "file", "descriptive", "signature", "uri",
))  # fmt: skip
_ALIASES = {
    "name": (
        "name", "variable", "field", "column", "variable_name", "field_name", "column_name",
        "variable___field_name", "attribute",
    ),
    "type": (
        "type", "kind", "dtype", "data_type", "datatype", "field_type", "format_type", "variable_type",
    ),
    "low": (
        "min", "minimum", "low", "lower", "lower_bound", "text_validation_min", "smallest",
    ),
    "high": (
        "max", "maximum", "high", "upper", "upper_bound", "text_validation_max", "largest",
    ),
    "values": (
        "values", "categories", "codes", "enum", "levels", "choices", "labels", "permitted_values",
        "value_labels", "choices__calculations__or_slider_labels", "code_list", "domain",
    ),
    "format": (
        "format", "text_format",
    ),
    "unit": (
        "unit", "units",
    ),
    "required": (
        "required", "required_field", "required_field_", "mandatory",
    ),
    "missing": (
        "missing", "nullable",
    ),
    "identifier": (
        "identifier_", "is_identifier", "pii",
    ),
    "narrower": (
        "text_validation_type_or_show_slider_number", "validation",
    ),
}  # fmt: skip
_ALIAS_OF = {alias: key for key, aliases in _ALIASES.items() for alias in aliases}
_YES = ("y", "yes", "true", "1", "x")


@dataclass
class Field:
    """What a document says of one column.

    Attributes:
        name: The column's name.
        type: Its type, in whatever words.
        values: Its categories.
        low: Its smallest value.
        high: Its largest value.
        missing: Whether values may be missing.
        unit: Its unit.
        format: How its values are written.
        ordered: Whether the categories are in order.
        action: What to do with it instead of releasing it.
    """

    name: str
    type: str | None = None
    values: list[Any] | None = None
    low: Any = None
    high: Any = None
    missing: bool = True
    unit: str | None = None
    format: str | None = None
    ordered: bool = False
    action: Action | None = None


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A schema that was made of a document.

    Attributes:
        schema: The schema.
        form: What the document is.
        remarks: What could not be taken over.
    """

    schema: Schema
    form: str
    remarks: tuple[str, ...] = field(default=())


def import_schema(path: str | Path, *, target: str | None = None) -> Imported:
    """Make a schema of a code book or dictionary."""
    path = Path(path)
    remarks: list[str] = []
    try:
        form, fields, dialect = _read(path)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise SchemaError(f"{path}: its values make no sense: {error!r}") from error
    schema = schema_of(fields, path, remarks)
    return Imported(schema=replace(schema, target=target, file=dialect), form=form, remarks=tuple(remarks))


def schema_of(fields: Iterable[Field], path: Path, remarks: list[str]) -> Schema:
    """The schema of what a document says of columns; all that is wrong with them is told at once.

    Args:
        fields: The columns.
        path: The document.
        remarks: What could not be taken over is added to these.
    """
    built, problems = [], []
    for place, one in enumerate(fields):
        try:
            built.append(_column(one, place, remarks))
        except SchemaError as error:
            problems.append(str(error))
        except ValueError as error:
            problems.append(f"column {one.name!r}: {error}")
    if problems:
        raise SchemaError(f"{path}: " + "\n".join(problems))
    columns, aside = told_apart(built)
    return Schema(columns=columns, aside=aside)


def _read(path: Path) -> tuple[str, list[Field], Dialect | None]:
    """What the document is, and what it says."""
    document = json_document(path)
    if document is None:
        return "a data dictionary (CSV)", list(_from_csv(_text(path), path)), None
    return _from_json(document, path)


def json_document(path: Path) -> Any:
    """The document, as JSON; none if it is written as a table."""
    return None if path.suffix.lower() in (".csv", ".tsv", ".txt") else _json(_text(path), path)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise SchemaError(f"{path}: larger than {_LARGEST // 2**20} MiB; that is no dictionary")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path}: not in UTF-8: {error}") from error
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read: {error.strerror or error}") from error


def _json(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"{path}: neither JSON nor a .csv file: {error}") from error


def _from_json(document: Any, path: Path) -> tuple[str, list[Field], Dialect | None]:
    """Which of the known forms a document has, and its fields."""
    match document:
        case {"microtome-schema": _}:
            raise SchemaError(f"{path}: it is a schema of Microtome already")
        case {"tables": dict() as tables}:
            return "SDV metadata", sdv_fields(_only(tables, "table", path)), None
        case {"columns": dict() as columns} if all("sdtype" in one for one in columns.values()):
            return "SDV metadata", sdv_fields(document), None
        case {"recordSet": list() as sets}:
            return "a Croissant description", _from_croissant(sets, path), None
        case {"resources": list() as resources}:
            named = {str(one.get("name", place)): one for place, one in enumerate(resources)}
            resource = _only(named, "resource", path)
            return "a Frictionless package", _from_frictionless(resource.get("schema", {})), _dialect(resource)
        case {"fields": list()}:
            return "a Frictionless table schema", _from_frictionless(document), None
        case {"variables": dict() | list() as entries} | {"columns": dict() | list() as entries}:
            return "a code book (JSON)", _code_book(entries, path), None
        case list() | dict() if document and all(isinstance(one, dict | list | str) for one in _each(document)):
            return "a code book (JSON)", _code_book(document, path), None
        case _:
            raise SchemaError(
                f'{path}: not a known dictionary; write {{"NAME": {{"type": "integer", "min": 0, "max": 9}}, …}}, or '
                "give SDV metadata, a Frictionless table schema or a Croissant description"
            )


def _only(entries: Mapping[str, Any], what: str, path: Path) -> Any:
    if len(entries) != 1:
        raise SchemaError(f"{path}: it describes {len(entries)} {what}s; keep one ({', '.join(entries)})")
    return next(iter(entries.values()))


def sdv_fields(metadata: Mapping[str, Any]) -> list[Field]:
    """What metadata of the Synthetic Data Vault say of the columns of one table."""
    found = []
    for name, entry in metadata.get("columns", {}).items():
        sdtype = entry.get("sdtype", "")
        action = _action(sdtype, key=name == metadata.get("primary_key"))
        whole = str(entry.get("computer_representation", "")).lower().startswith(("int", "uint"))
        known = "integer" if sdtype == "numerical" and whole else sdtype
        by_day = sdtype == "datetime" and not re.search("%[HIMSTX]", entry.get("datetime_format", "%H"))
        known = "date" if by_day else known
        order = entry.get("order") if isinstance(entry.get("order"), list) else None
        found.append(Field(name, known, order, format=entry.get("datetime_format"), ordered=bool(order), action=action))
    return found


def _action(kind: str, *, key: bool) -> Action | None:
    if key or kind in _KEYS:
        return Action.SURROGATE
    return Action.DROP if kind in _PERSONAL else None


def _from_frictionless(schema: Mapping[str, Any]) -> list[Field]:
    keys = schema.get("primaryKey", [])
    keys = [keys] if isinstance(keys, str) else keys
    found = []
    for entry in schema.get("fields", []):
        limits = entry.get("constraints", {})
        values = limits.get("enum") or [
            one.get("value") if isinstance(one, dict) else one for one in entry.get("categories") or ()
        ]
        known, written = entry.get("type", "string"), entry.get("format")
        personal = known == "string" and written in ("email", "uri", "uuid")
        usual = personal or written in ("default", "any")
        found.append(
            Field(
                name=entry["name"],
                type=known,
                values=list(values) or None,
                low=limits.get("minimum"),
                high=limits.get("maximum"),
                missing=not limits.get("required", False),
                unit=entry.get("unit"),
                format=_number_format(entry) or (None if usual else written),
                ordered=bool(entry.get("categoriesOrdered", False)),
                action=Action.SURROGATE if entry["name"] in keys else Action.DROP if personal else None,
            )
        )
    return found


def _number_format(entry: Mapping[str, Any]) -> str | None:
    """The format of numbers with a decimal or grouping sign of their own."""
    decimal, group = entry.get("decimalChar", "."), entry.get("groupChar", "")
    if (decimal, group) == (".", "") or entry.get("type") not in ("number", "integer"):
        return None
    grouped = f"#{group}##0" if group else "0"
    return grouped if entry["type"] == "integer" else f"{grouped}{decimal}##"


def _dialect(resource: Mapping[str, Any]) -> Dialect | None:
    given = resource.get("dialect", {})
    given = given if isinstance(given, dict) else {}
    csv_part = given.get("csv", given)
    options = {
        "separator": csv_part.get("delimiter"),
        "quote": csv_part.get("quoteChar"),
        "encoding": resource.get("encoding"),
    }
    dialect = Dialect().with_options(**options)
    return None if dialect == Dialect() else dialect


def _from_croissant(sets: list[Any], path: Path) -> list[Field]:
    with_fields = {str(one.get("name", place)): one for place, one in enumerate(sets) if one.get("field")}
    found = []
    for entry in _only(with_fields, "record set", path)["field"]:
        known = entry.get("dataType", "sc:Text")
        known = known[0] if isinstance(known, list) else known
        name = ((entry.get("source") or {}).get("extract") or {}).get("column") or entry["name"].rpartition("/")[2]
        found.append(Field(name, str(known).replace("https://schema.org/", "sc:")))
    return found


def _each(document: Any) -> Iterable[Any]:
    return document.values() if isinstance(document, dict) else document


def _code_book(entries: Any, path: Path) -> list[Field]:
    return _named(entries, path) if isinstance(entries, dict) else [_plain(entry, path) for entry in entries]


def _named(entries: Mapping[str, Any], path: Path) -> list[Field]:
    """Fields by name: with what is known of each, a list of its values, or its type."""
    found = []
    for name, entry in entries.items():
        match entry:
            case str():
                found.append(_plain({"name": name, "type": entry}, path))
            case list():
                found.append(_plain({"name": name, "values": entry}, path))
            case dict() if entry and not any(_key(key) in _ALIASES for key in entry):
                found.append(_plain({"name": name, "values": entry}, path))
            case _:
                found.append(_plain({"name": name, **entry}, path))
    return found


def _key(name: str) -> str:
    plain = re.sub(r"\W", "_", name.strip().lower())
    return _ALIAS_OF.get(plain, plain)


def _from_csv(text: str, path: Path) -> Iterable[Field]:
    sample = text.partition("\n")[0]
    separator = max(",;\t|", key=sample.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    if not rows.fieldnames or "name" not in map(_key, rows.fieldnames):
        raise SchemaError(f"{path}: the first line must name the columns of the dictionary, one of them 'name'")
    for row in rows:
        entry = {key: value for key, value in row.items() if key is not None and value not in (None, "")}
        if entry:
            yield _plain(entry, path)


def _plain(entry: Any, path: Path) -> Field:
    """A field by its keys, which go by several names."""
    if not isinstance(entry, dict):
        raise SchemaError(f"{path}: every column must be described by a map with a 'name'; found {entry!r}")
    known = {_key(key): value for key, value in entry.items()}
    if not isinstance(known.get("name"), str):
        raise SchemaError(f"{path}: every column needs a 'name'; found {entry!r}")
    narrower = str(known.get("narrower", "")).strip().lower()
    type_ = str(known["type"]).strip().lower() if "type" in known else None
    type_ = narrower if narrower in _KIND_OF else type_
    written = str(known.get("missing", "allowed")).strip().lower()
    required = str(known.get("required", "")).strip().lower() in _YES or written in ("never", "false", "no", "0")
    secret = str(known.get("identifier", "")).strip().lower() in _YES
    return Field(
        name=known["name"].strip(),
        type=type_,
        values=_values(known.get("values")) if type_ not in ("calc", "slider") else None,
        low=known.get("low"),
        high=known.get("high"),
        missing=not required,
        unit=known.get("unit"),
        format=known.get("format"),
        ordered=type_ in ("ordered", "ordinal"),
        action=Action.DROP if secret else _action(type_ or "", key=False),
    )


def _values(values: Any) -> list[Any] | None:
    """Categories as a list: of a list, of codes with their meanings, or of text such as "1=male; 2=female"."""
    match values:
        case None | "":
            return None
        case dict():
            return list(values)
        case list():
            return [one.get("value", one.get("code")) if isinstance(one, dict) else one for one in values]
        case str():
            separator = next((sign for sign in ("|", ";", "\n", ",") if sign in values), "|")
            parts = [part.strip() for part in values.split(separator) if part.strip()]
            return [re.split(r"\s*[=:]\s*|,\s+", part, maxsplit=1)[0] for part in parts]
        case _:
            return [values]


def _column(known: Field, place: int, remarks: list[str]) -> Column | Aside:
    if known.action is not None:
        dtype = "int64" if _KIND_OF.get(known.type or "") is Kind.INTEGER else "string"
        remarks.append(f"{known.name}: not released ({known.action}), being an identifier or free text")
        return Aside(name=known.name, action=known.action, place=place, dtype=dtype)
    type_ = (known.type or ("categorical" if known.values or known.low is None else "number")).lower()
    if type_ not in _KIND_OF:
        raise SchemaError(f"column {known.name!r}: type {known.type!r} is not known; usual are {', '.join(_USUAL)}")
    kind = _KIND_OF[type_]
    unit = None if known.unit is None else str(known.unit)
    if known.values and kind is not Kind.BOOLEAN:
        values, dtype = _codes(known.values, as_text=type_ in ("string", "str", "text", "character", "char"))
        listed = Kind.ORDERED if known.ordered else Kind.CATEGORICAL
        return Column(name=known.name, kind=listed, dtype=dtype, categories=values, missing=known.missing, unit=unit)
    kind = Kind.CATEGORICAL if kind is Kind.ORDERED else kind
    return Column(
        name=known.name,
        kind=kind,
        bounds=_bounds(known, kind, remarks),
        missing=known.missing,
        unit=unit,
        format=_usable_format(known, kind, remarks),
    )


_USUAL = ("integer", "number", "boolean", "date", "datetime", "time", "categorical", "ordered", "identifier")


def _codes(values: list[Any], *, as_text: bool) -> tuple[tuple[Any, ...], str]:
    """Categories and how they are stored: as whole numbers if all of them are."""
    texts = [str(value) for value in values]
    if not as_text and all(re.fullmatch(r"-?(0|[1-9]\d*)", text) for text in texts):
        return tuple(map(int, texts)), "int64"
    return tuple(texts), "string"


def _bounds(known: Field, kind: Kind, remarks: list[str]) -> tuple[Any, Any] | None:
    if known.low is None or known.high is None or kind.is_categorical:
        if (known.low is None) != (known.high is None):
            remarks.append(f"{known.name}: only one bound is given; both are to be learnt")
        return None
    if kind.is_temporal:
        return str(known.low), str(known.high)
    low, high = float(str(known.low)), float(str(known.high))
    return (int(low), int(high)) if low.is_integer() and high.is_integer() else (low, high)


def _usable_format(known: Field, kind: Kind, remarks: list[str]) -> str | None:
    """The format, unless it is one that is not read here or says nothing new."""
    if not isinstance(known.format, str) or kind.is_categorical:
        return None
    try:
        Column(name=known.name, kind=kind, format=known.format)
    except SchemaError:
        remarks.append(f"{known.name}: its format {known.format!r} is not taken over; state one that is known here")
        return None
    return known.format
