"""Step results and signals that are too large for a row: stored as artifacts of their job, and deleted with it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from plait import JobFailed, Plait, call, signal, sleep, transaction, wait_for_signal
from plait.model.errors import TooLarge
from plait.runtime.settings import Settings
from plait.store.leader import Retention
from plait.testing import TestDatabase

from ..harness import Harness
from .conftest import Drain
from .test_artifacts import LARGE, files, sweep


async def large(text: str = LARGE) -> list[str]:
    return [text]


async def test_a_large_result_of_a_step_is_an_artifact_and_the_same_on_a_replay(
    app: Plait, drain: Drain, place: Path, app_harness: Harness
) -> None:
    ran: list[str] = []
    seen: list[bool] = []

    async def step() -> list[str]:
        ran.append("step")
        return [LARGE]

    async def in_transaction(conn: Any) -> list[str]:
        ran.append("transaction")
        return [LARGE, await conn.fetchval("select 'x'")]

    @app.job
    async def as_job() -> str:
        ran.append("job")
        return LARGE

    @app.job
    async def parent() -> int:
        seen.append(
            (await call(step), await transaction(in_transaction), await call(as_job)) == ([LARGE], [LARGE, "x"], LARGE)
        )
        await sleep("1h")
        return len(seen)

    handle = await parent.enqueue()
    await drain(app)
    await app_harness.advance(hours=2)
    await app_harness.store.leader.resume()
    await drain(app)
    assert await handle.result(timeout=120) == 2
    assert seen == [True, True]
    assert ran == ["step", "transaction", "job"]
    assert len(files(place)) == 3
    assert await app_harness.sql("select array_agg(distinct kind) from plait.artifacts") == ["step"]
    assert await app_harness.sql("select max(octet_length(value::text)) from plait.steps") < 200


async def test_a_large_signal_is_an_artifact_of_the_job_that_gets_it(
    app: Plait, drain: Drain, place: Path, app_harness: Harness
) -> None:
    @app.job
    async def listener() -> int:
        first = await wait_for_signal("news", type=list[str])
        second = await wait_for_signal("news", type=list[str])
        await sleep("1h")
        return len(first[0]) + len(second[0])

    handle = await listener.enqueue()

    @app.job
    async def sender() -> None:
        await signal(handle.id, "news", [LARGE])
        await sleep("1h")

    await handle.signal("news", [LARGE, "by the handle"])
    await sender.enqueue()
    for _ in range(2):
        await drain(app)
    await app_harness.advance(hours=2)
    await app_harness.store.leader.resume()
    await drain(app)
    assert await handle.result(timeout=120) == 2 * len(LARGE)
    kept = await app_harness.rows("select distinct kind, job_id from plait.artifacts")
    assert [tuple(row) for row in kept] == [("signal", handle.id)]
    assert len(files(place)) == 2


async def test_a_fork_reads_the_large_steps_that_it_was_given(app: Plait, drain: Drain, app_harness: Harness) -> None:
    ran: list[int] = []

    async def step() -> list[str]:
        ran.append(1)
        return [LARGE]

    @app.job
    async def parent() -> int:
        heard = len((await call(step))[0]) + len(await wait_for_signal("more", type=str))
        return heard + len(await call(lambda: "tail", name="tail"))

    handle = await parent.enqueue()
    await handle.signal("more", LARGE)
    await drain(app)
    assert await handle.result(timeout=120) == 2 * len(LARGE) + 4
    store = await app.store()
    forked = await store.jobs.fork(handle.id, tenant_id=await app.tenant_id(), from_seq=3)
    await drain(app)
    assert await app.handle(forked).result(timeout=120) == 2 * len(LARGE) + 4
    assert ran == [1]


async def test_large_steps_and_signals_go_with_their_job(
    app: Plait, drain: Drain, place: Path, app_harness: Harness
) -> None:
    @app.job
    async def parent() -> int:
        return len(await call(large)) + len(await wait_for_signal("more"))

    handle = await parent.enqueue()
    await handle.signal("more", LARGE)
    await drain(app)
    await handle.result(timeout=120)
    assert len(files(place)) == 2
    await app_harness.advance(days=2)
    await sweep(app_harness, place)
    assert len(files(place)) == 2, "its job is there"
    await app_harness.store.leader.prune(Retention(succeeded=timedelta(days=1)))
    await sweep(app_harness, place)
    assert files(place) == []


async def test_a_small_value_that_only_looks_like_a_reference_stays_what_it_is(app: Plait, drain: Drain) -> None:
    fake = {"$artifact": {"sha256": "a" * 64, "size": 5}}
    seen: list[Any] = []

    async def step() -> dict[str, Any]:
        return fake

    @app.job
    async def parent() -> None:
        seen.append(await call(step))
        seen.append(await wait_for_signal("news"))
        seen.append(await call(step))

    handle = await parent.enqueue()
    await handle.signal("news", fake)
    await drain(app)
    await handle.result(timeout=120)
    assert seen[-3:] == [fake, fake, fake]


async def test_without_a_store_a_large_step_fails_the_job_and_a_large_signal_its_sender(
    database: TestDatabase, drain: Drain
) -> None:
    app = Plait(database.url, settings=Settings(poll=0.05, listen=False))

    @app.job
    async def parent() -> None:
        await call(large)

    handle = await parent.enqueue()
    with pytest.raises(TooLarge, match="Set PLAIT_ARTIFACTS"):
        await handle.signal("news", LARGE)
    await drain(app)
    with pytest.raises(JobFailed, match="Set PLAIT_ARTIFACTS"):
        await handle.result(timeout=120)
    await app.close()
