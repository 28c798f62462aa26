"""Whether this process may run on this database, and what will hurt it."""

from dataclasses import dataclass
from datetime import datetime

from plait.model.errors import SchemaOutdated, UnsafeRole
from plait.store.database import Database
from plait.store.migrate import schema_version

_UNSAFE = """
select case
  when r.rolsuper then 'it is a superuser'
  when r.rolbypassrls then 'it has BYPASSRLS'
  when exists (select from pg_roles o where o.rolname = 'plait_owner') and pg_has_role(r.oid, 'plait_owner', 'member')
    then 'it may act as plait_owner, who owns the tables'
  when exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'plait' and pg_has_role(r.oid, c.relowner, 'member')) then 'it owns tables of plait'
  when exists (select from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'plait' and a.attname = 'tenant_id' and c.relkind = 'r' and not c.relforcerowsecurity)
    then 'a table of plait has no forced row-level security' end
from pg_roles r where r.rolname = session_user
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    level: str
    code: str
    finding: str
    advice: str


class Health:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def check(self) -> None:
        """Refuse a database whose schema is older or newer than this code, and a role that passes by row-level security."""
        if not await self._db.fetchval("select to_regclass('plait.installed') is not null"):
            raise SchemaOutdated("plait is not installed in this database. Run `plait migrate`.")
        unsafe = await self._db.fetchval(_UNSAFE)
        if unsafe:
            user = await self._db.fetchval("select session_user")
            raise UnsafeRole(
                f"refusing to run as {user!r}: {unsafe}. Use a login that only has the role plait_client, plait_worker or plait_admin."
            )
        version = await self._db.fetchval("select version from plait.installed")
        if version != schema_version():
            raise SchemaOutdated(
                f"the database has schema {version}, this plait needs {schema_version()}. "
                + ("Run `plait migrate`." if version < schema_version() else "Upgrade plait.")
            )

    async def diagnose(self) -> list[Finding]:
        return [Finding(**row) for row in await self._db.fetch("select * from plait.diagnose()")]

    async def now(self) -> datetime:
        """The database's time: the only one that decides."""
        now: datetime = await self._db.fetchval("select plait.now()")
        return now
