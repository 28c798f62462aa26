"""`plait bench` prints figures and leaves no data behind."""

import asyncio

import asyncpg

from plait.testing import TestDatabase

from .cli_runner import run

MEASURES = [
    "enqueue_one",
    "enqueue_32",
    "enqueue_bulk",
    "process_1",
    "pickup_p50_ms",
    "pickup_p95_ms",
    "pickup_p99_ms",
]
SMALL = ("--jobs", 200, "--seconds", 0.1, "--pickups", 10)


def test_the_bench_tells_its_figures_and_drops_its_database(empty_database: TestDatabase) -> None:
    before = asyncio.run(_databases(empty_database))
    ran = run("bench", "--url", empty_database.admin_url, "--json", *SMALL)
    assert (ran.code, ran.err) == (0, "")
    rows = ran.json["rows"]
    assert [row["measure"] for row in rows] == MEASURES
    assert all(row["value"] > 0 for row in rows)
    scratch = {name for name in asyncio.run(_databases(empty_database)) - before if name.startswith("plait_scratch_")}
    assert scratch == set()
    assert asyncio.run(_has_plait(empty_database)) is False


def test_a_login_that_may_not_create_databases_is_told_so(real_clock_database: TestDatabase) -> None:
    ran = run("bench", "--url", real_clock_database.url, *SMALL)
    assert ran.code == 1
    assert "has no permission to create a temporary database" in ran.err


async def _databases(database: TestDatabase) -> set[str]:
    connection = await asyncpg.connect(database.admin_url)
    try:
        return {row["datname"] for row in await connection.fetch("select datname from pg_database")}
    finally:
        await connection.close()


async def _has_plait(database: TestDatabase) -> bool:
    connection = await asyncpg.connect(database.admin_url)
    try:
        return bool(await connection.fetchval("select to_regnamespace('plait') is not null"))
    finally:
        await connection.close()
