"""`plait jobs tree | steps | signal | fork`: workflows on the command line."""

import asyncio
import json
import re
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from plait import DeterminismError, Status, call, fan_out, sub, values, wait_for_signal
from plait import Plait as App
from plait.cli.workflows import drawn
from plait.store.job_rows import NodeRow
from plait.testing import Kit, TestDatabase, replay

from .conftest import RunPlait


@pytest.fixture
def shop(database: TestDatabase) -> App:
    app = App()

    async def price(n: int) -> int:
        return n

    @app.job(name="item", retries=0)
    async def item(n: int) -> int:
        return n

    @app.job(name="order", retries=0)
    async def order() -> int:
        first = await call(price, 1)
        rest = values(await fan_out([sub(item, n, queue="elsewhere") for n in range(2)]))
        return first + sum(map(int, rest)) + int(await wait_for_signal("paid"))

    return app


@pytest.fixture
def order(shop: App, database: TestDatabase) -> str:
    """A job that waits for two sub-jobs."""

    async def enqueue() -> str:
        kit = Kit(shop, database)
        kit.enter()
        handle = await shop.jobs["order"].enqueue()
        await kit.run_until_idle()
        await kit.exit()
        return str(handle.id)

    return asyncio.run(enqueue())


def end_the_children(shop: App, database: TestDatabase, order: str, *, fail: bool = False) -> None:
    async def end() -> None:
        kit = Kit(shop, database)
        kit.enter()
        for child in await kit.sub_jobs(shop.handle(order).id):
            await (kit.fail_sub_job(child.id) if fail else kit.complete_sub_job(child.id, 5))
        await kit.run_until_idle()
        await kit.exit()

    asyncio.run(end())


def test_a_tree_is_drawn(plait_on: RunPlait, order: str) -> None:
    lines = plait_on("jobs", "tree", order).out.splitlines()
    assert re.fullmatch(rf"order {order} waiting \(fan-out\) \d+ms", lines[0])
    assert [line[:8] for line in lines[1:]] == ["├─ item ", "└─ item "]
    child = lines[1].split()[2]
    assert plait_on("jobs", "tree", child).out.splitlines() == lines  # the same tree for any job of the workflow
    assert [row["depth"] for row in plait_on("jobs", "tree", order, "--json").json] == [0, 1, 1]
    assert plait_on("jobs", "tree", order, "--limit", "1").out.endswith("--limit 10\n")
    assert plait_on("jobs", "tree", str(uuid4())).code == 1
    assert {row["id"] for row in plait_on("jobs", "--parent", order, "--json").json} >= {child}
    assert len(plait_on("jobs", "list", "--root", order, "--json").json) == 2
    assert [row["id"] for row in plait_on("jobs", "list", "--with-sub-jobs", "--json").json] == [order]


def test_a_tree_tells_how_long_each_ran_and_how_long_it_took_in_all() -> None:
    at, parent = datetime(2026, 1, 1, tzinfo=UTC), uuid4()
    rows = [
        NodeRow(
            node=None, id=one, parent_id=above, fan_out_id=above, fan_out_index=n, depth=n, definition=name, queue="q",
            status=Status.SUCCEEDED, attempt=1, wait_on=None, error=None, created_at=at, finished_at=at, own_s=own, total_s=total,
        )
        for n, (one, above, name, own, total) in enumerate(
            [(parent, None, "derive", 0.05, 84.0), (uuid4(), parent, "batch", 80.0, 80.0), (uuid4(), parent, "new", None, None)]
        )
    ]  # fmt: skip
    told = [line.partition("succeeded")[2] for line in drawn(rows)]
    assert told == [" 50ms, 1m 24s in total", " 1m 20s", ""]


def test_steps_are_shown(plait_on: RunPlait, order: str, shop: App, database: TestDatabase) -> None:
    told = plait_on("jobs", "steps", order).out
    assert "price" in told
    assert "open: 0 of 2 succeeded, 0 failed, 0 canceled" in told
    end_the_children(shop, database, order)
    steps = plait_on("jobs", "steps", order, "--json").json
    assert [row["name"] for row in steps] == ["price", "fan_out", "signal paid"]
    assert [row["took_s"] is not None for row in steps] == [True, True, False]


