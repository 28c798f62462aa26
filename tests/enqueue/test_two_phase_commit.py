"""Two-phase commit: a transaction that enqueues can be prepared if it sends no notification."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from plait.testing import TestDatabase, TestServer

from ..harness import Harness
from ..replication import servers


@pytest.fixture
async def apart() -> AsyncIterator[TestDatabase]:
    """A database on a separate server, because most servers do not allow prepared transactions."""
    async with servers.alone(max_prepared_transactions="2") as server:
        yield await TestServer(server.url).create_database()


async def test_a_transaction_that_enqueues_can_be_prepared_without_notifications(apart: TestDatabase) -> None:
    harness = await Harness.open(apart)
    worker = await harness.worker()
    running = await harness.enqueue()
    await worker.claim_one()
    assert (await worker.cycle(1, sleep=True)).claimed == []
    user = await asyncpg.connect(apart.admin_url)
    try:
        await user.execute("begin; select plait.enqueue('add', tenant => 'default')")
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="NOTIFY"):
            await user.execute("prepare transaction 'a'")

        await user.execute("begin; set local plait.notify = off")
        job = await user.fetchval("select plait.enqueue('add', tenant => 'default', dedupe_key => 'k')")
        assert await user.fetchval("select plait.cancel($1)", running) == "running"
        await user.execute("prepare transaction 'b'")
        assert await worker.claim(5) == []
        await user.execute("commit prepared 'b'")
        [lease] = await worker.claim(5)
        assert lease.job_id == job
        assert len((await worker.cycle(0)).cancels) == 1

        heard: list[object] = []
        listener = await asyncpg.connect(apart.admin_url)
        await listener.add_listener("plait", lambda *told: heard.append(told[-1]))
        assert (await worker.cycle(1, sleep=True)).claimed == []
        await user.execute(
            "begin; set local plait.notify = off; select plait.enqueue('add', tenant => 'default'); commit"
        )
        await user.execute("select plait.enqueue('add', tenant => 'default')")
        while not heard:
            await listener.fetchval("select 1")
        assert heard == ["queue default"], "only the second enqueue notifies: the setting ends with its transaction"
        await listener.close()
    finally:
        await user.close()
        await harness.close()
