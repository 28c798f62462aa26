"""Workers over HTTP: the same leases and fencing as native workers, and no access to another worker's jobs."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from plait.api import waiting_claims
from plait.model.ids import new_id
from plait.store import Database

from ..harness import Harness
from .api_client import ApiClient


async def _claim(caller: ApiClient, **options: Any) -> Any:
    return await caller.ok("POST", "/worker/jobs/claim", {"queues": ["default"], "definitions": ["add"], **options})


async def _claimed(caller: ApiClient) -> tuple[str, dict[str, int]]:
    """A job that was just claimed: its path, and the fields that every request about it must contain."""
    got = await _claim(caller)
    [job] = got["jobs"]
    return f"/worker/jobs/{job['id']}", {"worker": got["worker"], "attempt": job["attempt"]}


async def test_a_job_is_claimed_and_completed(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add", payload={"a": 1}, tenant="b")
    caller = await api.acting("worker")
    got = await _claim(caller)
    [claimed] = got["jobs"]
    assert (claimed["id"], claimed["payload"], claimed["attempt"]) == (str(job), {"a": 1}, 1)
    said = {"worker": got["worker"], "attempt": 1}
    await caller.ok("POST", f"/worker/jobs/{job}/logs", {**said, "stdout": "one\n", "progress": {"percent": 5}})
    await caller.ok("POST", f"/worker/jobs/{job}/logs", {**said, "stdout": "two\n"})
    await caller.ok("POST", f"/worker/jobs/{job}/complete", {**said, "result": {"sum": 2}})
    row = await harness.job(job)
    assert (row.status, row.result) == ("succeeded", '{"sum": 2}')
    [attempt] = await harness.attempts(job)
    assert attempt.progress is not None
    assert '"one\\ntwo\\n"' in attempt.progress
    assert '"percent": 5' in attempt.progress


async def test_a_link_of_a_chain_gets_the_result_of_the_job_before_it(api: ApiClient, harness: Harness) -> None:
    before = await harness.enqueue("add", payload={"a": 1})
    link = await harness.enqueue("add", payload={"$previous": "a", "b": 2}, after=f"{{{before}}}")
    caller = await api.acting("worker")
    path, said = await _claimed(caller)
    await caller.ok("POST", f"{path}/complete", {**said, "result": [7]})
    [claimed] = (await _claim(caller))["jobs"]
    assert (claimed["id"], claimed["payload"]) == (str(link), {"a": [7], "b": 2})


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("fail", {"error": "no"}, "scheduled"),
        ("fail", {"error": "no\0", "permanent": True}, "failed"),
        ("fail", {"timeout": True, "delay_seconds": 5}, "scheduled"),
        ("release", {}, "queued"),
        ("release", {"delay_seconds": 60}, "scheduled"),
        ("skip", {"reason": "nothing to do"}, "skipped"),
    ],
)
async def test_every_outcome_ends_as_a_native_workers_would(
    api: ApiClient, harness: Harness, verb: str, body: dict[str, Any], status: str
) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("worker")
    path, said = await _claimed(caller)
    sent = await caller.post(f"{path}/{verb}", {**said, **body})
    assert sent.status_code == 200, sent.text
    assert await harness.status(job) == status
    again = await caller.post(f"{path}/{verb}", {**said, **body})
    assert again.status_code == 200, "T45: a request whose reply was lost can be repeated"


async def test_a_stale_attempt_is_refused_and_changes_nothing(api: ApiClient, harness: Harness) -> None:
    """T34."""
    job = await harness.enqueue("add")
    caller = await api.acting("worker")
    path, said = await _claimed(caller)
    await harness.sql("update plait.workers set expires_at = plait.now() - interval '1 s'")
    await harness.rescue()
    other = await harness.worker()
    lease = await other.claim_one()
    assert lease.job_id == job
    before = await harness.snapshot()
    for verb in ("complete", "fail", "release", "skip", "logs", "heartbeat"):
        answer = await caller.post(f"{path}/{verb}", said)
        assert answer.status_code == 409, (verb, answer.text)
    assert await harness.snapshot() == before
    assert (await caller.post("/worker/jobs/claim", {**_WHERE, "worker": said["worker"]})).status_code == 409


_WHERE = {"queues": ["default"], "definitions": ["add"]}


async def test_a_worker_is_its_keys_own(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue("add")
    mine, other = await api.acting("worker"), await api.acting("worker")
    path, said = await _claimed(mine)
    native = await harness.worker()
    for number in (said["worker"], native.id):
        for verb in ("complete", "fail", "release", "skip", "logs", "heartbeat"):
            assert (await other.post(f"{path}/{verb}", {**said, "worker": number})).status_code == 409
        assert (await other.post("/worker/leave", {"worker": number})).status_code == 409
        assert (await other.post("/worker/jobs/claim", {**_WHERE, "worker": number})).status_code == 409
    await mine.ok("POST", f"{path}/complete", said)


async def test_a_heartbeat_renews_the_lease_and_tells_what_shall_stop(api: ApiClient, harness: Harness) -> None:
    first, second = await harness.enqueue_many("add", 2)
    caller = await api.acting("worker")
    got = await _claim(caller, limit=2)
    said = {"worker": got["worker"], "attempt": 1}
    await harness.advance(seconds=20)
    await harness.cancel(first)
    beat = await caller.ok("POST", f"/worker/jobs/{second}/heartbeat", said)
    assert beat == {"cancel": [str(first)], "gone": []}
    await harness.advance(seconds=20)
    assert (await harness.rescue()).lost == 0
    held = [{"id": str(second), "attempt": 1}]
    beat = await caller.ok("POST", f"/worker/jobs/{second}/heartbeat", {**said, "held": held})
    assert await harness.status(first) == "canceled", (
        "jobs that the heartbeat does not list are released, and this job was to be canceled"
    )
    assert (await caller.ok("POST", f"/worker/jobs/{first}/heartbeat", said))["gone"] == [str(first)]


async def test_a_worker_that_holds_nothing_has_a_heartbeat_too(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("worker")
    got = await _claim(caller)
    await harness.advance(seconds=20)
    assert await caller.ok("POST", "/worker/heartbeat", {"worker": got["worker"]}) == {"cancel": [], "gone": []}
    await harness.advance(seconds=20)
    assert (await harness.rescue()).lost == 0
    job = await harness.enqueue("add")
    await _claim(caller, worker=got["worker"])
    other = new_id()
    said = {"worker": got["worker"], "held": [{"id": str(other), "attempt": 1}]}
    assert (await caller.ok("POST", "/worker/heartbeat", said))["gone"] == [str(other)]
    assert await harness.status(job) == "queued", "jobs that the heartbeat does not list are released"
    await harness.advance(seconds=60)
    await harness.rescue()
    assert (await caller.post("/worker/heartbeat", {"worker": got["worker"]})).status_code == 409


async def test_a_job_that_another_transaction_holds_does_not_delay_the_other_outcomes(
    api: ApiClient, harness: Harness
) -> None:
    held, free = await harness.enqueue("add"), await harness.enqueue("add")
    caller = await api.acting("worker")
    claim = await _claim(caller, limit=2)
    outcomes = [{"id": one["id"], "attempt": 1, "outcome": "complete"} for one in claim["jobs"]]
    body = {"worker": claim["worker"], "outcomes": outcomes}
    async with harness.connection() as connection, connection.transaction():
        await connection.fetchval("select plait.cancel($1)", held)
        answer = await caller.ok("POST", "/worker/jobs/settle", body)
        told = {one["id"]: (one["accepted"], one["busy"]) for one in answer["settled"]}
        assert told == {str(held): (False, True), str(free): (True, False)}
    again = await caller.ok("POST", "/worker/jobs/settle", body)
    assert [(one["accepted"], one["busy"]) for one in again["settled"]] == [(True, False)] * 2


async def test_several_outcomes_are_settled_in_one_request(api: ApiClient, harness: Harness) -> None:
    jobs = [str(job) for job in sorted(await harness.enqueue_many("add", 6))]
    caller = await api.acting("worker")
    got = await _claim(caller, limit=6)
    outcomes: list[dict[str, Any]] = [
        {"outcome": "complete", "result": {"n": 1}},
        {"outcome": "fail", "error": "no\0", "permanent": True},
        {"outcome": "fail", "timeout": True, "delay_seconds": 5},
        {"outcome": "release"},
        {"outcome": "release", "delay_seconds": 60},
        {"outcome": "skip", "reason": "nothing to do"},
    ]
    said = [{"id": job, "attempt": 1, **one} for job, one in zip(jobs, outcomes, strict=True)]
    gone = {"id": str(new_id()), "attempt": 1, "outcome": "complete"}
    body = {"worker": got["worker"], "outcomes": [said[0], gone, *said[1:]]}
    answer = await caller.ok("POST", "/worker/jobs/settle", body)
    assert [(one["id"], one["accepted"]) for one in answer["settled"]] == [
        (one["id"], one is not gone) for one in body["outcomes"]
    ]
    statuses = [await harness.status(UUID(job)) for job in jobs]
    assert statuses == ["succeeded", "failed", "scheduled", "queued", "scheduled", "skipped"]
    again = await caller.ok("POST", "/worker/jobs/settle", body)
    assert again == answer, "T45: a request whose reply was lost can be repeated"


async def test_outcomes_of_anothers_worker_are_refused_whole(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue("add")
    mine, other = await api.acting("worker"), await api.acting("worker")
    got = await _claim(mine)
    [job] = got["jobs"]
    before = await harness.snapshot()
    body = {"worker": got["worker"], "outcomes": [{"id": job["id"], "attempt": 1, "outcome": "complete"}]}
    assert (await other.post("/worker/jobs/settle", body)).status_code == 409
    assert (await other.post("/worker/heartbeat", {"worker": got["worker"]})).status_code == 409
    for wrong in ({**body, "outcomes": []}, {**body, "outcomes": body["outcomes"] * 1001}):
        assert (await mine.post("/worker/jobs/settle", wrong)).status_code == 422
    assert await harness.snapshot() == before


async def test_a_claim_that_waits_is_woken_by_an_enqueue(
    api: ApiClient, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notification wakes it: the next poll would be after a minute."""
    monkeypatch.setattr(waiting_claims, "LISTENING_S", (0.0, 0.03, 60.0))
    caller = await api.acting("worker")
    direct = Database(harness.database.admin_url)  # a direct connection, if the tests use a pooler
    listening = asyncio.ensure_future(api.app.state.waiting_claims.listen(direct))
    try:
        while not api.app.state.waiting_claims.listening:
            await asyncio.sleep(0.01)  # sleep: only lets the listener connect
        for _ in range(3):
            waiting = asyncio.ensure_future(_claim(caller, queues=["other", "default"], wait_seconds=30))
            while not await harness.sql("select count(*) from plait.workers where asleep"):
                await asyncio.sleep(0.01)  # sleep: only lets the claim begin
            job = await harness.enqueue("add")
            got = await asyncio.wait_for(waiting, 60)
            assert [one["id"] for one in got["jobs"]] == [str(job)]
            assert await harness.sql("select count(*) from plait.workers where asleep") == 0, "it has a full batch"
        waiting = asyncio.ensure_future(_claim(caller, wait_seconds=30))
        while not await harness.sql("select count(*) from plait.workers where asleep"):
            await asyncio.sleep(0.01)  # sleep: as above
        api.app.state.stopping.set()
        api.app.state.waiting_claims.wake_all()
        assert (await asyncio.wait_for(waiting, 25))["jobs"] == []  # before the wait times out
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_claim_waits_for_work(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("worker")
    waiting = asyncio.ensure_future(_claim(caller, wait_seconds=20))
    while not await harness.sql("select count(*) from plait.workers"):
        await asyncio.sleep(0)  # sleep: only lets the claim begin
    job = await harness.enqueue("add")
    got = await asyncio.wait_for(waiting, 60)
    assert [one["id"] for one in got["jobs"]] == [str(job)]


async def test_a_claim_that_waits_is_answered_when_the_server_stops(api: ApiClient) -> None:
    caller = await api.acting("worker")
    waiting = asyncio.ensure_future(_claim(caller, wait_seconds=30))
    await asyncio.sleep(0)  # sleep: only lets the claim begin
    api.app.state.stopping.set()
    assert (await asyncio.wait_for(waiting, 25))["jobs"] == []  # before the wait times out


async def test_a_worker_that_leaves_gives_back_what_it_holds(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("worker")
    got = await _claim(caller)
    await caller.ok("POST", "/worker/leave", {"worker": got["worker"]})
    assert await harness.status(job) == "queued"


async def test_definitions_of_a_worker_are_known_and_others_left_alone(api: ApiClient, harness: Harness) -> None:
    await harness.define("add", max_attempts=9)
    caller = await api.acting("worker")
    await _claim(caller, definitions=["add", "new"])
    rows = {row.name: row.max_attempts for row in await harness.store.definitions.list_definitions()}
    assert rows == {"add": 9, "new": 5}


async def test_a_workers_key_creates_a_bounded_number_of_definitions(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    caller, other = await api.acting("worker"), await api.acting("worker")
    for first in (0, 250):
        await _claim(caller, definitions=["add", *(f"d{n}" for n in range(first, first + 250))])
    full = await caller.post("/worker/jobs/claim", {"queues": ["default"], "definitions": ["add", "one more"]})
    assert full.status_code == 429
    assert "at most 500 definitions; this key has created 500 and requests 1 more" in full.json()["detail"]
    assert await harness.sql("select count(*) from plait.definitions") == 501
    await _claim(caller, definitions=["add", "d0", "d499"])
    await _claim(other, definitions=["one more"])
    assert await harness.sql("select count(*) from plait.definitions") == 502
