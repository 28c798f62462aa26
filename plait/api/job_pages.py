"""Details of a job: attempts, steps, its workflow, and why it is not running. Also statistics of all jobs."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response
from pydantic import AwareDatetime, BaseModel, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.job_shapes import Attempt, Child, Children, EarlierRuns, FanOutTimes, Load, Node, Step
from plait.api.redaction import composed, redaction
from plait.api.shapes import Json, Limit, Page, Shape
from plait.api.tenancy import Ask, Asking
from plait.model.errors import InvalidArguments, NotFound
from plait.model.reasons import REMEDIES
from plait.model.states import Status
from plait.store.job_rows import NodeRow
from plait.store.statistics import ChildOrder
from plait.store.workflows import NodePlace

router = new_router("jobs")


class Reason(BaseModel):
    code: str = Field(examples=["queue_paused"])
    explanation: str
    remedy: str | None = Field(description="How to get the job to run; null if no action is needed.")


class Explanation(BaseModel):
    id: UUID
    status: Status
    reasons: list[Reason]


class Summary(BaseModel):
    at: datetime = Field(
        description="When the unfinished jobs were counted: at the time of the request, or a few seconds earlier if there are many."
    )
    counts: dict[Status, int] = Field(
        description="Number of unfinished jobs by status, and of jobs that are currently `failed` or `dead_letter`. Retried and deleted jobs are not counted."
    )
    failures_as_of: datetime | None = Field(
        description="Failed jobs and dead letters are counted as of this time; null if they have not been counted yet."
    )
    total_waiting: int
    running: int
    oldest_queued_age_seconds: float | None
    active_fan_outs: int
    active_workflows: int


@router.get("/jobs/summary", response_model=Summary)
async def summary(ask: Ask) -> Response:
    """Get the number of jobs by status. The cost of this request does not depend on the number of final jobs."""
    found = await ask.store.statistics.overview(**ask.scope)
    counts = {status: found.live.get(status, 0) for status in Status if not status.final}
    counts |= {Status.FAILED: found.failed, Status.DEAD_LETTER: found.dead_letter}
    shown = {
        "at": found.at,
        "counts": counts,
        "failures_as_of": found.failures_at,
        "total_waiting": counts[Status.WAITING],
        "running": counts[Status.RUNNING],
        "oldest_queued_s": found.oldest_queued_s,
        "fan_outs": found.fan_outs,
        "workflows": found.workflows,
    }
    return Json(names.http_names(names.SUMMARY, shown))


class Stretch(Shape):
    """Outcomes of attempts in one interval."""

    at: datetime = Field(description="Start of the interval.")
    enqueued: int
    succeeded: int
    failed: int
    dead_letter: int
    canceled: int
    skipped: int
    retried: int = Field(description="Attempts that failed and were retried.")
    lost: int = Field(description="Attempts whose worker was lost.")
    run_s: float = Field(description="Total run time of handlers.")


@router.get("/jobs/history", response_model=Page[Stretch])
async def history(
    ask: Ask,
    start: Annotated[AwareDatetime | None, Query(description="Start of the time range. Default: an hour ago.")] = None,
    step_seconds: Annotated[int, Query(ge=60, le=86_400, description="Length of an interval.")] = 60,
) -> Response:
    """List outcomes over time, for charts. The leader keeps counts for 90 days. Empty intervals are omitted."""
    rows = await ask.store.statistics.history(**ask.scope, start=start, step=timedelta(seconds=step_seconds))
    return Json({"items": [Stretch.of(row) for row in rows], "next": None})


class Latency(Shape):
    """Wait and run times, in seconds, of a sample of the jobs enqueued in one interval."""

    at: datetime = Field(description="Start of the interval.")
    jobs: int = Field(description="Number of jobs in the sample.")
    wait_p50: float | None = Field(description="Median time between a job's due time and its first start.")
    wait_p95: float | None
    run_p50: float | None = Field(description="Median run time of the last attempt.")
    run_p95: float | None


@router.get("/jobs/latency", response_model=Page[Latency])
async def latency(
    ask: Ask,
    start: Annotated[AwareDatetime | None, Query(description="Start of the time range. Default: an hour ago.")] = None,
    step_seconds: Annotated[int, Query(ge=60, le=86_400, description="Length of an interval.")] = 60,
) -> Response:
    """List wait and run times over time, for charts. Empty intervals are omitted; at most 200 are returned."""
    rows = await ask.store.statistics.latency(**ask.scope, start=start, step=timedelta(seconds=step_seconds))
    return Json({"items": [Latency.of(row) for row in rows], "next": None})


@router.get("/jobs/{job_id:uuid}/attempts", response_model=Page[Attempt])
async def attempts(ask: Ask, job_id: UUID) -> Response:
    """List the attempts of a job, in order."""
    rows, about = await ask.store.jobs.list_attempts(job_id, **ask.scope), await _definition(ask, job_id)
    return Json({"items": await composed(lambda: [Attempt.of(row, about=about) for row in rows]), "next": None})


@router.get("/jobs/{job_id:uuid}/steps", response_model=Page[Step])
async def steps(ask: Ask, job_id: UUID) -> Response:
    """List the steps of a durable function, in order."""
    rows, about = await ask.store.jobs.list_steps(job_id, **ask.scope), await _definition(ask, job_id)
    return Json({"items": await composed(lambda: [Step.of(row, about=about) for row in rows]), "next": None})


async def _definition(ask: Asking, job_id: UUID) -> str | None:
    """The job's definition if the response must be redacted, otherwise None."""
    if redaction() is None:
        return None
    return (await ask.store.jobs.get_job(job_id, **ask.scope)).definition


