"""Streams: a handler's items arrive once, in order, within limits."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from plait import (
    InvalidArguments,
    JobFailed,
    NotFound,
    PermanentError,
    Plait,
    Status,
    StreamClosed,
    StreamFull,
    call,
    continue_as_new,
    current,
    sleep,
    wait_for_signal,
)
from plait.model.errors import InvalidResult
from plait.model.ids import new_id
from plait.runtime.service import Stop
from plait.sdk.handle import Handle
from plait.store.leader import Retention
from plait.testing import Kit, TestDatabase
from plait.worker.worker import Worker

from ..harness import Harness
from ..waiting import eventually


async def items(handle: Handle[Any], name: str = "tokens", **options: Any) -> list[Any]:
    async with asyncio.timeout(120):
        return [item async for item in handle.stream(name, **options)]


async def test_sixty_items_at_twenty_a_second_all_arrive_while_the_job_runs(real_clock_database: TestDatabase) -> None:
    app = Plait(real_clock_database.url)
    read: list[Any] = []
    seen_while_running = 0

    @app.job(retries=0)
    async def speak() -> int:
        nonlocal seen_while_running
        stream = current().stream("tokens")
        for n in range(60):
            await stream.write({"n": n})
            await asyncio.sleep(0.05)  # sleep: twenty a second, as a model speaks
        await eventually(lambda: _is(len(read) == 60), what="all items are read before the job ends")
        seen_while_running = len(read)
        return 60

    async with app:
        handle = await speak.enqueue()
        stop = Stop()
        working = asyncio.create_task(Worker(app, concurrency=2).run(stop))
        async with asyncio.timeout(120):
            async for item in handle.stream("tokens"):
                read.append(item)
        assert read == [{"n": n} for n in range(60)]
        assert await handle.result(120) == 60
        assert seen_while_running == 60
        stop.request()
        await working


async def _is(value: bool) -> bool:
    return value


async def test_items_come_in_order_and_the_loop_ends_with_the_job(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak() -> None:
        for n in range(500):
            await current().stream("tokens").write(n)

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert await items(handle) == list(range(500))
    assert await items(handle, after=497) == [497, 498, 499]
    assert await items(handle, "another") == []


async def test_a_reader_is_not_ended_by_a_wait_of_the_job(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def speak() -> None:
        await current().stream("tokens").write("before")
        await wait_for_signal("go")
        await current().stream("tokens").write("after")

    handle = await speak.enqueue()
    reading = asyncio.create_task(items(handle))
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    assert await app_harness.sql("select count(*) from plait.stream_items") == 1
    await handle.signal("go")
    await kit.run_until_idle()
    assert await reading == ["before", "after"]


async def test_a_replay_writes_nothing_again(app: Plait, kit: Kit, app_harness: Harness) -> None:
    async def inside(n: int) -> None:
        await current().stream("tokens").write(f"step {n}")

    @app.job(retries=0)
    async def speak() -> None:
        stream = current().stream("tokens")
        for n in range(3):
            await stream.write(n)
            await call(inside, n)
            await sleep("1h")

    handle = await speak.enqueue()
    for _ in range(4):
        await kit.run_until_idle()
        await kit.advance(hours=1)
    assert await items(handle) == [0, "step 0", 1, "step 1", 2, "step 2"]
    assert await app_harness.sql("select array_agg(distinct attempt order by attempt) from plait.stream_items") == [
        1,
        2,
        3,
    ]


async def test_branches_write_side_by_side_and_again_after_a_wait(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak() -> None:
        async def lane(name: str) -> None:
            for n in range(5):
                await current().stream("tokens").write(f"{name}{n}")
            await sleep("1h")
            await current().stream("tokens").write(f"{name} end")

        await asyncio.gather(*(lane(name) for name in "abc"))

    handle = await speak.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    got = await items(handle)
    assert sorted(got) == sorted([f"{name}{n}" for name in "abc" for n in range(5)] + [f"{name} end" for name in "abc"])
    for name in "abc":
        assert [item for item in got if item[0] == name] == [*(f"{name}{n}" for n in range(5)), f"{name} end"]


async def test_a_next_try_that_writes_the_same_again_adds_only_what_is_new(app: Plait, kit: Kit) -> None:
    @app.job(retries=1)
    async def speak() -> None:
        for n in range(3 if current().attempt == 1 else 5):
            await current().stream("tokens").write(n)
        if current().attempt == 1:
            raise RuntimeError("try again")

    handle = await speak.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await items(handle) == [0, 1, 2, 3, 4]


async def test_a_def_handler_writes_too(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    def speak() -> None:
        stream = current().stream("tokens")
        for n in range(3):
            stream.write_sync(n)
        stream.close_sync()

    @app.job(retries=0)
    async def in_a_thread() -> None:
        await asyncio.to_thread(current().stream("tokens").write_sync, "from a thread")
        with pytest.raises(Exception, match="would block this event loop"):
            current().stream("tokens").write_sync(1)

    handles = [await speak.enqueue(), await in_a_thread.enqueue()]
    await kit.run_until_idle()
    assert [await items(handle) for handle in handles] == [[0, 1, 2], ["from a thread"]]
    await handles[1].result(120)


async def test_a_closed_stream_ends_its_readers_and_takes_nothing_more(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak() -> str:
        stream = current().stream("tokens")
        await stream.write(1)
        await stream.close()
        await stream.close()
        await sleep("1h")
        try:
            await stream.write(2)
        except StreamClosed as error:
            return str(error)
        return "written"

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    assert await items(handle) == [1]
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await handle.result(120) == "the stream 'tokens' is closed"


@pytest.mark.parametrize("full", ["items = 100000", "bytes = 16777216 - 2"])
async def test_what_does_not_fit_any_more_raises_and_nothing_is_lost(
    app: Plait, kit: Kit, app_harness: Harness, full: str
) -> None:
    @app.job(retries=0)
    async def speak() -> str:
        await current().stream("tokens").write("first")
        await call(fill)
        try:
            await current().stream("other").write("second")
        except StreamFull as error:
            return str(error)
        return "written"

    async def fill() -> None:
        await app_harness.sql(f"update plait.streams set {full}")

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert "100,000 items" in await handle.result(120)
    assert await items(handle) == ["first"]


async def test_an_item_that_is_too_large_or_has_no_json_form_is_refused(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak() -> list[str]:
        said = []
        for item in ("x" * 65_536, object(), float("nan")):
            try:
                await current().stream("tokens").write(item)
            except Exception as error:
                said.append(type(error).__name__)
        for name in ("", "x" * 101, "a\0b", 7):
            try:
                current().stream(name)  # type: ignore[arg-type]
            except InvalidArguments:
                said.append("name")
        return said

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == ["InvalidArguments", "NotSerializable", "NotSerializable", *(["name"] * 4)]
    assert await items(handle) == []


async def test_a_job_that_fails_ends_its_streams_and_a_reader_learns_of_it_by_the_result(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak() -> None:
        await current().stream("tokens").write(1)
        raise PermanentError("no voice")

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert await items(handle) == [1]
    with pytest.raises(JobFailed, match="no voice"):
        await handle.result(120)


async def test_items_are_decoded_by_type(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak() -> None:
        await current().stream("tokens").write("a")

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert await items(handle, type=str) == ["a"]
    with pytest.raises(InvalidResult, match="an item of the stream 'tokens' does not match the type"):
        await items(handle, type=int)


async def test_a_stream_of_nobodys_job_or_anothers_is_not_there(app: Plait, kit: Kit, app_harness: Harness) -> None:
    await app_harness.tenant("b")
    theirs = await app_harness.enqueue("add", tenant="b")
    for job in (new_id(), theirs):
        with pytest.raises(NotFound):
            await items(app.handle(job))


async def test_code_that_outlives_its_handler_writes_nothing(app: Plait, kit: Kit, app_harness: Harness) -> None:
    kept: list[Any] = []

    @app.job(retries=0)
    async def speak() -> None:
        kept.append(current().stream("tokens"))

    @app.job(retries=0)
    async def drops() -> None:
        try:
            await sleep("1h")
        finally:
            await current().stream("tokens").write("while it is dropped")

    await speak.enqueue()
    dropped = await drops.enqueue()
    await kit.run_until_idle()
    assert await dropped.status() == Status.WAITING
    with pytest.raises(Exception, match="has ended"):
        await kept[0].write(1)
    assert await app_harness.sql("select count(*) from plait.stream_items") == 0


async def test_a_slow_reader_gets_everything_page_by_page(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Pages are limited in bytes: 40 items of 60 KB need more than one page."""

    @app.job(retries=0)
    async def speak() -> None:
        for n in range(40):
            await current().stream("tokens").write(f"{n}:" + "x" * 60_000)

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert [item.partition(":")[0] for item in await items(handle)] == [str(n) for n in range(40)]


