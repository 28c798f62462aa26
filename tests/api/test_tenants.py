"""S2, S3, S5: a tenant's key has no access to another tenant's objects. Generated from the access table."""

import asyncio
import random
from typing import Any
from uuid import UUID

import httpx
import pytest

from plait.api.access import ROUTES
from plait.model.roles import Role, may

from ..harness import Harness
from .api_client import ApiClient
from .samples import Things, make_things, names, nobodys, sample

OF_THINGS = [name for name in names() if "_id}" in name and "/worker/" not in name]
"""Worker routes are excluded: workers serve all tenants, and leases limit their access (test_worker_protocol.py)."""
LISTS = [
    name
    for name in names()
    if name.startswith("GET ")
    and "{" not in name
    and ROUTES[name] not in (None, Role.SUPER_ADMIN)
    and "stream" not in name
]


async def _ask(caller: ApiClient, name: str, things: Things, **options: Any) -> httpx.Response:
    made = sample(name, things)
    return await caller.call(made.method, made.path, **made.options, **options)


@pytest.mark.parametrize("name", OF_THINGS)
async def test_anothers_things_are_not_there(api: ApiClient, harness: Harness, name: str) -> None:
    mine, theirs = await make_things(harness, "a"), await make_things(harness, "b")
    before = await harness.snapshot()
    for role in (role for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN) if may(role, ROUTES[name] or role)):
        caller = await api.acting(role, "a")
        foreign, nothing = await _ask(caller, name, theirs), await _ask(caller, name, nobodys())
        assert foreign.status_code == nothing.status_code == 404, foreign.text
        assert _but_the_ids(foreign) == _but_the_ids(nothing)
        named = await _ask(caller, name, theirs, params={"tenant": "b"})
        assert named.status_code == 404
        assert str(theirs.job_id) not in str(
            await harness.rows("select * from plait.audit where action <> 'tenant.refused'")
        )
    assert await harness.snapshot() == before
    if name.endswith(("/streams/{name}", "/children/times")):
        return  # the stream of its own job does not end before the job, and the job has no fan-out
    own = await _ask(await api.acting("admin", "a"), name, mine)
    assert own.status_code != 404, own.text


def _but_the_ids(answer: httpx.Response) -> dict[str, Any]:
    said = answer.json()
    return {name: said[name] for name in ("type", "title", "status")}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_has_nothing_of_another_tenant(api: ApiClient, harness: Harness, name: str) -> None:
    theirs = await make_things(harness, "b")
    admin = await api.acting("admin", "a")
    answer = await _ask(admin, name, theirs)
    assert answer.status_code == 200
    for value in (
        theirs.job_id,
        theirs.trigger_id,
        theirs.event_id,
        theirs.key_id,
        theirs.endpoint_id,
        "of b",
        "of-b",
        await harness.tenant("b"),
    ):
        assert str(value) not in answer.text


async def test_naming_another_tenant_is_refused_and_written_down(api: ApiClient, harness: Harness) -> None:
    await make_things(harness, "b")
    b = await harness.tenant("b")
    caller = await api.acting("admin", "a")
    for named in ("b", str(b)):
        for answer in (
            await caller.get("/jobs", params={"tenant": named}),
            await caller.post("/jobs", {"definition_key": "add"}, params={"tenant": named}),
        ):
            assert answer.status_code == 404
    assert (await caller.post("/jobs", {"definition_key": "add", "tenant_id": str(b)})).status_code == 422
    entries = await harness.store.audit.list_audit(tenant_id=await harness.tenant("a"), action="tenant.refused")
    assert {entry.object for entry in entries} == {"b", str(b)}
    assert len(entries) == 4
    assert (await caller.get("/jobs", params={"tenant": "a"})).status_code == 200


async def test_a_cursor_or_a_filter_of_anothers_shows_nothing(api: ApiClient, harness: Harness) -> None:
    theirs = await make_things(harness, "b")
    caller = await api.acting("admin", "a")
    for query in (
        {"parent": theirs.job_id},
        {"root": theirs.job_id},
        {"search": theirs.job_id},
        {"correlation_id": "c-b"},
        {"payload": "secret=of b"},
    ):
        found = await caller.ok("GET", "/jobs", params=query)
        assert (found["items"], found["next"]) == ([], None)


