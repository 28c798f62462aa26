"""Enqueue on a connection of the caller's, inside its own transaction: asyncpg, psycopg, SQLAlchemy, Django.

A job enqueued this way exists when the transaction commits, and never if it rolls back. The caller needs the role plait_client
(`plait migrate --grant-client ROLE`), and nothing else. No driver is imported here: a connection is known by its class's module.
"""

import re
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from plait.model.errors import InvalidArguments
from plait.store.database import translate
from plait.store.jobs import ENQUEUE, NewJob, enqueue_arguments

_FORMAT: Final = re.sub(r"\$\d+", "%s", ENQUEUE)
_NAMED: Final = re.sub(r"\$(\d+)::([a-z0-9]+(?:\[\])?)", r"cast(:p\1 as \2)", ENQUEUE)


def is_async(conn: Any) -> bool:
    """Whether the connection is used with await; an error for what is no known connection."""
    return _kind(conn) in ("asyncpg", "psycopg_async", "sqlalchemy_async")


async def enqueue_async_on(conn: Any, jobs: Sequence[NewJob]) -> dict[UUID, UUID]:
    arguments = enqueue_arguments(jobs, in_transaction=True)
    try:
        match _kind(conn):
            case "asyncpg":
                rows = await conn.fetch(ENQUEUE, *arguments)
            case "psycopg_async":
                async with conn.cursor() as cursor:
                    await cursor.execute(_FORMAT, _plain(arguments))
                    rows = await cursor.fetchall()
            case _:
                text = _sqlalchemy_text()
                rows = (await conn.execute(text, _by_name(arguments))).all()
    except Exception as error:
        raise _ours(error) from error
    return _existing(rows)


def enqueue_sync_on(conn: Any, jobs: Sequence[NewJob]) -> dict[UUID, UUID]:
    arguments = enqueue_arguments(jobs, in_transaction=True)
    try:
        match _kind(conn):
            case "sqlalchemy":
                rows = conn.execute(_sqlalchemy_text(), _by_name(arguments)).all()
            case _:
                with conn.cursor() as cursor:
                    cursor.execute(_FORMAT, _plain(arguments))
                    rows = cursor.fetchall()
    except Exception as error:
        raise _ours(error) from error
    return _existing(rows)


def _kind(conn: Any) -> str:
    for cls in type(conn).__mro__:
        name, module = cls.__name__, cls.__module__
        if module.startswith("asyncpg."):
            return "asyncpg"
        if module.startswith("psycopg.") or module == "psycopg":
            return "psycopg_async" if "Async" in name else "psycopg"
        if module.startswith("psycopg2"):
            return "psycopg"
        if module.startswith("sqlalchemy."):
            return "sqlalchemy_async" if module.startswith("sqlalchemy.ext.asyncio") else "sqlalchemy"
        if module.startswith("django.db."):
            return "django"
    raise InvalidArguments(f"conn is a connection of asyncpg, psycopg, SQLAlchemy or Django, not {type(conn).__name__}")


def _sqlalchemy_text() -> Any:
    from sqlalchemy import text

    return text(_NAMED)


def _plain(arguments: list[Any]) -> list[Any]:
    """Ids as text: every driver can send it, and the statement casts."""
    return [
        [str(item) if isinstance(item, UUID) else item for item in value] if isinstance(value, list) else value
        for value in arguments
    ]


def _by_name(arguments: list[Any]) -> dict[str, Any]:
    return {f"p{number}": value for number, value in enumerate(arguments, 1)}


def _existing(rows: Sequence[Any]) -> dict[UUID, UUID]:
    return {_uuid(row[0]): _uuid(row[1]) for row in rows}


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(str(value))


def _ours(error: BaseException) -> BaseException:
    """Our error for the SQLSTATE that any of the drivers carries, however it is wrapped."""
    seen: BaseException | None = error
    while seen is not None:
        if getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None):
            if not hasattr(seen, "sqlstate"):
                seen.sqlstate = seen.pgcode  # type: ignore[attr-defined]
            ours = translate(seen)
            if ours is not seen:
                return ours
        seen = getattr(seen, "orig", None) or seen.__cause__
    return error
