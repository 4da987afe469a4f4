"""What whoever releases a query may ask for: on which connections, and which queries."""

from __future__ import annotations

from typing import Any

from microtome.errors import ParameterError
from microtome.extras import how_to_install
from microtome.private.engines.sql_dialect import DUCKDB, POSTGRES, SqlDialect


def dialect_of(connection: Any) -> SqlDialect:
    """How the database of a connection writes."""
    module = type(connection).__module__.split(".")[0]
    known = {"duckdb": DUCKDB, "_duckdb": DUCKDB, "psycopg": POSTGRES}
    if module not in known:
        raise ParameterError(
            f"connection is {type(connection).__name__} of {module}; it must be one of duckdb.connect(…) or "
            "psycopg.connect(…)"
        )
    return known[module]


def checked_query(query: str, dialect: SqlDialect) -> str:
    """One SELECT that gives the same rows whenever it is asked, and a record's whatever others there are."""
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise ParameterError(f"sqlglot is not installed; {how_to_install('sqlglot')}") from None
    try:
        statements = sqlglot.parse(query, dialect=dialect.name)
    except sqlglot.errors.SqlglotError as error:
        raise ParameterError(f"query {query!r} is not understood: {str(error).splitlines()[0]}") from None
    match statements:
        case [exp.Column() as name]:
            return f"SELECT * FROM {name.sql(dialect=dialect.name)}"
        case [exp.Query() as asked]:
            unsteady = asked.find(exp.Rand, exp.TableSample, exp.Limit, exp.Fetch)
            if unsteady is not None:
                raise ParameterError(
                    f"query has {unsteady.sql(dialect=dialect.name).strip()!r}: which rows it gives is a matter of "
                    "chance, or of other rows; leave it out"
                )
            return query.strip().rstrip(";")
        case _:
            raise ParameterError(f"query is {query!r}; it must be one SELECT, or the name of a table")
