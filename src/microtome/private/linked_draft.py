"""A first schema of several tables: each drafted by itself, and how they hang together, by names and contents of keys.

Like any draft it is for its holder to correct and confirm. How many rows a parent may have is not read off the tables,
nor is any table taken for public, nor who owns what several people share: the draft says what is left to be said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import SchemaError
from microtome.private.draft import draft
from microtome.private.naming import tokens
from microtome.private.opening import open_table
from microtome.schema import Action, Aside, Column, Kind, LinkedSchema, LinkedTable, Parent, Schema
from microtome.schema.document import told_apart
from microtome.schema.table_folder import is_table, tables_in

_OF_KEYS = frozenset(("id", "ids", "key", "uid", "pk", "no", "nr", "num", "number", "code", "ref"))
_PEOPLE = (
    "patient", "client", "customer", "person", "people", "user", "member", "subject", "student", "employee",
    "participant", "citizen", "insured", "kunde", "kunden", "patienten", "personen", "personne", "cliente", "paciente",
)  # fmt: skip
_MOSTLY = 0.9
_FEW = 3


@dataclass(frozen=True, kw_only=True)
class LinkedDraft:
    """A drafted schema of several tables, and what its holder should know before confirming it.

    Attributes:
        schema: The draft.
        remarks: What is worth a second look. They tell of the tables' contents: do not publish them.
    """

    schema: LinkedSchema
    remarks: tuple[str, ...]


@dataclass
class _Seen:
    """A table as a draft sees it."""

    name: str
    source: Any
    schema: Schema
    columns: dict[str, pa.Array]
    key: str | None = None
    refers: dict[str, str] = field(default_factory=dict)
    """Foreign keys, and the tables that they name."""

    def is_key(self, name: str) -> bool:
        """Whether a column tells its rows apart and is named as such a column is."""
        values = self.columns[name]
        unique = len(values) > 0 and values.null_count == 0 and pc.count_distinct(values).as_py() == len(values)
        return unique and (_stem(name) in ("", _stem(self.name)) or name in self.schema.names_aside)


def draft_linked(sources: Mapping[str, Any], *, people: str | None = None) -> LinkedDraft:
    """Draft the schema of several tables.

    Args:
        sources: The tables by name, each in whatever ``mt.release`` takes one.
        people: The people's table; by default found out.
    """
    remarks: list[str] = []
    seen: dict[str, _Seen] = {}
    for name, source in sources.items():
        drafted = draft(source)
        remarks += [f"{name}.{remark}" for remark in drafted.remarks]
        seen[name] = _Seen(name, source, drafted.schema, _key_values(source, drafted.schema))
    for one in seen.values():
        one.key = _key(one)
    for one in seen.values():
        one.refers = _references(one, seen, remarks)
    parents = _tree(_root(seen, people), seen)
    remarks += _left_out(seen, parents)
    tables = [_linked(seen[name], parents, seen, remarks) for name in parents]
    return LinkedDraft(schema=LinkedSchema(tables=tuple(tables)), remarks=tuple(remarks))


def has_several_tables(folder: Path) -> bool:
    """Whether files of a folder are tables of different columns, and not parts of one."""
    if not folder.is_dir() or not any(is_table(path) for path in folder.iterdir()):
        return False
    return len({frozenset(open_table(path).types) for path in tables_in(folder).values()}) > 1


def _stem(name: str) -> str:
    """What a column of keys, or a table, is named after: ``patient`` for ``patients`` and ``patient_id``."""
    words = [word for word in tokens(name) if word not in _OF_KEYS]
    joined = " ".join(words)
    return joined.removesuffix("s") if len(joined) > 3 else joined


def _key_values(source: Any, schema: Schema) -> dict[str, pa.Array]:
    """The values of all columns that may be keys, as text."""
    table = open_table(source, schema.file)
    names = [one.name for one in schema.layout() if one.name in schema.names_aside or _may_be_key(one)]
    batches = table.stream([Column(name=name, kind=Kind.CATEGORICAL) for name in names]) if names else ()
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    for batch in batches:
        for name in names:
            parts[name].append(batch.column(name).cast(pa.string()))
    return {name: pa.concat_arrays(arrays) for name, arrays in parts.items() if arrays}


def _may_be_key(one: Column | Aside) -> bool:
    match one:
        case Column(kind=kind):
            return kind.is_categorical or kind.is_integral
        case Aside():
            return True


def _key(one: _Seen) -> str | None:
    """The column that tells its rows apart: named after the table if there is one, else the first."""
    candidates = [name for name in one.columns if one.is_key(name)]
    named = [name for name in candidates if _stem(name) == _stem(one.name)]
    return next(iter([*named, *candidates]), None)


def _references(one: _Seen, seen: Mapping[str, _Seen], remarks: list[str]) -> dict[str, str]:
    """Columns with keys of other tables: by their names first, then by what they hold."""
    found = {}
    for name, values in one.columns.items():
        for other in seen.values():
            named = other.key is not None and (name == other.key or _stem(name) == _stem(other.name) != "")
            if other is one or not named or other.key is None or not len(values.drop_null()):
                continue
            known = pc.sum(pc.is_in(values.drop_null(), value_set=other.columns[other.key])).as_py() or 0
            strangers = len(values.drop_null()) - known
            if known >= _MOSTLY * len(values.drop_null()):
                found[name] = other.name
                if strangers:
                    remarks.append(f"{one.name}.{name}: {strangers:,} rows name no row of {other.name}; correct them")
                break
    return found


def _root(seen: Mapping[str, _Seen], people: str | None) -> str:
    """The people's table, by its name. Keys do not tell: districts too have people hanging on them."""
    if people is not None and people not in seen:
        raise SchemaError(f"people is {people!r}; tables are {', '.join(seen)}")
    named = [name for name in seen if _stem(name) in _PEOPLE] if people is None else [people]
    if len(named) != 1:
        raise SchemaError(
            f"names do not tell which table is the people's: {', '.join(named or seen)}; say it with --people"
        )
    return named[0]


