"""plait over HTTP, for asyncio: the methods of `Plait`, each running its request in a thread pool.

The standard library has no HTTP client for asyncio. Threads that wait for a socket are cheap, and both clients share one transport.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ParamSpec, Self, TypeVar

from plait_client.client import FINAL, Plait, Watch, result_of
from plait_client.types import Attempt, Event, EventPage, Explanation, JobBrief, JobPage, Moved, Route, Status, Summary

P = ParamSpec("P")
T = TypeVar("T")


class AsyncPlait:
    """`url` and `key` default to PLAIT_URL and PLAIT_KEY. `connections`: the maximum number of concurrent requests."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        connections: int = 32,
    ) -> None:
        self._plait = Plait(url, key, timeout=timeout, retries=retries)
        self._threads = ThreadPoolExecutor(connections, "plait-client")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._plait.close()
        self._threads.shutdown(wait=False)

    async def call(self, route: Route, **request: Any) -> Any:
        return await self._in_thread(self._plait.call, route, **request)

    async def enqueue(self, definition: str, payload: Mapping[str, Any] | None = None, **options: Any) -> "AsyncHandle":
        """Enqueue a job, with the options of `Plait.enqueue`."""
        made = await self._in_thread(self._plait.enqueue, definition, payload, **options)
        return AsyncHandle(self, made.id, made.deduplicated)

    def job(self, job_id: str) -> "AsyncHandle":
        return AsyncHandle(self, job_id)

    async def get(self, job_id: str) -> JobPage:
        return await self._in_thread(self._plait.get, job_id)

    def list(self, **filters: Any) -> AsyncIterator[JobBrief]:
        return self._pages("GET /jobs", filters)

    async def attempts(self, job_id: str) -> Sequence[Attempt]:
        return await self._in_thread(self._plait.attempts, job_id)

    async def cancel(self, job_id: str, *, reason: str | None = None, tree: bool = False) -> Moved:
        return await self._in_thread(self._plait.cancel, job_id, reason=reason, tree=tree)

    async def retry(self, job_id: str, **options: Any) -> Moved:
        return await self._in_thread(self._plait.retry, job_id, **options)

    async def reschedule(
        self, job_id: str, scheduled_for: datetime | str | None = None, *, max_attempts: int | None = None
    ) -> Moved:
        return await self._in_thread(self._plait.reschedule, job_id, scheduled_for, max_attempts=max_attempts)

    async def signal(self, job_id: str, name: str, payload: Any = None) -> Moved:
        return await self._in_thread(self._plait.signal, job_id, name, payload)

    async def explain(self, job_id: str) -> Explanation:
        return await self._in_thread(self._plait.explain, job_id)

    async def summary(self) -> Summary:
        return await self._in_thread(self._plait.summary)

    async def emit(self, name: str, data: Mapping[str, Any] | None = None, *, correlation_id: str | None = None) -> str:
        return await self._in_thread(self._plait.emit, name, data, correlation_id=correlation_id)

    def events(self, **filters: Any) -> AsyncIterator[Event]:
        return self._pages("GET /events", filters)

    async def event(self, event_id: str) -> EventPage:
        return await self._in_thread(self._plait.event, event_id)

    async def wait(self, job_id: str, *, timeout: float | None = None) -> JobPage:
        watch = Watch(job_id, timeout)
        # Short polling: long polling would occupy a thread for each waiting caller.
        while (job := await self.get(job_id))["status"] not in FINAL:  # noqa: ASYNC110
            await asyncio.sleep(watch.next(job))
        return job

    async def result(self, job_id: str, *, timeout: float | None = None) -> Any:
        return result_of(await self.wait(job_id, timeout=timeout))

    async def _pages(self, route: Route, filters: Mapping[str, Any]) -> AsyncIterator[Any]:
        cursor = None
        while True:
            page = await self.call(route, query={**filters, "cursor": cursor})
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None:
                return

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, functools.partial(work, *args, **kwargs))


@dataclass(frozen=True, slots=True)
class AsyncHandle:
    """A handle on a job."""

    plait: AsyncPlait
    id: str
    deduplicated: bool = False

    async def get(self) -> JobPage:
        return await self.plait.get(self.id)

    async def status(self) -> Status:
        return (await self.get())["status"]

    async def result(self, *, timeout: float | None = None) -> Any:
        return await self.plait.result(self.id, timeout=timeout)

    async def cancel(self, *, reason: str | None = None) -> Moved:
        return await self.plait.cancel(self.id, reason=reason)

    async def retry(self, **options: Any) -> Moved:
        return await self.plait.retry(self.id, **options)
