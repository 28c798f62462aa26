"""Enqueue and emit on a connection of the caller's, inside its own transaction: asyncpg, psycopg, SQLAlchemy, Django.

A job enqueued this way exists when the transaction commits, and never if it rolls back. The caller needs the role plait_client
(`plait migrate --grant-client ROLE`) and nothing else: one statement on that one connection does it all, the tenant's name
included. No driver is imported before a connection of its kind is here: a connection is known by the name of its class.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal
from uuid import UUID

from plait.model.errors import BY_SQLSTATE, InvalidArguments, NotGranted, SchemaOutdated
from plait.store.events import EMIT
from plait.store.new_jobs import ENQUEUE, NewJob, enqueue_arguments
from plait.store.signals import SIGNAL, SIGNAL_OR_START
from plait.store.tenants import OWN_TENANT

Kind = Literal["asyncpg", "psycopg", "psycopg_async", "psycopg2", "sqlalchemy", "sqlalchemy_async", "django"]

_KINDS: Final[dict[tuple[str, str], Kind]] = {
    ("asyncpg", "Connection"): "asyncpg",
    ("asyncpg", "PoolConnectionProxy"): "asyncpg",
    ("psycopg", "Connection"): "psycopg",
    ("psycopg", "AsyncConnection"): "psycopg_async",
    ("psycopg2", "connection"): "psycopg2",
    ("sqlalchemy", "Connection"): "sqlalchemy",
    ("sqlalchemy", "Session"): "sqlalchemy",
    ("sqlalchemy", "scoped_session"): "sqlalchemy",
    ("sqlalchemy", "AsyncConnection"): "sqlalchemy_async",
    ("sqlalchemy", "AsyncSession"): "sqlalchemy_async",
    ("sqlalchemy", "async_scoped_session"): "sqlalchemy_async",
    ("django", "BaseDatabaseWrapper"): "django",
    ("django", "ConnectionProxy"): "django",
}

# All jobs of a call are one tenant's. Its name is looked up here, in the caller's transaction, which may just have made it.
_ENQUEUE: Final = (
    "with tenant as materialized (select case when $4::text is null then "
    + OWN_TENANT
    + " else plait.tenant_id($4::text) end as id) select tenant.id, requested, existing from tenant left join lateral ("
    + ENQUEUE.replace("$4::uuid[]", "array[tenant.id]")
    + ") as enqueued on true"
)

_FOREIGN_SCHEMA: Final = {"3F000", "42P01", "42883"}
"""No such schema, table, function: of plait's it means that the database was never migrated, or is too old."""


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Whose the jobs are, and which of them were not made because an older one holds their key."""

    tenant_id: UUID
    existing: dict[UUID, UUID]


def is_async(conn: Any) -> bool:
    """Whether the connection is used with await; an error for what is no connection that we know."""
    return _kind(conn) in ("asyncpg", "psycopg_async", "sqlalchemy_async")


async def enqueue_async_on(conn: Any, jobs: Sequence[NewJob], *, tenant: str | None) -> Enqueued:
    return _enqueued(await _fetch_async(conn, _ENQUEUE, _arguments(jobs, tenant)))


def enqueue_sync_on(conn: Any, jobs: Sequence[NewJob], *, tenant: str | None) -> Enqueued:
    return _enqueued(_fetch_sync(conn, _ENQUEUE, _arguments(jobs, tenant)))


async def emit_async_on(conn: Any, *arguments: str | None) -> UUID:
    """Tell of an event in the caller's transaction: the arguments of `EMIT`, its id as text."""
    [[event_id]] = await _fetch_async(conn, EMIT, list(arguments))
    return _uuid(event_id)


def emit_sync_on(conn: Any, *arguments: str | None) -> UUID:
    [[event_id]] = _fetch_sync(conn, EMIT, list(arguments))
    return _uuid(event_id)


async def signal_async_on(conn: Any, *arguments: str | None) -> str:
    """Signal a job in the caller's transaction: the arguments of `SIGNAL`. Its status afterwards."""
    [[status]] = await _fetch_async(conn, SIGNAL, list(arguments))
    return str(status)


def signal_sync_on(conn: Any, *arguments: str | None) -> str:
    [[status]] = _fetch_sync(conn, SIGNAL, list(arguments))
    return str(status)


async def start_async_on(conn: Any, arguments: list[Any]) -> tuple[UUID, UUID]:
    """`SIGNAL_OR_START` in the caller's transaction: the job, and its tenant."""
    [[job_id, _, tenant_id]] = await _fetch_async(conn, SIGNAL_OR_START, arguments)
    return _uuid(job_id), _uuid(tenant_id)


