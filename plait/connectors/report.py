"""`connector.report.generate`: generate a report about the job's own tenant, as JSON, CSV or HTML. The numbers come from counts and limited queries (T113)."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from plait.connectors.exchange import Exchange
from plait.connectors.report_forms import Chart, Report, Table, as_csv, as_html, as_json
from plait.model.errors import NotFound, PermanentError
from plait.sdk.context import Current, current
from plait.store import Store

NAME: Final = "connector.report.generate"
MOST_DAYS: Final = 90.0
STATUSES: Final = ("succeeded", "failed", "dead_letter", "canceled", "skipped")
NODES: Final = 1_000
"""The maximum number of jobs that are read from a workflow."""


def handler(exchange: Exchange) -> Callable[..., Any]:
    async def generate(
        report: Literal["jobs", "usage", "workflow"],
        format: Literal["json", "html", "csv"] | None = None,  # noqa: A002 - the usual name
        days: float | None = None,
        end: datetime | None = None,
        job_id: UUID | None = None,
    ) -> dict[str, Any]:
        """Generate a report: `jobs`, outcomes by definition and over time; `usage`, the tenant's usage and limits by day; `workflow`, the workflow of
        one job (`job_id`)."""
        job, store = current(), await exchange.store()
        set_ = await exchange.configurations.report(store, job.tenant_id)
        span = set_.days if days is None else days
        if not 0 < span <= MOST_DAYS:
            raise PermanentError(f"days must be more than 0 and at most {MOST_DAYS:g}, got {span:g}")
        if end is not None and end.tzinfo is None:
            raise PermanentError("`end` must have a time zone, such as 2026-01-31T00:00:00Z")
        until = end or await store.health.now()
        made = await _make(report, store, job, until - timedelta(days=span), until, job_id)
        match format or set_.format:
            case "json":
                return {"report": report, "format": "json", "content": await asyncio.to_thread(as_json, made)}
            case "html":
                content = await asyncio.to_thread(as_html, made)
                return {"report": report, "format": "html", "media_type": "text/html", "content": content}
            case "csv":
                content = await asyncio.to_thread(as_csv, made)
                return {"report": report, "format": "csv", "media_type": "text/csv", "content": content}

    return generate


async def _make(
    report: Literal["jobs", "usage", "workflow"],
    store: Store,
    job: Current,
    start: datetime,
    end: datetime,
    job_id: UUID | None,
) -> Report:
    match report:
        case "jobs":
            return await _jobs(store, job, start, end)
        case "usage":
            return await _usage(store, job, start, end)
        case "workflow":
            if job_id is None:
                raise PermanentError("a workflow report requires job_id")
            return await _workflow(store, job, job_id, end)


async def _jobs(store: Store, job: Current, start: datetime, end: datetime) -> Report:
    kinds = await store.connectors.analytics(job.tenant_id, start=start, end=end)
    step = _step(end - start)
    history = [row for row in await _history(store, job, start, step) if row["at"] < end]
    rows = [{name: value for name, value in asdict(kind).items() if name != "complete"} for kind in kinds]
    totals = {name: sum(row[name] for row in rows) for name in ("jobs", "live", *STATUSES, "attempts")}
    notes = [] if all(kind.complete for kind in kinds) else ["Only the newest 10,000 jobs are included."]
    return Report(
        title="Jobs",
        start=start,
        end=end,
        totals=totals,
        tables=[Table("By definition", rows), Table("Over time", history)],
        charts=[
            Chart("Finished jobs over time", [(row["at"], _ended(row)) for row in history]),
            Chart("Jobs by definition", [(row["definition"], row["jobs"]) for row in rows[:20]]),
        ],
        notes=notes,
    )


async def _usage(store: Store, job: Current, start: datetime, end: datetime) -> Report:
    usage = await store.connectors.usage(job.tenant_id)
    days = [row for row in await _history(store, job, start, timedelta(days=1)) if row["at"] < end]
    totals: dict[str, Any] = {name: value for name, value in asdict(usage).items() if name != "now"}
    totals |= {name: sum(row[name] for row in days) for name in ("enqueued", *STATUSES, "retried", "lost")}
    totals["run_s"] = round(sum(row["run_s"] for row in days), 3)
    return Report(
        title=f"Usage of {usage.name}",
        start=start,
        end=end,
        totals=totals,
        tables=[Table("By day", days)],
        charts=[
            Chart("Enqueued jobs by day", [(row["at"], row["enqueued"]) for row in days]),
            Chart("Handler run time in seconds by day", [(row["at"], row["run_s"]) for row in days]),
        ],
        notes=[],
    )


async def _workflow(store: Store, job: Current, root: UUID, now: datetime) -> Report:
    try:
        nodes = await store.jobs.job_tree(root, tenant_id=job.tenant_id, limit=NODES)
    except NotFound as error:
        raise PermanentError(str(error)) from None
    kinds: dict[str, dict[str, Any]] = {}
    for node in nodes:
        kind = kinds.setdefault(
            node.definition,
            {"definition": node.definition, "jobs": 0, "own_s": 0.0, **dict.fromkeys(STATUSES, 0), "live": 0},
        )
        kind["jobs"] += 1
        kind["own_s"] = round(kind["own_s"] + (node.own_s or 0), 3)
        kind[node.status if node.status in STATUSES else "live"] += 1
    rows = [
        {
            "id": str(node.id),
            "parent_id": str(node.parent_id) if node.parent_id else None,
            "depth": node.depth,
            "definition": node.definition,
            "status": str(node.status),
            "attempt": node.attempt,
            "own_s": node.own_s,
            "total_s": node.total_s,
            "error": node.error,
        }
        for node in nodes
    ]
    slowest = sorted(nodes, key=lambda node: -(node.own_s or 0))[:20]
    first = nodes[0]
    return Report(
        title=f"Workflow {first.definition}",
        start=first.created_at,
        end=first.finished_at or now,
        totals={
            "root": str(first.id),
            "status": str(first.status),
            "jobs": len(nodes),
            "total_s": first.total_s,
            **{name: sum(kind[name] for kind in kinds.values()) for name in (*STATUSES, "live")},
        },
        tables=[Table("By definition", list(kinds.values())), Table("Jobs", rows)],
        charts=[Chart("Slowest jobs, in seconds", [(node.definition, round(node.own_s or 0, 3)) for node in slowest])],
        notes=[f"Only the first {NODES:,} jobs of the workflow are shown."] if len(nodes) >= NODES else [],
    )


async def _history(store: Store, job: Current, start: datetime, step: timedelta) -> list[dict[str, Any]]:
    return [asdict(row) for row in await store.statistics.history(tenant_id=job.tenant_id, start=start, step=step)]


def _ended(row: dict[str, Any]) -> int:
    return sum(row[name] for name in STATUSES)


def _step(span: timedelta) -> timedelta:
    """Choose a step that yields at most 150 points."""
    for minutes in (1, 5, 15, 60, 360):
        if span <= timedelta(minutes=minutes * 150):
            return timedelta(minutes=minutes)
    return timedelta(days=1)
