"""A database for each test, cloned from a migrated template in tens of milliseconds.

The server is `PLAIT_TEST_URL` (a superuser's URL) if that is set. Otherwise it is an embedded Postgres below `PLAIT_TEST_DIR` (default: the
system's temporary directory), which is kept between runs, so that only the first run creates it. A template's name contains a hash of the
SQL, so a new template is created when a function has changed.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import asyncpg

from plait.embedded.postgres import EmbeddedPostgres
from plait.store.dev_login import DEV_LOGIN, ensure_dev_login
from plait.store.migrate import functions_hash, migrate_connection, migrations
from plait.testing import clock

_LOCK = 0x706C74  # "plt": one process at a time creates templates


@dataclass(frozen=True, slots=True, kw_only=True)
class TestDatabase:
    """A test's database. `url` has a restricted login with the rights of client, worker and admin; `admin_url` has the superuser's login."""

    __test__ = False

    name: str
    url: str
    admin_url: str

    def url_for(self, login: str) -> str:
        return _with_user(self.admin_url, login)


class TestServer:
    __test__ = False

    def __init__(
        self, admin_url: str | None = None, *, bin_dir: Path | None = None, data_dir: Path | None = None
    ) -> None:
        self._embedded: EmbeddedPostgres | None = None
        url = admin_url or (os.environ.get("PLAIT_TEST_URL") if bin_dir is None else None)
        if url is None:
            given = os.environ.get("PLAIT_TEST_DIR")
            directory = data_dir or Path(given or Path(tempfile.gettempdir()) / f"plait-tests-{os.getuid()}")
            # Several pytest processes share the server, and each has apps, workers and services.
            self._embedded = EmbeddedPostgres(directory, bin_dir=bin_dir, settings={"max_connections": "300"})
            url = self._embedded.start().url()
        self.admin_url = url

    def close(self) -> None:
        if self._embedded is not None:
            self._embedded.stop(wait=False)

    async def create_database(self, *, fake_clock: bool = True) -> TestDatabase:
        """A new, migrated database."""
        template = await self._template(fake_clock=fake_clock)
        return await self._create(f'template "{template}"')

    async def create_empty_database(self) -> TestDatabase:
        """A new database without plait."""
        return await self._create("template template0")

    async def drop_database(self, database: TestDatabase) -> None:
        connection = await asyncpg.connect(self.admin_url)
        try:
            await connection.execute(f'drop database if exists "{database.name}" with (force)')
        finally:
            await connection.close()

    async def _create(self, template: str) -> TestDatabase:
        name = f"plait_test_{uuid4().hex[:12]}"
        connection = await asyncpg.connect(self.admin_url)
        try:
            await connection.execute(f'create database "{name}" {template}')
        finally:
            await connection.close()
        admin_url = _with_database(self.admin_url, name)
        return TestDatabase(name=name, url=_with_user(admin_url, DEV_LOGIN), admin_url=admin_url)

    async def _template(self, *, fake_clock: bool) -> str:
        tables = "".join(path.read_text() for path in migrations().values())
        content = hashlib.sha256(f"{tables} {functions_hash()} {clock.INSTALL}".encode()).hexdigest()[:12]
        name = f"plait_template_{content}_{'fake' if fake_clock else 'real'}"
        admin = await asyncpg.connect(self.admin_url)
        try:
            if await admin.fetchval("select datistemplate from pg_database where datname = $1", name):
                return name
            await admin.fetchval("select pg_advisory_lock($1)", _LOCK)
            if await admin.fetchval("select datistemplate from pg_database where datname = $1", name):
                return name
            await admin.execute(
                f'drop database if exists "{name}" with (force)'
            )  # incomplete, from a run that was killed
            await admin.execute(f'create database "{name}" template template0')
            url = _with_database(self.admin_url, name)
            connection = await asyncpg.connect(url)
            try:
                await migrate_connection(connection)
                if fake_clock:
                    await clock.FakeClock.install(connection)
            finally:
                await connection.close()
            await ensure_dev_login(url)
            await admin.execute(f'alter database "{name}" is_template true')
        finally:
            await admin.close()
        return name


def _with_database(url: str, name: str) -> str:
    head, _, query = url.partition("?")
    scheme, _, rest = head.partition("://")
    return f"{scheme}://{rest.split('/')[0]}/{name}" + (f"?{query}" if query else "")


def _with_user(url: str, user: str) -> str:
    scheme, _, rest = url.partition("://")
    authority, slash, tail = rest.partition("/")
    return f"{scheme}://{user}@{authority.rpartition('@')[2]}{slash}{tail}"
