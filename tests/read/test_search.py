"""Search jobs by payload: declared keys with an index, anything else with a bounded scan."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from plait import Plait
from plait.model.errors import InvalidDefinition, InvalidSetting
from plait.model.ids import new_id
from plait.store.leader import Retention
from plait.store.new_jobs import NewJob

from ..access.logins import fan_out
from ..harness import Harness


def _later(minutes: int = 1) -> UUID:
    """An id that sorts after all ids created now. The index is used only for ids after the key's declaration."""
    at = int((datetime.now(UTC) + timedelta(minutes=minutes)).timestamp() * 1000)
    return UUID(int=(at << 80) | (new_id().int & ((1 << 80) - 1)))


async def _enqueue(
    harness: Harness,
    payload: Any,
    *,
    tenant: str = "default",
    id: UUID | None = None,  # noqa: A002 - as NewJob calls it
    **more: Any,
) -> UUID:
    job_id = id or _later()
    text = payload if isinstance(payload, str) else json.dumps(payload)
    job = NewJob(id=job_id, definition="sync", payload=text, tenant_id=await harness.tenant(tenant), **more)
    await harness.store.jobs.enqueue_many([job])
    return job_id


async def _find(harness: Harness, tenant: str = "default", **wanted: str) -> set[UUID]:
    found = await harness.store.jobs.list_jobs(
        tenant_id=await harness.tenant(tenant), definition="sync", payload=json.dumps(wanted), limit=1000
    )
    return {job.id for job in found}


async def _values(harness: Harness) -> list[tuple[str, str]]:
    rows = await harness.rows("select key, value from plait.search_values order by key, value")
    return [(row["key"], row["value"]) for row in rows]


