"""kill -9 and SIGTERM leave nothing behind."""

import asyncio
import signal
import time

import pytest

from plait import Handle, JobCanceled, JobDeadLettered, Plait, Status
from plait.model.worker_states import EndState
from plait.testing import TestDatabase
from tests.waiting import eventually
from tests.worker import worker_main
from tests.worker.worker_process import worker_process


@pytest.fixture
async def client(real_clock_database: TestDatabase) -> Plait:
    worker_main.app.target = Plait(real_clock_database.url).target
    return worker_main.app


async def running_jobs(app: Plait, expected: int) -> None:
    async def all_running() -> bool:
        return (await (await app.store()).statistics.overview()).live[Status.RUNNING] == expected

    await eventually(all_running, what=f"the start of {expected} jobs")


async def test_a_canceled_job_of_a_killed_worker_ends_as_canceled(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    async with worker_process(real_clock_database.url) as first:
        (handle,) = await worker_main.work.enqueue_many([600.0])
        await running_jobs(client, 1)
        first.send_signal(signal.SIGKILL)
        await first.wait()
    assert await handle.cancel() == Status.RUNNING  # no worker is alive to receive the cancel request
    async with worker_process(real_clock_database.url):
        with pytest.raises(JobCanceled):
            await handle.result(120)
    await client.close()


async def test_two_hundred_running_jobs_survive_the_kill_of_their_worker(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    async with worker_process(real_clock_database.url) as first:
        handles = await worker_main.work.enqueue_many([0.5] * 200)
        await running_jobs(client, 200)
        first.send_signal(signal.SIGKILL)
        await first.wait()
        async with worker_process(real_clock_database.url) as second, worker_process(real_clock_database.url):
            pids = {await handle.result(120) for handle in handles}
            assert first.pid not in pids
            assert second.pid in pids
    store = await client.store()
    for handle in handles[:20]:
        attempts = await store.jobs.list_attempts(handle.id)
        assert [a.status for a in attempts] == ["lost", "succeeded"]
        assert attempts[0].reason == "worker_lost"
        assert attempts[0].worker != attempts[1].worker
        assert attempts[0].started_at is not None  # T49
        assert attempts[1].started_at is not None
        assert attempts[0].started_at < attempts[0].finished_at <= attempts[1].started_at
    await client.close()


async def test_the_jobs_of_a_killed_worker_run_at_once_on_another(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    """F34: all jobs run concurrently on the other worker; none waits for another job."""
    async with worker_process(real_clock_database.url) as first:
        await worker_main.work.enqueue_many([600.0] * 100)
        await running_jobs(client, 100)
        first.send_signal(signal.SIGKILL)
        await first.wait()
    async with worker_process(real_clock_database.url) as second:
        store = await client.store()

        async def all_again() -> bool:
            return (second.pid, 100) in {(w.pid, w.running) for w in await store.workers.list_workers()}

        await eventually(all_again, within=60, what="the second start of 100 jobs")
    await client.close()


@pytest.mark.full
async def test_a_hundred_jobs_of_a_killed_worker_are_done_soon_after_its_lease(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    """F34: with one remaining worker that has free slots, four-second jobs are done within the lease plus ten seconds."""
    lease_s = worker_main.app.settings.lease
    async with worker_process(real_clock_database.url) as first:
        handles = await worker_main.work.enqueue_many([4.0] * 100)
        await running_jobs(client, 100)
        async with worker_process(real_clock_database.url):
            first.send_signal(signal.SIGKILL)
            killed_at = time.monotonic()
            await first.wait()
            for handle in handles:
                await handle.result(120)
            assert time.monotonic() - killed_at < lease_s + 10
    await client.close()


async def test_a_poison_job_is_buried_and_its_neighbours_are_not(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    """F18, T46, at a small scale: a job that kills its worker becomes a dead letter after three losses as the only suspect."""
    stop = asyncio.Event()

    async def keep_a_worker_up() -> None:
        while not stop.is_set():
            async with worker_process(real_clock_database.url) as worker:
                waits = [asyncio.create_task(worker.wait()), asyncio.create_task(stop.wait())]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for wait in waits:
                    wait.cancel()

    async with asyncio.TaskGroup() as group:
        group.create_task(keep_a_worker_up())
        innocents: list[Handle[int]] = await worker_main.work.enqueue_many([0.3] * 20)
        poison = await worker_main.poison.enqueue()
        with pytest.raises(JobDeadLettered) as dead:
            await poison.result(120)
        assert dead.value.reason == "worker_lost"
        for handle in innocents:
            await handle.result(120)
        stop.set()
    store = await client.store()
    attempts = await store.jobs.list_attempts(poison.id)
    assert {a.status for a in attempts} == {"lost"}
    # 2 losses make it one of at most 21 suspects, up to 5 losses isolate it, and 3 more make it a dead letter.
    assert 2 + 3 <= len(attempts) <= 2 + 5 + 3
    await client.close()


async def test_a_killed_worker_stays_lost_with_the_number_of_jobs_that_were_requeued(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    store = await client.store()
    async with worker_process(real_clock_database.url) as first:
        handles = await worker_main.work.enqueue_many([600.0] * 5)
        await running_jobs(client, 5)
        first.send_signal(signal.SIGKILL)
        await first.wait()
    async with worker_process(real_clock_database.url, grace=0.2) as second:

        async def cleared() -> bool:
            return any(not row.clearing for row in await store.workers.history(state=EndState.LOST))

        await eventually(cleared, what="the rescue of the killed worker's jobs")
        await running_jobs(client, 5)
        second.send_signal(signal.SIGTERM)
        assert await second.wait() == 143
    gone, lost = await store.workers.history()
    assert (lost.state, lost.pid, lost.end_reason) == ("lost", first.pid, "lease_expired")
    assert (lost.held, lost.requeued, lost.dead_lettered) == (5, 5, 0)
    assert {job.job_id for job in await store.workers.last_jobs(lost.id)} == {handle.id for handle in handles}
    assert (gone.state, gone.pid, gone.end_reason, gone.released) == ("gone", second.pid, "left", 5)
    await client.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stopped_worker_finishes_what_runs(
    client: Plait, real_clock_database: TestDatabase, number: signal.Signals
) -> None:
    async with worker_process(real_clock_database.url) as worker:
        handles = await worker_main.work.enqueue_many([1.0] * 5)
        await running_jobs(client, 5)
        worker.send_signal(number)
        assert await worker.wait() == 128 + number
    assert [await handle.status() for handle in handles] == [Status.SUCCEEDED] * 5
    store = await client.store()
    assert [w.state for w in await store.workers.list_workers()] == ["gone"]
    await client.close()


async def test_past_its_grace_a_stopped_worker_gives_back_what_runs(
    client: Plait, real_clock_database: TestDatabase
) -> None:
    """The jobs do not wait until the lease expires, and no attempt is used (T42)."""
    async with worker_process(real_clock_database.url, grace=0.2) as worker:
        handles = await worker_main.work.enqueue_many([600.0] * 5)
        await running_jobs(client, 5)
        worker.send_signal(signal.SIGTERM)
        assert await worker.wait() == 143
    store = await client.store()
    for handle in handles:
        job = await handle.info()
        assert (job.status, job.failed_attempts, job.attempt) == (Status.QUEUED, 0, 1)
        assert [a.status for a in await store.jobs.list_attempts(handle.id)] == ["released"]
    await client.close()


async def test_a_second_signal_stops_a_worker_at_once(client: Plait, real_clock_database: TestDatabase) -> None:
    async with worker_process(real_clock_database.url, grace=600) as worker:
        (handle,) = await worker_main.work.enqueue_many([600.0])
        await running_jobs(client, 1)
        worker.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)  # two signals at the same instant would be delivered once
        worker.send_signal(signal.SIGTERM)
        assert await worker.wait() == 143
    assert await handle.status() == Status.QUEUED
    await client.close()


async def test_a_blocked_loop_does_not_cost_the_lease(client: Plait, real_clock_database: TestDatabase) -> None:
    """T47: the handler blocks its loop for longer than the lease, and a second worker waits for its jobs."""
    async with worker_process(real_clock_database.url) as first, worker_process(real_clock_database.url):
        handle = await worker_main.block.enqueue(5.0)
        await handle.result(120)
    store = await client.store()
    assert [a.status for a in await store.jobs.list_attempts(handle.id)] == ["succeeded"]
    assert first.returncode is not None
    await client.close()
