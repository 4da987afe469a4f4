"""Schemas as documents of others: what a released or synthetic table looks like, in three usual forms.

    sdv            metadata of the Synthetic Data Vault
    frictionless   a Frictionless table schema
    json-schema    JSON Schema of a row

The first two can be imported again (``microtome.schema.importing``). Columns that are left out of a release are left
out here too. What a form has no word for is remarked on, and never put into another word.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from microtome.errors import SchemaError
from microtome.schema.aside import Aside
from microtome.schema.column import Column
from microtome.schema.document import Schema
from microtome.schema.kind import Kind


class Form(StrEnum):
    """What a schema can be written as."""

    SDV = "sdv"
    FRICTIONLESS = "frictionless"
    JSON_SCHEMA = "json-schema"


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A schema as a document of others.

    Attributes:
        document: The document, of plain values.
        remarks: What it does not say.
    """

    document: dict[str, Any]
    remarks: tuple[str, ...]


def export_schema(schema: Schema, form: Form) -> Exported:
    """Write a schema as a document of others.

    Raises:
        SchemaError: The schema is a draft. Its types are private until somebody has confirmed them.
    """
    if schema.drafted:
        raise SchemaError("it is a draft, whose types are not public yet; read it, then 'microtome schema confirm' it")
    writer, unsaid = _FORMS[form]
    kept = [one for one in schema.layout() if not _is_dropped(one)]
    return Exported(document=writer(kept), remarks=tuple(_remarks(schema, unsaid)))


def _remarks(schema: Schema, unsaid: frozenset[str]) -> list[str]:
    found = [f"{one.name}: left out, as it is of releases" for one in schema.aside if one.is_dropped]
    said = {
        "bounds": [one.name for one in schema.columns if one.bounds is not None and one.kind.facts.values is None],
        "categories": [one.name for one in schema.columns if one.categories is not None and not one.kind.facts.values],
        "codes": [one.name for one in schema.columns if one.codes],
    }
    found += [f"{word} are not said: {', '.join(names)}" for word, names in said.items() if names and word in unsaid]
    if schema.rules:
        found.append(f"{len(schema.rules)} rules are not said")
    return found


def _is_dropped(one: Column | Aside) -> bool:
    """Whether synthetic tables do without it."""
    match one:
        case Aside():
            return one.is_dropped
        case Column():
            return False


def _is_key(one: Column | Aside) -> bool:
    """Whether its values are made up anew."""
    match one:
        case Aside():
            return True
        case Column():
            return False


def _key_type(one: Aside) -> str:
    return "string" if one.dtype == "string" else "integer"


def _sdv(columns: list[Column | Aside]) -> dict[str, Any]:
    keys = [one.name for one in columns if _is_key(one)]
    table: dict[str, Any] = {"columns": {one.name: _sdv_column(one) for one in columns}}
    if keys:
        table["primary_key"] = keys[0]
    return {"METADATA_SPEC_VERSION": "V1", "tables": {"table": table}, "relationships": []}


def _sdv_column(one: Column | Aside) -> dict[str, Any]:
    match one:
        case Aside():
            return {"sdtype": "id"}
        case Column(kind=Kind.CATEGORICAL):
            return {"sdtype": "categorical"}
        case Column(kind=Kind.ORDERED):
            return {"sdtype": "categorical", "order": _plain(one.categories)}
        case Column(kind=Kind.BOOLEAN):
            return {"sdtype": "boolean"}
        case Column(kind=Kind.INTEGER) if "int" in one.dtype:
            return {"sdtype": "numerical", "computer_representation": _SDV_NUMBERS[one.dtype]}
        case Column(kind=Kind.INTEGER):
            return {"sdtype": "numerical", "computer_representation": "Int64"}
        case Column(kind=Kind.FLOAT):
            return {"sdtype": "numerical", "computer_representation": "Float"}
        case Column():
            return {"sdtype": "datetime", "datetime_format": _written_as(one)}


def _written_as(column: Column) -> str:
    """The format of days and times."""
    usual = {Kind.DATE: "%Y-%m-%d", Kind.TIME: "%H:%M:%S", Kind.DATETIME: "%Y-%m-%dT%H:%M:%S"}
    return column.format or usual[column.kind]


