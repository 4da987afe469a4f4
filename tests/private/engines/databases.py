"""Databases for tests: DuckDB in memory, and a server of PostgreSQL's with settings that must not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

Open = Callable[[pa.Table], Any]
_POSTGRES_TYPES = {
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.time64("us"): "time",
}


def in_duckdb(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE private AS SELECT * FROM given")
    connection.unregister("given")
    return connection


@contextmanager
def in_postgres(address: str) -> Iterator[Open]:
    """Loads a table into the server at an address."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        # What a server may be set to, and must not matter.
        connection.execute("SET TimeZone = 'Asia/Kolkata'")
        connection.execute("SET standard_conforming_strings = off")
        connection.execute("SET DateStyle = 'German'")

        def load(table: pa.Table) -> Any:
            columns = ", ".join(f'"{field.name}" {_POSTGRES_TYPES[field.type]}' for field in table.schema)
            connection.execute("DROP TABLE IF EXISTS private")
            connection.execute(f"CREATE TABLE private ({columns})")
            marks = ", ".join(["%s"] * table.num_columns)
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO private VALUES ({marks})", [tuple(row.values()) for row in table.to_pylist()]
                )
            return connection

        yield load
