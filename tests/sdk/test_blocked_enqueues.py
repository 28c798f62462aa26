"""An open transaction locks a row that an enqueue needs: other enqueues of the process continue, and the blocked enqueue times out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from plait import Handle, Job, Plait, Status, sub
from plait.model.errors import Busy, PlaitError
from plait.sdk import enqueuer
from plait.testing import TestDatabase

from ..waiting import eventually

BOUND_S = 60.0
"""A timeout that detects a broken program, in which a wait would never end."""

Transaction = Callable[[], AbstractAsyncContextManager[asyncpg.Connection]]


@pytest.fixture
def work(app: Plait) -> Job[[int], int]:
    @app.job
    async def work(x: int) -> int:
        return x

    return work


@pytest.fixture
def transaction(database: TestDatabase) -> Transaction:
    """A user's transaction, open until the end of the block."""

    @asynccontextmanager
    async def transaction() -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(database.admin_url)
        try:
            async with connection.transaction():
                yield connection
        finally:
            await connection.close()

    return transaction


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the maximum wait, so that no enqueue times out on a slow machine."""
    monkeypatch.setattr(enqueuer, "MAX_WAIT_S", BOUND_S)


@pytest.fixture
def impatient(patience: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enqueuer, "MAX_WAIT_S", 0.2)


async def test_who_holds_a_key_in_a_transaction_can_enqueue_beside_it(
    work: Job[[int], int], transaction: Transaction
) -> None:
    """Previously the process's flusher waited for the transaction, and the owner of the transaction waited for the flusher: a deadlock."""
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group, transaction() as user:
        first = await work.options(conn=user, dedupe_key="cart 7").enqueue(1)
        second = group.create_task(work.options(dedupe_key="cart 7").enqueue(2))
        await _blocked(user)
        handles = [await work.enqueue(3), *await work.enqueue_many([4, 5])]
        assert [await handle.status() for handle in handles] == [Status.QUEUED] * 3
        assert not second.done()
    assert (second.result().id, second.result().deduplicated) == (first.id, True)


@pytest.mark.parametrize("option", ["dedupe_key", "idempotency_key"])
async def test_a_blocked_key_holds_up_no_other_key(
    work: Job[[int], int], transaction: Transaction, option: str
) -> None:
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group, transaction() as user:
        held = work.options(**{option: "held"})  # type: ignore[arg-type]
        await work.options(conn=user, **{option: "held"}).enqueue(1)  # type: ignore[arg-type]
        blocked = [group.create_task(held.enqueue(1)) for _ in range(30)]
        others = [work.options(**{option: f"free {n}"}).enqueue(n) for n in range(30)]  # type: ignore[arg-type]
        assert len({handle.id for handle in await asyncio.gather(*others)}) == 30
        late = await work.options(**{option: "later"}).enqueue(1)  # type: ignore[arg-type]
        assert await late.status() == Status.QUEUED
        assert not any(task.done() for task in blocked)
    assert len({task.result().id for task in blocked}) == 1


async def test_as_many_blocked_keys_as_there_are_connections_hold_up_nobody(
    work: Job[[int], int], transaction: Transaction
) -> None:
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group, transaction() as user:
        for n in range(25):
            await work.options(conn=user, dedupe_key=f"held {n}").enqueue(n)
        blocked = [group.create_task(work.options(dedupe_key=f"held {n}").enqueue(n)) for n in range(25)]
        await _blocked(user)
        handles = await asyncio.gather(*(work.enqueue(n) for n in range(50)))
        assert len(handles) == 50
        assert not any(task.done() for task in blocked)
    assert all(task.result().deduplicated for task in blocked)


@pytest.mark.usefixtures("impatient")
async def test_who_waits_too_long_for_a_key_is_told_what_holds_it(
    work: Job[[int], int], transaction: Transaction
) -> None:
    async with asyncio.timeout(BOUND_S), transaction() as user:
        await work.options(conn=user, dedupe_key="cart 7").enqueue(1)
        with pytest.raises(
            Busy, match="another open transaction holds the dedupe key 'cart 7': commit or roll it back"
        ):
            await work.options(dedupe_key="cart 7").enqueue(2)
        await work.options(conn=user, idempotency_key="request 8").enqueue(1)
        with pytest.raises(Busy, match="holds the idempotency key 'request 8'") as caught:
            await work.options(idempotency_key="request 8").enqueue(1)
        assert isinstance(caught.value, PlaitError)


@pytest.mark.usefixtures("impatient")
async def test_a_sync_caller_is_told_too(work: Job[[int], int], transaction: Transaction) -> None:
    async with asyncio.timeout(BOUND_S), transaction() as user:
        await work.options(conn=user, dedupe_key="k").enqueue(1)
        with pytest.raises(Busy):
            await asyncio.to_thread(work.options(dedupe_key="k").enqueue_sync, 2)
        assert not (await asyncio.to_thread(work.enqueue_sync, 3)).deduplicated


