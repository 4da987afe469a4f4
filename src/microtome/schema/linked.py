"""Several tables that belong together: a tree whose root are people, and public tables beside it.

Every private row hangs, through its parents, on one row of the root. This is what a promise for *a person and
everything behind* needs: each row belongs to one person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from microtome.card import Card, Carded
from microtome.errors import SchemaError, together
from microtome.schema.linked_table import Cardinality, LinkedTable, Parent
from microtome.schema.public_table import PublicTable


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkedSchema(Carded):
    """What is public about several tables, and how they hang together.

    Private tables are a tree: all but the people's table, the *root*, have a parent. They are kept parents first,
    whatever the order in which they are given.

    Example:
        >>> from microtome.schema import Aside, Column, LinkedSchema, LinkedTable, Parent, Schema
        >>> key = Aside(name="patient", action="surrogate", dtype="int64")
        >>> patients = LinkedTable(
        ...     name="patients",
        ...     key="patient",
        ...     schema=Schema(columns=(Column(name="sex", kind="categorical", categories=("f", "m")),), aside=(key,)),
        ... )
        >>> visits = LinkedTable(
        ...     name="visits",
        ...     parent=Parent(table="patients", foreign_key="patient", max_rows=12),
        ...     schema=Schema(columns=(Column(name="fever", kind="boolean"),), aside=(key,)),
        ... )
        >>> linked = LinkedSchema(tables=(visits, patients))
        >>> linked.root.name, linked.names, linked.max_rows_of_person("visits")
        ('patients', ['patients', 'visits'], 12)
    """

    tables: tuple[LinkedTable, ...]
    public: tuple[PublicTable, ...] = ()

    def __post_init__(self) -> None:
        repeated = [name for name, count in Counter(self._all_names()).items() if count > 1]
        if repeated:
            raise SchemaError(f"table {repeated[0]!r} is described twice")
        object.__setattr__(self, "tables", _parents_first(self.tables))
        with together() as attempts:
            for table in self.tables:
                with attempts:
                    self._check_parent(table)
                with attempts:
                    _check_link_columns(table)
        object.__setattr__(self, "tables", tuple(map(self._with_categories, self.tables)))

    def _all_names(self) -> list[str]:
        return [table.name for table in self.tables] + [table.name for table in self.public]

    def _check_parent(self, table: LinkedTable) -> None:
        """That keys on both sides of a link are there, and of one type."""
        if table.parent is None:
            return
        parent, above = table.parent, self[table.parent.table]
        match parent.cardinality:
            case Cardinality.SHARED:
                foreign = above.key_column(parent.foreign_key, "foreign key")
                key = table.key_column(table.key or "", "key")
                held, holder = f"{above.name}.{parent.foreign_key}", f"{table.name}.{table.key}"
                _check_owner(above, parent)
            case Cardinality.ONE | Cardinality.MANY:
                if above.key is None:
                    raise above.error(f"'key' is missing, and table {table.name!r} hangs on it")
                foreign = table.key_column(parent.foreign_key, "foreign key")
                key = above.key_column(above.key, "key")
                held, holder = f"{table.name}.{parent.foreign_key}", f"{above.name}.{above.key}"
        if foreign.dtype != key.dtype:
            raise table.error(f"keys are of different types: {held} is {foreign.dtype}, {holder} is {key.dtype}")

    def _with_categories(self, table: LinkedTable) -> LinkedTable:
        """The table with the keys of public tables as categories of what refers to them."""
        if not table.references:
            return table
        known = {one.name: one for one in self.public}
        columns = {column.name: column for column in table.schema.columns}
        with together() as attempts:
            for name, to in table.references.items():
                with attempts:
                    columns[name] = _referring(table, name, known.get(to), to)
        return replace(table, schema=replace(table.schema, columns=tuple(columns.values())))

    @property
    def names(self) -> list[str]:
        """Names of the private tables, parents first."""
        return [table.name for table in self.tables]

    @property
    def root(self) -> LinkedTable:
        """The people's table."""
        return self.tables[0]

    @property
    def drafted(self) -> bool:
        """Whether types were read off the tables and nobody has confirmed them."""
        return any(table.schema.drafted for table in self.tables)

    def __getitem__(self, name: str) -> LinkedTable:
        for table in self.tables:
            if table.name == name:
                return table
        raise SchemaError(f"no private table {name!r}; tables are {', '.join(self.names)}")

    def children(self, name: str) -> list[LinkedTable]:
        """The tables that hang on this one."""
        return [table for table in self.tables if table.parent is not None and table.parent.table == name]

    def ancestors(self, name: str) -> list[LinkedTable]:
        """The tables that this one hangs on, the root first."""
        return list(reversed(list(self._upwards(name))))

    def _upwards(self, name: str) -> Iterator[LinkedTable]:
        parent = self[name].parent
        while parent is not None:
            table = self[parent.table]
            yield table
            parent = table.parent

    def max_rows_of_person(self, name: str) -> int:
        """Rows of this table behind one person, at most."""
        most = 1
        for table in (self[name], *self._upwards(name)):
            most *= 1 if table.parent is None else table.parent.most
        return most

    @cached_property
    def links(self) -> dict[str, Parent]:
        """What the tables hang on, by their names; the root is not among them."""
        return {table.name: table.parent for table in self.tables if table.parent is not None}

    def published(self) -> LinkedSchema:
        """What goes into a release: all but the columns that are left out."""
        return replace(self, tables=tuple(replace(table, schema=table.schema.published()) for table in self.tables))

    def confirm(self) -> LinkedSchema:
        """The same as a statement of what is public: types are as they are whatever records the tables hold."""
        return replace(self, tables=tuple(table.confirm() for table in self.tables))

    def without_suggestions(self) -> LinkedSchema:
        """The same with everything to be learnt that the public catalogue suggested."""
        tables = [replace(table, schema=table.schema.without_suggestions()) for table in self.tables]
        return replace(self, tables=tuple(tables))

    def card(self) -> Card:
        """The tables, and what they hang on."""
        drafted = ["It is a draft: read it, correct it, then confirm()."] if self.drafted else []
        return Card(
            title=f"Schema of {len(self.tables)} linked tables",
            lines=[*drafted, f"The promise is for a row of {self.root.name} and everything behind it."],
            headings=("table", "columns", "key", "hangs on", "rows", "in order of"),
            rows=[_described(table) for table in self.tables] + [_described_public(one) for one in self.public],
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> LinkedSchema:
        """Build a schema from the parsed document, naming whatever is wrong in it."""
        from microtome.schema.linked_document import linked_from_dict

        return linked_from_dict(document)

    def to_dict(self) -> dict[str, Any]:
        """The document as plain values."""
        from microtome.schema.linked_document import linked_to_dict

        return linked_to_dict(self)

    def to_yaml(self) -> str:
        """The document with a remark on every line that says what is declared."""
        from microtome.schema.linked_document import linked_to_yaml

        return linked_to_yaml(self)

    @classmethod
    def load(cls, path: str | Path) -> LinkedSchema:
        """Read a YAML document, and the files of public tables that it names."""
        from microtome.schema.linked_document import load_linked

        return load_linked(path)

    @classmethod
    def loads(cls, text: str, *, folder: str | Path = ".") -> LinkedSchema:
        """Read the text of a YAML document, and the files in the folder that it names."""
        from microtome.schema.linked_document import loads_linked

        return loads_linked(text, folder=Path(folder))


def _parents_first(tables: tuple[LinkedTable, ...]) -> tuple[LinkedTable, ...]:
    """The tables in an order in which each comes after its parent."""
    parents = {table.name: None if table.parent is None else table.parent.table for table in tables}
    check_tree(parents)
    placed = [table for table in tables if table.parent is None]
    for above in placed:
        placed += [table for table in tables if parents[table.name] == above.name]
    return tuple(placed)


def check_tree(parents: Mapping[str, str | None]) -> None:
    """Refuse tables that are no tree, with all that is wrong: their parents, by their names; the root has none."""
    roots = [name for name, parent in parents.items() if parent is None]
    with together() as attempts:
        for name, parent in parents.items():
            with attempts:
                if parent is not None and parent not in parents:
                    raise SchemaError(f"table {name!r}: parent {parent!r} is not a private table: {', '.join(parents)}")
        with attempts:
            _check_cycles({name: parent for name, parent in parents.items() if parent is not None})
        with attempts:
            if not roots:
                raise SchemaError("there is no table without a parent; the people's table has none")
            if len(roots) > 1:
                raise SchemaError(
                    f"{', '.join(roots)} have no parent; people are one table, all others hang on it ('parent'), or "
                    "are no secret ('public: true')"
                )


def _check_cycles(parents: dict[str, str]) -> None:
    """That no table hangs on itself."""
    cycles = []
    for name in parents:
        path = [name]
        while (above := parents.get(path[-1])) is not None and above not in path:
            path.append(above)
        if above == name and name == min(path):
            cycles.append(" → ".join([*path, name]))
    if cycles:
        raise SchemaError(f"tables hang on each other in a circle: {'; '.join(cycles)}")


def _check_owner(link: LinkedTable, parent: Parent) -> None:
    """That a link can tell whether it is the owner's."""
    if link.schema.drafted:
        return  # which value it is, is for whoever confirms the draft to say
    column, value = parent.owner or ("", None)
    if column not in link.schema.names:
        raise link.error(f"owner {column!r} is no released column; these are {', '.join(link.schema.names)}")
    categories = link.schema[column].categories
    if categories is None or value not in categories:
        raise link.error(
            f"owner is {{{column}: {value}}}, but {value!r} is not among the declared categories of {column!r}; "
            "declare them all"
        )


def _check_link_columns(table: LinkedTable) -> None:
    parent = table.parent
    if parent is not None and parent.cardinality.is_many and table.key == parent.foreign_key:
        raise table.error(f"key and foreign key are both {table.key!r}, so a parent has one row; write '1:1'")


def _referring(table: LinkedTable, name: str, public: PublicTable | None, to: str) -> Any:
    """A column with the keys of a public table as its categories."""
    if public is None:
        raise table.error(f"column {name!r} refers to {to!r}, which is no public table ('public: true')")
    if name not in table.schema.names:
        raise table.error(f"references has {name!r}; released columns are {', '.join(table.schema.names)}")
    column = table.schema[name]
    if not column.kind.is_categorical:
        raise table.error(f"column {name!r} refers to {to!r}: its kind is {column.kind}, it must be categorical")
    keys = public.keys_as(column.dtype)
    strangers = [repr(value) for value in column.categories or () if value not in set(keys)]
    if strangers:
        raise table.error(f"column {name!r}: {', '.join(strangers[:3])} is no key of {to!r}; leave the categories out")
    return column if column.categories is not None else replace(column, categories=keys)


def _described(table: LinkedTable) -> list[str]:
    parent = table.parent
    if parent is None:
        return [table.name, str(len(table.schema.columns)), table.key or "", "nothing: the people", "", ""]
    rows = f"{parent.min_rows} to {parent.most}"
    hangs_on = f"{parent.table} ({parent.cardinality}, {parent.foreign_key})"
    return [table.name, str(len(table.schema.columns)), table.key or "", hangs_on, rows, parent.order or ""]


def _described_public(table: PublicTable) -> list[str]:
    return [table.name, str(len(table.rows)), table.key, "public", f"{len(table.keys):,} in all", ""]
