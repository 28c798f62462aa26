"""Bring a database to the schema of this version: tables by migrations, functions and grants anew.

`plait/sql/schema` is what a new database gets, whole. `plait/sql/migrations` leads an older one there, step
by step; a test shows that both ways end in the same place. Functions are no migrations: each has one
definition in the tree, all are created again whenever any of them changed, and what the tree no longer has is
dropped. They are replaced in place, so that the calls of workers under way go on. Everything happens in one
transaction, under one lock, so many processes may try at once.

Who may: a superuser; a login with CREATEROLE that may create schemas in the database; or, where a DBA has
made the roles of `plait/sql/roles.sql`, any login that has been granted plait_owner.
"""

import hashlib
import re
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
ROLES: Final = ("plait_owner", "plait_client", "plait_tenant", "plait_worker", "plait_admin")
_LOCK: Final = 0x706C616974  # "plait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `migrate` would do, or has done."""

    installed: int | None
    target: int
    migrations: tuple[str, ...]
    functions: bool
    roles: tuple[str, ...] = ()
    """Roles that the server does not have yet."""
    grant_client: str | None = None
    """The role that is given plait_client; None when it has it already."""

    @property
    def empty(self) -> bool:
        return self.installed == self.target and not self.functions and not self.roles and not self.grant_client


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
    """Migrate the database at `url`; `grant_client` names an application's role to be given plait_client."""
    try:
        connection = await asyncpg.connect(url, timeout=10)
        try:
            return await migrate_connection(connection, plan_only=plan_only, grant_client=grant_client)
        finally:
            await connection.close()
    except asyncpg.InsufficientPrivilegeError as error:
        raise PlaitError(
            f"this login may not migrate: {_said(error)}. Use a superuser's URL, or a login with CREATEROLE"
            " that owns the database; or let a DBA run plait/sql/roles.sql and `create schema plait"
            " authorization plait_owner`, and grant plait_owner to this login."
        ) from error
    except asyncpg.DependentObjectsStillExistError as error:
        raise PlaitError(
            f"something of yours depends on what this version of plait changes: {_said(error)}."
        ) from error
    except (asyncpg.PostgresError, *UNREACHABLE) as error:
        ours = translate(error)
        if ours is error:
            raise
        raise ours from error


async def migrate_connection(
    connection: asyncpg.Connection,
    *,
    plan_only: bool = False,
    grant_client: str | None = None,
    from_migrations: bool = False,
) -> Plan:
    transaction = connection.transaction(isolation="read_committed")
    await transaction.start()
    try:
        await connection.fetchval("select pg_advisory_xact_lock($1)", _LOCK)
        plan = await _plan(connection, grant_client)
        if not plan_only:
            await _carry_out(connection, plan, from_migrations=from_migrations)
    except BaseException:
        await transaction.rollback()
        raise
    await (transaction.rollback() if plan_only else transaction.commit())
    return plan


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
            f"the database has schema {installed}, newer than this plait, which knows {target}. Upgrade plait."
        )
    there = await connection.fetchval("select array_agg(rolname::text) from pg_roles")
    if grant_client is not None:
        if grant_client not in there:
            raise PlaitError(f"there is no role {grant_client!r} to be given plait_client: create it first.")
        if "plait_client" in there and await connection.fetchval(
            "select pg_has_role($1::name, 'plait_client', 'member')", grant_client
        ):
            grant_client = None
    return Plan(
        installed=installed,
        target=target,
        migrations=tuple(path.name for version, path in migrations().items() if version > (installed or 0)),
        functions=current != functions_hash(),
        roles=tuple(role for role in ROLES if role not in there),
        grant_client=grant_client,
    )


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
    """Act as plait_owner until the transaction ends. Who may grant that role to himself does so, for good."""
    # From 16 on, who has created a role may grant it and yet not set it.
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
                " plait needs that name."
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
    for name in BEFORE_TABLES:
        await _create_functions(connection, (SQL / "functions" / f"{name}.sql").read_text())
    if plan.installed is None and not from_migrations:
        for path in sorted((SQL / "schema").glob("*.sql")):
            await connection.execute(path.read_text())
    else:
        for name in plan.migrations:
            await connection.execute((SQL / "migrations" / name).read_text())
    for path in _functions():
        await _create_functions(connection, path.read_text())
    for function, version in (await _function_versions(connection)).items():
        if before.get(function) == version:  # not created again: the tree no longer has it
            await connection.execute(f"drop function {function}")
    await connection.execute("set local check_function_bodies = on")
    await connection.execute(_VALIDATE)
    await connection.execute((SQL / "grants.sql").read_text())
    await connection.execute(_RECORD, plan.target, functions_hash())


_RECORD: Final = """
insert into plait.installed (version, functions_hash) values ($1, $2)
on conflict (one) do update set version = excluded.version, functions_hash = excluded.functions_hash,
  updated_at = plait.now()
"""
_VALIDATE: Final = """
select case l.lanname when 'plpgsql' then plpgsql_validator(p.oid) else fmgr_sql_validator(p.oid) end
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = 'plait'::regnamespace and l.lanname in ('plpgsql', 'sql')
"""


async def _function_versions(connection: asyncpg.Connection) -> dict[str, str]:
    """Each function's signature, with what changes when it is replaced. Triggers' come with their tables."""
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
        # Another result, or other names of parameters: what can't be replaced in place.
        names = re.findall(r"\bfunction\s+plait\.(\w+)", text)
        for function in await _function_versions(connection):
            if function.split("(")[0].removeprefix("plait.").strip('"') in names:
                await connection.execute(f"drop function {function}")
        await connection.execute(text)


def _functions() -> list[Path]:
    return sorted((SQL / "functions").glob("*.sql"))


def _said(error: asyncpg.PostgresError) -> str:
    return ": ".join(part.rstrip(".") for part in (error.message, error.detail) if part)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
