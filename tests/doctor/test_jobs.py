"""Findings from plait's own tables. Findings about triggers, nodes and workflows are tested with those features."""

import time
from datetime import timedelta
from typing import Any

import pytest

from plait import Plait, fan_out, sub, wait_for_signal
from plait.runtime.service import Stop
from plait.store.health import Finding
from plait.store.leader import Retention
from plait.testing import Kit, TestDatabase
from plait.worker import registration as registration_module
from plait.worker.worker import Worker

from ..harness import Harness
from ..waiting import eventually
from ..worker.conftest import run_worker


async def found(harness: Harness, code: str, keep: timedelta | None = None) -> Finding | None:
    findings = {finding.code: finding for finding in await harness.store.health.diagnose(keep=keep)}
    return findings.get(code)


async def bury(harness: Harness, n: int) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", n, max_attempts=1)
    for lease in await worker.claim(n):
        await worker.fail(lease)
    more = True
    while more:
        more, _ = await harness.store.leader.roll_up()


async def test_dead_letters_that_grow_are_found_and_old_ones_are_not(harness: Harness) -> None:
    await bury(harness, 12)
    finding = await found(harness, "growing_dead_letters")
    assert finding is not None
    assert finding.level == "problem"
    assert finding.evidence == {"last_hour": 12, "hour_before": 0}
    await harness.advance(minutes=61)
    await bury(harness, 12)
    assert await found(harness, "growing_dead_letters") is None, "as many as before is no growth"


async def test_a_job_whose_sub_jobs_are_gone_is_stuck(app: Plait, kit: Kit, unchecked_harness: Harness) -> None:
    @app.job(queue="elsewhere")
    async def child() -> None: ...

    @app.job(retries=0)
    async def parent() -> None:
        await fan_out([sub(child), sub(child)])

    handle = await parent.enqueue()
    await Worker(app, queues={"default": 10}, once=True).run(Stop())
    await kit.advance(minutes=2)
    assert await handle.status() == "waiting"
    assert await found(unchecked_harness, "stuck_wait") is None, "its children are there"
    await unchecked_harness.sql("delete from plait.live where fan_out_id is not null")  # by somebody's hand
    finding = await found(unchecked_harness, "stuck_wait")
    assert finding is not None
    assert finding.evidence["job"] == str(handle.id)


async def test_a_signal_that_nobody_sends_is_found(app: Plait, kit: Kit, unchecked_harness: Harness) -> None:
    @app.job(retries=0)
    async def waits() -> None:
        await wait_for_signal("go")

    handle = await waits.enqueue()
    await kit.run_until_idle()
    assert await found(unchecked_harness, "forgotten_wait") is None
    await kit.advance(days=8)
    finding = await found(unchecked_harness, "forgotten_wait")
    assert finding is not None
    assert finding.evidence == {"jobs": 1, "job": str(handle.id)}


async def test_jobs_that_outlive_their_retention_are_found(harness: Harness) -> None:
    keep = timedelta(days=90)
    worker = await harness.worker()
    await harness.enqueue("add")
    await worker.succeed(await worker.claim_one())
    await harness.advance(days=90, hours=12)
    assert await found(harness, "retention_behind", keep) is None, "a day is no delay"
    await harness.advance(days=2)
    finding = await found(harness, "retention_behind", keep)
    assert finding is not None
    assert finding.evidence["jobs"] == 1
    assert finding.evidence["lag_s"] > 86400
    assert await found(harness, "retention_behind", None) is None, "for ever"
    pruned, _ = await harness.store.leader.prune(Retention(succeeded=keep))
    assert pruned == 1
    assert await found(harness, "retention_behind", keep) is None


async def test_a_node_that_is_lost_with_work_is_found(app: Plait, kit: Kit, unchecked_harness: Harness) -> None:
    @app.node_job()
    async def sync() -> None: ...

    await kit.run_until_idle()  # registers its definitions
    await unchecked_harness.store.workers.register(
        host="h", pid=1, version="0", queues=["default"], definitions=list(app.definitions), lease_s=30, node="one"
    )
    await sync.enqueue()
    assert await found(unchecked_harness, "lost_node") is None
    await unchecked_harness.advance(seconds=40)
    await unchecked_harness.store.leader.rescue()
    finding = await found(unchecked_harness, "lost_node")
    assert finding is not None
    assert finding.evidence["node"] == "one"


class TwoHoursAhead:
    """The clock of another machine."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def time(self) -> float:
        return time.time() + 7200


async def test_a_worker_whose_clock_is_off_is_found(
    real_clock_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Plait(real_clock_database.url)
    monkeypatch.setattr(registration_module, "time", TwoHoursAhead())
    async with run_worker(app):
        store = await app.store()

        async def is_found() -> bool:
            skews = [f.evidence["skew_s"] for f in await store.health.diagnose() if f.code == "clock_skew"]
            return len(skews) == 1 and 7100 < skews[0] < 7300

        await eventually(is_found, what="the skew of a worker's clock")
    await app.close()


async def test_a_worker_whose_event_loop_is_blocked_is_found_with_its_job(harness: Harness) -> None:
    worker = await harness.worker()
    job_id = await harness.enqueue("add")
    assert await found(harness, "blocked_loop") is None
    await harness.store.workers.heartbeat(worker.id, running=1, blocked_s=12.0, blocked_job=job_id)
    finding = await found(harness, "blocked_loop")
    assert finding is not None
    assert finding.level == "problem"
    assert finding.evidence == {
        "worker": worker.id,
        "host": finding.evidence["host"],
        "blocked_s": 12,
        "job": str(job_id),
    }
    await harness.store.workers.heartbeat(worker.id, running=1, blocked_s=3.0)
    unknown = await found(harness, "blocked_loop")
    assert unknown is not None
    assert unknown.finding.endswith("3 s")
    await harness.store.workers.heartbeat(worker.id, running=1)
    assert await found(harness, "blocked_loop") is None
