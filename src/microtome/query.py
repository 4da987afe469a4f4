"""A query on a database as a table: run once, on a connection of its own that changes nothing, read as Arrow batches.

Drivers are those of ADBC, Arrow's own interface to databases, and DuckDB itself. Whoever has a connection already hands
over what it answers instead: any stream of Arrow's will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from microtome.errors import ParameterError, TableError
from microtome.extras import how_to_install

_BATCH_ROWS = 65_536


@dataclass(frozen=True, kw_only=True)
class Query:
    """Rows that a database answers with.

    Attributes:
        connection: Where it is: ``postgresql://user@host/name``, ``sqlite:///people.db`` or ``duckdb:///people.duckdb``.
        text: What is asked, such as ``"select age, income from people"``.

    Example:
        >>> import microtome as mt
        >>> mt.Query(connection="postgresql://reader:secret@db/town", text="select age from people")
        Query(connection='postgresql://reader:…@db/town', text='select age from people')
    """

    connection: str
    text: str

    def __post_init__(self) -> None:
        for name in ("connection", "text"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ParameterError(f"{name} is {value!r}; it must be a text that is not empty")
        _connector(self.connection)

    def __repr__(self) -> str:
        return f"Query(connection={without_secrets(self.connection)!r}, text={self.text!r})"

    @contextmanager
    def reader(self) -> Iterator[pa.RecordBatchReader]:
        """The answer, batch by batch; the connection is closed, and nothing committed, at the end."""
        with ExitStack() as stack:
            connection = stack.enter_context(self.connected(_connector(self.connection)))
            try:
                reader = stack.enter_context(_answered(connection, self.text))
            except Exception as error:
                called = without_secrets(self.connection)
                raise TableError(f"{called}: the query was refused: {self._told(error)}") from error
            yield reader

    @contextmanager
    def connected(self, connect: Callable[[str], Any]) -> Iterator[Any]:
        """A connection of its own, closed at the end."""
        called = without_secrets(self.connection)
        try:
            connection = connect(self.connection)
        except ImportError as error:
            brought = f"{how_to_install('duckdb')}, or {how_to_install('sqlglot')} to count in the database"
            raise TableError(f"{called}: the driver is not installed ({error}); {brought}") from error
        except Exception as error:
            raise TableError(f"{called}: cannot connect: {self._told(error)}") from error
        with closing(connection):
            yield connection

    def _told(self, error: Exception) -> str:
        """What a driver says, on one line and without secrets, also where it took a part of one for something else."""
        text = " ".join(str(error).split())
        written = [self.connection[place] for place in _secrets(self.connection)]
        values = {value for one in written for value in (one, unquote(one)) if value}
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, "…")
        for part in {part for value in values for part in re.findall(r"\w+", value)}:
            text = re.sub(rf"(?<!\w){part}(?!\w)", "…", text)
        return text


_SECRETS = (
    re.compile(r"://[^:]*:(.+)@", re.DOTALL),
    re.compile(r"(?:password|token|secret)[^?&=]*=([^&]*(?:&[^&=]*(?=&|$))*)", re.IGNORECASE),
)
"""All up to the last @, for a password may hold one, and parameters, with what an & in one cuts off."""


def _secrets(connection: str) -> list[slice]:
    """Where an address has secrets; they may overlap where it is not written as it should be."""
    return [slice(*found.span(1)) for secret in _SECRETS for found in secret.finditer(connection)]


def without_secrets(connection: str) -> str:
    """An address as it may be shown; rather too little of it than a part of a password."""
    letters = list(connection)
    for place in _secrets(connection):
        letters[place] = "\0" * (place.stop - place.start)
    return re.sub("\0+", "…", "".join(letters))


def _connector(connection: str) -> Callable[[str], Any]:
    scheme = connection.partition(":")[0].lower()
    if scheme not in _CONNECTORS:
        raise ParameterError(
            f"connection is {without_secrets(connection)!r}; it must begin with "
            f"{', '.join(f'{name}://' for name in _CONNECTORS)}. Of any other database hand over what its own driver "
            "answers, as a stream of Arrow's"
        )
    return _CONNECTORS[scheme]


def _postgresql(connection: str) -> Any:
    opened = import_module("adbc_driver_postgresql.dbapi").connect(connection)
    with closing(opened.cursor()) as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
    return opened


def _sqlite(connection: str) -> Any:
    return import_module("adbc_driver_sqlite.dbapi").connect(f"file:{_path(connection)}?mode=ro")


def duckdb_file(connection: str) -> Any:
    """A connection to a file of DuckDB's that changes nothing."""
    return import_module("duckdb").connect(_path(connection), read_only=True)


def _path(connection: str) -> str:
    """The file of ``sqlite:///people.db``, which is beside us, or of ``sqlite:////home/people.db``, which is not."""
    found = re.fullmatch(r"\w+:(?:///)?(.+)", connection)
    if found is None:
        called = without_secrets(connection)
        raise ParameterError(f"connection is {called!r}; it must name a file, such as sqlite:///people.db")
    return found[1]


@contextmanager
def _answered(connection: Any, text: str) -> Iterator[pa.RecordBatchReader]:
    """What a database answers, as it comes: DuckDB's own way, or that of ADBC."""
    if hasattr(connection, "sql"):
        relation = connection.sql(text)
        if relation is None:
            raise ParameterError("it gives no rows; ask a 'select'")
        yield relation.to_arrow_reader(_BATCH_ROWS)
        return
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
        yield cursor.fetch_record_batch()


_CONNECTORS = {"postgresql": _postgresql, "postgres": _postgresql, "sqlite": _sqlite, "duckdb": duckdb_file}
