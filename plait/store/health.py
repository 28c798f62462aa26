"""Checks whether this process may use this database, and the findings of `plait doctor`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from plait.model.errors import NotGranted, PlaitError, SchemaOutdated, UnsafeRole
from plait.store.database import LONG_S, Database, Row
from plait.store.migrate import schema_version

_STATE = """
select session_user::text as login, n.oid is not null as installed,
       coalesce(has_schema_privilege(n.oid, 'usage'), false) as admitted
from (select to_regnamespace('plait') as oid) n
"""

# Reads only system catalogues, because the login may not have permission to read plait's tables.
_UNSAFE = """
with me as (
  select * from pg_roles where rolname = session_user
), others as (
  select o.* from pg_roles o, me where pg_has_role(me.oid, o.oid, 'member')
), relations as (
  select c.*, c.relname = 'tenants' or exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
  ) as has_tenant
  from pg_class c where c.relnamespace = to_regnamespace('plait') and c.relkind in ('r', 'p', 'v', 'm', 'f')
)
select case
  when me.rolsuper then 'it is a superuser'
  when me.rolbypassrls then 'it has BYPASSRLS'
  when me.rolcreaterole and current_setting('server_version_num')::int < 160000
    then 'it has CREATEROLE, so it can grant itself plait_owner'
  when exists (select from others where rolname = 'plait_owner')
    then 'it may act as plait_owner, which owns the tables'
  when exists (select from others where rolsuper or rolbypassrls)
    then 'it may act as a role that is a superuser or has BYPASSRLS'
  when exists (select from relations c join others o on o.oid = c.relowner) then 'it owns tables of plait'
  when has_schema_privilege(me.oid, 'plait', 'create') then 'it may create objects in the schema of plait'
  when exists (select from relations
               where has_table_privilege(me.oid, oid, 'insert, update, delete, truncate'))
    then 'it may write to tables of plait'
  when exists (select from relations
               where has_tenant and relkind <> 'v' and not (relrowsecurity and relforcerowsecurity))
    then 'a table of plait has no forced row-level security'
  when exists (select from relations
               where has_tenant and relkind = 'v'
                 and not coalesce(reloptions @> '{security_invoker=true}', false))
    then 'a view of plait bypasses row-level security' end
from me
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    level: str
    """problem or warning."""
    code: str
    finding: str
    evidence: dict[str, Any]
    """The numbers and names in the finding, in machine-readable form."""
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of `after_restore`."""

    workers: int
    jobs: int
    """Jobs that were running and have been requeued."""
    schedules: int


class Health:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def check(self) -> None:
        """Reject a schema that is incompatible with this code, and a login that can bypass the schema's protections."""
        state = await self._db.fetchrow(_STATE)
        if not state["installed"]:
            raise SchemaOutdated("plait is not installed in this database. Run `plait migrate`.")
        unsafe = await self._db.fetchval(_UNSAFE)
        if unsafe:
            raise UnsafeRole(
                f"refusing to run as {state['login']!r}: {unsafe}."
                " Use a login that only has the role plait_client, plait_worker or plait_admin."
            )
        if not state["admitted"]:
            raise PlaitError(
                f"the login {state['login']!r} has none of plait's roles:"
                " grant it plait_client, plait_worker or plait_admin."
            )
        mine, version = schema_version(), await self._db.fetchval("select version from plait.installed")
        if version < mine:
            raise SchemaOutdated(
                f"the database has schema {version}, but this version of plait requires schema {mine}. Run `plait migrate`."
            )
        if version > mine and (oldest := await self._db.fetchval("select oldest from plait.installed")) > mine:
            raise SchemaOutdated(
                f"the database has schema {version}, which requires a version of plait with schema {oldest} or newer, but this version has schema {mine}. Upgrade plait."
            )

    async def require_roles(self, *roles: str) -> None:
        """Reject a login that lacks one of these roles. Otherwise the first call that needs the role would fail."""
        sql = "select array(select r from unnest($1::text[]) r where not pg_has_role(session_user, r, 'member'))"
        if missing := await self._db.fetchval(sql, list(roles)):
            raise NotGranted(
                f"this login must have the roles {' and '.join(roles)}; it does not have {' and '.join(missing)}."
            )

    async def diagnose(self, *, keep: timedelta | None = None) -> list[Finding]:
        """List findings from plait's own tables. `keep`: the longest retention of final jobs. None means forever."""
        return [_finding(row) for row in await self._db.fetch("select * from plait.findings($1)", keep, timeout=LONG_S)]

    async def examine(self, *, old_s: float = 60, old_xids: int = 100_000) -> list[Finding]:
        """List findings from the server's catalogues and statistics that this login may read."""
        sql = "select * from plait.examine($1, $2)"
        return [_finding(row) for row in await self._db.fetch(sql, old_s, old_xids, timeout=LONG_S)]

    async def claim_plan(self) -> str:
        """The query plan of a claim."""
        return "\n".join(row[0] for row in await self._db.fetch("select * from plait.claim_plan()"))

    async def after_restore(self, until: datetime | None = None) -> Restored:
        """Prepare a database that was restored from a backup. Schedules do not fire for times up to `until`. Default: now."""
        row = await self._db.fetchrow("select * from plait.after_restore($1)", until, timeout=LONG_S)
        return Restored(workers=row["o_workers"], jobs=row["o_jobs"], schedules=row["o_schedules"])

    async def now(self) -> datetime:
        """The database's time, which is used for all decisions."""
        now: datetime = await self._db.fetchval("select plait.now()")
        return now


def _finding(row: Row) -> Finding:
    return Finding(**{**row, "evidence": msgspec.json.decode(row["evidence"] or "{}")})