def _tree(root: str, seen: Mapping[str, _Seen]) -> dict[str, Parent | None]:
    """What tables hang on, as far as they hang on people; a table comes after its parent."""
    placed: dict[str, Parent | None] = {root: None}
    while True:
        waiting = [one for name, one in seen.items() if name not in placed]
        found = [(one.name, parent) for one in waiting if (parent := _parent(one, seen, _depths(placed))) is not None]
        if not found:
            break
        placed |= found[:1]
    for name in [name for name in placed if name != root]:  # lower, now that all have a place
        others = {other: depth for other, depth in _depths(placed).items() if name not in _above(other, placed)}
        placed[name] = _parent(seen[name], seen, others)
    depths = _depths(placed)
    return dict(sorted(placed.items(), key=lambda item: depths[item[0]]))


def _above(name: str, placed: Mapping[str, Parent | None]) -> list[str]:
    """A table and all that it hangs on."""
    path = [name]
    while (parent := placed[path[-1]]) is not None:
        path.append(parent.table)
    return path


def _depths(placed: Mapping[str, Parent | None]) -> dict[str, int]:
    return {name: len(_above(name, placed)) for name in placed}


def _parent(one: _Seen, seen: Mapping[str, _Seen], depth: Mapping[str, int]) -> Parent | None:
    """What a table hangs on: the lowest of the tables that it refers to, or a link that names its rows."""
    own = [(depth[other], column) for column, other in one.refers.items() if other in depth]
    if own:
        column = max(own)[1]
        values = one.columns[column]
        alone = pc.count_distinct(values).as_py() == len(values)
        order = None if alone else _order(one)
        return Parent(table=one.refers[column], foreign_key=column, cardinality="1:1" if alone else "1:n", order=order)
    for link in (seen[name] for name in depth):
        for column, other in link.refers.items():
            told_by = [name for name in link.schema.names if link.schema[name].kind.is_categorical]
            if other == one.name and len(link.refers) > 1 and told_by and _is_shared_by_few(link.columns[column], one):
                return Parent(table=link.name, foreign_key=column, cardinality="m:n", owner=(told_by[0], None))
    return None


def _is_shared_by_few(named: pa.Array, far: _Seen) -> bool:
    """Whether nearly all rows of a table are named by a link, and each by a few: an account, but not a doctor."""
    rows = len(far.columns[far.key or ""])
    return rows * _MOSTLY <= pc.count_distinct(named).as_py() and len(named) <= _FEW * rows


