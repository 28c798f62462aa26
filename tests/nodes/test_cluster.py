"""Five node processes that are killed, stopped and disconnected while node jobs run (F26).

A leader's action takes effect at most once for each job, and never without the quorum if the job requires it; the writes of a former
leader are rejected, and every job ends.
"""

import asyncio
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from plait import Plait
from plait.testing import TestDatabase, TestServer

from ..invariants import violations
from ..proxy import Proxy
from ..waiting import eventually
from . import node_main

NODES = ("a", "b", "c", "d", "e")

WITNESS = """
create table effects (job_id uuid, attempt int, holder text, done int, needed int, rule text, at timestamptz default clock_timestamp());
grant insert on effects to public;
create table witnessed (job_id uuid, worker text, leader text);
create function witness() returns trigger language plpgsql security definer as $$
begin
  insert into public.witnessed select new.job_id, w.holder, l.holder from plait.workers w, plait.leader l where w.id = new.worker;
  return new;
end $$;
-- In the very transaction that records what a leader did: who leads?
create trigger witness after insert on plait.attempts for each row
when (new.worker is not null and new.status in ('succeeded', 'failed', 'skipped', 'timeout')) execute function witness();
"""


DONE_IN_TIME = """
select f.parent_id, f.total, (
  select count(*) from plait.jobs j join plait.attempts a on a.job_id = j.id
  where j.fan_out_id = f.id and a.final = 'succeeded' and a.finished_at <= e.at)
from effects e join plait.fan_outs f on f.parent_id = e.job_id
"""


LEFT = """
select l.job_id, l.state, l.lane, l.attempt, l.wait_on, l.worker, w.state as worker_state, w.node, w.seen_at - plait.now() as seen, l.run_at - plait.now() as since,
       f.decision, f.rule, f.waited_for, f.cancel_due, exists (select from plait.live p where p.job_id = f.parent_id) as parent_lives,
       (select json_agg(n) from plait.list_nodes() n) as nodes
from plait.live l left join plait.workers w on w.id = l.worker
left join plait.fan_outs f on f.id = l.fan_out_id or l.wait_on = 'fan_out ' || f.id limit 20
"""


class Node:
    """One node: its process, and its way to the database."""

    def __init__(self, name: str, proxy: Proxy, log: Path) -> None:
        self.name = name
        self.log = log
        self.proxy = proxy
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        arguments = (sys.executable, "-m", "tests.nodes.node_main", self.proxy.url, self.name)
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(*arguments, stdout=log, stderr=log)

    async def keep(self) -> None:
        """As a supervisor would: one that could not connect when it started, and gave up, is started again."""
        while True:
            assert self.process is not None
            ended = self.process
            await ended.wait()
            await asyncio.sleep(0.5)
            if self.process is ended:
                await self.start()

    async def kill(self) -> None:
        assert self.process is not None
        self._signal(signal.SIGKILL)
        await self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def hit(self, how: str, seconds: float) -> None:
        match how:
            case "kill":
                await self.kill()  # and its keeper starts it again
            case "stop":
                self._signal(signal.SIGSTOP)
                await asyncio.sleep(seconds)
                self._signal(signal.SIGCONT)
            case _:
                self.proxy.cut()
                await asyncio.sleep(seconds)
                self.proxy.heal()


@asynccontextmanager
async def cluster(database: TestDatabase, logs: Path) -> AsyncIterator[dict[str, Node]]:
    async with AsyncExitStack() as stack:
        nodes = {}
        for name in NODES:
            proxy = await stack.enter_async_context(Proxy(database.url).running())
            node = nodes[name] = Node(name, proxy, logs / f"{name}.log")
            stack.push_async_callback(node.kill)
            await node.start()
        keeping = [asyncio.create_task(node.keep()) for node in nodes.values()]
        try:
            yield nodes
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)


@pytest.fixture
async def real_clock_database(server: TestServer) -> AsyncIterator[TestDatabase]:
    database = await server.create_database(fake_clock=False)
    yield database
    await server.drop_database(database)


