"""Migrate a database to the schema of this version. Migrations change the tables; functions and grants are created again.

`plait/sql/schema` creates the tables of a new database. `plait/sql/migrations` upgrades an older database, step by step; a test checks that
both have the same result. Functions are not part of migrations: each has one definition in the source tree. When any function has changed,
all functions are created again, and functions that no longer exist in the tree are dropped. They are replaced in place, so that calls by
running workers continue to work. Everything happens in one transaction, under one lock, so several processes may run it at once.


A migration needs a superuser, or a login with CREATEROLE that may create schemas in the database. If a DBA has created the roles
of `plait/sql/roles.sql`, any login with the role plait_owner suffices.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

import asyncpg

from plait.model.errors import PlaitError, SchemaOutdated
from plait.store.database import UNREACHABLE, say_goodbye, translate
from plait.store.migration_locks import Lock, locks_in
from plait.store.sockets import open_connection

SQL: Final = Path(str(files("plait") / "sql"))
BEFORE_TABLES: Final = ("now", "_visible_tenant")
"""Functions that tables refer to. They are created first."""
ROLES: Final = ("plait_owner", "plait_client", "plait_tenant", "plait_worker", "plait_admin")
OLDEST: Final = 1
"""The schema version of the oldest code that may still run on this schema, beside new processes. Raise it when a migration removes something
that older code needs."""
_LOCK: Final = 0x706C616974  # "plait"
LOCK_MS: Final = 400
"""How long a statement waits for a table's lock. Meanwhile it blocks later statements on that table. Must be less than the server's
deadlock_timeout of 1 second, so that in a deadlock the migration gives up, not a worker."""
FIRST_LOCK_MS: Final = 60_000
"""The lock timeout of the first installation. It may wait for an installation in another database that creates the same roles."""
FIRST_LOCKED: Final = ("tenants", "definitions")
"""These tables are locked first, in the order in which an enqueue reads them."""
STATEMENT_S: Final = 3600.0
"""The timeout of each statement of a migration, which may scan a large table."""
PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)


class MigrationBlocks(PlaitError):
    """A migration would block workers while it scans a large table."""

    def __str__(self) -> str:
        said = f" ({self.args[0]})" if self.args else ""
        return (
            f"this migration would block workers while it scans a large table{said}. Nothing was changed."
            " Run it when load is low, with --allow-blocking."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes that `migrate` would make, or has made."""

    installed: int | None
    target: int
    migrations: tuple[str, ...]
    functions: bool
    roles: tuple[str, ...] = ()
    """Roles that the server does not have yet."""
    grant_client: str | None = None
    """The role to grant plait_client to; None if there is none or it already has plait_client."""
    locks: tuple[Lock, ...] = ()
    """The locks that the migrations take on existing tables."""

    @property
    def empty(self) -> bool:
        return self.installed == self.target and not self.functions and not self.roles and not self.grant_client


def migrations() -> dict[int, Path]:
    return {int(path.name.split("_")[0]): path for path in sorted((SQL / "migrations").glob("*.sql"))}


def schema_version() -> int:
    return max(migrations())


def function_files() -> list[Path]:
    """The files of `plait/sql/functions`, sorted by name. Names are unique across folders.

    A function whose body is parsed when it is created (`return …`) may call only functions whose names come before its own.
    """
    return sorted((SQL / "functions").glob("*/*.sql"), key=lambda path: path.name)


def functions_hash() -> str:
    digest = hashlib.sha256()
    for path in [*function_files(), SQL / "grants.sql"]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


async def migrate(
    url: str, *, plan_only: bool = False, grant_client: str | None = None, allow_blocking: bool = False
) -> Plan:
    """Migrate the database at `url`. `grant_client`: an application's role, which is granted plait_client. `allow_blocking`: allow migrations that block
    workers while they scan a large table."""
    try:
        connection, _ = await open_connection(url, statement_s=STATEMENT_S)
        try:
            return await _with_patience(
                lambda: migrate_connection(
                    connection, plan_only=plan_only, grant_client=grant_client, allow_blocking=allow_blocking
                )
            )
        finally:
            await say_goodbye(connection)
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
        raise PlaitError(
            "plait's tables were locked by other transactions, and nothing was changed. Find long-running transactions"
            " in pg_stat_activity, end them, and migrate again."
        ) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise PlaitError(
            f"this login has no permission to migrate: {_said(error)}. Use a superuser's URL, or a login with CREATEROLE"
            " that owns the database; or ask a DBA to run plait/sql/roles.sql and `create schema plait"
            " authorization plait_owner`, and grant plait_owner to this login."
        ) from error
    except asyncpg.DependentObjectsStillExistError as error:
        raise PlaitError(
            f"another object in the database depends on something that this version of plait changes: {_said(error)}."
        ) from error
    except (asyncpg.PostgresError, *UNREACHABLE) as error:
        ours = translate(error)
        if ours is error:
            raise
        raise ours from error


