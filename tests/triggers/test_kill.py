"""kill -9 while events are emitted and dispatched: each committed event fires each trigger once; other events fire
none.
"""

import asyncio
import random
import sys

import pytest

from plait.testing import TestDatabase

from ..harness import Harness


async def lives_end(harness: Harness, database: TestDatabase, lives: int) -> None:
    for label in ("a", "b"):
        await harness.trigger(label, event_name="e", dedupe_window_s=0)
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.triggers.dispatch_main", database.url, str(lives), str(seed)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert output == f"{lives}\n".encode()
    by_then = await harness.sql("select count(*) from plait.events where dispatched_at is not null")
    await harness.dispatch()
    fires = await harness.rows("select event_id, count(*), count(distinct job_id) from plait.fires group by 1")
    print(f"{by_then} of {lives} were dispatched before the last life ended")
    assert [tuple(row)[1:] for row in fires] == [(2, 2)] * lives
    assert await harness.counts() == {"queued": 2 * lives}
    assert await harness.sql("select count(*) from plait.events where data::text like '%rolled%'") == 0


async def test_each_event_fires_each_trigger_once_under_kill_9(own_harness: Harness, database: TestDatabase) -> None:
    await lives_end(own_harness, database, 15)


@pytest.mark.full
async def test_each_event_fires_each_trigger_once_under_500_kills(own_harness: Harness, database: TestDatabase) -> None:
    await lives_end(own_harness, database, 500)
