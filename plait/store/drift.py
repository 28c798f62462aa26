"""Schema drift: differences between the database and `plait/sql`, such as a dropped index or an edited function."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from plait.store.database import Database
from plait.store.migrate import SQL, function_files

_THERE: Final = """
select case when c.relkind in ('i', 'I') then 'index' else 'table' end as kind, c.relname as name, null as body
from pg_class c where c.relnamespace = 'plait'::regnamespace and c.relkind in ('r', 'p', 'i', 'I')
union all
select 'trigger', c.relname || '.' || t.tgname, null from pg_trigger t join pg_class c on c.oid = t.tgrelid
where c.relnamespace = 'plait'::regnamespace and not t.tgisinternal and t.tgenabled <> 'D'
union all
select 'function', p.proname, p.prosrc from pg_proc p where p.pronamespace = 'plait'::regnamespace
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    missing: dict[str, list[str]]
    """Names of missing objects, by kind."""
    edited: list[str]
    """Functions whose source differs."""


@cache
def meant() -> tuple[dict[str, frozenset[str]], dict[str, str]]:
    """The expected objects: names by kind, and the source text of functions."""
    schema = "".join(re.sub(r"--[^\n]*", "", path.read_text()) for path in sorted((SQL / "schema").glob("*.sql")))
    names = {
        "table": frozenset(re.findall(r"\bcreate table plait\.(\w+)", schema)),
        "index": frozenset(re.findall(r"\bcreate (?:unique )?index (\w+) on\b", schema)),
        "trigger": frozenset(
            f"{table}.{name}"
            for name, table in re.findall(r"\bcreate trigger (\w+)\s.*?\bon plait\.(\w+)", schema, re.DOTALL)
        ),
    }
    bodies = {}
    for path in function_files():
        text = path.read_text()
        for name, body in re.findall(
            r"\bcreate or replace function plait\.(\w+)\s*\(.*?\bas \$\$(.*?)\$\$", text, re.DOTALL
        ):
            bodies[name] = body
    return names, bodies


async def find_drift(database: Database) -> Drift:
    names, bodies = meant()
    there: dict[str, dict[str, str | None]] = {"table": {}, "index": {}, "trigger": {}, "function": {}}
    for row in await database.fetch(_THERE):
        there[row["kind"]][row["name"]] = row["body"]
    missing = {kind: sorted(wanted - set(there[kind])) for kind, wanted in names.items()}
    missing["function"] = sorted(set(bodies) - set(there["function"]))
    edited = sorted(
        name for name, body in bodies.items() if name in there["function"] and there["function"][name] != body
    )
    return Drift(missing={kind: gone for kind, gone in missing.items() if gone}, edited=edited)