async def _with_patience(migrating: Callable[[], Awaitable[Plan]]) -> Plan:
    """If a lock is not available, roll back so that other transactions can proceed, and retry."""
    for pause in PAUSES_S:
        try:
            return await migrating()
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            await asyncio.sleep(pause)
    return await migrating()


async def migrate_connection(
    connection: asyncpg.Connection,
    *,
    plan_only: bool = False,
    grant_client: str | None = None,
    from_migrations: bool = False,
    allow_blocking: bool = True,
) -> Plan:
    transaction = connection.transaction(isolation="read_committed")
    await transaction.start()
    try:
        plan = await _plan(connection, grant_client)
        if not plan_only and not plan.empty:
            wait_ms = LOCK_MS if plan.installed is not None else FIRST_LOCK_MS
            await connection.execute(f"set local lock_timeout = '{wait_ms}ms'")
            await _exclude_others(connection)
            plan = await _plan(connection, grant_client)
            if not allow_blocking:
                _refuse_blocking(plan)
            await _carry_out(connection, plan, from_migrations=from_migrations)
    except BaseException:
        await transaction.rollback()
        raise
    await (transaction.rollback() if plan_only else transaction.commit())
    return plan


async def _exclude_others(connection: asyncpg.Connection) -> None:
    """Ensure that one process migrates at a time. Any login could hold an advisory lock and block migrations. So it is used only for the first
    installation; later migrations lock a table that only the owner can lock."""
    if not await connection.fetchval(_IS_INSTALLED):
        await connection.fetchval("select pg_advisory_xact_lock($1)", _LOCK)
        # Locking a relation for the first time makes the server read catalogue changes that other sessions committed.
        await connection.execute("select from pg_catalog.pg_conversion limit 0")
    if await connection.fetchval(_IS_INSTALLED):
        await _become_owner(connection)
        await connection.execute("lock table plait.installed in share row exclusive mode; reset role")


def _refuse_blocking(plan: Plan) -> None:
    if blocking := [lock for lock in plan.locks if lock.blocks]:
        raise MigrationBlocks("; ".join(map(str, blocking)))


async def _plan(connection: asyncpg.Connection, grant_client: str | None) -> Plan:
    installed: int | None = None
    current: str | None = None
    if await connection.fetchval(_IS_INSTALLED):
        if not await connection.fetchval(_MAY_READ):
            await _become_owner(connection)
        row = await connection.fetchrow("select version, functions_hash from plait.installed")
        installed, current = row["version"], row["functions_hash"]
        await connection.execute("reset role")
    target = schema_version()
    if installed is not None and installed > target:
        raise SchemaOutdated(
            f"the database has schema {installed}, but this plait only supports schemas up to {target}. Upgrade plait."
        )
    there = await connection.fetchval("select array_agg(rolname::text) from pg_roles")
    if grant_client is not None:
        if grant_client not in there:
            raise PlaitError(f"there is no role {grant_client!r} to grant plait_client to: create it first.")
        if "plait_client" in there and await connection.fetchval(
            "select pg_has_role($1::name, 'plait_client', 'member')", grant_client
        ):
            grant_client = None
    pending = [path for version, path in migrations().items() if version > (installed or 0)]
    return Plan(
        installed=installed,
        target=target,
        migrations=tuple(path.name for path in pending),
        locks=await _locks(connection, pending) if installed is not None else (),
        functions=current != functions_hash(),
        roles=tuple(role for role in ROLES if role not in there),
        grant_client=grant_client,
    )


async def _locks(connection: asyncpg.Connection, pending: list[Path]) -> tuple[Lock, ...]:
    """The locks that the migrations take, with the number of rows of each table."""
    found = await connection.fetch(_ROWS)
    rows = {row["name"]: (row["of"], row["rows"]) for row in found}
    # Analysed as one text, because a later migration may alter a table that an earlier pending migration creates.
    locks = locks_in("\n;\n".join(path.read_text() for path in pending))
    known = [(lock, *rows.get(lock.table, (lock.table, None))) for lock in locks]
    return tuple(replace(lock, table=table, rows=count) for lock, table, count in known)


# An index is mapped to its table. The rows of a table that was never analyzed are estimated from its pages.
_ROWS: Final = """
select c.relname as name, t.relname as of,
       case when t.reltuples >= 0 then t.reltuples else pg_relation_size(t.oid) / 100 end::bigint as rows
from pg_class c left join pg_index i on i.indexrelid = c.oid join pg_class t on t.oid = coalesce(i.indrelid, c.oid)
where c.relnamespace = to_regnamespace('plait') and c.relkind in ('r', 'i', 'v')
"""


_IS_INSTALLED: Final = """
select exists (select from pg_class where relnamespace = to_regnamespace('plait') and relname = 'installed')
"""
_MAY_READ: Final = """
select has_schema_privilege('plait', 'usage') and has_table_privilege('plait.installed', 'select')
"""


