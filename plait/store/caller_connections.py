"""Enqueue, emit and signal on the caller's connection, in the caller's transaction: asyncpg, psycopg, SQLAlchemy, Django.

A job enqueued this way exists only if the transaction commits. The caller needs only the role plait_client
(`plait migrate --grant-client ROLE`): one statement on that connection enqueues the jobs and looks up the tenant. Connections are
recognised by the name of their class, so no driver is imported until one of its connections is used.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal
from uuid import UUID

from plait.model.errors import BY_SQLSTATE, InvalidArguments, NotGranted, SchemaOutdated
from plait.store.events import EMIT
from plait.store.new_jobs import ENQUEUE, NewJob, enqueue_arguments, place_of
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

# All jobs of a call belong to one tenant. It is looked up in the caller's transaction, which may have just created it.
_TENANT: Final = f"${place_of('tenant_id') + 1}"
_ENQUEUE: Final = (
    f"with tenant as materialized (select case when {_TENANT}::text is null then {OWN_TENANT} "
    f"else plait.tenant_id({_TENANT}::text) end as id) select tenant.id, requested, existing from tenant left join lateral ("
    + ENQUEUE.replace(f"{_TENANT}::uuid[]", "array[tenant.id]")
    + ") as enqueued on true"
)

_FOREIGN_SCHEMA: Final = {"3F000", "42P01", "42883"}
"""Undefined schema, table or function. If the message names plait, the database was never migrated or its schema is too old."""


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The tenant of the jobs. `existing` maps each job that was not created to the existing job with the same key."""

    tenant_id: UUID
    existing: dict[UUID, UUID]


def is_async(conn: Any) -> bool:
    """Whether the connection is async. Raises an error for an unknown type."""
    return _kind(conn) in ("asyncpg", "psycopg_async", "sqlalchemy_async")


async def enqueue_async_on(conn: Any, jobs: Sequence[NewJob], *, tenant: str | None) -> Enqueued:
    return _enqueued(await _fetch_async(conn, _ENQUEUE, _arguments(jobs, tenant)))


def enqueue_sync_on(conn: Any, jobs: Sequence[NewJob], *, tenant: str | None) -> Enqueued:
    return _enqueued(_fetch_sync(conn, _ENQUEUE, _arguments(jobs, tenant)))


async def emit_async_on(conn: Any, *arguments: str | None) -> UUID:
    """Emit an event in the caller's transaction, with the arguments of `EMIT`. Returns the event's id."""
    [[event_id]] = await _fetch_async(conn, EMIT, list(arguments))
    return _uuid(event_id)


def emit_sync_on(conn: Any, *arguments: str | None) -> UUID:
    [[event_id]] = _fetch_sync(conn, EMIT, list(arguments))
    return _uuid(event_id)


async def signal_async_on(conn: Any, *arguments: str | None) -> str:
    """Signal a job in the caller's transaction, with the arguments of `SIGNAL`. Returns the job's status."""
    [[status]] = await _fetch_async(conn, SIGNAL, list(arguments))
    return str(status)


def signal_sync_on(conn: Any, *arguments: str | None) -> str:
    [[status]] = _fetch_sync(conn, SIGNAL, list(arguments))
    return str(status)


async def start_async_on(conn: Any, arguments: list[Any]) -> tuple[UUID, UUID]:
    """Run `SIGNAL_OR_START` in the caller's transaction. Returns the ids of the job and its tenant."""
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
            raise InvalidArguments(f"conn must be a connection to Postgres, got Django's connection to {conn.vendor}")
        if kind is not None:
            return kind
    cls = type(conn)
    raise InvalidArguments(
        "conn must be a connection or session of asyncpg, psycopg, SQLAlchemy or Django, got "
        f"{cls.__module__}.{cls.__qualname__}"
    )


def _arguments(jobs: Sequence[NewJob], tenant: str | None) -> list[Any]:
    """The arguments of `_ENQUEUE`. Ids are text, which every driver can send; the statement casts them."""
    arguments = enqueue_arguments(jobs, in_transaction=True)
    arguments[place_of("id")] = [str(job.id) for job in jobs]
    arguments[place_of("tenant_id")] = tenant
    return arguments


def _by_name(arguments: list[Any]) -> dict[str, Any]:
    return {f"p{number}": value for number, value in enumerate(arguments, 1)}


# psycopg, Django and SQLAlchemy have no numbered placeholders, so named placeholders are used.
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
    return UUID(str(value))  # the driver's own type, or text


def _raise_ours(error: BaseException) -> None:
    """Raise plait's error for the SQLSTATE of a driver's error, even if it is wrapped. Other errors are not changed, because the caller's code
    may handle its driver's errors."""
    seen: BaseException | None = error
    while seen is not None:
        state = getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None)
        if isinstance(state, str):
            message = getattr(getattr(seen, "diag", None), "message_primary", None) or str(seen)
            if ours := BY_SQLSTATE.get(state):
                raise ours(message) from error
            if state == "42501" and "plait" in message:
                raise NotGranted(
                    f"{message}. Grant the login the role plait_client: `plait migrate --grant-client ROLE`"
                ) from error
            if state in _FOREIGN_SCHEMA and "plait" in message:
                raise SchemaOutdated(f"{message}. Run `plait migrate`.") from error
        seen = getattr(seen, "orig", None) or seen.__cause__
