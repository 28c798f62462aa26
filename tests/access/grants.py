"""The privileges in the catalogue, in the format of `grants.txt`.

After an intended change, `.venv/bin/python -m tests.access.grants` writes the file again.
"""

import asyncio
from pathlib import Path

import asyncpg

from plait.testing import TestServer

from .logins import RUNTIME_ROLES, connected

GOLDEN = Path(__file__).with_name("grants.txt")

HEADER = """\
# Privileges in schema plait, from the catalogue. plait_owner owns everything and is left out.
# A grant to anybody else, PUBLIC included, would be a column of its own.
"""

RELATION_GRANTS = """
select c.relname as name, coalesce(r.rolname, 'PUBLIC') as grantee,
       lower(x.privilege_type) || coalesce(' (' || x.columns || ')', '') as privilege
from pg_class c
cross join lateral (
  select grantee, privilege_type, null as columns
  from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner)))
  union all
  select e.grantee, e.privilege_type, string_agg(a.attname, ', ' order by a.attnum)
  from pg_attribute a, aclexplode(a.attacl) e where a.attrelid = c.oid group by 1, 2
) x
left join pg_roles r on r.oid = x.grantee
where c.relnamespace = 'plait'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  and x.grantee <> c.relowner
"""
FUNCTION_GRANTS = """
select p.proname as name, coalesce(r.rolname, 'PUBLIC') as grantee, lower(x.privilege_type) as privilege
from pg_proc p
cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
left join pg_roles r on r.oid = x.grantee
where p.pronamespace = 'plait'::regnamespace and x.grantee <> p.proowner
"""
SCHEMA_GRANTS = """
select n.nspname as name, coalesce(r.rolname, 'PUBLIC') as grantee, lower(x.privilege_type) as privilege
from pg_namespace n cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) x
left join pg_roles r on r.oid = x.grantee
where n.nspname = 'plait' and x.grantee <> n.nspowner
"""
RELATIONS = """
select relname from pg_class
where relnamespace = 'plait'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
"""
FUNCTIONS = "select distinct proname from pg_proc where pronamespace = 'plait'::regnamespace"


async def describe(connection: asyncpg.Connection) -> str:
    return "\n".join(
        [
            HEADER,
            *await _table(connection, "schema", "values ('plait')", SCHEMA_GRANTS),
            "",
            *await _table(connection, "table, view, sequence", RELATIONS, RELATION_GRANTS),
            "",
            *await _table(connection, "function", FUNCTIONS, FUNCTION_GRANTS),
            "",
        ]
    )


async def _table(connection: asyncpg.Connection, title: str, names: str, grants: str) -> list[str]:
    found: dict[tuple[str, str], set[str]] = {}
    for row in await connection.fetch(grants):
        found.setdefault((row["name"], row["grantee"]), set()).add(row["privilege"])
    others = {grantee for _, grantee in found} - set(RUNTIME_ROLES)
    columns = [*RUNTIME_ROLES, *sorted(others)]
    rows = [[title, *(column.removeprefix("plait_") for column in columns)]]
    notes = []
    for name in sorted(row[0] for row in await connection.fetch(names)):
        cells = [", ".join(sorted(found.get((name, column), ()))) or "-" for column in columns]
        for cell in sorted({cell for cell in cells if "(" in cell}):
            notes.append(f"  {name}: {cell}")
        rows.append([name, *(cell.partition(" (")[0] + ("*" if "(" in cell else "") for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [*(line.rstrip() for line in lines), *(["", "* only these columns:", *notes] if notes else [])]


async def _main() -> None:
    server = TestServer()
    database = await server.create_database()
    try:
        async with connected(database.admin_url) as connection:
            GOLDEN.write_text(await describe(connection))
    finally:
        await server.drop_database(database)
        server.close()


if __name__ == "__main__":
    asyncio.run(_main())
