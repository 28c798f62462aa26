"""A handler that blocks or stops the event loop: it is detected and logged, and the worker's other jobs are rescued."""

import asyncio
import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from plait import Plait, Status, current
from plait.runtime.service import BLOCKED
from plait.testing import TestDatabase
from plait.worker.watchdog import Watchdog
from tests.waiting import eventually
from tests.worker import worker_main
from tests.worker.conftest import run_worker
from tests.worker.worker_process import worker_process

WITHIN = 120.0


@pytest.fixture
async def client(real_clock_database: TestDatabase) -> Plait:
    worker_main.app.target = Plait(real_clock_database.url).target
    return worker_main.app


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


async def running(app: Plait, expected: int) -> None:
    async def all_running() -> bool:
        return (await (await app.store()).statistics.overview()).live[Status.RUNNING] == expected

    await eventually(all_running, within=WITHIN, what=f"the start of {expected} jobs")


async def test_a_handler_that_blocks_the_loop_ends_its_worker_and_the_others_are_rescued(
    client: Plait, real_clock_database: TestDatabase, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with worker_process(real_clock_database.url, loop_timeout=2, log=log) as first:
        others = [await worker_main.work_again.enqueue() for _ in range(5)]
        await running(client, 5)
        blocker = await worker_main.block_once.enqueue(600.0)
        assert await asyncio.wait_for(first.wait(), WITHIN) == BLOCKED
    (ended,) = [line for line in lines_of(log) if line["level"] == "critical"]
    assert ended["job_id"] == str(blocker.id)
    assert "time.sleep(seconds)" in ended["stack"]
    store = await client.store()
    for handle in (blocker, *others):
        assert await handle.status() == Status.RUNNING  # the blocked worker recorded nothing
    async with worker_process(real_clock_database.url) as second:
        assert {await handle.result(WITHIN) for handle in others} == {second.pid}
        assert await blocker.result(WITHIN) == 2
        for handle in (blocker, *others):
            assert [a.status for a in await store.jobs.list_attempts(handle.id)] == ["lost", "succeeded"]
    await client.close()


async def test_a_blocked_loop_is_told_with_its_job_until_it_turns_again(
    client: Plait, real_clock_database: TestDatabase, tmp_path: Path
) -> None:
    store, log, go_on = await client.store(), tmp_path / "log", tmp_path / "go on"
    async with worker_process(real_clock_database.url, loop_timeout=600, log=log):
        blocker = await worker_main.block_until.enqueue(str(go_on))

        async def blocked() -> bool:
            return any(row.blocked_since for row in await store.workers.list_workers())

        await eventually(blocked, within=WITHIN, what="a blocked loop")
        (row,) = [row for row in await store.workers.list_workers() if row.blocked_since]
        assert row.blocked_job == blocker.id
        (finding,) = [one for one in await store.health.diagnose() if one.code == "blocked_loop"]
        assert str(blocker.id) in finding.finding
        assert (await store.metrics.read(top=5)).workers["blocked"] == 1
        go_on.touch()
        assert await blocker.result(WITHIN) == 1  # a block shorter than the timeout loses neither the lease nor the job

        async def turns() -> bool:
            return not await blocked()

        await eventually(turns, within=WITHIN, what="a loop that turns")
        assert "blocked_loop" not in [one.code for one in await store.health.diagnose()]
    (noticed,) = [line for line in lines_of(log) if line["event"].startswith("event loop blocked")]
    assert noticed["job_id"] == str(blocker.id)
    assert "in block_until" in noticed["stack"]
    await client.close()


@pytest.mark.parametrize("how", ["stop", "soon", "thread", "class"])
async def test_a_handler_that_stops_the_loop_ends_its_worker_and_counts_as_lost(
    client: Plait, real_clock_database: TestDatabase, tmp_path: Path, how: str
) -> None:
    log = tmp_path / "log"
    async with worker_process(real_clock_database.url, log=log) as first:
        neighbour = await worker_main.work_again.enqueue()
        await running(client, 1)
        handle = await worker_main.stop_loop_once.enqueue(how)
        assert await asyncio.wait_for(first.wait(), WITHIN) == BLOCKED
    (ended,) = [line for line in lines_of(log) if line["level"] == "critical"]
    assert "stopped" in ended["event"]
    if how != "class":  # the job can't be identified in this case
        assert ended["job_id"] == str(handle.id)
    async with worker_process(real_clock_database.url):
        assert await handle.result(WITHIN) == 2
        await neighbour.result(WITHIN)
    store = await client.store()
    for one in (handle, neighbour):
        assert [a.status for a in await store.jobs.list_attempts(one.id)] == ["lost", "succeeded"]
    await client.close()


async def test_a_second_signal_ends_a_worker_whose_loop_is_blocked(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    async with worker_process(real_clock_database.url, grace=600, loop_timeout=600) as worker:
        await worker_main.block_once.enqueue(600.0)
        await running(client, 1)
        worker.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)  # two signals at the same instant would be delivered once
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(worker.wait(), WITHIN) == 143
    await client.close()


async def test_the_end_of_the_grace_period_ends_a_worker_whose_loop_is_blocked(
    client: Plait, real_clock_database: TestDatabase, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with worker_process(real_clock_database.url, grace=0.5, loop_timeout=600, log=log) as worker:
        await worker_main.block_once.enqueue(600.0)
        await running(client, 1)
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(worker.wait(), WITHIN) == 143
    (ended,) = [line for line in lines_of(log) if line["level"] == "critical"]
    assert "time.sleep(seconds)" in ended["stack"]
    await client.close()


async def test_a_thread_that_does_not_end_cannot_keep_a_stopped_worker_alive(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    async with worker_process(real_clock_database.url, grace=0.5, last=2) as worker:
        await (await worker_main.leave_a_thread.enqueue()).result(WITHIN)
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(worker.wait(), WITHIN) == 143
    await client.close()


async def test_a_worker_that_was_suspended_is_not_taken_for_a_blocked_one(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    store = await client.store()
    async with worker_process(real_clock_database.url) as other:
        async with worker_process(real_clock_database.url, "--no-leader", loop_timeout=3) as worker:

            async def registrations() -> list[str]:
                return [one.state for one in await store.workers.list_workers() if one.pid == worker.pid]

            async def registered() -> bool:
                return await registrations() == ["alive"]

            await eventually(registered, within=WITHIN, what="the registration")
            worker.send_signal(signal.SIGSTOP)

            async def lost() -> bool:
                return "alive" not in await registrations()

            await eventually(lost, within=WITHIN, what="the end of the lease")
            worker.send_signal(signal.SIGCONT)

            async def again() -> bool:
                return "alive" in await registrations()

            await eventually(again, within=WITHIN, what="a new registration")
            assert worker.returncode is None
        assert other.returncode is None
    await client.close()


async def test_a_worker_in_a_process_of_somebody_else_loses_its_lease_and_no_more(
    real_clock_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """plait must not end a process that it does not own, for example a test. The attempt of the blocking job still counts as lost."""
    app = Plait(real_clock_database.url)
    app.settings = app.settings.model_copy(update={"lease": 2, "heartbeat": 0.3, "poll": 0.2, "loop_timeout": 2})
    given_up, give_up = threading.Event(), Watchdog._give_up

    def and_tell(self: Watchdog) -> None:
        give_up(self)
        given_up.set()

    monkeypatch.setattr(Watchdog, "_give_up", and_tell)

    @app.job(retries=0)
    async def blocks_once() -> int:
        if current().attempt == 1:
            given_up.wait(WITHIN)  # the test needs a handler that blocks its loop
        return current().attempt

    async with run_worker(app) as worker:
        handle = await blocks_once.enqueue()
        assert await handle.result(WITHIN) == 2
        store = await app.store()
        assert [a.status for a in await store.jobs.list_attempts(handle.id)] == ["lost", "succeeded"]
        assert worker.id is not None
    await app.close()