async def test_any_call_on_anothers_things(api: ApiClient, harness: Harness) -> None:
    await _many_calls(api, harness, 300)


@pytest.mark.full
async def test_three_thousand_calls_on_anothers_things(api: ApiClient, harness: Harness) -> None:
    await _many_calls(api, harness, 3000)


async def _many_calls(api: ApiClient, harness: Harness, calls: int) -> None:
    """Call random routes with another tenant's ids in random places, and with every way of naming the tenant."""
    lot = random.Random(1)
    theirs = await make_things(harness, "b")
    await make_things(harness, "a")
    callers = [await api.acting(role, "a") for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN)]
    before = await harness.snapshot()
    ids = [theirs.job_id, theirs.trigger_id, theirs.event_id, theirs.key_id, theirs.endpoint_id]
    seen = set()
    for _ in range(calls):
        caller, name = lot.choice(callers), lot.choice(OF_THINGS)
        mixed = Things(
            job_id=lot.choice(ids),
            trigger_id=lot.choice(ids),
            event_id=lot.choice(ids),
            key_id=lot.choice(ids),
            endpoint_id=lot.choice(ids),
        )
        query = lot.choice([{}, {"tenant": "b"}, {"search": "of b"}, {"limit": "1"}])
        answer = await _ask(caller, name, mixed, params=query)
        seen.add(answer.status_code)
        assert answer.status_code in (404, 403), (name, answer.text)
        assert "of b" not in answer.text
    assert seen == {404, 403}
    assert await harness.snapshot() == before


async def test_interleaved_requests_of_many_tenants(api: ApiClient, harness: Harness) -> None:
    await _interleaved(api, harness, tenants=10, requests=400)


@pytest.mark.full
async def test_ten_thousand_interleaved_requests_of_fifty_tenants(api: ApiClient, harness: Harness) -> None:
    await _interleaved(api, harness, tenants=50, requests=10_000)


async def _interleaved(api: ApiClient, harness: Harness, *, tenants: int, requests: int) -> None:
    """S5: pooled connections serve one tenant after another, with errors and canceled requests in between. No tenant sees another tenant's rows."""
    lot = random.Random(2)
    slugs = [f"t{n}" for n in range(tenants)]
    await harness.define("add", search_keys=["secret"])
    things = {slug: await make_things(harness, slug) for slug in slugs}
    callers = {slug: await api.acting("admin", slug) for slug in slugs}  # a role that may read the field `secret`
    ids: dict[str, UUID] = {slug: await harness.tenant(slug) for slug in slugs}
    seen = 0

    async def one() -> None:
        nonlocal seen
        slug = lot.choice(slugs)
        caller, mine = callers[slug], things[slug]
        match lot.randrange(7):
            case 0:
                answer = await caller.get("/jobs")
                assert {job["tenant_id"] for job in answer.json()["items"]} == {str(ids[slug])}
            case 1:
                answer = await caller.get(f"/jobs/{mine.job_id}")
                assert answer.json()["payload"] == {"secret": f"of {slug}"}
            case 2:
                answer = await caller.get("/jobs", params={"status": "nonsense"})
                assert answer.status_code == 422
            case 3:
                answer = await caller.get("/events")
                assert {event["tenant_id"] for event in answer.json()["items"]} == {str(ids[slug])}
            case 4:
                other = lot.choice(slugs)
                answer = await caller.get(f"/jobs/{things[other].job_id}")
                assert answer.status_code == (200 if other == slug else 404)
            case 5:
                other = lot.choice(slugs)
                answer = await caller.get("/jobs", params={"definition_key": "add", "payload": f"secret=of {other}"})
                found = [job["id"] for job in answer.json()["items"]]
                assert found == ([str(mine.job_id)] if other == slug else [])
            case _:
                asked = asyncio.ensure_future(caller.get("/jobs"))
                await asyncio.sleep(0)  # sleep: the request has started, and is then canceled
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
        seen += 1

    rest = requests
    while rest > 0:
        await asyncio.gather(*(one() for _ in range(min(rest, 20))))
        rest -= 20
    assert seen == requests