async def _fetch_async(conn: Any, sql: str, arguments: list[Any]) -> Sequence[Any]:
    try:
        match _kind(conn):
            case "asyncpg":
                return list(await conn.fetch(sql, *arguments))
            case "psycopg_async":
                from psycopg.rows import tuple_row

                async with conn.cursor(row_factory=tuple_row) as cursor:
                    await cursor.execute(_pyformat(sql), _by_name(arguments))
                    return list(await cursor.fetchall())
            case _:
                return list((await conn.execute(_sqlalchemy_text(sql), _by_name(arguments))).all())
    except Exception as error:
        _raise_ours(error)
        raise


def _fetch_sync(conn: Any, sql: str, arguments: list[Any]) -> Sequence[Any]:
    try:
        match _kind(conn):
            case "sqlalchemy":
                return list(conn.execute(_sqlalchemy_text(sql), _by_name(arguments)).all())
            case "psycopg":
                from psycopg.rows import tuple_row

                with conn.cursor(row_factory=tuple_row) as cursor:
                    return list(cursor.execute(_pyformat(sql), _by_name(arguments)).fetchall())
            case "psycopg2":
                from psycopg2.extensions import cursor as plain_cursor

                with conn.cursor(cursor_factory=plain_cursor) as cursor:
                    cursor.execute(_pyformat(sql), _by_name(arguments))
                    return list(cursor.fetchall())
            case _:
                with conn.cursor() as cursor:
                    cursor.execute(_pyformat(sql), _by_name(arguments))
                    return list(cursor.fetchall())
    except Exception as error:
        _raise_ours(error)
        raise


def _kind(conn: Any) -> Kind:
    for cls in type(conn).__mro__:
        kind = _KINDS.get((cls.__module__.partition(".")[0], cls.__name__))
        if kind == "django" and conn.vendor != "postgresql":
            raise InvalidArguments(f"conn is Django's connection to {conn.vendor}: plait needs one to Postgres")
        if kind is not None:
            return kind
    cls = type(conn)
    raise InvalidArguments(
        "conn is a connection or session of asyncpg, psycopg, SQLAlchemy or Django, not "
        f"{cls.__module__}.{cls.__qualname__}"
    )


def _arguments(jobs: Sequence[NewJob], tenant: str | None) -> list[Any]:
    """Ids as text: every driver can send it, and the statement casts."""
    ids, definitions, payloads, _, *others = enqueue_arguments(jobs, in_transaction=True)
    return [[str(job_id) for job_id in ids], definitions, payloads, tenant, *others]


def _by_name(arguments: list[Any]) -> dict[str, Any]:
    return {f"p{number}": value for number, value in enumerate(arguments, 1)}


# These drivers number nothing: a placeholder stands for one value, as often as it occurs.
@cache
def _pyformat(sql: str) -> str:
    return re.sub(r"\$(\d+)", r"%(p\1)s", sql)


@cache
def _sqlalchemy_text(sql: str) -> Any:
    from sqlalchemy import text

    return text(re.sub(r"\$(\d+)::([a-z0-9]+(?:\[\])?)", r"cast(:p\1 as \2)", sql))


def _enqueued(rows: Sequence[Any]) -> Enqueued:
    return Enqueued(
        _uuid(rows[0][0]),
        {_uuid(requested): _uuid(existing) for _, requested, existing in rows if requested is not None},
    )


def _uuid(value: Any) -> UUID:
    return UUID(str(value))  # a driver's own type, or text: it is the caller's to choose


def _raise_ours(error: BaseException) -> None:
    """Raise our error for the SQLSTATE that any of the drivers carries, however it is wrapped. Others stay as they are: the
    caller's code knows its driver's errors, and what they mean for its transaction."""
    seen: BaseException | None = error
    while seen is not None:
        state = getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None)
        if isinstance(state, str):
            message = getattr(getattr(seen, "diag", None), "message_primary", None) or str(seen)
            if ours := BY_SQLSTATE.get(state):
                raise ours(message) from error
            if state == "42501" and "plait" in message:
                raise NotGranted(
                    f"{message}. Grant the login plait's client role: `plait migrate --grant-client ROLE`"
                ) from error
            if state in _FOREIGN_SCHEMA and "plait" in message:
                raise SchemaOutdated(f"{message}. Run `plait migrate`.") from error
        seen = getattr(seen, "orig", None) or seen.__cause__
