"""All connection types that `conn=` accepts, behind one interface."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import django
import psycopg
import psycopg2
import psycopg2.extras
import sqlalchemy
from django.conf import settings
from django.db import connection, connections, transaction
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import (
    AsyncConnection,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from plait import Handle, Job

INSERT = "insert into public.orders (id) values (17)"


class Transaction:
    """One transaction of the caller, on a connection of any type. Tests enqueue in it, write in it and end it."""

    def __init__(self, conn: Any, *, sync: bool, execute: Callable[[str], Any]) -> None:
        self.conn = conn
        self.sync = sync
        self._execute = execute

    async def write(self) -> None:
        """Write a row of the caller in the same transaction."""
        done = self._execute(INSERT)
        if not self.sync:
            await done

    async def enqueue(self, job: Job[..., Any], *args: Any, **options: Any) -> Handle[Any]:
        bound = job.options(conn=self.conn, **options)
        return bound.enqueue_sync(*args) if self.sync else await bound.enqueue(*args)

    async def enqueue_many(self, job: Job[..., Any], calls: list[Any], **options: Any) -> list[Handle[Any]]:
        bound = job.options(conn=self.conn, **options)
        return bound.enqueue_many_sync(calls) if self.sync else await bound.enqueue_many(calls)


class RollBack(Exception):
    """Raised to leave the transaction of a test, which then rolls back."""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    begin: Callable[[str], AbstractAsyncContextManager[Transaction]]
    """Begin a transaction. It commits at the end of the block, and rolls back after an exception."""


@asynccontextmanager
async def _asyncpg(url: str) -> AsyncIterator[Transaction]:
    conn = await asyncpg.connect(url)
    try:
        async with conn.transaction():
            yield Transaction(conn, sync=False, execute=conn.execute)
    finally:
        await conn.close()


@asynccontextmanager
async def _asyncpg_pool(url: str) -> AsyncIterator[Transaction]:
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as pool, pool.acquire() as conn, conn.transaction():
        yield Transaction(conn, sync=False, execute=conn.execute)


@asynccontextmanager
async def _psycopg(url: str) -> AsyncIterator[Transaction]:
    with psycopg.connect(url) as conn:
        yield Transaction(conn, sync=True, execute=conn.execute)


@asynccontextmanager
async def _psycopg_with_dict_rows(url: str) -> AsyncIterator[Transaction]:
    with psycopg.connect(url, row_factory=dict_row, cursor_factory=psycopg.ClientCursor) as conn:
        yield Transaction(conn, sync=True, execute=conn.execute)


@asynccontextmanager
async def _psycopg_async(url: str) -> AsyncIterator[Transaction]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        yield Transaction(conn, sync=False, execute=conn.execute)


@asynccontextmanager
async def _psycopg2(url: str) -> AsyncIterator[Transaction]:
    conn = psycopg2.connect(url, cursor_factory=psycopg2.extras.RealDictCursor)
    try:
        with conn:
            yield Transaction(conn, sync=True, execute=lambda sql: conn.cursor().execute(sql))
    finally:
        conn.close()


def _sqlalchemy(driver: str, wrap: Callable[[sqlalchemy.Engine], Any]) -> Callable[[str], Any]:
    @asynccontextmanager
    async def begin(url: str) -> AsyncIterator[Transaction]:
        engine = sqlalchemy.create_engine(_with_driver(url, driver), poolclass=sqlalchemy.NullPool)
        with wrap(engine) as conn, conn.begin():
            yield Transaction(conn, sync=True, execute=lambda sql: conn.execute(sqlalchemy.text(sql)))

    return begin


def _sqlalchemy_async(driver: str, wrap: Callable[[Any], Any]) -> Callable[[str], Any]:
    @asynccontextmanager
    async def begin(url: str) -> AsyncIterator[Transaction]:
        engine = create_async_engine(_with_driver(url, driver), poolclass=sqlalchemy.NullPool)
        async with wrap(engine) as conn, conn.begin():
            yield Transaction(conn, sync=False, execute=lambda sql: conn.execute(sqlalchemy.text(sql)))

    return begin


@asynccontextmanager
async def _scoped(url: str) -> AsyncIterator[Transaction]:
    engine = sqlalchemy.create_engine(_with_driver(url, "psycopg"), poolclass=sqlalchemy.NullPool)
    session = scoped_session(sessionmaker(engine))
    try:
        with session.begin():
            yield Transaction(session, sync=True, execute=lambda sql: session.execute(sqlalchemy.text(sql)))
    finally:
        session.remove()


@asynccontextmanager
async def _async_scoped(url: str) -> AsyncIterator[Transaction]:
    engine = create_async_engine(_with_driver(url, "asyncpg"), poolclass=sqlalchemy.NullPool)
    session = async_scoped_session(async_sessionmaker(engine), scopefunc=lambda: 1)
    try:
        async with session.begin():
            yield Transaction(session, sync=False, execute=lambda sql: session.execute(sqlalchemy.text(sql)))
    finally:
        await session.remove()


def _django(choose: Callable[[Any], Any]) -> Callable[[str], Any]:
    @asynccontextmanager
    async def begin(url: str) -> AsyncIterator[Transaction]:
        with django_on(url) as connections, transaction.atomic():
            conn = choose(connections)
            yield Transaction(conn, sync=True, execute=lambda sql: conn.cursor().execute(sql))

    return begin


@contextmanager
def django_on(url: str) -> Iterator[Any]:
    """Django's connections. The default connection uses `url`."""
    parts = conninfo_to_dict(url)
    names = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
    database = {"ENGINE": "django.db.backends.postgresql", **{key: parts.get(name, "") for key, name in names.items()}}
    if not settings.configured:
        settings.configure(DATABASES={"default": database}, USE_TZ=True)
        django.setup()
    # Django refuses to use a connection in a thread that runs an event loop, as these tests do.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    connections["default"].close()
    del connections["default"]
    connections.settings["default"].update(database)
    try:
        yield connections
    finally:
        connections["default"].close()
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


KINDS = [
    Kind("asyncpg", _asyncpg),
    Kind("asyncpg from a pool", _asyncpg_pool),
    Kind("psycopg", _psycopg),
    Kind("psycopg with rows as dictionaries", _psycopg_with_dict_rows),
    Kind("psycopg async", _psycopg_async),
    Kind("psycopg2", _psycopg2),
    Kind("sqlalchemy connection, psycopg", _sqlalchemy("psycopg", lambda engine: engine.connect())),
    Kind("sqlalchemy session, psycopg", _sqlalchemy("psycopg", Session)),
    Kind("sqlalchemy session, psycopg2", _sqlalchemy("psycopg2", Session)),
    Kind("sqlalchemy scoped session", _scoped),
    Kind("sqlalchemy async connection, asyncpg", _sqlalchemy_async("asyncpg", AsyncConnection)),
    Kind("sqlalchemy async connection, psycopg", _sqlalchemy_async("psycopg", AsyncConnection)),
    Kind("sqlalchemy async session, asyncpg", _sqlalchemy_async("asyncpg", AsyncSession)),
    Kind("sqlalchemy async session, psycopg", _sqlalchemy_async("psycopg", AsyncSession)),
    Kind("sqlalchemy async scoped session", _async_scoped),
    Kind("django.db.connection", _django(lambda _: connection)),
    Kind("django.db.connections by name", _django(lambda connections: connections["default"])),
]


def _with_driver(url: str, driver: str) -> str:
    return url.replace("postgresql://", f"postgresql+{driver}://", 1)
