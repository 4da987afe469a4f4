"""What goes beside a file of synthetic rows or images: a card for people, and a Croissant description for programs.

Both say what the file is, that it is synthetic, what was promised to the people behind it, and what its columns are.
All of that is in the model, which is public; nothing is read off the synthetic rows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from microtome import __version__
from microtome.accounting import Neighbours
from microtome.errors import ParameterError
from microtome.images import ImageSchema
from microtome.published import check_output
from microtome.schema import Column, Kind, LinkedSchema, Schema
from microtome.schema.aside import Aside
from microtome.schema.public_table import PublicTable
from microtome.synthesis.draw import Draw
from microtome.synthesis.model_file import Model
from microtome.whole_file import STANDARD, write_text

_FORMATS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".txt": "text/plain",
    ".parquet": "application/vnd.apache.parquet",
    ".gz": "application/gzip",
    ".bz2": "application/x-bzip2",
    ".zst": "application/zstd",
    ".npz": "application/zip",
}
_TYPES = {
    Kind.BOOLEAN: "sc:Boolean",
    Kind.INTEGER: "sc:Integer",
    Kind.FLOAT: "sc:Float",
    Kind.DATE: "sc:Date",
    Kind.DATETIME: "sc:DateTime",
    Kind.TIME: "sc:Time",
}
_STORED = {
    "bool": "sc:Boolean",
    "int": "sc:Integer",
    "uint": "sc:Integer",
    "float": "sc:Float",
    "double": "sc:Float",
    "date": "sc:Date",
    "timestamp": "sc:DateTime",
}
_MOST_VALUES = 12
"""Categories that a card lists."""
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def is_describable(path: Path, model: Model) -> bool:
    """Whether such a file can have a card: rows, linked tables and images in one file can, a grid cannot."""
    match model.schema:
        case LinkedSchema():
            return path != STANDARD
        case _:
            return path != STANDARD and path.suffix.lower() in _FORMATS


def card_places(path: Path) -> tuple[Path, Path]:
    """Where the card of a file and its description are."""
    return path.with_name(f"{path.name}.card.md"), path.with_name(f"{path.name}.croissant.json")


@dataclass(frozen=True, kw_only=True)
class DatasetCard:
    """A file of synthetic rows or images, described.

    Attributes:
        path: The file.
        model: What it was drawn from.
        wanted: What was drawn.
    """

    path: Path
    model: Model
    wanted: Draw

    @property
    def places(self) -> tuple[Path, Path]:
        """Where the card and the description are."""
        return card_places(self.path)

    def check(self, *, force: bool) -> None:
        """Refuse before anything is drawn what cannot be described, and files that are there already."""
        if not is_describable(self.path, self.model):
            raise ParameterError(f"{self.path}: a card is for one file of rows or of images, {', '.join(_FORMATS)}")
        for place in self.places:
            check_output(place, force=force)

    @property
    def _files(self) -> dict[str, Path]:
        """What was drawn, by its name beside the card: a file, or all of a folder of linked tables."""
        if not self.path.is_dir():
            return {self.path.name: self.path}
        return {f"{self.path.name}/{one.name}": one for one in sorted(self.path.iterdir())}

    def write(self) -> None:
        """Write both beside the file, which is there by now."""
        card, description = self.places
        digests = {name: _sha256(path) for name, path in self._files.items()}
        write_text(card, self._card(digests))
        document = self._croissant(digests, dt.datetime.now(dt.UTC).date())
        write_text(description, json.dumps(document, indent=2, ensure_ascii=False) + "\n")

    def _promise(self) -> list[str]:
        """What was promised, a sentence a line."""
        promise = self.model.origin["promise"]
        if not promise["private"]:
            return ["NOT PRIVATE: the noise of the release was injected for a test. It promises nothing."]
        return [
            f"Drawn from a model of a release that is (ε = {promise['epsilon']:g}, δ = {promise['delta']:g})-"
            "differentially private. That holds for this file too, and for whatever is computed from it.",
            f"Neighbours ({promise['neighbours']}): "
            f"{Neighbours(promise['neighbours']).described(people=self.model.unit == 'people')}",
        ]

    def _summary(self) -> str:
        number, unit = f"{self.wanted.number:,}", self.model.unit
        return f"{number} synthetic {unit}. None of them is a real person's. " + " ".join(self._promise())

    def _card(self, digests: Mapping[str, str]) -> str:
        lines = [f"# {self.path.name}", "", f"{self.wanted.number:,} synthetic {self.model.unit}, drawn by Microtome."]
        lines += ["", "## What is promised", "", *self._promise(), "", "## What it is", ""]
        lines += ["| | |", "|---|---|"]
        for name, digest in digests.items():
            lines += [f"| file | `{name}` |", f"| SHA-256 | `{digest}` |"]
        lines += [f"| release | `{self.model.origin['release']}` |", f"| drawn by | microtome {__version__} |"]
        if self.wanted.conditions:
            lines.append(f"| conditions | {_cell(_conditions(self.wanted.conditions))} |")
        lines += ["", *_described(self.model.schema), "", "## What to use it for", "", *_USE, ""]
        return "\n".join(lines)

    def _croissant(self, digests: Mapping[str, str], today: dt.date) -> dict[str, Any]:
        return {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "name": self.path.name.replace(".", "-"),
            "description": self._summary(),
            "conformsTo": "http://mlcommons.org/croissant/1.1",
            "version": "1.0.0",
            "datePublished": today.isoformat(),
            "isLiveDataset": False,
            "rai:dataCollection": f"Synthetic, drawn by microtome {__version__} from a model of the release "
            f"{self.model.origin['release']}.",
            "rai:personalSensitiveInformation": self._promise(),
            "rai:dataLimitations": list(_LIMITS),
            "distribution": [
                {
                    "@type": "cr:FileObject",
                    "@id": name,
                    "name": name,
                    "contentUrl": name,
                    "contentSize": f"{path.stat().st_size} B",
                    "encodingFormat": _FORMATS[path.suffix.lower()],
                    "sha256": digests[name],
                }
                for name, path in self._files.items()
            ],
            "recordSet": _record_sets(self.model.schema, self.path.name),
        }


_USE = (
    "- To develop, test and teach with, and for first answers that are checked on the real rows before anybody relies "
    "on them.",
    "- Not to look for a person, nor to decide about one.",
    "- Not for rare groups and for structure beyond what was measured: it may be missing, or be noise.",
)
_LIMITS = tuple(line.removeprefix("- ") for line in _USE[1:])


def _described(schema: Schema | ImageSchema | LinkedSchema) -> list[str]:
    match schema:
        case LinkedSchema():
            lines = []
            for table in schema.tables:
                hangs = "the people" if table.parent is None else f"rows of {table.parent.table}"
                key = "" if table.key is None else f" `{_cell(table.key)}` tells them apart."
                lines += [f"### {_cell(table.name)}", "", f"{hangs[0].upper()}{hangs[1:]}.{key}", ""]
                lines += [*_described(table.schema), ""]
            lines += [f"`{_cell(public.name)}` is public, and as it was given." for public in schema.public]
            lines += ["", "Columns refer to each other:", ""]
            for name, columns in _references(schema).items():
                lines += [f"- `{_cell(name)}.{_cell(column)}`: `{_cell(to)}`" for column, to in columns.items()]
            return lines
        case ImageSchema():
            shape = f"{schema.height} × {schema.width} × {schema.channels}"
            classes = "none" if schema.classes is None else ", ".join(map(str, schema.classes))
            return [f"Images of {shape} pixels from {schema.low:g} to {schema.high:g}. Classes: {classes}."]
        case Schema():
            lines = ["| column | kind | values | missing |", "|---|---|---|---|"]
            lines += [
                f"| {_cell(one.name)} | {one.kind} | {_cell(_values(one))} | {_missing(one)} |"
                for one in schema.columns
            ]
            lines += [f"| {_cell(one.name)} | made-up key | | never |" for one in schema.aside if not one.is_dropped]
            if schema.rules:
                lines += ["", "These hold in every row:", "", *(f"- `{rule.text}`" for rule in schema.ruled.all)]
            return lines


def _missing(column: Column) -> str:
    return "allowed" if column.missing else "never"


def _values(column: Column) -> str:
    if column.categories is not None:
        shown = ", ".join(map(str, column.categories[:_MOST_VALUES]))
        more = len(column.categories) - _MOST_VALUES
        return f"{shown}, … ({more} more)" if more > 0 else shown
    if column.bounds is not None:
        unit = "" if column.unit is None else f" {column.unit}"
        return f"{column.bounds[0]} … {column.bounds[1]}{unit}"
    return "learnt with privacy budget"


def _conditions(conditions: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in conditions.items())


def _cell(text: str) -> str:
    """Text in a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _record_sets(schema: Schema | ImageSchema | LinkedSchema, file: str) -> list[dict[str, Any]]:
    match schema:
        case ImageSchema():
            return []
        case LinkedSchema():
            return [*_linked_sets(schema, file), *(_public_set(public, file) for public in schema.public)]
        case Schema():
            return [_record_set(_types_of(schema), file, "rows")]


