"""Bulk cancel and retry: a dry run first, then a job that reports its progress and continues after an interruption."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import httpx
import pytest

from plait.api.bulk import DEFINITION, OF_KEY, OF_TENANT, run_bulk
from plait.api.bulk_worker import Bulk
from plait.model.states import AttemptOutcome
from plait.runtime.outage import Outage
from plait.store import Store

from ..harness import Harness
from ..waiting import PATIENCE_S, eventually
from .api_client import ApiClient, new_key
from .api_server import serve_api


class Died(Exception):
    """Simulates a crash of the process."""


async def _run(harness: Harness) -> Any:
    """Run the next bulk job as an API process does. Returns its settlement."""
    worker = await harness.worker(queues=[DEFINITION], definitions=[DEFINITION])
    [claimed] = await harness.store.workers.claim(worker.id, DEFINITION)
    settlement = await run_bulk(harness.store, worker.id, claimed)
    assert await harness.store.workers.settle(worker.id, [settlement]) == [True]
    return settlement


async def test_a_dry_run_counts_and_changes_nothing(api: ApiClient, harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 5, queue="mail")
    await harness.enqueue("add")
    caller = await api.acting("operator")
    before = await harness.snapshot()
    answer = await caller.post("/jobs/bulk", {"action": "cancel", "filter": {"queue": "mail"}})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["dry_run"], told["matched"], told["more"], told["job_id"]) == (True, 5, False, None)
    assert set(told["sample"]) == {str(job) for job in jobs}
    assert await harness.snapshot() == before


async def test_a_bulk_cancel_is_a_job_with_progress_and_an_audit(api: ApiClient, harness: Harness) -> None:
    mine = await harness.enqueue_many("add", 5, tenant="a", queue="mail")
    other = await harness.enqueue("add", tenant="a")
    theirs = await harness.enqueue("add", tenant="b", queue="mail")
    caller = await api.acting("operator", "a")
    body = {"action": "cancel", "filter": {"queue": "mail"}, "dry_run": False, "reason": "wrong addresses"}
    told = await caller.ok("POST", "/jobs/bulk", body)
    late = await harness.enqueue("add", tenant="a", queue="mail")
    await _run(harness)
    assert {await harness.status(job) for job in mine} == {"canceled"}
    assert [await harness.status(job) for job in (other, theirs, late)] == ["queued"] * 3
    done = await caller.ok("GET", f"/jobs/{told['job_id']}")
    assert (done["status"], done["source"]) == ("succeeded", "system")
    assert (done["result"]["done"], done["result"]["left"]) == (5, 0)
    entries = await harness.store.audit.list_audit(tenant_id=await harness.tenant("a"), action="job.cancel")
    assert {UUID(entry.object or "") for entry in entries} == set(mine)
    assert json.loads(entries[0].detail) == {"bulk": told["job_id"], "reason": "wrong addresses"}


async def test_a_bulk_retry_leaves_what_can_not_be_retried(api: ApiClient, harness: Harness) -> None:
    first, second = await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    for lease in await worker.claim(2):
        await worker.fail(lease, permanent=True)
    caller = await api.acting("operator")
    told = await caller.ok(
        "POST", "/jobs/bulk", {"action": "retry", "filter": {"status": ["failed"]}, "dry_run": False}
    )
    assert told["matched"] == 2
    await harness.store.definitions.define([{"name": "add"}])
    settlement = await _run(harness)
    assert settlement.outcome is AttemptOutcome.SUCCEEDED
    assert await harness.statuses([first, second]) == ["queued", "queued"]


async def test_a_bulk_retry_by_error_leaves_jobs_with_other_errors(api: ApiClient, harness: Harness) -> None:
    """Also for a definition with search keys, and for jobs that are older than the keys."""
    await harness.define("add")
    old = await harness.enqueue_many("add", 4, payload={"customer": 7})
    worker = await harness.worker()
    for lease in await worker.claim(4):
        await worker.fail(lease, error="disk full" if lease.job_id in old[:2] else "no route", permanent=True)
    await harness.define("add", search_keys=["customer"])
    fingerprint = await harness.sql("select plait._fingerprint('disk full')")
    caller = await api.acting("operator")
    wanted = {"definition_key": "add", "error": fingerprint, "payload": ["customer=7"]}
    told = await caller.ok("POST", "/jobs/bulk", {"action": "retry", "filter": wanted, "dry_run": False})
    assert told["matched"] == 2
    await _run(harness)
    assert await harness.statuses(old) == ["queued", "queued", "failed", "failed"]


async def test_a_bulk_job_that_lost_its_worker_goes_on_where_it_was(
    api: ApiClient, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plait.api.bulk.PAGE", 2)
    jobs = await harness.enqueue_many("add", 6)
    caller = await api.acting("operator")
    told = await caller.ok("POST", "/jobs/bulk", {"action": "cancel", "filter": {"queue": "default"}, "dry_run": False})
    worker = await harness.worker(queues=[DEFINITION], definitions=[DEFINITION])
    [claimed] = await harness.store.workers.claim(worker.id, DEFINITION)
    reported = 0

    async def dies(*arguments: Any) -> bool:
        nonlocal reported
        reported += 1
        if reported == 2:
            raise Died
        return await type(harness.store.workers).progress(harness.store.workers, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(harness.store.workers, "progress", dies)
        with pytest.raises(Died):
            await run_bulk(harness.store, worker.id, claimed)
    await harness.lose(worker)
    settlement = await _run(harness)
    assert json.loads(settlement.result)["done"] == 4, (
        "two were reported before; the other two were canceled but not reported"
    )
    assert set(await harness.statuses(jobs)) == {"canceled"}
    assert await harness.status(UUID(told["job_id"])) == "succeeded"


@pytest.mark.parametrize(
    "body",
    [
        {"action": "cancel", "filter": {}},
        {"action": "cancel", "filter": {"status": [], "payload": []}},
        {"action": "cancel", "filter": {"status": ["succeeded"]}},
        {"action": "retry", "filter": {"status": ["queued"]}},
        {"action": "delete", "filter": {"queue": "mail"}},
        {"action": "cancel", "filter": {"tenant": "b"}},
    ],
)
async def test_a_filter_that_means_everything_or_nothing_is_refused(api: ApiClient, body: dict[str, Any]) -> None:
    """T107."""
    caller = await api.acting("operator")
    assert (await caller.post("/jobs/bulk", {**body, "dry_run": False})).status_code == 422


async def test_what_a_bulk_job_may_do_is_not_in_its_payload(api: ApiClient, harness: Harness) -> None:
    """A caller that may enqueue can write any payload, so only filters that the API stored are used."""
    victim = await harness.enqueue("add", tenant="b", queue="mail")
    payload = {"action": "cancel", "filter": {"queue": "mail"}, "actor": "me", "before": "f" * 32, "all_tenants": True}
    forged = await harness.enqueue(DEFINITION, queue=DEFINITION, tenant="a", payload=payload)
    await _run(harness)
    assert await harness.status(forged) == "failed"
    assert await harness.status(victim) == "queued"
    await harness.define(DEFINITION)
    caller = await api.acting("operator", "a")
    assert (await caller.post("/jobs", {"definition_key": DEFINITION, "payload": payload})).status_code == 422


async def test_a_bulk_job_with_a_rate_keeps_to_it_and_tells_how_far_it_is(api: ApiClient, harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 4)
    caller = await api.acting("operator")
    body = {"action": "cancel", "filter": {"queue": "default"}, "dry_run": False, "rate": 20}
    told = await caller.ok("POST", "/jobs/bulk", body)
    began = asyncio.get_running_loop().time()
    settlement = await _run(harness)
    assert asyncio.get_running_loop().time() - began >= 3 / 20, (
        "the first starts immediately, and the others at the rate limit"
    )
    result = json.loads(settlement.result)
    assert (result["done"], result["total"]) == (4, 4)
    assert result["rate"] <= 4 / (3 / 20)
    assert set(await harness.statuses(jobs)) == {"canceled"}
    assert await harness.status(UUID(told["job_id"])) == "succeeded"
    for rate in (0, -1, 1e9):
        assert (await caller.post("/jobs/bulk", {**body, "rate": rate})).status_code == 422


async def test_a_slow_bulk_job_can_be_stopped_and_leaves_the_rest(
    api: ApiClient, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plait.api.bulk.LOOK_S", 0.01)
    jobs = await harness.enqueue_many("add", 3)
    caller = await api.acting("operator")
    body = {"action": "cancel", "filter": {"queue": "default"}, "dry_run": False, "rate": 0.01}
    told = await caller.ok("POST", "/jobs/bulk", body)
    running = asyncio.ensure_future(_run(harness))
    while not ((await caller.ok("GET", f"/jobs/{told['job_id']}"))["progress"] or {}).get("done"):
        await asyncio.sleep(0.01)  # sleep: the bulk job reports at real-time intervals
    await caller.ok("POST", f"/jobs/{told['job_id']}/cancel")
    assert (await running).outcome is AttemptOutcome.CANCELED
    assert sorted(await harness.statuses(jobs)) == ["canceled", "queued", "queued"]
    stopped = await caller.ok("GET", f"/jobs/{told['job_id']}")
    assert (stopped["status"], stopped["progress"]["done"]) == ("canceled", 1)


async def test_a_slow_bulk_job_keeps_no_other_waiting(harness: Harness) -> None:
    slow, quick = (
        await harness.enqueue_many("add", 2, queue="slow"),
        await harness.enqueue_many("add", 2, queue="quick"),
    )
    with serve_api(harness.database.url) as site:
        _, token = await new_key(harness.store, "operator", await harness.tenant())
        async with httpx.AsyncClient(
            base_url=f"{site}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S
        ) as client:
            for queue, rate in (("slow", 0.01), ("quick", None)):
                body = {"action": "cancel", "filter": {"queue": queue}, "dry_run": False, "rate": rate}
                assert (await client.post("/jobs/bulk", json=body)).status_code == 202

        async def both() -> bool:
            done = set(await harness.statuses(quick)) == {"canceled"}
            return done and sorted(await harness.statuses(slow)) == ["canceled", "queued"]

        await eventually(both, within=90, what="the fast bulk job, and one job of the slow one")  # the next: in 100 s
    assert await harness.sql("select count(*) from plait.live where state = 'running'") == 0, "the job was released"


@pytest.mark.parametrize("steps", range(6))
async def test_an_api_stops_also_while_a_bulk_job_ends(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """A wait that ends at the moment of its cancellation must not swallow the cancellation, or the process would never exit."""
    bulk, looked = Bulk(cast("Store", SimpleNamespace(database=SimpleNamespace(outage=Outage())))), asyncio.Event()

    async def look(_group: asyncio.TaskGroup) -> None:
        looked.set()

    monkeypatch.setattr(bulk, "_once", look)
    working = asyncio.ensure_future(bulk._work())
    await looked.wait()
    for _ in range(10):  # until the bulk loop waits
        await asyncio.sleep(0)
    bulk.wake.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    working.cancel()
    done, _ = await asyncio.wait({working}, timeout=3)
    working.cancel()
    assert done, "the loop ignored the cancellation"


async def test_a_bulk_over_all_tenants_belongs_to_none_of_them(api: ApiClient, harness: Harness) -> None:
    """Otherwise the operator of the tenant `default` could cancel it, or retry it with a super-admin's permissions."""
    jobs = [await harness.enqueue("add", tenant=tenant, queue="mail") for tenant in ("a", "b", "default")]
    boss, operator = await api.acting("super-admin"), await api.acting("operator", "default")
    told = await boss.ok("POST", "/jobs/bulk", {"action": "cancel", "filter": {"queue": "mail"}, "dry_run": False})
    path = f"/jobs/{told['job_id']}"
    for answer in (
        await operator.get(path),
        await operator.post(f"{path}/cancel"),
        await operator.post(f"{path}/retry"),
    ):
        assert answer.status_code == 404, answer.text
    listed = await operator.ok("GET", "/jobs", params={"queue": DEFINITION})
    assert listed["items"] == []
    await _run(harness)
    assert set(await harness.statuses(jobs)) == {"canceled"}
    assert (await boss.ok("GET", path))["status"] == "succeeded"


