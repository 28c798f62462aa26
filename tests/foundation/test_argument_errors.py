"""Arguments that are out of range raise a SQLSTATE of plait, never an error of Postgres itself.

Generated from the catalogue: every function that a client or a tenant's login may call, each of its arguments in turn with each extreme value of its type.
"""

from typing import Final

import asyncpg

from plait.model.ids import DEFAULT_TENANT

from ..harness import Harness

_FUNCTIONS: Final = """
select p.proname as name, p.pronargdefaults as defaults, p.prokind as kind,
  array(select t.oid::regtype::text from unnest(p.proargtypes) with ordinality a(oid, n) join pg_type t on t.oid = a.oid order by a.n) as types,
  coalesce(p.proargnames, '{}')::text[] as names
from pg_proc p where p.pronamespace = 'plait'::regnamespace and p.proname !~ '^_' and p.prokind = 'f'
  and (has_function_privilege('plait_client', p.oid, 'execute') or has_function_privilege('plait_tenant', p.oid, 'execute')) order by 1
"""
_AWKWARD: Final[dict[str, list[str]]] = {
    "integer": ["null", "0", "-1", "-2147483648", "2147483647"],
    "smallint": ["null", "0", "-1", "-32768", "32767"],
    "bigint": ["null", "0", "-1", "-9223372036854775808", "9223372036854775807"],
    "double precision": ["null", "0", "-1", "1e300", "'NaN'", "'Infinity'", "'-Infinity'"],
    "boolean": ["null"],
    "text": ["null", "''", "' '", "repeat('x', 3000)", "E'\\u00e9\\n'", "'null'"],
    "uuid": ["null", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "timestamp with time zone": ["null", "'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-01-01'"],
    "interval": ["null", "'-1 day'", "'178000000 years'", "'0'"],
    "json": ["null", "'null'", "'[]'", "'{}'", "'\"x\"'", "'1'", "'{\"a\": null}'"],
    "jsonb": ["null", "'null'", "'[]'", "'{}'", "'\"x\"'", "'1'", "'{\"a\": null}'"],
}  # fmt: skip


def _awkward(type_: str) -> list[str]:
    if type_.endswith("[]"):
        inner = [value for value in _AWKWARD.get(type_[:-2], ["null"]) if value != "null"]
        return ["null", "'{}'", f"array[null]::{type_}", *(f"array[{value}]::{type_}" for value in inner[:4])]
    return _AWKWARD.get(type_, ["null"])


def _plain(name: str, type_: str, job: str) -> str:
    """A value that is all right."""
    if type_ == "uuid":
        return f"'{DEFAULT_TENANT}'" if "tenant" in name else f"'{job}'"
    if type_.endswith("[]"):
        return f"array[{_plain(name, type_[:-2], job)}]::{type_}"
    return {
        "integer": "1", "smallint": "1", "bigint": "1", "double precision": "1", "boolean": "false", "text": "'add'",
        "timestamp with time zone": "plait.now()", "interval": "'1 day'", "json": "'{}'", "jsonb": "'{}'",
        "bytea": "'\\x00'",
    }.get(type_, "null")  # fmt: skip


async def test_an_argument_out_of_range_is_never_an_error_of_postgres_itself(harness: Harness) -> None:
    job = str(await harness.enqueue("add"))
    await harness.worker()
    raw: dict[str, str] = {}
    for function in await harness.rows(_FUNCTIONS):
        types, names = function["types"], function["names"]
        required = len(types) - function["defaults"]
        plain = [_plain(name, type_, job) for name, type_ in zip(names, types, strict=False)]
        for n, type_ in enumerate(types):
            for value in _awkward(type_):
                given = {i: plain[i] for i in range(required)} | {n: value}
                call = ", ".join(f"{names[i]} => ({v})::{types[i]}" for i, v in given.items())
                sql = f"select * from plait.{function['name']}({call})"
                if (state := await _state(harness.admin, sql)) and not state.startswith("PL"):
                    raw.setdefault(f"{function['name']} {names[n]} {state}", f"{sql[:300]} {state}")
    assert raw == {}, "\n".join(raw.values())


async def _state(connection: asyncpg.Connection, sql: str) -> str | None:
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute("set local statement_timeout = '20s'")
        await connection.execute(sql)
    except asyncpg.PostgresError as error:
        return f"{error.sqlstate} {error}"
    finally:
        await transaction.rollback()
    return None
