"""The load of each tenant, tenants that delay others, and the state of workers."""

from typing import Any

from ..harness import Harness
from .api_client import ApiClient


async def _load(api: ApiClient, harness: Harness) -> dict[str, Any]:
    caller = await api.acting("super-admin")
    slugs = {tenant["id"]: tenant["slug"] for tenant in (await caller.ok("GET", "/tenants"))["items"]}
    return {slugs[row["tenant_id"]]: row for row in (await caller.ok("GET", "/tenants/load"))["items"]}


async def test_depth_age_and_shares_are_told_of_each_tenant(api: ApiClient, harness: Harness) -> None:
    await harness.tenant("a", weight=3)
    await harness.enqueue_many("add", 4, tenant="a")
    worker = await harness.worker()
    await worker.claim(4)
    await harness.enqueue_many("add", 2, tenant="b")
    await harness.enqueue("add", tenant="b", delay_s=100.0)
    await harness.advance(seconds=7)
    load = await _load(api, harness)
    a, b, default = load["a"], load["b"], load["default"]
    assert (a["running"], a["share"], a["fair_share"], a["noisy"]) == (4, 1.0, 0.75, [])
    assert (b["queued"], b["scheduled"], b["oldest_queued_age_seconds"], b["fair_share"]) == (2, 1, 7.0, 0.25)
    assert (default["queued"], default["fair_share"], default["failure_rate"], default["noisy"]) == (0, None, None, [])


async def test_who_holds_more_than_twice_its_share_while_others_wait_is_noisy(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue_many("add", 9, tenant="a")
    worker = await harness.worker()
    await worker.claim(9)
    assert (await _load(api, harness))["a"]["noisy"] == [], "no other tenant waits"
    for tenant in ("b", "c"):
        await harness.enqueue("add", tenant=tenant)
    load = await _load(api, harness)
    assert (load["a"]["noisy"], load["b"]["noisy"]) == (["slots"], [])
    await harness.enqueue_many("add", 1001, tenant="b")
    assert (await _load(api, harness))["b"]["noisy"] == ["backlog"]


async def test_whose_attempts_mostly_fail_is_noisy(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    for tenant, fails in (("a", 15), ("b", 5)):
        for number in range(20):
            await harness.enqueue("add", tenant=tenant)
            lease = await worker.claim_one()
            await (worker.fail(lease, permanent=True) if number < fails else worker.succeed(lease))
    await harness.advance(minutes=2)
    for _ in range(3):
        await harness.store.leader.roll_up()
    load = await _load(api, harness)
    assert (load["a"]["ended"], load["a"]["failure_rate"], load["a"]["noisy"]) == (20, 0.75, ["failures"])
    assert (load["b"]["failure_rate"], load["b"]["noisy"]) == (0.25, [])


async def test_a_worker_tells_its_node_whether_it_leads_and_whether_it_stops(api: ApiClient, harness: Harness) -> None:
    first, second = await harness.worker(node="n1"), await harness.worker(node="n2")
    await harness.store.leader.elect("n1", lease_s=30)
    await harness.store.workers.drain(second.id)
    await harness.store.workers.heartbeat(first.id, running=2, prefetched=3)
    caller = await api.acting("super-admin")
    told = {row["worker_id"]: row for row in (await caller.ok("GET", "/workers"))["items"]}
    assert (told[first.id]["node"], told[first.id]["leads"], told[first.id]["draining"]) == ("n1", True, False)
    assert (told[first.id]["running_count"], told[first.id]["prefetched_count"]) == (2, 3)
    assert (told[second.id]["node"], told[second.id]["leads"], told[second.id]["draining"]) == ("n2", False, True)


async def test_a_worker_tells_that_a_handler_blocks_its_event_loop(api: ApiClient, harness: Harness) -> None:
    blocked, fine = await harness.worker(), await harness.worker()
    job_id = await harness.enqueue("add")
    await harness.store.workers.heartbeat(blocked.id, running=1, blocked_s=12.0, blocked_job=job_id)
    caller = await api.acting("super-admin")
    told = {row["worker_id"]: row for row in (await caller.ok("GET", "/workers"))["items"]}
    assert told[blocked.id]["blocked_job_id"] == str(job_id)
    assert told[blocked.id]["blocked_since"] < told[blocked.id]["last_seen_at"]
    assert (told[fine.id]["blocked_since"], told[fine.id]["blocked_job_id"]) == (None, None)
    await harness.store.workers.heartbeat(blocked.id, running=1)
    told = {row["worker_id"]: row for row in (await caller.ok("GET", "/workers"))["items"]}
    assert told[blocked.id]["blocked_since"] is None