async def test_the_audit_names_who_ran_a_bulk_job_again(api: ApiClient, harness: Harness) -> None:
    ann, bob = await api.acting("operator", "a"), await api.acting("operator", "a")
    body = {"action": "cancel", "filter": {"queue": "mail"}, "dry_run": False}
    told = await ann.ok("POST", "/jobs/bulk", body)
    job = await harness.enqueue("add", tenant="a", queue="mail", id=UUID(int=UUID(told["job_id"]).int - 1))
    await ann.ok("POST", f"/jobs/{told['job_id']}/cancel")
    await bob.ok("POST", f"/jobs/{told['job_id']}/retry")
    await _run(harness)
    [entry] = await harness.store.audit.list_audit(
        tenant_id=await harness.tenant("a"), action="job.cancel", object=str(job)
    )
    assert entry.actor == f"key {bob.key_id}"


async def test_a_key_and_a_tenant_have_a_bounded_number_of_unfinished_bulk_jobs(
    api: ApiClient, harness: Harness
) -> None:
    body = {"action": "cancel", "filter": {"queue": "mail"}, "dry_run": False, "rate": 0.01}
    keys = [await api.acting("operator", "a") for _ in range(OF_TENANT // OF_KEY + 1)]
    for key in keys[:-1]:
        for _ in range(OF_KEY):
            assert (await key.post("/jobs/bulk", body)).status_code == 202
        refused = await key.post("/jobs/bulk", body)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
    refused = await keys[-1].post("/jobs/bulk", body)
    assert (refused.status_code, "this tenant has" in refused.json()["detail"]) == (429, True)
    assert (await (await api.acting("operator", "b")).post("/jobs/bulk", body)).status_code == 202
    await _run(harness)  # one bulk job is done, so another is accepted
    assert (await keys[-1].post("/jobs/bulk", body)).status_code == 202


async def test_slow_bulk_jobs_of_one_tenant_keep_no_other_waiting(harness: Harness) -> None:
    """With more slow bulk jobs than concurrent changes, a job of another tenant is still changed."""
    with serve_api(harness.database.url) as url:
        async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60) as client:
            slow = {"action": "cancel", "filter": {"queue": "slow"}, "dry_run": False, "rate": 0.01}
            for tenant in ("a", "b", "c"):
                await harness.enqueue_many("add", 3, tenant=tenant, queue="slow")
                for _ in range(OF_TENANT // OF_KEY):
                    _, token = await new_key(harness.store, "operator", await harness.tenant(tenant))
                    for _ in range(OF_KEY):
                        answer = await client.post(
                            "/jobs/bulk", json=slow, headers={"Authorization": f"Bearer {token}"}
                        )
                        assert answer.status_code == 202, answer.text
            job = await harness.enqueue("add", tenant="d", queue="mail")
            _, token = await new_key(harness.store, "operator", await harness.tenant("d"))
            body = {"action": "cancel", "filter": {"queue": "mail"}, "dry_run": False}
            await client.post("/jobs/bulk", json=body, headers={"Authorization": f"Bearer {token}"})

            async def changed() -> bool:
                return await harness.status(job) == "canceled"

            await eventually(changed, within=120, what="the other tenant's bulk job")