async def test_a_transaction_waits_for_anothers_key_with_a_bound(
    work: Job[[int], int], transaction: Transaction
) -> None:
    """A shorter lock_timeout of the session applies, and the session's value is not changed."""
    async with asyncio.timeout(BOUND_S), transaction() as one, transaction() as other:
        await work.options(conn=one, dedupe_key="k").enqueue(1)
        await other.execute("set local lock_timeout = '1s'")
        with pytest.raises(Busy):
            async with other.transaction():
                await work.options(conn=other, dedupe_key="k").enqueue(2)
        assert await other.fetchval("show lock_timeout") == "1s"
        await other.execute("set local lock_timeout = 0")
        with pytest.raises(Busy):
            async with other.transaction():
                await work.options(conn=other, dedupe_key="k").enqueue(2)
        await work.options(conn=other, dedupe_key="another").enqueue(2)
        assert await other.fetchval("show lock_timeout") == "0"


@pytest.mark.usefixtures("impatient")
async def test_a_held_quota_holds_up_its_own_tenant_alone(
    app: Plait, work: Job[[int], int], transaction: Transaction
) -> None:
    store = await app.store()
    await store.tenants.set_tenant("acme", {"max_queued": 10})
    acme = work.options(tenant="acme")
    async with asyncio.timeout(BOUND_S), transaction() as user:
        await work.options(conn=user, tenant="acme").enqueue(1)
        calls = [call for n in range(20) for call in (acme.enqueue(n), work.enqueue(n))]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(result) for result in results[::2]} == {Busy}
        assert not [result for result in results[1::2] if isinstance(result, BaseException)]
        with pytest.raises(Busy, match="quota"):
            await acme.enqueue_many([1, 2])
    assert await (await acme.enqueue(1)).status() == Status.QUEUED


async def test_a_dependency_that_another_transaction_holds_holds_up_nobody_else(
    work: Job[[int], int], transaction: Transaction
) -> None:
    first = await work.enqueue(1)
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group, transaction() as user:
        await user.execute("select plait.cancel($1)", first.id)
        second = group.create_task(work.options(after=[first]).enqueue(2))
        await _blocked(user)
        assert await (await work.options(dedupe_key="k").enqueue(3)).status() == Status.QUEUED
        assert not second.done()
    assert await second.result().status() == Status.CANCELED


async def test_a_caller_that_stops_waiting_for_a_key_leaves_no_job(
    work: Job[[int], int], transaction: Transaction
) -> None:
    async with asyncio.timeout(BOUND_S):
        async with transaction() as user:
            await work.options(conn=user, dedupe_key="k").enqueue(1)
            waiting = asyncio.ensure_future(work.options(dedupe_key="k").enqueue(2))
            await _blocked(user)
            waiting.cancel()
            await _free(user)  # otherwise the statement in progress may still store the job
            await user.execute("select plait.cancel(job_id) from plait.dedupe")
        handle = await work.options(dedupe_key="k").enqueue(3)
    assert (await handle.info()).payload == '{"x":3}'


async def test_chains_wait_for_a_key_without_a_connection(
    app: Plait, work: Job[[int], int], transaction: Transaction
) -> None:
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group, transaction() as user:
        first = await work.options(conn=user, dedupe_key="k").enqueue(1)
        keyed = work.options(dedupe_key="k")
        chained = [group.create_task(_outcome(app.chain(sub(keyed, 2), sub(work, 3)))) for _ in range(12)]
        await _blocked(user)
        await asyncio.gather(*(work.enqueue(n) for n in range(20)))
    handles = [outcome for task in chained if isinstance(outcome := task.result(), list)]
    assert all(one[0].id == first.id for one in handles)  # the others timed out on a slow machine


async def _outcome(chained: Awaitable[list[Handle[Any]]]) -> list[Handle[Any]] | Busy:
    try:
        return await chained
    except Busy as busy:
        return busy


async def _blocked(user: asyncpg.Connection) -> None:
    """Wait until a statement of another connection waits for this transaction."""
    await eventually(lambda: _someone_waits(user), what="a wait for the transaction")


async def _free(user: asyncpg.Connection) -> None:
    async def nobody_waits() -> bool:
        return not await _someone_waits(user)

    await eventually(nobody_waits, what="the end of all waits for the transaction")


def _someone_waits(user: asyncpg.Connection) -> Awaitable[bool]:
    return user.fetchval(  # type: ignore[no-any-return]
        "select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))"
    )
