"""The schema of a table, and the YAML document in which its holder reviews and declares it.

The document is what becomes public with the release, so it is written for people: every column says what is
declared and what is *to be learnt with budget*.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from microtome.card import Card, Carded
from microtome.errors import SchemaError, together
from microtome.schema.aside import Action, Aside
from microtome.schema.column import Column
from microtome.schema.dialect import Dialect
from microtome.schema.kind import Kind
from microtome.schema.rule_document import plain_source, rule_sources, with_files
from microtome.schema.rule_reading import read_rules
from microtome.schema.rules import Rules, RuleSource
from microtome.schema.unit import Unit
from microtome.schema.yaml_document import contents_of, parse_document, read_document, refuse_unknown, scalar

VERSION = 1
_LEARN = "learn"
_TARGET_SHARE = 0.25
_LARGEST_NUMBER = 1e300
_MOST_SHOWN = 5
"""Categories that a card lists."""
_KEYS = frozenset({"microtome-schema", "columns", "target", "drafted", "index", "file", "rules", "unit"})
_COLUMN_KEYS = frozenset([field.name for field in fields(Column)] + ["action", "keys"])
_TEXTS = ("unit", "frame", "format", "zone", "suggested")
_SUGGESTED = re.compile(r"\s+suggested\s*:")
_DECLARED = re.compile(r"(\s+(?:categories|bounds)\s*:)[^#]*(#.*)?")
_ENTRY = re.compile(r"\s*-\s")
HEADER = """\
# What is public about the table. Everything in this file is published with the release.
# Whatever says 'learn' is learnt from the data with privacy budget; declare it where you can, from public
# knowledge only (a code book, a law, a form), never by looking at the data.
"""
_MARK = re.compile(r"['\"]?drafted['\"]?\s*:\s*true\b", re.IGNORECASE)
DRAFTED = """\
# Kinds and types below were read off the table, where one record can change them (a 37.5 among whole numbers, a
# missing value). Correct them to what is public knowledge, then delete the next line or 'microtome schema confirm'.
drafted: true"""


@dataclass(frozen=True, kw_only=True)
class Schema(Carded):
    """The columns of a table, in order, and the column that is to be predicted, if there is one.

    The target gets a quarter of the unit ball unless it is given a weight of its own: what predicts it is what
    most users want from the table, and the noise does not shrink to make room.

    Columns that are not released stand *aside*: left out, or with keys that are made up anew. ``file`` says how the
    table's file is written, where that is not as usual.

    A *drafted* schema has its types from the table itself, where a single record can have made them what they are. It
    is not public before somebody who knows the table has confirmed it, and no release takes it.

    *Rules* hold in every row, and so in every row that is sampled: texts such as ``"discharge >= admission"``. They are
    public knowledge like all else here; no release looks whether the table keeps them.

    The *unit* says whose a row is, where people may have several: the promise is then about all rows of a person.

    The *index* is the name of a pandas frame's index, which sampled frames have again. Its values are not read.

    Example:
        >>> from microtome import Column, Schema
        >>> schema = Schema(
        ...     columns=(
        ...         Column(name="age", kind="integer", bounds=(18, 99), missing=False),
        ...         Column(name="insured", kind="boolean", missing=False),
        ...     ),
        ...     target="insured",
        ... )
        >>> schema.names
        ['age', 'insured']
        >>> schema["insured"].categories  # declared by its kind
        (False, True)
    """

    columns: tuple[Column, ...]
    target: str | None = None
    drafted: bool = False
    index: str | None = None
    aside: tuple[Aside, ...] = ()
    file: Dialect | None = None
    rules: tuple[RuleSource, ...] = ()
    unit: Unit | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("the schema has no columns to release")
        if self.unit is not None:
            self.unit.check(self.columns)
            object.__setattr__(self, "aside", self.unit.keyed(self.aside))
        repeated = [name for name, count in Counter([*self.names, *self.names_aside]).items() if count > 1]
        if repeated:
            raise SchemaError(f"column {repeated[0]!r} is described twice")
        if self.target is not None and self.target in self.names_aside:
            raise SchemaError(f"target {self.target!r} is not released: its action is drop or surrogate")
        if self.target is not None and self.target not in self.names:
            raise SchemaError(f"target {self.target!r} is not a column; columns are {', '.join(self.names)}")
        columns = self._weighted()
        columns = tuple(map(self._as_in_file, columns))
        if not self.drafted:  # what is confirmed is declared, wherever it came from
            columns = tuple(replace(column, suggested=None) for column in columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rules", rule_sources(self.rules) if self.rules else ())
        if self.rules:
            _ = self.ruled  # wrong and clashing ones are refused here

    @cached_property
    def ruled(self) -> Rules:
        """The rules, read and checked against the columns."""
        return read_rules(self.rules, self.columns, self.names_aside)

    def _weighted(self) -> tuple[Column, ...]:
        """The columns with every weight settled."""
        of_target = self._target_weight()
        return tuple(
            replace(column, weight=column.weight or (of_target if column.name == self.target else 1.0))
            for column in self.columns
        )

    def _as_in_file(self, column: Column) -> Column:
        """A column of numbers and codes is read as text: its numbers are written with the file's decimal sign."""
        if self.file is None or self.file.decimal != "," or column.format is not None or not column.has_text_codes:
            return column
        return replace(column, format="0,##") if column.kind.is_number and not column.kind.is_integral else column

    def _target_weight(self) -> float:
        """The weight with which the target has its share of the unit ball."""
        others = sum((column.weight or 1.0) ** 2 for column in self.columns if column.name != self.target)
        return round(math.sqrt(others * _TARGET_SHARE / (1.0 - _TARGET_SHARE)), 3) or 1.0

    def card(self) -> Card:
        """The columns, what is declared of each and what is to be learnt."""
        drafted = ["It is a draft: read it, correct it, then confirm()."] if self.drafted else []
        target = [] if self.target is None else [f"Target: {self.target}"]
        return Card(
            title=f"Schema of {len(self.columns)} columns",
            lines=[*drafted, *target],
            headings=("column", "kind", "stored as", "values", "missing"),
            rows=[_described(column) for column in self.columns],
        )

    def confirm(self) -> Schema:
        """The same as a statement of what is public: types are as they are whatever records the table holds."""
        return replace(self, drafted=False)

    def without_suggestions(self) -> Schema:
        """The same with everything to be learnt that the public catalogue suggested."""
        return replace(self, columns=tuple(_without_suggestion(column) for column in self.columns))

    def published(self) -> Schema:
        """What goes into a release: all but the columns that are left out."""
        dropped = {one.name for one in self.aside if one.is_dropped}
        kept = [one for one in self.layout() if one.name not in dropped]
        places = {one.name: place for place, one in enumerate(kept)}
        aside = [replace(one, place=places[one.name]) for one in self.aside if one.name in places]
        return replace(self, aside=tuple(aside))

    @property
    def names(self) -> list[str]:
        """Names of the columns that are released, in order."""
        return [column.name for column in self.columns]

    @property
    def names_aside(self) -> list[str]:
        """Names of the columns that are not."""
        return [column.name for column in self.aside]

    def layout(self) -> list[Column | Aside]:
        """All columns in the order of the table."""
        placed: list[Column | Aside] = list(self.columns)
        for one in sorted(self.aside, key=lambda aside: aside.place):
            placed.insert(one.place, one)
        return placed

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"no column {name!r}; columns are {', '.join(self.names)}")

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Schema:
        """Build a schema from the parsed document, naming whatever is wrong in it."""
        if not isinstance(document, Mapping) or "microtome-schema" not in document:
            raise SchemaError("not a Microtome schema: the key 'microtome-schema' is missing")
        if document["microtome-schema"] != VERSION or isinstance(document["microtome-schema"], bool):
            version = document["microtome-schema"]
            raise SchemaError(f"schema version {version!r} is not known; this Microtome reads {VERSION}")
        refuse_unknown(document, _KEYS, "the schema")
        drafted = document.get("drafted", False)
        if not isinstance(drafted, bool):
            raise SchemaError(f"'drafted' is {drafted!r}; it must be true or false")
        columns = document.get("columns")
        if not isinstance(columns, Sequence) or isinstance(columns, str):
            raise SchemaError("'columns' must be a list of columns")
        index = document.get("index")
        if index is not None and not isinstance(index, str):
            raise SchemaError(f"'index' is {index!r}; it must be the name of a frame's index")
        read = []
        with together() as attempts:
            for place, entries in enumerate(columns):
                with attempts:
                    read.append(_column_from_dict(place, entries))
        released, aside = told_apart(read)
        return cls(
            columns=released,
            target=document.get("target"),
            drafted=drafted,
            index=index,
            aside=aside,
            file=Dialect.from_dict(document["file"]) if "file" in document else None,
            rules=() if document.get("rules") is None else rule_sources(document["rules"]),
            unit=None if document.get("unit") is None else Unit.from_entry(document["unit"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """The document as plain values; dates as ISO strings."""
        return {
            "microtome-schema": VERSION,
            **({"drafted": True} if self.drafted else {}),
            **({"file": self.file.to_dict()} if self.file is not None else {}),
            "target": self.target,
            **({} if self.index is None else {"index": self.index}),
            **({} if self.unit is None else {"unit": self.unit.to_entry()}),
            "columns": [self._entries(one) for one in self.layout()],
            **({"rules": [plain_source(rule) for rule in self.rules]} if self.rules else {}),
        }

    def _entries(self, one: Column | Aside) -> dict[str, Any]:
        match one:
            case Column():
                return _column_to_dict(one, self.target)
            case Aside():
                return _aside_to_dict(one)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a YAML document."""
        document = read_document(path)
        with contents_of(path):
            return cls.from_dict(with_files(document, Path(path).parent))

    @classmethod
    def import_from(cls, path: str | Path, *, target: str | None = None) -> Schema:
        """The schema of a table that a code book or data dictionary describes.

        Args:
            path: JSON (a code book, SDV metadata, a Frictionless table schema, a Croissant description) or CSV.
            target: The column to be predicted, if there is one.
        """
        from microtome.schema.importing import import_schema

        return import_schema(path, target=target).schema

    @classmethod
    def loads(cls, text: str, *, folder: str | Path | None = None) -> Schema:
        """Read the text of a YAML document; the tables of its rules may stand in files in the folder."""
        with contents_of("the schema"):
            document = parse_document(text)
            return cls.from_dict(document if folder is None else with_files(document, Path(folder)))

    def to_yaml(self) -> str:
        """The document with a remark on every line that says what is declared."""
        drafted = [DRAFTED] if self.drafted else []
        return "\n".join([HEADER + f"microtome-schema: {VERSION}", *drafted, *self.lines()]) + "\n"

    def lines(self) -> list[str]:
        """The document from the file on, without the version and the mark of a draft."""
        lines = []
        if self.file is not None:
            written = self.file.to_dict()
            lines.append("file:  # how it is written; a release reads it so" if written else "file: {}")
            lines += [f"  {key}: {scalar(value)}" for key, value in written.items()]
        lines += [f"target: {scalar(self.target)}"]
        if self.unit is not None:
            lines += ["unit:  # whose a row is: the promise is about all rows of a person"]
            lines += [f"  {key}: {scalar(value)}" for key, value in self.unit.to_entry().items()]
        lines += ["columns:"] if self.index is None else [f"index: {scalar(self.index)}", "columns:"]
        for column in self.layout():
            entries = self._entries(column)
            if column.name == self.target and entries.get("weight") == self._target_weight():
                entries.pop("weight", None)  # chosen anew when the document is read: columns may have changed
            lines.append(f"  - name: {scalar(entries.pop('name'))}")
            lines += [f"    {key}: {scalar(value)}{_remark(key, value)}" for key, value in entries.items()]
        if self.rules:
            lines += ["rules:", *(f"  - {scalar(plain_source(rule))}" for rule in self.rules)]
        return lines


def told_apart(described: Iterable[Column | Aside]) -> tuple[tuple[Column, ...], tuple[Aside, ...]]:
    """Columns that are released, and those that are not."""
    columns: list[Column] = []
    aside: list[Aside] = []
    for one in described:
        match one:
            case Column():
                columns.append(one)
            case Aside():
                aside.append(one)
    return tuple(columns), tuple(aside)


def confirmed_text(text: str, *, suggestions: bool = True) -> str:
    """A drafted document without the mark of a draft; everything else stays as its holder wrote it.

    Suggestions of the public catalogue become declarations, or are to be learnt if ``suggestions`` is false.
    """
    remarks = DRAFTED.splitlines()[:-1]
    kept: list[str] = []
    for block in _blocks(text.splitlines(keepends=True)):
        suggested = any(_SUGGESTED.match(line) for line in block)
        block = [line for line in block if not _SUGGESTED.match(line)]
        if suggested and not suggestions:
            block = [_DECLARED.sub(rf"\1 {_LEARN}  # to be learnt with budget", line) for line in block]
        kept += block
    return "".join(line for line in kept if line.rstrip() not in remarks and not _MARK.match(line))


def _blocks(lines: list[str]) -> list[list[str]]:
    """The lines of a document, cut before every entry of a list."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if _ENTRY.match(line):
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def _without_suggestion(column: Column) -> Column:
    if column.suggested is None:
        return column
    return replace(column, categories=None, bounds=None, suggested=None)


def _described(column: Column) -> list[str]:
    """A column in words, for the schema's card."""
    declared = column.categories if column.kind.is_categorical else column.bounds
    if declared is None:
        values = "to be learnt with budget"
    elif column.kind.is_categorical:
        shown = ", ".join(map(str, declared[:_MOST_SHOWN]))
        values = shown if len(declared) <= _MOST_SHOWN else f"{shown}, … ({len(declared)} in all)"
    else:
        values = f"{declared[0]} … {declared[1]}"
    return [
        column.name,
        str(column.kind),
        column.frame or column.dtype,
        values,
        "allowed" if column.missing else "never",
    ]


def _column_from_dict(place: int, entries: Any) -> Column | Aside:
    if not isinstance(entries, Mapping) or not isinstance(entries.get("name"), str):
        raise SchemaError(f"every column needs a 'name' in quotes or plain letters; found {entries!r}")
    name = entries["name"]
    refuse_unknown(entries, _COLUMN_KEYS, f"column {name!r}")
    match entries.get("action"):
        case None:
            kind = entries.get("kind", "")
        case Action.CATEGORIES.value:
            kind = Kind.CATEGORICAL
        case action:
            dtype = str(entries.get("dtype", "string"))
            return Aside(name=name, action=action, place=place, dtype=dtype, keys=entries.get("keys"))
    if "keys" in entries:
        raise SchemaError(f"column {name!r}: keys are for 'action: surrogate'")
    return Column(
        name=name,
        kind=kind,
        dtype=str(entries.get("dtype", "")),
        categories=_declared(entries.get("categories"), name, "categories", None),
        bounds=_declared(entries.get("bounds"), name, "bounds", 2),
        missing=_choice_of({"allowed": True, "never": False}, entries.get("missing", "allowed"), name),
        outside=entries.get("outside", Column.outside),
        weight=_number(entries["weight"], name, "weight") if "weight" in entries else None,
        bins=_whole_number(entries["bins"], name, "bins") if "bins" in entries else None,
        pool=_number(entries["pool"], name, "pool") if "pool" in entries else None,
        codes=_listed(entries.get("codes", []), name, "codes"),
        **{key: _text_or_none(entries.get(key), name, key) for key in _TEXTS},
    )


def _choice_of(options: Mapping[str, bool], value: Any, name: str) -> bool:
    if not isinstance(value, str) or value not in options:
        raise SchemaError(f"column {name!r}: missing is {value!r}; it must be {' or '.join(options)}")
    return options[value]


def _text_or_none(value: Any, name: str, key: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SchemaError(f"column {name!r}: {key} is {value!r}; it must be text")
    return value


def _number(value: Any, name: str, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LARGEST_NUMBER:
        raise SchemaError(f"column {name!r}: {key} is {_shown(value)}; it must be a number")
    return value


def _shown(value: Any) -> str:
    """A value for a message, cut short where it is endless."""
    return "too large" if isinstance(value, int) and abs(value) > _LARGEST_NUMBER else repr(value)


def _whole_number(value: Any, name: str, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SchemaError(f"column {name!r}: {key} is {value!r}; it must be a whole number")
    return value


def _listed(value: Any, name: str, key: str) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise SchemaError(f"column {name!r}: {key} is {value!r}; it must be a list")
    return tuple(value)


def _declared(value: Any, name: str, key: str, length: int | None) -> tuple[Any, ...] | None:
    if value is None or value == _LEARN:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or (length and len(value) != length):
        form = "[smallest, largest]" if length else "a list"
        raise SchemaError(f"column {name!r}: {key} is {value!r}; it must be {form} or '{_LEARN}'")
    return tuple(value)


def _column_to_dict(column: Column, target: str | None) -> dict[str, Any]:
    entries: dict[str, Any] = {"name": column.name, "kind": str(column.kind), "dtype": column.dtype}
    key, declared = ("categories", column.categories) if column.kind.is_categorical else ("bounds", column.bounds)
    entries[key] = _LEARN if declared is None else [_plain(value) for value in declared]
    entries["missing"] = "allowed" if column.missing else "never"
    defaults = Column(name=column.name, kind=Kind.FLOAT)
    if column.outside is not defaults.outside:
        entries["outside"] = str(column.outside)
    if column.weight != 1.0 or column.name == target:
        entries["weight"] = column.weight
    if not column.kind.is_categorical and column.bins != defaults.bins:
        entries["bins"] = column.bins
    if column.kind.is_categorical and column.pool != defaults.pool:
        entries["pool"] = column.pool
    if column.codes:
        entries["codes"] = [_plain(code) for code in column.codes]
    return entries | {key: getattr(column, key) for key in _TEXTS if getattr(column, key) is not None}


def _aside_to_dict(aside: Aside) -> dict[str, Any]:
    entries: dict[str, Any] = {"name": aside.name, "action": str(aside.action)}
    if not aside.is_dropped:
        entries |= {"dtype": aside.dtype} | ({} if aside.keys is None else {"keys": aside.keys})
    return entries


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


def _remark(key: str, value: Any) -> str:
    match key:
        case "categories" | "bounds":
            return "  # to be learnt with budget" if value == _LEARN else "  # declared"
        case "action":
            return "  # not released; or 'drop', 'surrogate' (keys made up anew), 'categories'"
        case "suggested":
            return "  # from the public catalogue, not from the table: keep or correct it"
        case _:
            return ""
