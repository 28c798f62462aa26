"""kill -9 at the moment at which the last child completes a job: its follow-ups are enqueued exactly once."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from plait import Plait
from plait.testing import TestDatabase

from ..invariants import violations
from ..restarting_workers import restarting_workers
from . import worker_main

AT_ONCE = 4


@pytest.mark.parametrize("times", [4, pytest.param(200, marks=[pytest.mark.full, pytest.mark.timeout(1800)])])
async def test_what_follows_is_enqueued_once_whatever_is_killed(
    real_clock_database: TestDatabase, tmp_path: Path, times: int
) -> None:
    """T10, T34, T45."""
    app = worker_main.app
    app.target = Plait(real_clock_database.url).target
    connection = await asyncpg.connect(real_clock_database.admin_url)
    async with restarting_workers(worker_main.__name__, real_clock_database.url, tmp_path):
        for start in range(0, times, AT_ONCE):
            cases = [str(n) for n in range(start, min(start + AT_ONCE, times))]
            handles = await worker_main.derive.enqueue_many([(str(tmp_path), case) for case in cases])
            for case, handle in zip(cases, handles, strict=True):
                assert await handle.result(120) == case
        await _until_all_final(connection)
    uncles = await connection.fetch(
        "select payload ->> 'name', payload ->> 'case', count(*), min(status::text) from plait.job"
        " where definition = 'uncle' group by 1, 2"
    )
    expected = {(name, str(case), 1, "succeeded") for case in range(times) for name in worker_main.UNCLES}
    assert {tuple(row) for row in uncles} == expected
    assert len(list(tmp_path.glob("died *"))) == times
    assert await violations(connection) == []
    await connection.close()
    await app.close()


async def _until_all_final(connection: asyncpg.Connection) -> None:
    async with asyncio.timeout(180):
        while await connection.fetchval("select count(*) from plait.live"):
            await asyncio.sleep(0.05)