def _linked_sets(schema: LinkedSchema, file: str) -> list[dict[str, Any]]:
    """A record set a table, with its key, and what its columns refer to."""
    referred = _references(schema)
    return [
        _record_set(
            _types_of(table.schema), f"{file}/{table.name}.csv", table.name, table.key, referred.get(table.name, {})
        )
        for table in schema.tables
    ]


def _references(schema: LinkedSchema) -> dict[str, dict[str, str]]:
    """The field of another table that columns refer to, column by column, table by table."""
    found: dict[str, dict[str, str]] = {}
    keys = {table.name: table.key for table in schema.tables} | {public.name: public.key for public in schema.public}
    for table in schema.tables:
        for column, public in table.references.items():
            found.setdefault(table.name, {})[column] = f"{public}/{keys[public]}"
        if table.parent is not None:
            held = table.parent.cardinality.is_held_by_parent
            holder, other = (table.parent.table, table.name) if held else (table.name, table.parent.table)
            found.setdefault(holder, {})[table.parent.foreign_key] = f"{other}/{keys[other]}"
    return found


def _public_set(public: PublicTable, file: str) -> dict[str, Any]:
    types = {name: _type_named(str(public.table().schema.field(name).type)) for name in public.rows}
    return _record_set(types, f"{file}/{public.name}.csv", public.name, public.key)