def _order(one: _Seen) -> str | None:
    """The only date of a row, if every row has it."""
    dates = [column for column in one.schema.columns if column.kind.is_temporal]
    return dates[0].name if len(dates) == 1 and not _has_gaps(one, dates[0]) else None


def _has_gaps(one: _Seen, column: Column) -> bool:
    table = open_table(one.source, one.schema.file)
    return any(batch.column(0).null_count for batch in table.stream([column]))


def _left_out(seen: Mapping[str, _Seen], parents: Mapping[str, Parent | None]) -> list[str]:
    """Remarks on tables that hang on nobody."""
    remarks = []
    for name in seen:
        by = [f"{one.name}.{column}" for one in seen.values() for column, to in one.refers.items() if to == name]
        if name not in parents and by:
            remarks.append(
                f"{name}: left out. {', '.join(by)} name its rows, and it hangs on nobody. If it is no secret, add "
                f"'- {{table: {name}, public: true, key: {seen[name].key}, rows: FILE}}', and 'references' to it"
            )
        elif name not in parents:
            remarks.append(f"{name}: left out: it refers to none of the others, nor they to it, by names and contents")
    return remarks


def _linked(
    one: _Seen, parents: Mapping[str, Parent | None], seen: Mapping[str, _Seen], remarks: list[str]
) -> LinkedTable:
    """The table with its keys set aside, and remarks on what is left to be said."""
    parent = parents[one.name]
    linking = {
        link.foreign_key for link in parents.values() if link is not None and link.table == one.name and link.owner
    }
    described: list[Column | Aside] = []
    for column in one.schema.layout():
        far = one.refers.get(column.name)
        if column.name == one.key:
            described.append(_surrogate(column, one))
        elif far is not None and (_is_own_key(parent, column.name) or column.name in linking):
            described.append(_surrogate(column, seen[far]))
        elif far in parents:
            described.append(Aside(name=column.name, action=Action.DROP))
            remarks.append(f"{one.name}.{column.name}: left out (drop): {far} are found through {one.name}'s parent")
        elif far is not None:
            described.append(_category(column))
        elif parent is not None and column.name == parent.order:
            described.append(replace(one.schema[column.name], missing=False))
        else:
            described.append(column)
    remarks += [] if parent is None else _to_be_said(one, parent)
    columns, aside = told_apart(described)
    places = {column.name: place for place, column in enumerate(described)}
    aside = tuple(replace(column, place=places[column.name]) for column in aside)
    return LinkedTable(
        name=one.name, schema=replace(one.schema, columns=columns, aside=aside), key=one.key, parent=parent
    )


def _is_own_key(parent: Parent | None, column: str) -> bool:
    return parent is not None and parent.owner is None and parent.foreign_key == column


def _category(column: Column | Aside) -> Column:
    """A column that names rows of a table that may be public: which ones is to be learnt unless that table says it."""
    return Column(name=column.name, kind=Kind.CATEGORICAL, dtype="string" if column.dtype == "string" else "int64")


def _surrogate(column: Column | Aside, keyed: _Seen) -> Aside:
    """A column of keys of a table, stored as that table's own."""
    values = keyed.columns[keyed.key or ""]
    whole = pc.all(pc.match_substring_regex(values, r"^(0|-?[1-9]\d{0,17})$")).as_py()
    own = next((one for one in keyed.schema.aside if one.name == keyed.key and one.dtype == "string"), None)
    keys = None if whole or own is None else own.keys
    return Aside(name=column.name, action=Action.SURROGATE, dtype="int64" if whole else "string", keys=keys)


def _to_be_said(one: _Seen, parent: Parent) -> Iterator[str]:
    """What the draft could not know of a link, and what the holder may want to see before saying it."""
    if parent.owner is not None:
        yield (
            f"{one.name}: several rows of {parent.table} may name one of its rows. Say whose it is, 'owner: "
            f"{{{parent.owner[0]}: VALUE}}', and declare the categories of {parent.table}.{parent.owner[0]}"
        )
    elif parent.cardinality.is_many:
        most = pc.max(pc.value_counts(one.columns[parent.foreign_key].drop_null()).field("counts")).as_py()
        yield (
            f"{one.name}: max_rows is {parent.most}, whatever the table holds; a row of {parent.table} has up to "
            f"{most} there. Say how many there can be from what everybody knows: rows beyond are not counted"
        )
