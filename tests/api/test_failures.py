"""Statistics for the overview: the most frequent failures, waiting times and run times."""

from datetime import datetime

from plait.store.workflows import Lease

from ..harness import Harness
from ..workflows.worker_calls import suspend
from .api_client import ApiClient


async def _fail(harness: Harness, *errors: str, tenant: str = "default") -> None:
    worker = await harness.worker()
    for error in errors:
        await harness.enqueue("add", tenant=tenant)
        await worker.fail(await worker.claim_one(), error, permanent=True)
    await worker.leave()


async def test_errors_that_differ_in_numbers_ids_and_quoted_words_are_of_one_kind(
    api: ApiClient, harness: Harness
) -> None:
    await _fail(
        harness,
        "KeyError: 'a'",
        "KeyError: 'b'",
        "HTTP 502 from 10.0.0.1 after 31.5 s\nmore",
        "HTTP 503 from 10.0.0.77 after 2.1 s",
        "no user 0195f3a1-7e6d-7abc-8def-0123456789ab",
        "no user 0195f3a1-7e6d-7abc-8def-0123456789ff",
        "no such file",
    )
    viewer = await api.acting("viewer")
    found = (await viewer.ok("GET", "/jobs/failures"))["items"]
    assert sorted(one["jobs"] for one in found) == [1, 2, 2, 2]
    assert all(one["definition_key"] == "add" for one in found)
    http = next(one for one in found if one["error"].startswith("HTTP"))
    listed = await viewer.ok("GET", "/jobs", params={"error": http["fingerprint"]})
    assert len(listed["items"]) == 2
    assert listed["items"][0]["id"] == http["last_job_id"]
    dry = await (await api.acting("operator")).ok(
        "POST", "/jobs/bulk", {"action": "retry", "filter": {"error": http["fingerprint"]}}
    )
    assert dry["matched"] == 2


async def test_what_was_retried_since_or_is_anothers_is_no_failure(api: ApiClient, harness: Harness) -> None:
    await _fail(harness, "it broke", tenant="b")
    viewer, other, everybody = [
        await api.acting(role, tenant) for role, tenant in (("viewer", "a"), ("viewer", "b"), ("super-admin", "a"))
    ]
    assert (await viewer.ok("GET", "/jobs/failures"))["items"] == []
    [own] = (await other.ok("GET", "/jobs/failures"))["items"]
    [seen] = (await everybody.ok("GET", "/jobs/failures"))["items"]
    assert seen == own
    assert (await other.ok("GET", "/jobs/failures", params={"status": "dead_letter"}))["items"] == []
    await (await api.acting("operator", "b")).ok("POST", f"/jobs/{own['last_job_id']}/retry")
    assert (await other.ok("GET", "/jobs/failures"))["items"] == []


async def test_an_error_has_a_page_with_its_history_tenants_workers_and_newest_attempt(
    api: ApiClient, harness: Harness
) -> None:
    await _fail(harness, "HTTP 502 from 10.0.0.1", "HTTP 503 from 10.0.0.2", tenant="a")
    await harness.advance(hours=2)
    await _fail(harness, "HTTP 504 from 10.0.0.3", "another", tenant="b")
    everybody, other = await api.acting("super-admin", "a"), await api.acting("viewer", "b")
    listed = await everybody.ok("GET", "/jobs/failures")
    assert (listed["total_errors"], listed["total_jobs"]) == (2, 4)
    assert datetime.fromisoformat(listed["as_of"]) == await harness.now()
    [http, _] = listed["items"]
    assert (http["jobs"], http["dead_letters"], http["recent"], http["tenants"]) == (3, 0, 3, 2)
    path = f"/jobs/failures/add/{http['fingerprint']}"
    found = await everybody.ok("GET", path)
    assert (found["jobs"], found["dead_letters"], found["failures"]) == (3, 0, 3)
    assert {one["tenant"]: one["jobs"] for one in found["tenants"]} == {"a": 2, "b": 1}
    assert [one["failed"] for one in found["history"]] == [2, 1]
    assert [(one["host"], one["failures"]) for one in found["workers"]] == [("here", 2), ("here", 1)]
    assert found["workers_of"] == 3
    assert found["sample"]["error_text"] == "HTTP 504 from 10.0.0.3"
    assert found["last_job_id"] == http["last_job_id"]
    await harness.count_failures()
    assert await everybody.ok("GET", path) == found
    own = await other.ok("GET", path, params={"step_hours": 24})
    assert (own["jobs"], len(own["tenants"]), sum(one["failed"] for one in own["history"])) == (1, 1, 1)
    assert (await (await api.acting("viewer", "c")).get(path)).status_code == 404
    assert (await other.get("/jobs/failures/other/" + http["fingerprint"])).status_code == 404
    limited = await everybody.ok("GET", "/jobs/failures", params={"limit": 1})
    assert (len(limited["items"]), limited["total_errors"], limited["total_jobs"]) == (1, 2, 4)
    summary = await everybody.ok("GET", "/jobs/summary")
    assert (summary["counts"]["failed"], summary["counts"]["dead_letter"]) == (4, 0)
    assert datetime.fromisoformat(summary["failures_as_of"]) == await harness.now()


