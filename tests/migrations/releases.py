"""Releases before and after this one, for the tests of an upgrade.

The first release has schema 1, so there is no older database to upgrade. `next_release` makes a release that follows this one: its migration
has every kind of statement that migrations use. From the second release on, `frozen` loads a database that an older release left.
"""

import re
import shutil
from pathlib import Path

from plait.store.migrate import SQL, schema_version
from plait.testing import TestDatabase, TestServer

from ..access.logins import as_superuser
from .snapshot import SNAPSHOTS

NEXT_VERSION = schema_version() + 1
NEXT_NAME = f"{NEXT_VERSION:04}_next.sql"
NEW_TABLE = """
create table plait.next_notes (
  tenant_id uuid not null references plait.tenants (id),
  job_id    uuid not null,
  note      text not null default '',
  primary key (tenant_id, job_id)
);
create index next_notes_job on plait.next_notes (job_id);
alter table plait.next_notes enable row level security;
alter table plait.next_notes force row level security;
create policy owner on plait.next_notes to plait_owner using (true) with check (true);
create policy tenant on plait.next_notes for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
"""
NEW_COLUMN = "next_rank integer constraint tenants_next_rank check (next_rank > 0)"
NEXT_MIGRATION = """
alter table plait.tenants add column {column};
update plait.queues set updated_at = updated_at;
alter table plait.live set (fillfactor = 40);
alter index plait.live_pkey set (fillfactor = 40);
drop index plait.workers_lost;
create index workers_lost on plait.workers (ended_at, id) where state = 'lost';
create or replace trigger guard {guard};
{table}
insert into plait.next_notes (tenant_id, job_id) select tenant_id, job_id from plait.live;
"""


def next_release(directory: Path) -> Path:
    """A copy of plait/sql with the next migration, and with the schema that it leads to."""
    tree = directory / "sql"
    shutil.copytree(SQL, tree)
    for path, text in _schema().items():
        column = re.sub(
            r"(create table plait\.tenants \(.*?)\n\);", rf"\1,\n  {NEW_COLUMN}\n);", text, count=1, flags=re.DOTALL
        )
        (tree / "schema" / path.name).write_text(column.replace("fillfactor = 45", "fillfactor = 40"))
    (tree / "schema" / "99_next.sql").write_text(NEW_TABLE)
    (tree / "migrations" / NEXT_NAME).write_text(next_migration())
    return tree


def next_migration() -> str:
    """Its text. The trigger is created again as it is."""
    guard = re.search(r"create trigger guard (.*?);", "".join(_schema().values()), re.DOTALL)
    assert guard is not None
    return NEXT_MIGRATION.format(column=NEW_COLUMN, guard=guard[1], table=NEW_TABLE)


def _schema() -> dict[Path, str]:
    """This release's, without comments."""
    return {path: re.sub(r" *--[^\n]*", "", path.read_text()) for path in sorted((SQL / "schema").glob("*.sql"))}


async def frozen(server: TestServer, version: int) -> TestDatabase:
    """A database as the release with this schema left it."""
    return await loaded(server, (SNAPSHOTS / f"{version:04}.sql").read_text())


async def loaded(server: TestServer, snapshot: str) -> TestDatabase:
    database = await server.create_empty_database()
    await as_superuser(
        database,
        (SQL / "roles.sql").read_text(),
        snapshot,
        # Its functions were another's, even when it was made just now.
        "update plait.installed set functions_hash = 'of its time'",
    )
    return database
