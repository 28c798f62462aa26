"""Enqueueing and emitting in a handler. In a durable function they are steps and are sent once; in other handlers they are plain calls."""

from plait import Plait, sleep
from plait.testing import Kit

from ..harness import Harness


async def test_what_a_durable_handler_sends_is_sent_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(queue="other")
    async def other(n: int) -> None: ...

    @app.job(retries=0)
    async def parent() -> list[str]:
        first = await other.enqueue(1)  # before the first step of the handler
        many = await other.enqueue_many([2, 3])
        await sleep(10)
        await app.emit("told", {"n": 1})
        last = await other.enqueue(4)
        await sleep(10)
        return [str(handle.id) for handle in (first, *many, last)]

    handle = await parent.enqueue()
    for _ in range(3):
        await kit.run_until_idle()
        await kit.advance(seconds=11)
    rows = await app_harness.rows(
        "select id::text, payload->>'n' as n from plait.jobs where definition = 'other' order by 2"
    )
    assert await handle.result(60) == [row["id"] for row in rows]
    assert [row["n"] for row in rows] == ["1", "2", "3", "4"]
    assert await app_harness.sql("select count(*) from plait.events") == 1


async def test_what_a_plain_handler_sends_is_no_step(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def other() -> None: ...

    @app.job
    async def plain() -> str:
        await other.enqueue()
        return "done"

    handle = await plain.enqueue()
    await kit.run_until_idle()
    assert await handle.result(60) == "done"
    assert await app_harness.sql("select count(*) from plait.steps") == 0