async def disturb(nodes: dict[str, Node], admin: asyncpg.Connection, chance: random.Random, seen: Counter[str]) -> None:
    """One node after the other, most often the one that leads; never more than two at once, so that a majority is left."""
    under_way: dict[str, asyncio.Task[None]] = {}
    try:
        while True:
            await asyncio.sleep(chance.uniform(0.1, 0.5))
            under_way = {name: task for name, task in under_way.items() if not task.done()}
            leads = await admin.fetchval("select node from plait.get_leader()")
            name = leads if leads and chance.random() < 0.6 else chance.choice(NODES)
            if name in under_way or len(under_way) >= 2:
                continue
            how = chance.choice(("kill", "stop", "stop", "cut", "cut"))
            seen[how] += 1
            seen["leader hit"] += name == leads
            under_way[name] = asyncio.create_task(nodes[name].hit(how, chance.uniform(1.0, 3.0)))
    finally:
        await asyncio.gather(*under_way.values())


async def rounds(database: TestDatabase, logs: Path, jobs: int) -> Counter[str]:
    seed = random.randrange(10**6)
    chance, seen = random.Random(seed), Counter[str]()
    print(f"seed {seed}")
    node_main.app.target = Plait(database.url).target
    admin, watcher = [await asyncpg.connect(database.admin_url) for _ in range(2)]
    await admin.execute(WITNESS)
    asked: dict[UUID, bool] = {}
    async with cluster(database, logs) as nodes:

        async def all_there() -> bool:
            there = await admin.fetchval("select count(*) from plait.list_nodes() where state = 'active'")
            return bool(there == len(NODES))

        await eventually(all_there, what="five nodes", within=180)
        began = time.monotonic()
        trouble = asyncio.create_task(disturb(nodes, watcher, chance, seen))
        try:
            for n in range(jobs):
                strict = n % 2 == 0
                handle = await (node_main.strict if strict else node_main.lenient).enqueue(n)
                asked[handle.id] = strict
                await asyncio.sleep(0.15)
        finally:
            trouble.cancel()
            await asyncio.gather(trouble, return_exceptions=True)

        async def nothing_left() -> bool:
            return not await admin.fetchval("select exists (select from plait.live)")

        try:
            await eventually(nothing_left, what="the end of every job and of every part", within=180)
        except AssertionError:
            for row in await admin.fetch(LEFT):
                print(dict(row))
            raise
        print(f"{jobs} jobs in {time.monotonic() - began:.0f} s")
    await look(admin, asked, seen)
    await node_main.app.close()
    await admin.close()
    await watcher.close()
    print(dict(seen))
    return seen


async def look(admin: asyncpg.Connection, asked: dict[UUID, bool], seen: Counter[str]) -> None:
    finals = dict(await admin.fetch("select id, status::text from plait.job where parent_id is null"))
    assert finals.keys() == asked.keys()
    seen.update(f"job {status}" for status in finals.values())
    effects = await admin.fetch("select * from effects")
    by_job = Counter(row["job_id"] for row in effects)
    assert max(by_job.values(), default=0) <= 1, "an action took effect twice"
    assert {job for job, status in finals.items() if status == "succeeded"} <= by_job.keys()
    for row in effects:
        seen[f"effect by {row['rule']}"] += 1
        if asked[row["job_id"]]:
            assert row["rule"] == "quorum"
            assert row["done"] >= row["needed"], "the leader acted without a quorum"
    # Not by what plait says of the job, but by what the logs of its parts say.
    for job, total, done in await admin.fetch(DONE_IN_TIME):
        assert 2 * done > total or not asked[job], "the leader acted without a quorum"
    stale = await admin.fetch(
        "select w.* from witnessed w join plait.jobs j on j.id = w.job_id where j.parent_id is null and w.worker <> w.leader"
    )
    assert stale == [], "a write of a former leader was accepted"
    for reason, count in await admin.fetch(
        "select reason, count(*) from plait.attempts where reason = any($1) group by 1",
        ["deposed", "worker_lost", "job_final"],
    ):
        seen[reason] += count
    seen["terms"] = await admin.fetchval("select term from plait.leader")
    assert await violations(admin) == []


async def test_node_jobs_under_kill_stop_and_partition(real_clock_database: TestDatabase, tmp_path: Path) -> None:
    seen = await rounds(real_clock_database, tmp_path, 60)
    assert seen["leader hit"] > 0
    assert seen["terms"] > 1
    assert seen["effect by quorum"] > 10


@pytest.mark.full
async def test_500_rounds_of_node_jobs_under_kill_stop_and_partition(
    real_clock_database: TestDatabase, tmp_path: Path
) -> None:
    seen = await rounds(real_clock_database, tmp_path, 500)
    assert seen["terms"] > 20
    assert seen["deposed"] > 0, "no leader lost its lease during an action: the run shows nothing"
    assert min(seen["kill"], seen["stop"], seen["cut"]) > 5
    assert seen["effect by quorum"] > 200
