"""Logins for `plait dev`, on a server that only has a superuser."""

import asyncpg

from plait.store.database import STATEMENT_S, UNREACHABLE, say_goodbye, translate
from plait.store.sockets import open_connection

DEV_LOGIN = "plait_dev"
"""The login of the embedded Postgres and `plait dev`. It has the roles client, worker and admin, and no other rights."""


async def ensure_dev_login(url: str) -> bool:
    """Create the login for development if `url` is a superuser's. Returns whether it is a superuser's."""
    try:
        connection, _ = await open_connection(url, statement_s=STATEMENT_S)
    except (asyncpg.PostgresError, *UNREACHABLE) as error:
        raise translate(error) from error
    try:
        if not await connection.fetchval("select rolsuper from pg_roles where rolname = session_user"):
            return False
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", DEV_LOGIN):
            try:
                await connection.execute(
                    f"create role {DEV_LOGIN} login in role plait_client, plait_worker, plait_admin"
                )
            except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
                return True  # another process was faster
        return True
    finally:
        await say_goodbye(connection)
