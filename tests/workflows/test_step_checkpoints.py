"""Checkpoints of steps: in the handler's transaction, fenced, and many in one statement."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from plait import (
    Plait,
    Status,
    call,
    collect_all,
    fan_out,
    sleep,
    sub,
    transaction,
)
from plait.sdk.checkpoints import Checkpoints
from plait.store.workflows import Checkpoint, Lease, StepKey, Workflows
from plait.testing import Kit

from ..fake_worker import FakeWorker
from ..harness import Harness
from .run_to_end import run_to_end


async def test_a_transaction_commits_with_its_checkpoint(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """I7: its writes exist once, although the step runs again after a crash before the checkpoint."""
    await app_harness.admin.execute("create table paid (cents int); grant all on paid to public")
    tries: list[int] = []

    async def pay(conn: Any, cents: int) -> int:
        tries.append(1)
        await conn.execute("insert into paid values ($1)", cents)
        if len(tries) == 1:
            raise ConnectionError("before the commit")
        return cents

    @app.job(retries=3)
    async def parent() -> int:
        cents = await transaction(pay, 5)
        await sleep("1h")
        return cents

    handle = await parent.enqueue()
    await run_to_end(kit, handle, sleeps=2)
    assert await handle.result(120) == 5
    assert (len(tries), await app_harness.sql("select count(*) from paid")) == (2, 1)


async def test_a_transaction_of_who_has_lost_the_lease_writes_nothing(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """I7, T34."""
    await app_harness.admin.execute("create table paid (cents int); grant all on paid to public")
    tries: list[int] = []

    async def pay(conn: Any) -> None:
        tries.append(1)
        await conn.execute("insert into paid values (1)")
        while len(tries) == 1 and await app_harness.sql("select worker from plait.live") is not None:
            await app_harness.sql("update plait.workers set expires_at = plait.now() - interval '1 s'")
            await app_harness.rescue()  # the worker is declared lost during the step

    @app.job(retries=3)
    async def parent() -> None:
        await transaction(pay)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.run_until_idle()
    assert await handle.status() == Status.SUCCEEDED
    assert (len(tries), await app_harness.sql("select count(*) from paid")) == (2, 1)


async def _step(
    worker: FakeWorker, harness: Harness, job: Any, attempt: int, name: str = "s", value: str = "1"
) -> bool:
    checkpoint = Checkpoint(Lease(worker.id, job, attempt), StepKey("", name, 1, 1), "call", 1, None, value, None)
    return await harness.store.workflows.save_steps(worker.id, [checkpoint]) == []


async def test_a_stale_attempt_saves_no_step(harness: Harness) -> None:
    """T34. A step whose reply was lost is saved once."""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert await _step(worker, harness, job, lease.attempt)
    assert await _step(worker, harness, job, lease.attempt, value="2")
    await harness.lose(worker)
    assert not await _step(worker, harness, job, lease.attempt, "late")
    other = await harness.worker()
    again = await other.claim_one()
    assert not await _step(worker, harness, job, again.attempt, "late")
    assert not await _step(other, harness, job, lease.attempt, "late")
    rows = await harness.store.workflows.resume_steps(Lease(other.id, job, again.attempt))
    assert rows is not None
    assert [(row.name, row.value) for row in rows] == [("s", "1")]
    # None and not an empty history: a stale attempt must not start again.
    assert await harness.store.workflows.resume_steps(Lease(worker.id, job, lease.attempt)) is None


async def test_a_step_that_cannot_be_stored_does_not_affect_the_others_in_its_statement(
    app: Plait, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T38: the steps of many concurrent jobs share statements."""
    real = Checkpoints.save
    sizes: list[int] = []
    save_steps = Workflows.save_steps

    def save(checkpoints: Checkpoints, checkpoint: Checkpoint) -> "asyncio.Future[bool]":
        if checkpoint.key.name == "g7":
            checkpoint = msgspec.structs.replace(checkpoint, value="{not JSON")
        return real(checkpoints, checkpoint)

    async def count(workflows: Workflows, worker: int, checkpoints: Sequence[Checkpoint]) -> Sequence[int]:
        if any(one.key.name == "g7" for one in checkpoints):
            sizes.append(len(checkpoints))
        return await save_steps(workflows, worker, checkpoints)

    monkeypatch.setattr(Checkpoints, "save", save)
    monkeypatch.setattr(Workflows, "save_steps", count)
    together = asyncio.Barrier(20)

    async def step(n: int) -> int:
        await together.wait()
        return n

    @app.job(retries=0)
    async def child(n: int) -> int:
        return await call(step, n, name=f"g{n}")

    @app.job
    async def parent() -> list[bool]:
        return [result.succeeded for result in await fan_out([sub(child, n) for n in range(20)], collect_all())]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    succeeded = await handle.result(120)
    assert [n for n, one in enumerate(succeeded) if not one] == [7]
    assert sizes[0] > 1, "it did not share a statement"
    assert sizes[-1] == 1


async def test_no_step_begins_before_an_error_that_the_handler_caught_is_recorded(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a crash in between would leave steps in the history that a run without the error does not request."""
    began: list[str] = []
    at_record: list[list[str]] = []
    real = Checkpoints.save

    def save(checkpoints: Checkpoints, checkpoint: Checkpoint) -> "asyncio.Future[bool]":
        saving = real(checkpoints, checkpoint)
        if checkpoint.key.name == "breaks":
            saving.add_done_callback(lambda _: at_record.append(list(began)))
        return saving

    monkeypatch.setattr(Checkpoints, "save", save)

    async def breaks() -> None:
        raise LookupError

    async def begin(name: str) -> str:
        began.append(name)
        return name

    @app.job
    async def parent() -> list[str]:
        try:
            await call(breaks)
        except LookupError:
            return list(await asyncio.gather(*(call(begin, name) for name in "abc")))
        return []

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(60) == ["a", "b", "c"]
    assert at_record == [[]]