def _record_set(
    types: Mapping[str, str],
    file: str,
    called: str,
    key: str | None = None,
    references: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    # References are in words: mlcroissant 1.1 follows "references" by a join, and fails where they make a chain.
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{called}/{name}",
            "name": name,
            "dataType": data_type,
            **({"description": f"Refers to {references[name]}."} if name in references else {}),
            "source": {"fileObject": {"@id": file}, "extract": {"column": name}},
        }
        for name, data_type in types.items()
    ]
    keyed = {} if key is None else {"key": {"@id": f"{called}/{key}"}}
    return {"@type": "cr:RecordSet", "@id": called, "name": called, **keyed, "field": fields}


def _types_of(schema: Schema) -> dict[str, str]:
    """What Croissant calls the types of the columns that synthetic tables have, in their order."""
    return {one.name: found for one in schema.layout() if (found := _type_of(one)) is not None}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _type_of(one: Column | Aside) -> str | None:
    """What Croissant calls the type of a column; none if synthetic tables do without it."""
    match one:
        case Column():
            return _TYPES.get(one.kind) or _type_named(one.dtype)
        case Aside():
            return None if one.is_dropped else _type_named(one.dtype)


def _type_named(dtype: str) -> str:
    """What Croissant calls a type of Arrow's, in which categories and keys are stored."""
    return next((found for start, found in _STORED.items() if dtype.startswith(start)), "sc:Text")
