"""A temporary database on the user's own server, separate from the user's data."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg

from plait.model.errors import PlaitError
from plait.store.database import LONG_S, UNREACHABLE, say_goodbye, translate
from plait.store.dev_login import DEV_LOGIN
from plait.store.migrate import ROLES
from plait.store.sockets import open_connection


@asynccontextmanager
async def scratch_database(url: str) -> AsyncIterator[str]:
    """Create an empty database on the server of `url`, and yield its URL. At the end, drop the database, and plait's roles if they did not exist
    before."""
    name = f"plait_scratch_{uuid4().hex[:12]}"
    before = await _create(url, name)
    try:
        yield _with_database(url, name)
    finally:
        await _drop(url, name, keep=before)


async def _create(url: str, name: str) -> set[str]:
    """Create the database. Returns the roles that existed before."""
    try:
        connection, _ = await open_connection(url, statement_s=LONG_S)
        try:
            roles = {row["rolname"] for row in await connection.fetch("select rolname::text from pg_roles")}
            await connection.execute(f'create database "{name}"')
            return roles
        finally:
            await say_goodbye(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        raise PlaitError(
            "this login has no permission to create a temporary database. Use a superuser's URL."
        ) from error
    except (asyncpg.PostgresError, *UNREACHABLE) as error:
        raise translate(error) from error


async def _drop(url: str, name: str, *, keep: set[str]) -> None:
    connection, _ = await open_connection(url, statement_s=LONG_S)
    try:
        await connection.execute(f'drop database if exists "{name}" with (force)')
        for role in (DEV_LOGIN, *ROLES):
            if role not in keep:
                # If plait was installed in another database of this server meanwhile, the role is needed there.
                try:
                    await connection.execute(f'drop role if exists "{role}"')
                except asyncpg.DependentObjectsStillExistError:
                    continue
    finally:
        await say_goodbye(connection)


def _with_database(url: str, name: str) -> str:
    head, mark, query = url.partition("?")
    scheme, _, rest = head.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}{mark}{query}"