async def test_latency_tells_how_long_jobs_waited_and_ran(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", 2)
    await harness.enqueue("add", delay_s=5.0)
    await harness.advance(seconds=10)
    await harness.promote()
    leases = await worker.claim(3)
    await harness.advance(seconds=4)
    for lease in leases:
        await worker.succeed(lease)
    viewer = await api.acting("viewer")
    found = (await viewer.ok("GET", "/jobs/latency", params={"step_seconds": 3600}))["items"]
    [one] = [one for one in found if one["jobs"]]
    assert (one["jobs"], one["wait_p50"], one["run_p50"]) == (3, 10, 4)
    assert one["wait_p95"] <= 10
    assert (await (await api.acting("viewer", "b")).ok("GET", "/jobs/latency"))["items"] == []
    refused = await viewer.get("/jobs/latency", params={"start": "2020-01-01T00:00:00Z"})
    assert refused.status_code == 422


async def test_a_job_that_has_ended_tells_when_and_where_it_ran(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add")
    viewer = await api.acting("viewer")
    waiting = await viewer.ok("GET", f"/jobs/{job}")
    assert (waiting["started_at"], waiting["last_worker"]) == (None, None)
    lease = await worker.claim_one()
    running = await viewer.ok("GET", f"/jobs/{job}")
    assert (running["claimed_by_worker"], running["last_worker"]) == (worker.id, worker.id)
    await worker.succeed(lease)
    ended = await viewer.ok("GET", f"/jobs/{job}")
    assert (ended["claimed_by_worker"], ended["last_worker"]) == (None, worker.id)
    assert ended["started_at"] is not None


async def test_a_durable_job_tells_its_times_apart_and_only_attempts_that_count(
    api: ApiClient, harness: Harness
) -> None:
    worker = await harness.worker(lease_s=86_400)
    job = await harness.enqueue("add", max_attempts=3)
    viewer = await api.acting("viewer")
    waiting = await viewer.ok("GET", f"/jobs/{job}")
    assert (waiting["total_s"], waiting["own_s"], waiting["waiting_s"], waiting["attempt_count"]) == (None,) * 3 + (0,)
    lease = await worker.claim_one()
    began = await harness.now()
    await harness.advance(seconds=2)
    await suspend(harness, worker, lease, 60)
    await worker.succeed(await worker.claim_one())
    ended = await viewer.ok("GET", f"/jobs/{job}")
    assert (ended["total_s"], ended["own_s"], ended["waiting_s"]) == (62, 2, 60)
    assert datetime.fromisoformat(ended["started_at"]) == began
    assert (ended["attempt_count"], ended["attempt_no"], ended["claimed_at"]) == (1, 2, None)
    [listed] = (await viewer.ok("GET", "/jobs"))["items"]
    [node] = (await viewer.ok("GET", f"/jobs/{job}/tree"))["items"]
    assert (listed["attempt_count"], listed["started_at"], node["attempt_count"]) == (1, ended["started_at"], 1)


async def test_unread_signals_and_runs_are_shown(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add", payload={"n": 1})
    viewer = await api.acting("viewer")
    found = await viewer.ok("GET", f"/jobs/{job}")
    assert (found["unread_signals"], found["runs"]) == ([], 1)
    for name in ("paid", "paid", "approved"):
        await harness.store.jobs.signal(job, name, "1")
    lease = await worker.claim_one()
    await harness.store.workflows.continue_as_new(Lease(worker.id, job, lease.attempt), '{"n": 2}')
    found = await viewer.ok("GET", f"/jobs/{job}")
    assert [(one["name"], one["signals"]) for one in found["unread_signals"]] == [("approved", 1), ("paid", 2)]
    assert (found["runs"], found["payload"], found["attempt_count"]) == (2, {"n": 2}, 0)


async def test_a_payload_is_found_by_a_path(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add", payload={"order": {"lines": [{"sku": "x"}]}, "a.b": "dotted"})
    await harness.enqueue("add", payload={"order": {"lines": []}})
    viewer = await api.acting("viewer")
    for path in ("order.lines.0.sku=x", "a.b=dotted"):
        found = await viewer.ok("GET", "/jobs", params={"payload": path})
        assert [one["id"] for one in found["items"]] == [str(job)]


async def test_jobs_are_counted_as_far_as_a_page_would_go(api: ApiClient, harness: Harness) -> None:
    viewer = await api.acting("viewer")
    await harness.enqueue_many("add", 3)
    await harness.enqueue_many("other", 2, tenant="b")
    assert await viewer.ok("GET", "/jobs/count") == {"count": 3, "more": False}
    assert await viewer.ok("GET", "/jobs/count", params={"status": "running"}) == {"count": 0, "more": False}
    await harness.enqueue_many("other", 1000)
    assert await viewer.ok("GET", "/jobs/count") == {"count": 1000, "more": True}
    assert await viewer.ok("GET", "/jobs/count", params={"definition_key": "add"}) == {"count": 3, "more": False}