@router.get("/jobs/{job_id:uuid}/tree", response_model=Page[Node])
async def tree(
    ask: Ask,
    job_id: UUID,
    cursor: Annotated[
        str | None, Query(max_length=60, description="The value of `next` from the previous page.")
    ] = None,
    limit: Limit = 1000,
) -> Response:
    """List the jobs of a workflow: the root first, then the other jobs by fan-out and index."""
    rows = await ask.store.jobs.job_tree(job_id, **ask.scope, after=_after(cursor), limit=limit)
    last = _place(rows[-1]) if len(rows) >= limit else None
    return Json({"items": [Node.of(row) for row in rows], "next": last})


@router.get("/jobs/{job_id:uuid}/children", response_model=Children)
async def children(
    ask: Ask,
    job_id: UUID,
    fan_out: Annotated[UUID | None, Query(description="A fan-out of the job. Default: the first.")] = None,
    start: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="First index, or in another order the number of sub-jobs to skip.")
    ] = 0,
    limit: Limit = 100,
    sort: Annotated[
        ChildOrder,
        Query(description="Order of all sub-jobs. By status, those that need attention come first."),
    ] = "index",
    descending: Annotated[bool, Query(description="Reverse the order: the longest duration or wait first.")] = False,
) -> Response:
    """List the sub-jobs of a fan-out in order, each with the times of its attempts. Sorts up to 100,000 sub-jobs."""
    rows = await ask.store.statistics.list_children(
        job_id, fan_out, **ask.scope, start=start, limit=limit, sort=sort, descending=descending
    )
    last = rows[-1].fan_out_index + 1 if rows and sort == "index" and not descending else start + len(rows)
    return Json({"items": [Child.of(row) for row in rows], "next": last if len(rows) >= limit else None})


@router.get("/jobs/{job_id:uuid}/children/times", response_model=FanOutTimes)
async def children_times(
    ask: Ask,
    job_id: UUID,
    fan_out: Annotated[UUID | None, Query(description="A fan-out of the job. Default: the first.")] = None,
) -> Response:
    """Get the median, p95 and maximum of the run and wait times of a fan-out's sub-jobs, over all of them."""
    found = await ask.store.statistics.fan_out_times(job_id, fan_out, **ask.scope)
    if found is None:
        raise NotFound("this job has no such fan-out")
    return Json(FanOutTimes.of(found))


@router.get("/jobs/{job_id:uuid}/earlier-runs", response_model=EarlierRuns)
async def earlier_runs(ask: Ask, job_id: UUID) -> Response:
    """Get the run times of earlier jobs of the same definition that succeeded, to compare a job with them."""
    return Json(EarlierRuns.of(await ask.store.statistics.earlier_runs(job_id, **ask.scope)))


@router.get("/jobs/{job_id:uuid}/load", response_model=Page[Load])
async def load(
    ask: Ask,
    job_id: UUID,
    fan_out: Annotated[
        UUID | None, Query(description="Id of a fan-out of the job. Default: the first fan-out.")
    ] = None,
    start: Annotated[
        AwareDatetime | None, Query(description="Start of the time range. Default: when the fan-out was opened.")
    ] = None,
    end: Annotated[
        AwareDatetime | None, Query(description="End of the time range. Default: when the fan-out was decided, or now.")
    ] = None,
    parts: Annotated[int, Query(ge=1, le=500, description="Number of equal intervals.")] = 100,
) -> Response:
    """List how many sub-jobs of a fan-out ran in each interval. Covers the first 20,000 sub-jobs."""
    rows = await ask.store.statistics.fan_out_load(job_id, fan_out, **ask.scope, start=start, end=end, parts=parts)
    return Json({"items": [Load.of(row) for row in rows], "next": None})


def _place(node: NodeRow) -> str:
    index = -1 if node.fan_out_index is None else node.fan_out_index
    return f"{node.fan_out_id or UUID(int=0)}.{index}"


def _after(cursor: str | None) -> NodePlace | None:
    if cursor is None:
        return None
    fan_out, _, index = cursor.partition(".")
    try:
        after = NodePlace(UUID(fan_out), int(index))
    except ValueError:
        raise InvalidArguments("cursor must be the value of `next` from the previous page") from None
    if abs(after.fan_out_index or 0) >= 2**31:
        raise InvalidArguments("cursor must be the value of `next` from the previous page")
    return after


@router.get("/jobs/{job_id:uuid}/explain", response_model=Explanation)
async def explain(ask: Ask, job_id: UUID) -> Response:
    """Explain why a job is not running, and how to get it to run."""
    row = await ask.store.jobs.get_job(job_id, **ask.scope)
    reasons = await ask.store.jobs.explain_job(job_id, **ask.scope)
    hiding = redaction()
    told = [
        {"code": code, "explanation": hiding.text(words) if hiding else words, "remedy": REMEDIES.get(code)}
        for code, words in reasons
    ]
    return Json({"id": row.id, "status": row.status, "reasons": told})
