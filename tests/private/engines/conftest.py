"""What tests of engines share: databases to count in."""

from collections.abc import Iterator

import pytest
from databases import Open, in_duckdb, in_postgres

import postgresql


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgresql.server() as address:
        yield address


@pytest.fixture(params=["duckdb", "postgres"])
def load(request: pytest.FixtureRequest) -> Iterator[Open]:
    if request.param == "duckdb":
        yield in_duckdb
        return
    with in_postgres(request.getfixturevalue("server")) as opened:
        yield opened
