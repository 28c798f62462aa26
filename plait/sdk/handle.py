"""A handle: one enqueued job."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from plait.model.durations import seconds
from plait.model.errors import (
    JobCanceled,
    JobDeadLettered,
    JobFailed,
    JobSkipped,
    NotFound,
)
from plait.model.states import Status
from plait.sdk.argument_checks import check_reason
from plait.sdk.artifacts import is_reference
from plait.sdk.codec import Codec
from plait.sdk.live_handle import Connected, LiveHandle
from plait.sdk.results import read_failure
from plait.store.job_rows import JobRow, NodeRow, OutcomeRow, TreeCanceled

R = TypeVar("R")
T = TypeVar("T")

TREE_PAGE = 10_000


class Handle(LiveHandle, Generic[R]):
    """A handle to an enqueued job: wait for its result, cancel it, send it signals. `id` is the job's id. `deduplicated`: another job already had the given
    key, and this handle refers to that job.

    A handle uses the app's own connections, so it sees a job enqueued with `conn=` only after the commit. All methods raise NotFound if the job does not
    exist.
    """

    def __init__(
        self,
        app: Connected,
        codec: Codec | None,
        *,
        job_id: UUID,
        tenant: str | UUID | None,
        deduplicated: bool = False,
    ) -> None:
        self._app = app
        self._codec = codec
        self._tenant = tenant
        self.id = job_id
        self.deduplicated = deduplicated

    def __repr__(self) -> str:
        return f"<Handle {self.id}{' deduplicated' if self.deduplicated else ''}>"

    async def info(self) -> JobRow:
        """All fields of the job."""
        return await (await self._app.store()).jobs.get_job(self.id, tenant_id=await self._tenant_id())

    async def cancel(self, reason: str | None = None) -> Status:
        """Cancel the job; returns its status. A running job stays `running` until its handler has stopped."""
        check_reason(reason)
        jobs = (await self._app.store()).jobs
        return await jobs.cancel(self.id, tenant_id=await self._tenant_id(), reason=reason)

    async def retry(self, *, drop_steps: bool = False) -> Status:
        """Retry a final job; its attempts count from zero again. Raises IllegalMove for a succeeded job. A durable function resumes after its last
        successful step, or restarts from the beginning with `drop_steps`."""
        jobs = (await self._app.store()).jobs
        return await jobs.retry(self.id, tenant_id=await self._tenant_id(), drop_steps=drop_steps)

    async def cancel_tree(self, reason: str | None = None) -> TreeCanceled:
        """Cancel the job and all its descendants."""
        check_reason(reason)
        jobs = (await self._app.store()).jobs
        return await jobs.cancel_tree(self.id, tenant_id=await self._tenant_id(), reason=reason)

    async def retry_tree(self) -> int:
        """Retry the failed jobs of the workflow of which this job is the root; succeeded jobs are kept. Returns the number of retried jobs."""
        return await (await self._app.store()).jobs.retry_tree(self.id, tenant_id=await self._tenant_id())

    async def tree(self) -> list[NodeRow]:
        """All jobs of the workflow: the root, then the others by fan-out and index."""
        jobs, tenant_id = (await self._app.store()).jobs, await self._tenant_id()
        nodes = page = await jobs.job_tree(self.id, tenant_id=tenant_id)
        while len(page) == TREE_PAGE:
            page = await jobs.job_tree(self.id, tenant_id=tenant_id, after=page[-1])
            nodes += page
        return nodes

    async def tree_info(self) -> dict[str, Any]:
        """The merged `current().info(…)` of the job and all its descendants: numbers are added up, and a parent's own keys take precedence."""
        nurseries = (await self._app.store()).nurseries
        return await nurseries.job_info(self.id, tenant_id=await self._tenant_id())

    async def result(self, timeout: float | str | timedelta | None = None) -> R:
        """Wait for the job's result. Raises JobFailed or one of its subclasses, or TimeoutError."""
        timeout_s = None if timeout is None else seconds(timeout, what="timeout")
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                waiter = await self._app.waiter()
                outcome = await waiter.outcome(self.id, await self._tenant_id())
                if is_reference(outcome.result):
                    outcome = replace(outcome, result=await self._resolved(outcome.result))
        except TimeoutError:
            if limit.expired():
                raise TimeoutError(f"job {self.id} did not finish within {timeout_s:g} s") from None
            raise
        return self._result(outcome)

    def info_sync(self) -> JobRow:
        return self._app.call_sync(self.info())

    def status_sync(self) -> Status:
        return self._app.call_sync(self.status())

    def cancel_sync(self, reason: str | None = None) -> Status:
        return self._app.call_sync(self.cancel(reason))

    def retry_sync(self) -> Status:
        return self._app.call_sync(self.retry())

    def cancel_tree_sync(self, reason: str | None = None) -> TreeCanceled:
        return self._app.call_sync(self.cancel_tree(reason))

    def retry_tree_sync(self) -> int:
        return self._app.call_sync(self.retry_tree())

    def tree_sync(self) -> list[NodeRow]:
        return self._app.call_sync(self.tree())

    def result_sync(self, timeout: float | str | timedelta | None = None) -> R:
        return self._app.call_sync(self.result(timeout))

    async def _resolved(self, text: str) -> str:
        artifacts = await self._app.artifacts()
        return await artifacts.resolve(text, job_id=self.id, tenant_id=await self._tenant_id(), kind="result")

    def _result(self, outcome: OutcomeRow) -> R:
        match outcome.status:
            case Status.SUCCEEDED:
                return self._decode(outcome.result)
            case None:
                raise NotFound(f"there is no job {self.id}")
            case Status.CANCELED:
                kind: type[JobFailed] = JobCanceled
            case Status.SKIPPED:
                kind = JobSkipped
            case Status.DEAD_LETTER:
                kind = JobDeadLettered
            case _:
                kind = JobFailed
        raise kind(
            self.id,
            f"job {self.id} {_SAID.get(outcome.status, outcome.status)}: {outcome.error or outcome.reason or 'no reason given'}",
            reason=outcome.reason,
            traceback=outcome.traceback,
            failure=read_failure(outcome.failure),
        )

    def _decode(self, text: str | None) -> R:
        if self._codec is None:
            return msgspec.json.decode(text) if text is not None else None  # type: ignore[return-value]
        value: R = self._codec.decode_result(text)
        return value


_SAID = {
    Status.FAILED: "failed",
    Status.DEAD_LETTER: "exhausted its attempts",
    Status.CANCELED: "was canceled",
    Status.SKIPPED: "was skipped",
}