async def test_a_declared_key_is_remembered_with_each_job_and_others_are_not(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer", "order.id"])
    plain = await _enqueue(harness, {"customer": 7, "order": {"id": "a"}, "other": 1})
    keyed = await _enqueue(harness, {"customer": "7"}, correlation_id="c")
    await _enqueue(harness, {"customer": None, "order": 3})
    await harness.enqueue("add", payload={"customer": 7})
    assert await _values(harness) == [("customer", "7"), ("customer", "7"), ("order.id", "a")]
    assert await _find(harness, customer="7") == {plain, keyed}
    assert await _find(harness, **{"order.id": "a"}) == {plain}
    assert await _find(harness, **{"customer": "7", "order.id": "b"}) == set()
    assert await _find(harness, other="1") == {plain}  # by a scan


async def test_a_declared_key_is_found_however_many_jobs_there_are(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer"])
    wanted = await _enqueue(harness, {"customer": "rare"})
    tenant = await harness.tenant()
    jobs = [
        NewJob(id=_later(2), definition="sync", payload='{"customer": "many"}', tenant_id=tenant) for _ in range(150)
    ]
    await harness.store.jobs.enqueue_many(jobs)
    for key, complete in (("customer", True), ("other", False)):
        rows = await harness.rows(
            "select (job).id, stopped from plait.search_jobs($1, p_definition => 'sync', p_payload => $2::text::json, p_scan => 100)",
            tenant,
            json.dumps({key: "rare"}),
        )
        assert [row["id"] for row in rows if row["id"]] == ([wanted] if complete else [])
        assert any(row["stopped"] for row in rows) is not complete


async def test_jobs_from_before_the_declaration_are_found_by_looking_further(harness: Harness) -> None:
    await harness.define("sync")
    old = await _enqueue(harness, {"customer": 7}, id=new_id())
    ahead = await _enqueue(harness, {"customer": 7}, id=_later(5))  # a later id, enqueued before the declaration
    await harness.define("sync", search_keys=["customer"])
    new = await _enqueue(harness, {"customer": 7}, id=_later(10))
    tenant = await harness.tenant()
    asked = {"tenant_id": tenant, "definition": "sync", "payload": '{"customer": "7"}'}
    first = await harness.store.jobs.list_jobs(**asked)  # type: ignore[arg-type]
    assert ([job.id for job in first], first.stopped) == ([new, ahead, old], None)
    read: list[UUID] = []
    before: UUID | None = None
    while True:
        page = await harness.store.jobs.list_jobs(**asked, limit=1, before=before)  # type: ignore[arg-type]
        read += [job.id for job in page]
        if (before := page.next(1)) is None:
            break
    assert read == [new, ahead, old]
    skipped = await harness.store.jobs.list_jobs(**asked, offset=1)  # type: ignore[arg-type]
    assert [job.id for job in skipped] == []
    assert skipped.stopped is not None
    # Removing a key keeps the start of the index; adding a key moves it.
    [(began,)] = await harness.rows("select search_from from plait.definitions where name = 'sync'")
    await harness.define("sync", search_keys=["customer"], priority=5)
    assert [tuple(row) for row in await harness.rows("select search_from from plait.definitions")] == [(began,)]
    await harness.define("sync", search_keys=["customer", "path"])
    assert [tuple(row) for row in await harness.rows("select search_from > $1 from plait.definitions", began)] == [
        (True,)
    ]


async def test_one_job_by_the_short_way_is_searchable_too(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer"])
    job = NewJob(id=_later(), definition="sync", payload='{"customer": 7}', tenant_id=await harness.tenant())
    assert not await harness.store.jobs.enqueue_one(job)  # the fast path does not support it
    await harness.store.jobs.enqueue_many([job])
    assert await _find(harness, customer="7") == {job.id}


async def test_no_tenant_finds_anothers_values(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer"])
    mine = await _enqueue(harness, {"customer": 7}, tenant="a")
    await _enqueue(harness, {"customer": 7}, tenant="b")
    assert await _find(harness, "a", customer="7") == {mine}
    everybody = await harness.store.jobs.list_jobs(all_tenants=True, definition="sync", payload='{"customer": "7"}')
    assert len(everybody) == 2


@pytest.mark.parametrize("value", ["x" * 500, "\N{GRINNING FACE}" * 300, "", "it's", "%_\\"])
async def test_values_of_any_length_are_compared_whole(harness: Harness, value: str) -> None:
    await harness.define("sync", search_keys=["customer"])
    job = await _enqueue(harness, {"customer": value})
    await _enqueue(harness, {"customer": value + "!"})
    assert await _find(harness, customer=value) == {job}


@pytest.mark.parametrize(
    "payload", ['{"customer": "\\u0000"}', '{"customer": "\\ud800"}', '{"customer": {"a": [1]}}', "{}"]
)
async def test_a_payload_that_has_no_such_text_is_enqueued_all_the_same(harness: Harness, payload: str) -> None:
    await harness.define("sync", search_keys=["customer"])
    job = await _enqueue(harness, payload)
    assert (await harness.store.jobs.get_job(job)).payload == payload


async def test_children_and_what_follows_and_forks_are_searchable_too(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer"])
    worker = await harness.worker(definitions=["add", "sync"])
    parent = await harness.enqueue("add")
    lease = await worker.claim_one()
    payload = '{"customer": 7}'
    await harness.sql("select plait.after($1, 'sync', $2::text::json)", parent, payload)
    child = await harness.sql("select plait.spawn('sync', $2::text::json, parent => $1)", parent, payload)
    await worker.succeed(lease)
    assert await _values(harness) == [("customer", "7")]
    await worker.succeed(await worker.claim_one())
    assert await _values(harness) == [("customer", "7")] * 2
    assert isinstance(child, UUID)
    await harness.store.jobs.fork(child)
    assert await _values(harness) == [("customer", "7")] * 3


async def test_the_children_of_a_fan_out_are_searchable_too(harness: Harness) -> None:
    await harness.define("work", search_keys=["n"])
    await fan_out(harness.store, await harness.tenant())
    assert {key for key, _ in await _values(harness)} == {"n"}


async def test_what_retention_forgets_is_found_no_more(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer"])
    job = await _enqueue(harness, {"customer": 7}, id=new_id())
    await harness.cancel(job)
    await harness.advance(days=40)
    await harness.store.leader.prune(Retention())
    assert await _values(harness) == []


@pytest.mark.parametrize("keys", [[""], ["a"] * 11, ["x" * 2000], [None]])
async def test_bad_search_keys_are_refused(harness: Harness, keys: list[Any]) -> None:
    with pytest.raises(InvalidSetting):
        await harness.define("sync", search_keys=keys)


async def test_search_keys_stay_when_the_code_does_not_say_and_go_when_it_says_none(harness: Harness) -> None:
    await harness.define("sync", search_keys=["customer"])
    await harness.define("sync", queue="q")
    [row] = await harness.store.definitions.list_definitions()
    assert row.search_keys == ["customer"]
    await harness.define("sync", search_keys=[])
    [row] = await harness.store.definitions.list_definitions()
    assert row.search_keys is None
    job = await _enqueue(harness, {"customer": 7})
    assert await _values(harness) == []
    assert await _find(harness, customer="7") == {job}


async def test_pages_of_a_bounded_look_miss_no_row(harness: Harness) -> None:
    """The row at which a scan stopped is on exactly one page."""
    jobs = await harness.enqueue_many("add", 250)
    before: UUID | None = None
    read: list[UUID] = []
    while True:
        rows = await harness.rows(
            "select (job).id, stopped from plait.search_jobs(p_search => 'add', p_scan => 100, p_limit => 1000, p_before => $1)",
            before,
        )
        read += [row["id"] for row in rows if row["id"]]
        before = rows[-1]["stopped"] if rows else None
        if before is None:
            break
    assert read == sorted(jobs, reverse=True)


def test_a_search_key_names_an_argument() -> None:
    app = Plait()

    @app.job(search_keys=["order.customer", "path"])
    def sync(order: dict[str, str], path: str) -> None: ...

    assert app.definitions["sync"].row()["search_keys"] == ("order.customer", "path")
    for keys in (["other"], ["order"] * 11, "order", ["order." + "x" * 2000]):
        with pytest.raises(InvalidDefinition):

            @app.job(name="another", search_keys=keys)
            def another(order: dict[str, str]) -> None: ...
