"""Measure the API's latency with many jobs in the database: `python -m bench.api [1000000]`. Measure how soon all watchers receive a change to a
job, and the CPU cost: `python -m bench.api streams [500]`.

Uses its own database on the embedded Postgres. Half of the jobs belong to one tenant, and the other half are spread over 100 tenants. 90% have
succeeded, 4% failed, 1% were canceled, and 5% are queued. One workflow has 10,000 children. One client sends each request 100 times over a socket
and reads the whole response. Goal: p95 of at most 50 ms.
"""

import asyncio
import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import asyncpg
import httpx

from plait.api.service import Api
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.model.roles import Role
from plait.model.tokens import hash_of, hint_of, new_token
from plait.runtime.memory import collect_seldom
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.sdk.app import Plait
from plait.store import Store
from plait.store.new_jobs import NewJob
from plait.testing import TestServer

FILL = """
with t as (select array_agg(id order by (slug = 'default') desc, slug) as ids from plait.tenants),
j as (
  insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, correlation_id, payload)
  select overlay(plait._uuid_floor(plait.now() - make_interval(secs => ({jobs} - n) * 0.01))::text  -- distinct by the digits after the time
                 placing lpad(to_hex(n), 12, '0') from 25 for 12)::uuid,
         case when n % 2 = 0 then t.ids[1] else t.ids[1 + (n / 2) % 100] end, plait.now() - make_interval(secs => ({jobs} - n) * 0.01),
         100, 5, 'kind ' || n % 20, 'queue ' || n % 5, case when n % 10 = 0 then 'request ' || n / 100 end,
         json_build_object('n', n, 'to', 'somebody ' || n % 1000)
  from generate_series(1, {jobs}) n, t returning *
), l as (
  insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, queue, definition)
  select id, tenant_id, created_at, priority, max_attempts, 'queued', queue, definition from j where (payload ->> 'n')::int % 20 = 0
)
insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, error, result)
select id, tenant_id, created_at, created_at, created_at, 1, 1,
       case when n % 25 = 1 then 'failed' when n % 100 = 2 then 'canceled' else 'succeeded' end::plait.outcome,
       case when n % 25 = 1 then 'failed' when n % 100 = 2 then 'canceled' else 'succeeded' end::plait.status,
       case when n % 25 = 1 then 'no such file' end, '{"ok": true}'
from (select j.*, (payload ->> 'n')::int as n from j) j where n % 20 <> 0
"""
SEARCHABLE = """
with d as (update plait.definitions set search_from = '00000000-0000-0000-0000-000000000000' where name = 'kind 6')
insert into plait.search_values (tenant_id, definition, key, value, job_id)
select tenant_id, definition, 'to', payload ->> 'to', id from plait.jobs where definition = 'kind 6'
"""
TREE = """
with root as (select id, tenant_id from plait.jobs where tenant_id = $1 and id in (select job_id from plait.attempts) order by id desc limit 1),
f as (
  insert into plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, depth, total, needed, succeeded, early, streamed, nested,
                              cancel_remaining, cancel_on_parent_failure, strategy, decision, decided_at)
  select plait.uuidv7(), tenant_id, id, id, plait.now(), 1, 10000, 10000, 10000, false, false, true, true, false, 'fail_fast', 'succeeded',
         plait.now() from root returning *
), c as (
  insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, payload, parent_id, root_id, fan_out_id,
                          fan_out_index, depth)
  select plait.uuidv7(), f.tenant_id, plait.now(), 100, 5, 'child', 'default', '{}', f.parent_id, f.root_id, f.id, n, 1
  from f, generate_series(0, 9999) n returning *
), a as (
  insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final)
  select id, tenant_id, created_at, created_at, created_at, 1, 1, 'succeeded', 'succeeded' from c
)
select id from root
"""
TIMES = 100


async def main(jobs: int) -> None:
    server = TestServer()
    database = await server.create_database(fake_clock=False)
    try:
        root = await fill(database.admin_url, database.url, jobs)
        store = await Store.open(database.url)
        token = new_token()
        await store.keys.create_key(
            hash=hash_of(token), hint=hint_of(token), name="bench", role=Role.VIEWER, tenant_id=DEFAULT_TENANT,
            expires_at=None, created_by="bench",
        )  # fmt: skip
        await store.leader.count_live()
        now = await store.health.now()
        await store.close()
        hour = (now - timedelta(hours=1)).isoformat()
        pages = {
            "list": "/jobs",
            "list, 1000": "/jobs?limit=1000",
            "status=queued": "/jobs?status=queued",
            "status=failed": "/jobs?status=failed",
            "status=canceled": "/jobs?status=canceled",
            "status=succeeded": "/jobs?status=succeeded",
            "status=running": "/jobs?status=running",
            "queue and definition": "/jobs?queue=queue 1&definition_key=kind 6",
            "nothing found": "/jobs?definition_key=none",
            "search": "/jobs?search=kind 7",
            "search, nothing found": "/jobs?search=nothing",
            "payload": "/jobs?payload=to=somebody 8",
            "payload, nothing found": "/jobs?payload=to=nobody",
            "search key": "/jobs?definition_key=kind 6&payload=to=somebody 6",
            "search key, rare status": "/jobs?definition_key=kind 6&payload=to=somebody 6&status=failed",
            "search key, nothing found": "/jobs?definition_key=kind 6&payload=to=nobody",
            "correlation id": "/jobs?correlation_id=request 77",
            "created after": f"/jobs?created_after={hour.replace('+', '%2B')}&status=failed",
            "summary": "/jobs/summary",
            "history": "/jobs/history",
            "queues": "/queues",
            "one job": f"/jobs/{root}",
            "tree, first 1000": f"/jobs/{root}/tree?limit=1000",
            "tree, first 100": f"/jobs/{root}/tree?limit=100",
            "children": f"/jobs?parent={root}",
            "explain": f"/jobs/{root}/explain",
        }
        await measure(database.url, token, pages)
    finally:
        await server.drop_database(database)
        server.close()