def test_the_slowest_children_are_shown_with_the_percentiles_of_all(
    plait_on: RunPlait, order: str, shop: App, database: TestDatabase
) -> None:
    waiting = plait_on("jobs", "children", order)
    assert "0 of 2 have run; not in the run times: 2 unfinished" in waiting.out
    end_the_children(shop, database, order)
    told = plait_on("jobs", "children", order, "--sort", "wait", "-n", "1")
    assert (told.out.count("item"), "2 of 2 have run; run time p50" in told.out) == (1, True)
    found = plait_on("jobs", "children", order, "--json").json
    assert (len(found["children"]), found["times"]["ran"]) == (2, 2)
    assert "This job has no sub-jobs" in plait_on("jobs", "children", found["children"][0]["id"]).err
    assert plait_on("jobs", "children", order, "--sort", "name").code == 2


def test_a_job_is_shown_with_the_average_of_earlier_runs(
    plait_on: RunPlait, order: str, shop: App, database: TestDatabase
) -> None:
    end_the_children(shop, database, order)
    first, second = sorted(row["id"] for row in plait_on("jobs", "list", "--parent", order, "--json").json)
    assert "earlier runs  none has succeeded" in plait_on("jobs", "show", first).out
    assert "the last run that succeeded, since" in plait_on("jobs", "show", second).out
    assert plait_on("jobs", "show", second, "--json").json["earlier_runs"]["runs"] == 1


def test_a_signal_is_json(plait_on: RunPlait, order: str, shop: App, database: TestDatabase) -> None:
    end_the_children(shop, database, order)
    bad = plait_on("jobs", "signal", order, "paid", "yes")
    assert (bad.code, "Quote text" in bad.err) == (2, True)
    assert plait_on("jobs", "signal", order, "paid", "7").out == f"{order}  queued\n"


def test_a_tree_is_canceled_and_retried(plait_on: RunPlait, order: str) -> None:
    done = plait_on("jobs", "cancel", order, "--tree")
    assert (done.code, done.out) == (0, f"{order}  canceled\n")
    assert "3 jobs were canceled, and 0 were asked to stop" in done.err
    assert plait_on("jobs", "cancel", order, "--tree").out == f"{order}  canceled\n"
    again = plait_on("jobs", "retry", order, "--tree")
    assert (again.code, again.out) == (0, f"{order}  queued\n")
    assert plait_on("jobs", "retry", order, "--all").code == 2
    assert plait_on("jobs", "retry", order, "--tree", "--drop-steps").code == 2


def test_a_tree_that_failed_is_run_whole_as_a_new_one(
    plait_on: RunPlait, order: str, shop: App, database: TestDatabase
) -> None:
    end_the_children(shop, database, order, fail=True)
    assert plait_on("jobs", "show", order, "--json").json["reason"] == "fan_out_failed"
    told = plait_on("jobs", "retry", order, "--tree", "--all")
    assert told.code == 0
    new = told.err.split()[-1]
    assert plait_on("jobs", "show", new, "--json").json["forked_from"] == order
    assert plait_on("jobs", "retry", order, "--drop-steps").out == f"{order}  queued\n"
    assert plait_on("jobs", "steps", order).err.startswith("This job has no steps")


def test_a_job_is_forked_from_a_step(plait_on: RunPlait, order: str, shop: App, database: TestDatabase) -> None:
    end_the_children(shop, database, order)
    forked = plait_on("jobs", "fork", order, "--from", "fan_out").out.strip()
    assert [row["name"] for row in plait_on("jobs", "steps", forked, "--json").json] == ["price"]
    assert plait_on("jobs", "fork", order, "--from", "3").code == 0
    assert plait_on("jobs", "fork", order, "--json").json["forked_from"] == order
    wrong = plait_on("jobs", "fork", order, "--from", "nothing")
    assert wrong.code == 2
    assert "the job's steps: 1 price, 2 fan_out, 3 signal paid" in wrong.err


def test_a_history_is_exported_as_json_that_can_be_replayed(
    plait_on: RunPlait, order: str, shop: App, database: TestDatabase
) -> None:
    end_the_children(shop, database, order)
    text = plait_on("jobs", "history", order).out
    assert asyncio.run(replay(text, shop.jobs["order"])) is None  # the job waits for its signal
    told = json.loads(text)
    assert (told["format"], told["job_id"], told["status"], len(told["children"])) == (1, order, "waiting", 2)

    async def other_code() -> None:
        await wait_for_signal("paid")

    with pytest.raises(DeterminismError, match="recorded as call 'price' #1"):
        asyncio.run(replay(text, other_code))
    assert plait_on("jobs", "history", str(uuid4())).code == 1
