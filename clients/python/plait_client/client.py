"""plait over HTTP, blocking."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self, cast

from plait_client.errors import JobFailed, TimedOut
from plait_client.ids import new_id
from plait_client.settings import Settings
from plait_client.transport import Transport
from plait_client.types import (
    Attempt,
    Event,
    EventPage,
    Explanation,
    JobBrief,
    JobPage,
    Moved,
    NewJobAnswer,
    Route,
    Status,
    Summary,
)

FINAL: Final[frozenset[Status]] = frozenset({"succeeded", "failed", "dead_letter", "canceled", "skipped"})
POLL_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.5, 2.0)
"""Seconds between polls while waiting for a job. The last value repeats."""
WAIT: Final = 20.0
"""Long polling: seconds that the server may wait before it responds."""


class Plait:
    """Thread-safe. `url` and `key` default to PLAIT_URL and PLAIT_KEY."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> None:
        self.settings = Settings.from_environment(url=url, key=key, timeout=timeout, retries=retries)
        self._transport = Transport(self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def call(self, route: Route, **request: Any) -> Any:
        """Call any route of the API: `call("POST /queues/{name}/pause", path={"name": "default"})`."""
        return self._transport.call(route, **request)

    def enqueue(
        self,
        definition: str,
        payload: Mapping[str, Any] | None = None,
        *,
        queue: str | None = None,
        priority: int | None = None,
        max_attempts: int | None = None,
        scheduled_for: datetime | str | None = None,
        delay: float | None = None,
        timeout: float | None = None,
        dedupe_key: str | None = None,
        idempotency_key: str | None = None,
        limit_key: str | None = None,
        correlation_id: str | None = None,
        tenant: str | None = None,
    ) -> "Handle":
        """Enqueue a job. Returns after commit. If the response is lost, the retried request finds the same job."""
        body = {
            "id": new_id(),
            "definition_key": definition,
            "payload": dict(payload or {}),
            "queue": queue,
            "priority": priority,
            "max_attempts": max_attempts,
            "scheduled_for": timestamp(scheduled_for),
            "delay_seconds": delay,
            "timeout_seconds": timeout,
            "dedupe_key": dedupe_key,
            "limit_key": limit_key,
            "correlation_id": correlation_id,
        }
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        made: NewJobAnswer = self.call("POST /jobs", query={"tenant": tenant}, body=body, headers=headers)
        return Handle(self, made["id"], deduplicated=made["deduplicated"])

    def job(self, job_id: str) -> "Handle":
        """A handle on an existing job."""
        return Handle(self, job_id)

    def get(self, job_id: str) -> JobPage:
        return cast("JobPage", self.call("GET /jobs/{job_id}", path={"job_id": job_id}))

    def list(self, **filters: Any) -> Iterator[JobBrief]:
        """Iterate over jobs, newest first, with the filters of `GET /jobs`. Pages are loaded as needed."""
        return self._pages("GET /jobs", filters)

    def attempts(self, job_id: str) -> Sequence[Attempt]:
        return cast("Sequence[Attempt]", self.call("GET /jobs/{job_id}/attempts", path={"job_id": job_id})["items"])

    def cancel(self, job_id: str, *, reason: str | None = None, tree: bool = False) -> Moved:
        """Cancel a job. A running job is asked to stop; a final job is not changed."""
        return self._move("POST /jobs/{job_id}/cancel", job_id, {"reason": reason, "tree": tree})

    def retry(self, job_id: str, **options: Any) -> Moved:
        """Run a final job again, unless it succeeded. Options: see `POST /jobs/{job_id}/retry`."""
        return self._move("POST /jobs/{job_id}/retry", job_id, options)

    def reschedule(
        self, job_id: str, scheduled_for: datetime | str | None = None, *, max_attempts: int | None = None
    ) -> Moved:
        body = {"scheduled_for": timestamp(scheduled_for), "max_attempts": max_attempts}
        return self._move("POST /jobs/{job_id}/reschedule", job_id, body)

    def signal(self, job_id: str, name: str, payload: Any = None) -> Moved:
        return self._move("POST /jobs/{job_id}/signal", job_id, {"name": name, "payload": payload})

    def explain(self, job_id: str) -> Explanation:
        """Explain why a job is not running, and what to do."""
        return cast("Explanation", self.call("GET /jobs/{job_id}/explain", path={"job_id": job_id}))

    def summary(self) -> Summary:
        return cast("Summary", self.call("GET /jobs/summary"))

    def emit(self, name: str, data: Mapping[str, Any] | None = None, *, correlation_id: str | None = None) -> str:
        """Send an event. Each matching trigger creates a job. Returns the event's id."""
        body = {"id": new_id(), "name": name, "data": dict(data or {}), "correlation_id": correlation_id}
        return str(self.call("POST /events", body=body)["ids"][0])

    def events(self, **filters: Any) -> Iterator[Event]:
        """Iterate over events, newest first, with the filters of `GET /events`."""
        return self._pages("GET /events", filters)

    def event(self, event_id: str) -> EventPage:
        return cast("EventPage", self.call("GET /events/{event_id}", path={"event_id": event_id}))

    def wait(self, job_id: str, *, timeout: float | None = None) -> JobPage:
        """Wait until the job is final, and return it. Uses long polling."""
        watch = Watch(job_id, timeout)
        while True:
            most, asked = watch.most, time.monotonic()
            job: JobPage = self.call(
                "GET /jobs/{job_id}",
                path={"job_id": job_id},
                query={"wait_seconds": most},
                timeout=self.settings.timeout + most,
            )
            if job["status"] in FINAL:
                return job
            pause = watch.next(job)
            if time.monotonic() - asked < most / 2:  # a server that is shutting down responds immediately
                time.sleep(pause)

    def result(self, job_id: str, *, timeout: float | None = None) -> Any:
        """Wait for the job and return its result. Raises JobFailed if it did not succeed."""
        return result_of(self.wait(job_id, timeout=timeout))

    def _move(self, route: Route, job_id: str, body: Any) -> Moved:
        return cast("Moved", self.call(route, path={"job_id": job_id}, body=body))

    def _pages(self, route: Route, filters: Mapping[str, Any]) -> Iterator[Any]:
        cursor = None
        while True:
            page = self.call(route, query={**filters, "cursor": cursor})
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle on a job."""

    plait: Plait
    id: str
    deduplicated: bool = False
    """Whether the dedupe key matched an existing job, which this handle refers to."""

    def get(self) -> JobPage:
        return self.plait.get(self.id)

    def status(self) -> Status:
        return self.get()["status"]

    def result(self, *, timeout: float | None = None) -> Any:
        return self.plait.result(self.id, timeout=timeout)

    def cancel(self, *, reason: str | None = None) -> Moved:
        return self.plait.cancel(self.id, reason=reason)

    def retry(self, **options: Any) -> Moved:
        return self.plait.retry(self.id, **options)


class Watch:
    """Pauses between polls of a job, up to the caller's timeout."""

    def __init__(self, job_id: str, timeout: float | None) -> None:
        self._job_id = job_id
        self._timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        self._pauses = iter(POLL_PAUSES)

    @property
    def most(self) -> float:
        """Seconds that the server may wait before it responds."""
        return WAIT if self._until is None else max(0.0, min(WAIT, self._until - time.monotonic()))

    def next(self, job: JobPage) -> float:
        pause = next(self._pauses, POLL_PAUSES[-1])
        if self._until is None:
            return pause
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimedOut(f"job {self._job_id} is still {job['status']} after {self._timeout:g} s")
        return min(pause, left)


def result_of(job: JobPage) -> Any:
    if job["status"] != "succeeded":
        raise JobFailed(job["id"], job["status"], job["reason"], job["last_error"])
    return job["result"]


def timestamp(at: datetime | str | None) -> str | None:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError("scheduled_for must have a time zone")
        return at.isoformat()
    return at
