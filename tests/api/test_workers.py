"""Workers over HTTP: alive, stale, lost and gone ones, and the history of those that ended."""

import pytest

from plait.model.roles import Role

from ..harness import Harness
from .api_client import ApiClient


async def test_lost_and_gone_workers_are_listed_apart_with_the_jobs_that_were_requeued(
    api: ApiClient, harness: Harness
) -> None:
    jobs = await harness.enqueue_many("add", 2)
    lost, gone = await harness.worker(), await harness.worker()
    await lost.claim(2)
    await harness.lose(lost)
    await harness.rescue()
    await gone.leave()
    admin = await api.acting(Role.SUPER_ADMIN)
    [shown] = (await admin.ok("GET", "/workers?state=lost"))["items"]
    assert (shown["worker_id"], shown["end_reason"], shown["requeued_count"]) == (lost.id, "lease_expired", 2)
    [shown] = (await admin.ok("GET", "/workers?state=gone"))["items"]
    assert (shown["worker_id"], shown["end_reason"], shown["requeued_count"]) == (gone.id, "left", 0)
    page = await admin.ok("GET", f"/workers/{lost.id}")
    assert (page["state"], page["held_count"], page["clearing"]) == ("lost", 2, False)
    assert {(job["job_id"], job["definition_key"], job["status"]) for job in page["last_jobs"]} == {
        (str(job), "add", "queued") for job in jobs
    }


async def test_an_expired_lease_is_shown_before_the_worker_is_declared_lost(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    await harness.expire(worker)
    [shown] = (await (await api.acting(Role.SUPER_ADMIN)).ok("GET", "/workers"))["items"]
    assert (shown["state"], shown["stale"], shown["lease_expired"], shown["ended_at"]) == ("alive", True, True, None)


async def test_the_history_of_workers_is_read_page_by_page(api: ApiClient, harness: Harness) -> None:
    workers = [await harness.worker() for _ in range(3)]
    await harness.lose(*workers[:2])
    await workers[2].leave()
    admin = await api.acting(Role.SUPER_ADMIN)
    found, cursor = [], ""
    while True:
        page = await admin.ok("GET", f"/workers/history?limit=2{cursor}")
        found += [one["worker_id"] for one in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert found == [workers[2].id, workers[1].id, workers[0].id]
    lost = await admin.ok("GET", "/workers/history?state=lost&host=here")
    assert [one["worker_id"] for one in lost["items"]] == [workers[1].id, workers[0].id]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/workers/1000000", 404),
        ("/workers/0", 422),
        ("/workers/99999999999", 422),
        ("/workers?state=dead", 422),
        ("/workers/history?state=alive", 422),
        ("/workers/history?cursor=x", 422),
    ],
)
async def test_an_unknown_worker_or_filter_is_refused(api: ApiClient, path: str, status: int) -> None:
    assert (await (await api.acting(Role.SUPER_ADMIN)).call("GET", path)).status_code == status


@pytest.mark.parametrize("path", ["/workers", "/workers/history", "/workers/1"])
async def test_a_tenants_admin_sees_no_workers(api: ApiClient, path: str) -> None:
    assert (await (await api.acting(Role.ADMIN)).call("GET", path)).status_code == 403