async def test_streams_are_forgotten_with_their_job(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def speak() -> None:
        await current().stream("tokens").write(1)

    handle = await speak.enqueue()
    await kit.run_until_idle()
    await handle.stream_token()
    await kit.advance(days=400)
    await app_harness.store.leader.prune(Retention(succeeded=timedelta(days=1)))
    counts = "select (select count(*) from plait.jobs), (select count(*) from plait.streams), (select count(*) from plait.stream_items), (select count(*) from plait.job_tokens)"
    assert [tuple(row) for row in await app_harness.rows(counts)] == [(0, 0, 0, 0)]


async def test_a_job_that_begins_anew_writes_its_items_after_the_old_ones(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """A reader that has read the old items continues with the new items."""

    @app.job(retries=0)
    async def speak() -> None:
        for n in range(3):
            await current().stream("tokens").write([current().attempt, n])
        await current().stream("tokens").close()
        if current().attempt == 1:
            raise PermanentError("no")

    handle = await speak.enqueue()
    await kit.run_until_idle()
    assert await items(handle) == [[1, 0], [1, 1], [1, 2]]
    await handle.retry(drop_steps=True)
    await kit.run_until_idle()
    again = [item async for item in handle.stream_items("tokens", after=3)]
    assert again == [(4, [3, 0]), (5, [3, 1]), (6, [3, 2])]
    assert [item async for item in handle.stream_items("tokens", after=5, type=tuple[int, int])] == [(6, (3, 2))]
    assert [item[1] for item in await items(handle)] == [0, 1, 2]
    assert await app_harness.sql("select (items, last_seq) = (3, 6) from plait.streams")


async def test_a_run_after_continue_as_new_writes_new_items(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def speak(run: int) -> None:
        await current().stream("tokens").write(f"{run} first")
        await sleep("1h")
        await current().stream("tokens").write(f"{run} second")
        if run < 3:
            await continue_as_new(run=run + 1)

    handle = await speak.enqueue(1)
    for _ in range(4):
        await kit.run_until_idle()
        await kit.advance(hours=1)
    assert await items(handle) == [f"{run} {which}" for run in (1, 2, 3) for which in ("first", "second")]


# The function itself