def _frictionless(columns: list[Column | Aside]) -> dict[str, Any]:
    keys = [one.name for one in columns if _is_key(one)]
    document: dict[str, Any] = {
        "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
        "fields": [_frictionless_field(one) for one in columns],
    }
    return {**document, "primaryKey": keys[:1]} if keys else document


def _frictionless_field(one: Column | Aside) -> dict[str, Any]:
    match one:
        case Aside():
            return {"name": one.name, "type": _key_type(one)}
        case Column():
            return _frictionless_column(one)


def _frictionless_column(one: Column) -> dict[str, Any]:
    field: dict[str, Any] = {"name": one.name, "type": _FRICTIONLESS[one.kind] or _listed_type(one)}
    limits: dict[str, Any] = {} if one.missing else {"required": True}
    if one.categories is not None and one.kind.facts.values is None:
        field["categories"] = _plain(one.categories)
        if one.kind.facts.is_ordered:
            field["categoriesOrdered"] = True
        limits["enum"] = _plain(one.categories)
    if one.bounds is not None and one.kind.facts.values is None:
        limits["minimum"], limits["maximum"] = _plain(one.bounds)
    if one.kind.is_temporal and one.format is not None:
        field["format"] = one.format
    if one.unit is not None:
        field["unit"] = one.unit
    return {**field, "constraints": limits} if limits else field


def _listed_type(column: Column) -> str:
    """The type of categories: how they are stored."""
    if "int" in column.dtype:
        return "integer"
    return {"bool": "boolean", "float32": "number", "float64": "number"}.get(column.dtype, column.dtype)


def _json_schema(columns: list[Column | Aside]) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {one.name: _json_property(one) for one in columns},
        "required": [one.name for one in columns],
        "additionalProperties": False,
    }


def _json_property(one: Column | Aside) -> dict[str, Any]:
    match one:
        case Aside():
            return {"type": _key_type(one)}
        case Column():
            return _json_column(one)


def _json_column(one: Column) -> dict[str, Any]:
    values = _json_values(one)
    others = [*_plain(one.codes), *([None] if one.missing else [])]
    described = {"anyOf": [values, {"enum": others}]} if others else values
    return described if one.unit is None else {**described, "description": f"in {one.unit}"}


def _json_values(column: Column) -> dict[str, Any]:
    if _FRICTIONLESS[column.kind] == "boolean":
        return {"type": "boolean"}
    if column.categories is not None:
        return {"enum": _plain(column.categories)}
    if column.kind.is_categorical:
        return {"type": _JSON_TYPES[_listed_type(column)]}
    if column.kind.is_temporal:
        return {"type": "string", "format": _JSON_FORMATS[column.kind]}
    number: dict[str, Any] = {"type": "integer" if column.kind.is_integral else "number"}
    if column.bounds is not None:
        number["minimum"], number["maximum"] = column.bounds
    return number


def _plain(values: Any) -> list[Any]:
    return [one.isoformat() if isinstance(one, dt.date | dt.time) else one for one in values or ()]


_SDV_NUMBERS = {f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_FRICTIONLESS = {
    Kind.CATEGORICAL: None,
    Kind.ORDERED: None,
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "integer",
    Kind.FLOAT: "number",
    Kind.DATE: "date",
    Kind.DATETIME: "datetime",
    Kind.TIME: "time",
}
_JSON_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean"} | dict.fromkeys(
    ("string", "date", "datetime", "time"), "string"
)
_JSON_FORMATS = {Kind.DATE: "date", Kind.DATETIME: "date-time", Kind.TIME: "time"}
_FORMS: dict[Form, tuple[Callable[[list[Column | Aside]], dict[str, Any]], frozenset[str]]] = {
    Form.SDV: (_sdv, frozenset({"bounds", "categories", "codes"})),
    Form.FRICTIONLESS: (_frictionless, frozenset({"codes"})),
    Form.JSON_SCHEMA: (_json_schema, frozenset()),
}
"""How each form is written, and what it has no word for."""
