"""A handle: one job that was asked for."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import msgspec

from plait.model.errors import JobCanceled, JobDeadLettered, JobFailed, JobSkipped, NotFound
from plait.model.states import Status
from plait.sdk.codec import Codec
from plait.sdk.waiter import Waiter
from plait.store import Store
from plait.store.jobs import JobRow

R = TypeVar("R")
T = TypeVar("T")


class Connected(Protocol):
    """What a handle needs of the app."""

    async def store(self) -> Store: ...
    async def waiter(self) -> Waiter: ...
    def call_sync(self, coroutine: Coroutine[Any, Any, T]) -> T: ...


class Handle(Generic[R]):
    """`deduplicated`: an older job holds the key that was given, and this handle is that job's."""

    def __init__(
        self,
        app: Connected,
        codec: Codec | None,
        *,
        job_id: UUID,
        tenant_id: UUID,
        deduplicated: bool = False,
    ) -> None:
        self._app = app
        self._codec = codec
        self.id = job_id
        self.tenant_id = tenant_id
        self.deduplicated = deduplicated

    def __repr__(self) -> str:
        return f"<Handle {self.id}{' deduplicated' if self.deduplicated else ''}>"

    async def info(self) -> JobRow:
        return await (await self._app.store()).jobs.get_job(self.id, tenant_id=self.tenant_id)

    async def status(self) -> Status:
        return (await self.info()).status

    async def cancel(self, reason: str | None = None) -> Status:
        """Ask the job to stop; its status now. A running job is `running` until its handler has stopped."""
        return await (await self._app.store()).jobs.cancel(self.id, tenant_id=self.tenant_id, reason=reason)

    async def retry(self) -> Status:
        return await (await self._app.store()).jobs.retry(self.id, tenant_id=self.tenant_id)

    async def result(self, timeout: float | None = None) -> R:
        """The job's result, as soon as it has one. Raises JobFailed or one of its kinds, or TimeoutError."""
        waiter = await self._app.waiter()
        async with asyncio.timeout(timeout):
            outcome = await waiter.outcome(self.id, self.tenant_id)
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
        text = outcome.error or outcome.reason or outcome.status
        raise kind(
            self.id,
            f"job {self.id} {outcome.status}: {text}",
            reason=outcome.reason,
            traceback=outcome.traceback,
        )

    def status_sync(self) -> Status:
        return self._app.call_sync(self.status())

    def result_sync(self, timeout: float | None = None) -> R:
        return self._app.call_sync(self.result(timeout))

    def cancel_sync(self, reason: str | None = None) -> Status:
        return self._app.call_sync(self.cancel(reason))

    def _decode(self, text: str | None) -> R:
        if self._codec is None:
            return msgspec.json.decode(text) if text is not None else None  # type: ignore[return-value]
        value: R = self._codec.decode_result(text)
        return value
