"""Workers of both clients with the real server: they share a queue, and killing either loses nothing."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from uuid import UUID

import pytest

from ..harness import Harness
from ..waiting import eventually
from .conftest import ApiServer
from .processes import Language, WorkerProcess, worker

BOTH: tuple[Language, ...] = ("node", "python")


@pytest.mark.parametrize("language", BOTH)
async def test_a_cancel_reaches_a_running_handler(api_server: ApiServer, language: Language) -> None:
    harness = api_server.harness
    job = await harness.enqueue("stand")
    with worker(language, api_server.url, await api_server.key("worker")) as process:
        await _begun(process, job)
        assert (
            await harness.sql("select progress->>'standing' from plait.running_state where job_id = $1", job)
        ) == "true"
        await harness.cancel(job)
        await _all_are(harness, "canceled", 1)
        assert process.terminate() == 0


@pytest.mark.parametrize("language", BOTH)
async def test_a_worker_that_is_terminated_gives_back_what_it_holds_and_burns_no_try(
    api_server: ApiServer, language: Language
) -> None:
    """F3, T42: the one that runs is stopped after the grace, those that wait in the worker go back at once."""
    harness = api_server.harness
    jobs = await harness.enqueue_many("stand", 3)
    settings = {"CONCURRENCY": "1", "CLAIM_LIMIT": "3"}
    with worker(language, api_server.url, await api_server.key("worker"), **settings) as process:
        await _begun(process, jobs[0])
        assert process.terminate() == 0, process.logs
    await _all_are(harness, "queued", 3)
    assert await harness.sql("select max(failed_attempts) from plait.live") == 0
    pid = process.process.pid
    assert await harness.sql("select state from plait.workers where pid = $1", pid) == "gone", "it has left"
    assert len(process.began) == 1


@pytest.mark.parametrize("language", BOTH)
async def test_a_worker_that_was_declared_lost_stops_its_handlers_and_begins_anew(
    api_server: ApiServer, language: Language
) -> None:
    """T34, F2."""
    harness = api_server.harness
    job = await harness.enqueue("stand")
    with worker(language, api_server.url, await api_server.key("worker")) as process:
        await _begun(process, job)
        await _declare_lost(harness, process)
        await _begun(process, job, times=2)
        await harness.cancel(job)
        await _all_are(harness, "canceled", 1)
        process.terminate()
    events = [json.loads(line)["event"] for line in process.logs]
    assert "worker lost" in events
    assert events.count("worker registered") == 2
    assert [row.status for row in await harness.attempts(job)] == ["lost", "canceled"]


async def test_both_workers_share_a_queue_and_the_death_of_either_loses_no_job(api_server: ApiServer) -> None:
    await _race(api_server, jobs=300, deaths=["node", "python"])


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_both_workers_share_a_queue_at_length(api_server: ApiServer) -> None:
    await _race(api_server, jobs=10_000, deaths=["node", "python", "node", "python", "python", "node"])


async def _race(api_server: ApiServer, *, jobs: int, deaths: Sequence[Language]) -> None:
    """Both work; each time that a share of the jobs is done, one of them is killed and another takes its place."""
    harness = api_server.harness
    ids = await harness.enqueue_many("double", jobs, payload={"n": 21})
    key = await api_server.key("worker")
    settings = {"CONCURRENCY": "8", "CLAIM_LIMIT": "16"}
    ended: list[WorkerProcess] = []
    with ExitStack() as stack:
        alive = {one: stack.enter_context(worker(one, api_server.url, key, **settings)) for one in BOTH}
        for number, victim in enumerate(deaths, start=1):
            share = jobs * number // (len(deaths) + 2)
            await _share_is_done(harness, alive[victim], share)
            alive[victim].kill()
            ended.append(alive[victim])
            await _declare_lost(harness, alive[victim])
            alive[victim] = stack.enter_context(worker(victim, api_server.url, key, **settings))
        await _all_are(harness, "succeeded", jobs)
        for process in alive.values():
            assert process.terminate() == 0
    by = Counter(await harness.sql("select array_agg(result->>'by') from plait.attempts where result is not null"))
    assert set(by) == set(BOTH)
    assert sum(by.values()) == jobs, "each has exactly one result"
    doubled = await harness.sql("select count(*) from plait.attempts where (result->>'doubled')::int = 42")
    assert doubled == len(ids)
    assert all(process.began for process in ended)
    lost = await harness.sql("select count(*) from plait.attempts where status = 'lost'")
    assert lost > 0, "they died with jobs in their hands"


async def _share_is_done(harness: Harness, victim: WorkerProcess, share: int) -> None:
    async def done() -> bool:
        succeeded: int = await harness.sql("select count(*) from plait.attempts where final = 'succeeded'")
        return succeeded >= share and bool(victim.began)

    await eventually(done, within=300, what=f"{share} jobs, and one by {victim.language}")


async def _begun(process: WorkerProcess, job: UUID, *, times: int = 1) -> None:
    async def begun() -> bool:
        assert process.process.poll() is None, process.logs
        return process.began.count(f"began {job}") >= times

    await eventually(begun, what="the handler's start")


async def _declare_lost(harness: Harness, process: WorkerProcess) -> None:
    """As if its lease had run out: the harness's clock stands still, and others' leases must not."""

    async def lost() -> bool:
        expire = "update plait.workers set expires_at = plait.now() - interval '1 s' where pid = $1 and state = 'alive'"
        await harness.sql(expire, process.process.pid)
        return (await harness.rescue()).lost > 0  # unless a heartbeat came between

    await eventually(lost, what="the loss of the worker")


async def _all_are(harness: Harness, status: str, jobs: int) -> None:
    async def are() -> bool:
        await harness.rescue()  # as a leader does: a row that was locked is the next call's
        found = await harness.sql("select count(*) from plait.job where status = $1::plait.status", status)
        return bool(found == jobs)

    await eventually(are, within=300, what=f"{jobs} jobs {status}")