async def fill(admin_url: str, url: str, jobs: int) -> str:
    store = await Store.open(url)
    for number in range(99):
        await store.tenants.set_tenant(f"t{number:02}")
    await store.definitions.define([{"name": "kind 6", "search_keys": ["to"]}])
    await store.close()
    admin = await asyncpg.connect(admin_url)
    try:
        await admin.execute("set synchronous_commit = off")
        began = time.perf_counter()
        await admin.execute(FILL.replace("{jobs}", str(jobs)))
        root = await admin.fetchval(TREE, DEFAULT_TENANT)
        await admin.execute(SEARCHABLE)
        await admin.execute(
            "vacuum analyze plait.jobs, plait.live, plait.attempts, plait.fan_outs, plait.search_values"
        )
        print(f"{jobs:,} jobs created in {time.perf_counter() - began:.0f} s")
    finally:
        await admin.close()
    return str(root)


async def measure(url: str, token: str, pages: dict[str, str]) -> None:
    app = Plait(url, settings=Settings(api_rate=0, grace=1))
    api = Api(app, port=0)
    api.listen()
    stop = Stop()
    serving = asyncio.create_task(api.run(stop))
    collect_seldom()  # like `plait api`
    headers = {"Authorization": f"Bearer {token}"}
    print(f"{'request':26} {'p50 ms':>8} {'p95 ms':>8}   bytes")
    async with httpx.AsyncClient(base_url=f"{api.url}/api/v1", headers=headers, timeout=60) as client:
        for name, path in pages.items():
            took = []
            size = 0
            for _ in range(TIMES):
                began = time.perf_counter()
                answer = await client.get(path)
                took.append((time.perf_counter() - began) * 1000)
                assert answer.status_code == 200, answer.text
                size = len(answer.content)
            took.sort()
            print(f"{name:26} {took[TIMES // 2]:8.1f} {took[TIMES * 95 // 100]:8.1f}   {size:,}")
    stop.request()
    await serving
    await app.close()


async def streams(watchers: int) -> None:
    """Open this many streams on one server. Ten times, measure the time from a job's commit until the last stream has received it. Also measure the server's CPU time."""
    server = TestServer()
    database = await server.create_database(fake_clock=False)
    store = await Store.open(database.url)
    token = new_token()
    await store.keys.create_key(
        hash=hash_of(token), hint=hint_of(token), name="bench", role=Role.VIEWER, tenant_id=DEFAULT_TENANT,
        expires_at=None, created_by="bench",
    )  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("plait"), "api", "--url", database.url, "--port", "0", "--json",
        stderr=asyncio.subprocess.PIPE, env={**os.environ, "PLAIT_API_RATE": "0"},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        port = int(json.loads(await process.stderr.readline())["url"].rpartition(":")[2])
        told: asyncio.Queue[str] = asyncio.Queue()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_watch(port, token, told)) for _ in range(watchers)]
            for _ in range(watchers):
                await told.get()  # each stream begins with a greeting
            await asyncio.sleep(2)
            began_cpu, began = _cpu_s(process.pid), time.perf_counter()
            delays = []
            for _ in range(10):
                job = NewJob(id=new_id(), definition="k", payload="{}", tenant_id=DEFAULT_TENANT)
                await store.jobs.enqueue_many([job])
                committed = time.perf_counter()
                for _ in range(watchers):
                    assert await told.get() == str(job.id)
                delays.append(time.perf_counter() - committed)
            share = (_cpu_s(process.pid) - began_cpu) / (time.perf_counter() - began)
            print(
                f"{watchers} streams: all notified within {max(delays):.2f} s (median {sorted(delays)[5]:.2f} s), {share:.2f} cores"
            )
            for task in tasks:
                task.cancel()
    finally:
        process.terminate()
        await process.wait()
        await store.close()
        await server.drop_database(database)
        server.close()


async def _watch(port: int, token: str, told: "asyncio.Queue[str]") -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    try:
        async for line in reader:
            if line.startswith(b": hello"):
                told.put_nowait("hello")
            elif line.startswith(b'data: {"id"'):
                told.put_nowait(json.loads(line[6:])["id"])
    finally:
        writer.close()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["streams", *rest]:
            asyncio.run(streams(int(rest[0]) if rest else 500))
        case [jobs]:
            asyncio.run(main(int(jobs)))
        case _:
            asyncio.run(main(1_000_000))