async def _carry_out(connection: asyncpg.Connection, plan: Plan, *, from_migrations: bool) -> None:
    if plan.migrations or plan.functions:
        await connection.execute((SQL / "roles.sql").read_text())
        await _ensure_schema(connection)
        await _become_owner(connection)
        await connection.execute("set local check_function_bodies = off")
        await _apply(connection, plan, from_migrations=from_migrations)
        await connection.execute("reset role")
    if plan.grant_client is not None:
        await connection.execute(f"grant plait_client to {_quoted(plan.grant_client)}")


async def _become_owner(connection: asyncpg.Connection) -> None:
    """Act as plait_owner until the transaction ends. A login that may grant itself plait_owner does so, permanently."""
    # Since Postgres 16, the creator of a role may grant the role but not SET ROLE to it.
    right = "set" if await _server_version(connection) >= 160000 else "member"
    if not await connection.fetchval("select pg_has_role('plait_owner', $1)", right):
        me = await connection.fetchval("select current_user::text")
        await connection.execute(f"grant plait_owner to {_quoted(me)}")
    await connection.execute("set local role plait_owner")


async def _server_version(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval("select current_setting('server_version_num')"))


async def _ensure_schema(connection: asyncpg.Connection) -> None:
    owner = await connection.fetchval(
        "select pg_get_userbyid(nspowner)::text from pg_namespace where nspname = 'plait'"
    )
    if owner is not None:
        if owner != "plait_owner":
            raise PlaitError(
                f"this database has a schema plait that belongs to {owner!r}, not to plait_owner."
                " plait needs the schema name for itself: rename or drop that schema."
            )
        return
    mine, owners = await connection.fetchrow(
        "select has_database_privilege(current_database(), 'create'),"
        " has_database_privilege('plait_owner', current_database(), 'create')"
    )
    await _become_owner(connection)
    if mine or not owners:
        await connection.execute("reset role")
    await connection.execute("create schema plait authorization plait_owner; reset role")


async def _apply(connection: asyncpg.Connection, plan: Plan, *, from_migrations: bool) -> None:
    before = await _function_versions(connection)
    for path in function_files():
        if path.stem in BEFORE_TABLES:
            await _create_functions(connection, path.read_text())
    if plan.installed is None and not from_migrations:
        for path in sorted((SQL / "schema").glob("*.sql")):
            await connection.execute(path.read_text())
    else:
        await _lock(connection, plan)
        for name in plan.migrations:
            await connection.execute((SQL / "migrations" / name).read_text())
    for path in function_files():
        await _create_functions(connection, path.read_text())
    for function, version in (await _function_versions(connection)).items():
        if before.get(function) == version:  # not created again: it no longer exists in the tree
            await connection.execute(f"drop function {function}")
    await connection.execute("set local check_function_bodies = on")
    await connection.execute(_VALIDATE)
    await connection.execute((SQL / "grants.sql").read_text())
    await connection.execute(_RECORD, plan.target, functions_hash(), OLDEST)


async def _lock(connection: asyncpg.Connection, plan: Plan) -> None:
    """Lock all tables before any is changed. Locking them one by one during the migration could deadlock."""
    tables = {lock.table for lock in plan.locks if lock.mode == "AccessExclusiveLock"}
    if tables:
        ordered = [name for name in FIRST_LOCKED if name in tables] + sorted(tables - set(FIRST_LOCKED))
        await connection.execute("lock table " + ", ".join(f"plait.{_quoted(name)}" for name in ordered))


_RECORD: Final = """
insert into plait.installed (version, functions_hash, oldest) values ($1, $2, $3)
on conflict (one) do update set version = excluded.version, functions_hash = excluded.functions_hash, oldest = excluded.oldest,
  updated_at = plait.now()
"""
_VALIDATE: Final = """
select case l.lanname when 'plpgsql' then plpgsql_validator(p.oid) else fmgr_sql_validator(p.oid) end
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = 'plait'::regnamespace and l.lanname in ('plpgsql', 'sql')
"""


async def _function_versions(connection: asyncpg.Connection) -> dict[str, str]:
    """Each function's signature, with a value that changes when the function is replaced. Trigger functions are created with their tables."""
    rows = await connection.fetch(
        "select format('plait.%I(%s)', proname, pg_get_function_identity_arguments(oid)) as function,"
        " format('%s %s', xmin, ctid) as version"
        " from pg_proc where pronamespace = 'plait'::regnamespace and prorettype <> 'trigger'::regtype"
    )
    return {row["function"]: row["version"] for row in rows}


async def _create_functions(connection: asyncpg.Connection, text: str) -> None:
    try:
        async with connection.transaction():
            await connection.execute(text)
    except asyncpg.InvalidFunctionDefinitionError:
        # A function with another result type or other parameter names cannot be replaced in place.
        names = re.findall(r"\bfunction\s+plait\.(\w+)", text)
        for function in await _function_versions(connection):
            if function.split("(")[0].removeprefix("plait.").strip('"') in names:
                await connection.execute(f"drop function {function}")
        await connection.execute(text)


def _said(error: asyncpg.PostgresError) -> str:
    return ": ".join(part.rstrip(".") for part in (error.message, error.detail) if part)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
