"""One path through all layers: create a key, enqueue a job, read it."""

from plait.model.ids import new_id

from ..harness import Harness
from .api_client import ApiClient


async def test_a_job_is_asked_for_and_looked_at(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    caller = await api.acting("operator")
    asked = await caller.post(
        "/jobs",
        {
            "definition_key": "add",
            "payload": {"a": 1},
            "priority": 50,
            "scheduled_for": "2100-01-01T00:00:00Z",
            "dedupe_key": "k",
        },
    )
    assert asked.status_code == 201, asked.text
    made = asked.json()
    assert (made["status"], made["definition_key"], made["deduplicated"]) == ("scheduled", "add", False)
    assert asked.headers["location"] == f"/api/v1/jobs/{made['id']}"

    job = await caller.ok("GET", f"/jobs/{made['id']}")
    assert job["payload"] == {"a": 1}
    assert (job["priority"], job["dedupe_key"], job["source"]) == (50, "k", "manual")
    assert job["scheduled_for"] == "2100-01-01T00:00:00Z"
    listed = await caller.ok("GET", "/jobs")
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    assert listed["next"] is None

    again = await caller.post("/jobs", {"definition_key": "add", "dedupe_key": "k"})
    assert again.status_code == 200
    assert again.json()["id"] == made["id"]
    assert again.json()["deduplicated"]


async def test_without_a_key_nothing_is_told_but_that_the_process_lives(api: ApiClient) -> None:
    assert (await api.get("/healthz")).json() == {"status": "ok"}
    assert (await api.get("/readyz")).json() == {"status": "ok"}
    refused = await api.get("/jobs")
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["type"] == "urn:plait:problem:not-signed-in"


async def test_another_tenants_job_is_not_there(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue(tenant="b")
    caller = await api.acting("admin", "a")
    foreign = await caller.get(f"/jobs/{job}")
    nobodys = await caller.get(f"/jobs/{new_id()}")
    assert foreign.status_code == nobodys.status_code == 404
    assert {**foreign.json(), "detail": "", "instance": "", "request_id": ""} == {
        **nobodys.json(),
        "detail": "",
        "instance": "",
        "request_id": "",
    }
    assert (await caller.ok("GET", "/jobs"))["items"] == []
    everybodys = await api.acting("super-admin")
    assert [one["id"] for one in (await everybodys.ok("GET", "/jobs"))["items"]] == [str(job)]


async def test_an_enqueue_leaves_an_entry_in_the_audit_and_a_refused_one_does_not(
    api: ApiClient, harness: Harness
) -> None:
    await harness.define("add")
    caller = await api.acting("operator")
    made = await caller.ok("POST", "/jobs", {"definition_key": "add"})
    refused = await caller.post("/jobs", {"definition_key": "add", "queue": "no spaces here"})
    assert refused.status_code == 422
    [entry] = await harness.store.audit.list_audit(all_tenants=True)
    assert (entry.action, entry.object, entry.actor) == ("job.enqueue", made["id"], f"key {caller.key_id}")
