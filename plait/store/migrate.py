"""Bring a database to the schema of this version: tables by migrations, functions and grants anew.

`plait/sql/schema` is what a new database gets, whole. `plait/sql/migrations` leads an older one there, step by step; a test shows
that both ways end in the same place. Functions are no migrations: each has one definition in the tree, and all are created
again whenever any of them changed. Everything happens in one transaction, under one lock, so many processes may try at once.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import asyncpg

from plait.model.errors import PlaitError, SchemaOutdated
from plait.store.database import UNREACHABLE, translate

SQL: Final = Path(str(files("plait") / "sql"))
BEFORE_TABLES: Final = ("now", "_visible_tenant")
"""Functions that tables refer to, and so are created first."""
_LOCK: Final = 0x706C616974  # "plait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `migrate` would do, or has done."""

    installed: int | None
    target: int
    migrations: tuple[str, ...]
    functions: bool

    @property
    def empty(self) -> bool:
        return self.installed == self.target and not self.functions


def migrations() -> dict[int, Path]:
    return {int(path.name.split("_")[0]): path for path in sorted((SQL / "migrations").glob("*.sql"))}


def schema_version() -> int:
    return max(migrations())


def functions_hash() -> str:
    digest = hashlib.sha256()
    for path in [*_functions(), SQL / "grants.sql"]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


async def migrate(url: str, *, plan_only: bool = False, grant_client: str | None = None) -> Plan:
    """Migrate the database at `url`, which must be a superuser's, or a role's that may create roles or is in plait_owner."""
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (asyncpg.PostgresError, *UNREACHABLE) as error:
        raise translate(error) from error
    try:
        return await migrate_connection(connection, plan_only=plan_only, grant_client=grant_client)
    except asyncpg.InsufficientPrivilegeError as error:
        raise PlaitError(
            f"this role may not migrate: {error}. Use a superuser's URL, or one with CREATEROLE that owns the database."
        ) from error
    finally:
        await connection.close()


async def migrate_connection(
    connection: asyncpg.Connection,
    *,
    plan_only: bool = False,
    grant_client: str | None = None,
    from_migrations: bool = False,
) -> Plan:
    async with connection.transaction(isolation="read_committed"):
        await connection.fetchval("select pg_advisory_xact_lock($1)", _LOCK)
        plan = await _plan(connection)
        if plan_only:
            return plan
        if not plan.empty:
            await _prepare(connection)
            await connection.execute("set local role plait_owner; set local check_function_bodies = off")
            await _apply(connection, plan, from_migrations=from_migrations)
            await connection.execute("reset role")
        if grant_client is not None:
            await connection.execute(f"grant plait_client to {_quoted(grant_client)}")
    return plan


async def _plan(connection: asyncpg.Connection) -> Plan:
    installed: int | None = None
    current: str | None = None
    if await connection.fetchval("select to_regclass('plait.installed') is not null"):
        row = await connection.fetchrow("select version, functions_hash from plait.installed")
        installed, current = row["version"], row["functions_hash"]
    target = schema_version()
    if installed is not None and installed > target:
        raise SchemaOutdated(
            f"the database has schema {installed}, newer than this plait, which knows {target}. Upgrade plait."
        )
    pending = tuple(path.name for version, path in migrations().items() if version > (installed or 0))
    return Plan(installed=installed, target=target, migrations=pending, functions=current != functions_hash())


async def _prepare(connection: asyncpg.Connection) -> None:
    """Roles and the schema's owner: what plait_owner can't do for itself."""
    await connection.execute((SQL / "roles.sql").read_text())
    me = await connection.fetchrow("select rolname, rolsuper from pg_roles where rolname = current_user")
    if not me["rolsuper"] and not await connection.fetchval("select pg_has_role('plait_owner', 'set')"):
        await connection.execute(f"grant plait_owner to {_quoted(me['rolname'])}")
    if not await connection.fetchval("select exists (select from pg_namespace where nspname = 'plait')"):
        database = await connection.fetchval("select current_database()")
        await connection.execute(f"grant create on database {_quoted(database)} to plait_owner")
        await connection.execute("create schema plait authorization plait_owner")


async def _apply(connection: asyncpg.Connection, plan: Plan, *, from_migrations: bool) -> None:
    for name in BEFORE_TABLES:
        await connection.execute((SQL / "functions" / f"{name}.sql").read_text())
    if plan.installed is None and not from_migrations:
        for path in sorted((SQL / "schema").glob("*.sql")):
            await connection.execute(path.read_text())
    else:
        for name in plan.migrations:
            await connection.execute((SQL / "migrations" / name).read_text())
    for path in _functions():
        await connection.execute(path.read_text())
    await connection.execute((SQL / "grants.sql").read_text())
    await connection.execute(
        "insert into plait.installed (version, functions_hash) values ($1, $2)"
        " on conflict (one) do update set version = excluded.version, functions_hash = excluded.functions_hash, updated_at = plait.now()",
        plan.target,
        functions_hash(),
    )


def _functions() -> list[Path]:
    return sorted((SQL / "functions").glob("*.sql"))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
