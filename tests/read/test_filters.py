"""Every filter of the job list, alone and combined with each filter that selects another query."""

import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from plait.store.job_rows import JobRow
from plait.store.listing import NAMES
from plait.store.new_jobs import NewJob

from ..access.logins import fan_out
from ..harness import Harness
from .test_search import _later

CHUNK = 3
"""Rows per page. Pages are small, so that filters are tested across pages and where one query ends and the next begins."""


async def _populate(harness: Harness) -> None:
    """Jobs of two definitions and tenants in all statuses, on both sides of the declaration of a search key."""
    tenants = [await harness.tenant(), await harness.tenant("acme")]
    for declared in (False, True):
        await harness.define("sync", **({"search_keys": ["customer"]} if declared else {}))
        new = [
            NewJob(
                id=_later(1 + declared * 5), definition=definition, payload=json.dumps({"customer": customer}), queue=queue,
                tenant_id=tenant, correlation_id=correlation,
            )
            for tenant, definition, queue, (customer, correlation) in itertools.product(
                tenants, ["sync", "add"], ["default", "mail"], [(7, "c-1"), (7, None), (8, "c-2")]
            )
        ]  # fmt: skip
        await harness.store.jobs.enqueue_many(new[::2])
        await harness.store.jobs.enqueue_many(new[1::2], source="system")
        for number in range(2):  # the worker is a filter too
            worker = await harness.worker(queues=["default", "mail"], definitions=["sync", "add"])
            leases = await worker.claim(5)
            for at, lease in enumerate(leases[:-1]):
                if at % 4 == 3:
                    await worker.succeed(lease)
                else:
                    await worker.fail(lease, error=["disk full", "no route"][(at + number) % 2], permanent=at % 4 != 2)
        await harness.advance(minutes=10)
    for tenant in tenants:
        await fan_out(harness.store, tenant)


def _values(jobs: list[JobRow], prints: dict[str, str]) -> dict[str, list[Any]]:
    """For each filter, some values that occur in the jobs."""

    def some(of: Callable[[JobRow], Any]) -> list[Any]:
        return sorted({value for job in jobs if (value := of(job)) is not None}, key=str)[:4]

    moments = [job.created_at for job in jobs]
    middle = min(moments) + (max(moments) - min(moments)) / 2
    return {
        "statuses": [[status] for status in some(lambda job: str(job.status))] + [["failed", "queued"], ["queued", "running"]],
        "queue": some(lambda job: job.queue),
        "definition": some(lambda job: job.definition),
        "source": some(lambda job: job.source),
        "worker": some(lambda job: job.last_worker),
        "correlation_id": some(lambda job: job.correlation_id),
        "parent": some(lambda job: job.parent_id),
        "root": some(lambda job: job.root_id),
        "fan_out": some(lambda job: job.fan_out_id),
        "has_children": [True, False],
        "created_after": [middle],
        "created_before": [middle],
        "search": ["syn", "c-1"],
        "payload": ['{"customer": "7"}', '{"customer": "9"}'],
        "error": sorted(prints.values()),
    }  # fmt: skip


def _matches(job: JobRow, name: str, value: Any, wanted: dict[str, Any], everything: dict[str, Any]) -> bool:
    return bool(_is_match(job, name, value, wanted, everything))


def _is_match(job: JobRow, name: str, value: Any, wanted: dict[str, Any], everything: dict[str, Any]) -> Any:
    match name:
        case "statuses":
            return str(job.status) in value
        case "worker":
            return job.last_worker == value
        case "parent" | "root" | "fan_out":
            return getattr(job, f"{name}_id") == value
        case "has_children":
            return (job.id in everything["parents"]) is value
        case "created_after":
            return job.created_at >= value
        case "created_before":
            return job.created_at < value
        case "search":
            return value in job.definition or value in (job.correlation_id or "")
        case "payload":
            payload = json.loads(job.payload)
            return all(str(payload.get(key)) == one for key, one in json.loads(value).items())
        case "error":
            failed = "statuses" in wanted or job.status in ("failed", "dead_letter")
            return failed and everything["prints"].get(job.error or "", everything["none"]) == value
        case _:
            return getattr(job, name) == value


async def _find(harness: Harness, tenant: UUID | None, wanted: dict[str, Any], limit: int = CHUNK) -> list[UUID]:
    found: list[UUID] = []
    before = None
    while True:
        page = await harness.store.jobs.list_jobs(
            tenant_id=tenant, all_tenants=tenant is None, before=before, limit=limit, **wanted
        )
        found += [job.id for job in page]
        before = page.next(limit)
        if before is None:
            return found


KEYED: dict[str, Any] = {"definition": "sync", "payload": '{"customer": "7"}'}


@pytest.mark.parametrize("base", [{}, KEYED], ids=["", "by a search key"])
@pytest.mark.parametrize("everybody", [False, True], ids=["one tenant", "all tenants"])
async def test_each_filter_holds_alone_and_with_each_other_one(
    harness: Harness, everybody: bool, base: dict[str, Any]
) -> None:
    await _populate(harness)
    tenant = None if everybody else await harness.tenant()
    jobs = list(await harness.store.jobs.list_jobs(tenant_id=tenant, all_tenants=everybody, limit=1000))
    errors = {job.error for job in jobs if job.error}
    prints = {error: await harness.sql("select plait._fingerprint($1)", error) for error in errors}
    values = _values(jobs, prints)
    assert set(values) == set(NAMES)
    assert all(values.values()), "each filter is tried"
    everything = {
        "parents": {job.parent_id for job in jobs},
        "prints": prints,
        "none": await harness.sql("select plait._fingerprint(null)"),
    }
    wrong = []
    for first, second in itertools.combinations_with_replacement(NAMES, 2):
        for one, other in itertools.product(values[first][:3], values[second][:3]):
            wanted = {**base, first: one, second: other}
            expected = [
                job.id
                for job in jobs
                if all(_matches(job, name, value, wanted, everything) for name, value in wanted.items())
            ]
            if await _find(harness, tenant, wanted, limit=1000 if base else CHUNK) != expected:
                wrong.append(wanted)
    assert wrong == []


@pytest.mark.parametrize("everybody", [False, True], ids=["one tenant", "all tenants"])
@pytest.mark.parametrize("customer", [None, "7"], ids=["any payload", "declared key"])
@pytest.mark.parametrize("definition", [None, "sync"], ids=["any definition", "one definition"])
async def test_an_error_holds_whatever_way_the_list_is_read(
    harness: Harness, definition: str | None, customer: str | None, everybody: bool
) -> None:
    """Lists and bulk retries dropped the filter when they searched jobs from before a search key's declaration."""
    await _populate(harness)
    tenant = None if everybody else await harness.tenant()
    wanted: dict[str, Any] = {"definition": definition} if definition else {}
    if customer:
        wanted["payload"] = json.dumps({"customer": customer})
    fingerprint = await harness.sql("select plait._fingerprint('disk full')")
    rows = await harness.store.jobs.list_jobs(tenant_id=tenant, all_tenants=everybody, limit=1000, **wanted)
    expected = [job.id for job in rows if job.error == "disk full" and job.status in ("failed", "dead_letter")]
    assert expected
    assert await _find(harness, tenant, {**wanted, "error": fingerprint}) == expected
    counted = await harness.store.jobs.count_jobs(tenant_id=tenant, all_tenants=everybody, error=fingerprint, **wanted)
    assert (counted.count, counted.more) == (len(expected), False)
    assert max(job.created_at for job in rows) - min(job.created_at for job in rows) > timedelta(minutes=5)
