import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from plait.embedded.postgres import EmbeddedPostgres
from plait.store import migrate as migrating
from plait.store.migrate import migrate
from plait.testing import TestDatabase, TestServer

from .releases import next_release
from .servers import VERSIONS, programs


@pytest.fixture
async def empty(server: TestServer) -> AsyncIterator[TestDatabase]:
    """A database without plait, on a server that has its roles."""
    database = await server.create_empty_database()
    yield database
    await server.drop_database(database)


@pytest.fixture
async def outdated(empty: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestDatabase:
    """A database of this release, while the code is that of the next."""
    await migrate(empty.admin_url)
    monkeypatch.setattr(migrating, "SQL", next_release(tmp_path))
    return empty


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"postgres{version}")
def pristine(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """A server of each version of which this module alone makes use: its roles come and go."""
    directory = Path(tempfile.mkdtemp(prefix="pl-", dir="/tmp"))  # a short path: a socket lies below it
    directory.chmod(0o755)
    postgres = EmbeddedPostgres(directory, bin_dir=programs(request.param))
    yield TestServer(postgres.start().url())
    postgres.stop()
    shutil.rmtree(directory)


@pytest.fixture
async def bare(pristine: TestServer) -> AsyncIterator[TestServer]:
    """The pristine server, without plait's roles or any other. Databases and roles that a test creates there are dropped."""
    yield pristine
    connection = await asyncpg.connect(pristine.admin_url)
    made = "select datname from pg_database where datname like 'plait%'"
    for row in await connection.fetch(made):
        await connection.execute(f'drop database "{row[0]}" with (force)')
    while left := await connection.fetch("select rolname from pg_roles where oid >= 16384"):
        for row in left:  # a role that granted another can go only after it
            with contextlib.suppress(asyncpg.DependentObjectsStillExistError):
                await connection.execute(f'drop role "{row[0]}"')
    await connection.close()


@pytest.fixture(scope="session", params=VERSIONS, ids=lambda version: f"postgres{version}")
def versioned(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """A server of each version, kept between runs like the one that all other tests use."""
    server = TestServer(bin_dir=programs(request.param))
    yield server
    server.close()
