"""A query whose rows stay in its database, on a connection of its own, closed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from microtome.errors import ParameterError
from microtome.private.engines.sql import sql_table
from microtome.private.table import PrivateTable
from microtome.query import Query, duckdb_file, without_secrets


@contextmanager
def query_in_place(query: Query) -> Iterator[PrivateTable]:
    """The table that a query asks for, counted by its database; nothing is read of it but the types of its columns."""
    scheme = query.connection.partition(":")[0].lower()
    if scheme not in _CONNECTORS:
        raise ParameterError(
            f"connection is {without_secrets(query.connection)!r}; rows are counted where they are in PostgreSQL and "
            "DuckDB only. Leave the engine out: what the query answers is read here then"
        )
    with query.connected(_CONNECTORS[scheme]) as connection:
        yield sql_table(connection, query.text)


def _postgresql(connection: str) -> Any:
    return import_module("psycopg").connect(connection)


_CONNECTORS = {"postgresql": _postgresql, "postgres": _postgresql, "duckdb": duckdb_file}
