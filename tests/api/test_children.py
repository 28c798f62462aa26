"""The sub-jobs of a fan-out by index, with their times: the data of the tree and the timeline."""

from datetime import datetime, timedelta

from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, claim_children, open_one
from .api_client import ApiClient


async def test_the_children_of_a_fan_out_are_read_from_any_index_with_when_each_ran(
    api: ApiClient, harness: Harness
) -> None:
    job = await harness.enqueue("add")
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), 5)
    await harness.advance(seconds=3)
    worker, leases = await claim_children(harness, 5)
    await harness.advance(seconds=2)
    await worker.succeed(leases[0])
    await worker.fail(leases[1], "it broke " + "x" * 900, permanent=True)
    await worker.fail(leases[2], "not yet")
    caller = await api.acting("viewer")

    [group] = (await caller.ok("GET", f"/jobs/{job}"))["fan_outs"]
    assert [group[name] for name in ("total", "succeeded", "failed", "running", "scheduled", "waiting")] == [
        5,
        1,
        1,
        2,
        1,
        0,
    ]
    first = await caller.ok("GET", f"/jobs/{job}/children", params={"limit": 3})
    rest = await caller.ok("GET", f"/jobs/{job}/children", params={"start": first["next"], "fan_out": group["id"]})
    items = first["items"] + rest["items"]
    assert rest["next"] is None
    assert [one["fan_out_index"] for one in items] == [0, 1, 2, 3, 4]
    by_id = {one["id"]: one for one in items}
    done, failed, again, running = (by_id[str(lease.job_id)] for lease in leases[:4])
    [ran] = done["attempts"]
    assert (done["status"], ran["status"], ran["worker_id"]) == ("succeeded", "succeeded", worker.id)
    assert (_at(ran["finished_at"]) - _at(ran["started_at"])).total_seconds() == 2
    assert (_at(ran["claimed_at"]) - _at(done["created_at"])).total_seconds() == 3
    assert failed["last_error"].startswith("it broke")
    assert len(failed["last_error"]) == 500
    assert (again["status"], len(again["attempts"]), again["finished_at"]) == ("scheduled", 1, None)
    assert _at(again["run_at"]) > _at(again["attempts"][0]["finished_at"])
    assert (running["status"], running["attempts"]) == ("running", [])
    assert _at(running["run_at"]) == _at(ran["claimed_at"])


async def test_a_child_says_whether_it_has_fan_outs_of_its_own_and_anothers_job_is_none(
    api: ApiClient, harness: Harness
) -> None:
    job = await harness.enqueue("add")
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), 2)
    worker, leases = await claim_children(harness, 2)
    await open_one(harness, worker, leases[0], 1)
    caller = await api.acting("viewer")
    found = (await caller.ok("GET", f"/jobs/{job}/children"))["items"]
    assert {one["id"]: one["fan_outs"] for one in found} == {str(leases[0].job_id): 1, str(leases[1].job_id): 0}
    assert (await caller.ok("GET", f"/jobs/{leases[1].job_id}/children"))["items"] == []
    # a fan-out of another job has no children of this job
    [foreign] = (await caller.ok("GET", f"/jobs/{leases[0].job_id}"))["fan_outs"]
    assert (await caller.ok("GET", f"/jobs/{job}/children", params={"fan_out": foreign["id"]}))["items"] == []
    other = await api.acting("viewer", "another")
    assert (await other.get(f"/jobs/{job}/children")).status_code == 404


async def test_the_slowest_children_come_first_from_page_to_page_and_their_percentiles_are_told(
    api: ApiClient, harness: Harness
) -> None:
    job = await harness.enqueue("add")
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), 4)
    worker, leases = await claim_children(harness, 4)
    for lease in leases[:3]:
        await harness.advance(seconds=2)
        await worker.succeed(lease)
    caller = await api.acting("viewer")
    slowest = {"sort": "duration", "descending": "true", "limit": "2"}
    first = await caller.ok("GET", f"/jobs/{job}/children", params=slowest)
    rest = await caller.ok("GET", f"/jobs/{job}/children", params={**slowest, "start": str(first["next"])})
    assert [one["run_s"] for one in first["items"] + rest["items"]] == [6, 6, 4, 2]
    assert {one["id"] for one in first["items"]} == {str(leases[2].job_id), str(leases[3].job_id)}
    times = await caller.ok("GET", f"/jobs/{job}/children/times")
    assert (times["ran"], times["unfinished"], times["run_p50_s"], times["run_max_s"]) == (3, 1, 4, 6)
    assert (await caller.get(f"/jobs/{leases[0].job_id}/children/times")).status_code == 404
    assert (await caller.get(f"/jobs/{job}/children", params={"sort": "name"})).status_code == 422
    other = await api.acting("viewer", "another")
    assert (await other.get(f"/jobs/{job}/children/times")).status_code == 404


async def test_a_job_is_compared_with_earlier_jobs_of_its_definition(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    jobs = []
    for seconds in (2, 4, 9):
        jobs.append(await harness.enqueue("add"))
        lease = await worker.claim_one()
        await harness.advance(seconds=seconds)
        await worker.succeed(lease)
    caller = await api.acting("viewer")
    found = await caller.ok("GET", f"/jobs/{jobs[2]}/earlier-runs")
    assert (found["runs"], found["mean_s"], found["complete"]) == (2, 3, True)
    other = await api.acting("viewer", "another")
    assert (await other.get(f"/jobs/{jobs[2]}/earlier-runs")).status_code == 404


async def test_how_many_children_ran_at_once_is_told_over_time(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), 4)
    begin = await harness.now()
    worker = await harness.worker(queues=[CHILDREN])
    [first, second] = await worker.claim(2, queue=CHILDREN)
    await harness.advance(seconds=10)
    await worker.succeed(first)
    [third] = await worker.claim(1, queue=CHILDREN)
    await harness.advance(seconds=10)
    await worker.fail(second, permanent=True)
    await harness.advance(seconds=20)
    caller = await api.acting("viewer")
    loads = (await caller.ok("GET", f"/jobs/{job}/load", params={"parts": 4}))["items"]
    assert [(one["running"], one["failed"]) for one in loads] == [(2, 0), (3, 0), (2, 1), (1, 0)]
    assert [(_at(one["at"]) - begin).total_seconds() for one in loads] == [0, 10, 20, 30]
    assert await worker.succeed(third)
    # a part of the time range; and a job without children
    window = {"start": (begin + timedelta(seconds=25)).isoformat(), "end": (begin + timedelta(seconds=65)).isoformat()}
    loads = (await caller.ok("GET", f"/jobs/{job}/load", params={"parts": 2, **window}))["items"]
    assert [one["running"] for one in loads] == [1, 0]
    assert (await caller.ok("GET", f"/jobs/{first.job_id}/load"))["items"] == []


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)
