"""A job: a plain function that can also be asked for later, somewhere else, and surely."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, Unpack
from uuid import UUID

from plait.model.durations import seconds
from plait.model.errors import InvalidArguments, InvalidJob
from plait.model.ids import new_id
from plait.sdk.definition import Definition
from plait.sdk.enqueuer import Enqueuer
from plait.sdk.handle import Connected, Handle
from plait.sdk.options import Options, OptionsDict
from plait.store.connections import enqueue_async_on, enqueue_sync_on, is_async
from plait.store.jobs import NewJob

P = ParamSpec("P")
R = TypeVar("R")


class App(Connected, Protocol):
    """What a job needs of its app."""

    async def enqueuer(self) -> Enqueuer: ...
    async def tenant_id(self, tenant: str | UUID | None) -> UUID: ...


class Job(Generic[P, R]):
    def __init__(
        self, app: App, definition: Definition, function: Callable[P, Any], options: Options | None = None
    ) -> None:
        self._app = app
        self.definition = definition
        self._function = function
        self._options = options or Options()
        self.__name__ = definition.name
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = getattr(function, "__qualname__", definition.name)

    def __repr__(self) -> str:
        return f"<Job {self.definition.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """A plain call of the function, here and now."""
        return self._function(*args, **kwargs)

    def options(self, **options: Unpack[OptionsDict]) -> "Job[P, R]":
        """The same job with other options: `.options(queue=…, delay=…, dedupe_key=…).enqueue(…)`."""
        return Job(self._app, self.definition, self._function, dataclasses.replace(self._options, **options))

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Ask for the job. When this returns, the job is stored; with `conn=`, it is stored when that transaction commits."""
        new = self._new(args, kwargs, await self._app.tenant_id(self._options.tenant))
        conn = self._options.conn
        if conn is None:
            return self._handle(new, await (await self._app.enqueuer()).enqueue(new))
        if not is_async(conn):
            raise InvalidArguments("this connection is sync: use enqueue_sync with it")
        existing = await enqueue_async_on(conn, [new])
        return self._handle(new, existing.get(new.id, new.id))

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """The same, for sync code."""
        conn = self._options.conn
        if conn is None:
            return self._app.call_sync(self.enqueue(*args, **kwargs))
        if is_async(conn):
            raise InvalidArguments("this connection is async: use enqueue with it")
        new = self._new(args, kwargs, self._app.call_sync(self._app.tenant_id(self._options.tenant)))
        return self._handle(new, enqueue_sync_on(conn, [new]).get(new.id, new.id))

    async def enqueue_many(self, calls: Iterable[Any]) -> list[Handle[R]]:
        """Ask for many jobs at once, tens of thousands if need be. A call is a tuple of arguments, a mapping, or one argument."""
        new = self._new_many(calls, await self._app.tenant_id(self._options.tenant))
        if not new:
            return []
        conn = self._options.conn
        if conn is None:
            ids = await (await self._app.enqueuer()).enqueue_many(new)
        elif is_async(conn):
            existing = await enqueue_async_on(conn, new)
            ids = [existing.get(job.id, job.id) for job in new]
        else:
            raise InvalidArguments("this connection is sync: use enqueue_many_sync with it")
        return [self._handle(job, job_id) for job, job_id in zip(new, ids, strict=True)]

    def enqueue_many_sync(self, calls: Iterable[Any]) -> list[Handle[R]]:
        conn = self._options.conn
        if conn is None:
            return self._app.call_sync(self.enqueue_many(calls))
        if is_async(conn):
            raise InvalidArguments("this connection is async: use enqueue_many with it")
        new = self._new_many(calls, self._app.call_sync(self._app.tenant_id(self._options.tenant)))
        existing = enqueue_sync_on(conn, new) if new else {}
        return [self._handle(job, existing.get(job.id, job.id)) for job in new]

    def _new_many(self, calls: Iterable[Any], tenant_id: UUID) -> Sequence[NewJob]:
        if (
            self._options.job_id is not None
            or self._options.dedupe_key is not None
            or self._options.idempotency_key is not None
        ):
            raise InvalidArguments("a job's id and keys belong to one job: enqueue it alone")
        return [self._new(*_call(call), tenant_id) for call in calls]

    def _new(self, args: tuple[Any, ...], kwargs: dict[str, Any], tenant_id: UUID) -> NewJob:
        definition, options = self.definition, self._options
        if options.scheduled_for is not None and options.scheduled_for.tzinfo is None:
            raise InvalidJob("scheduled_for needs a time zone")
        if options.retries is not None and options.retries < 0:
            raise InvalidJob(f"retries is 0 or more, not {options.retries}")
        return NewJob(
            id=options.job_id or new_id(),
            definition=definition.name,
            payload=definition.codec.encode_call(args, kwargs),
            tenant_id=tenant_id,
            queue=definition.queue if options.queue is None else options.queue,
            priority=definition.priority if options.priority is None else options.priority,
            max_attempts=definition.max_attempts if options.retries is None else options.retries + 1,
            scheduled_for=options.scheduled_for,
            delay_s=None if options.delay is None else seconds(options.delay, what="delay"),
            timeout_s=None if options.timeout is None else seconds(options.timeout, what="timeout"),
            dedupe_key=options.dedupe_key,
            idempotency_key=options.idempotency_key,
            idempotency_ttl_s=None
            if options.idempotency_ttl is None
            else seconds(options.idempotency_ttl, what="idempotency_ttl"),
            limit_key=options.limit_key if options.limit_key is not None else definition.limit_key_of(args, kwargs),
            correlation_id=options.correlation_id,
        )

    def _handle(self, new: NewJob, job_id: UUID) -> Handle[R]:
        return Handle(
            self._app,
            self.definition.codec,
            job_id=UUID(bytes=job_id.bytes),
            tenant_id=new.tenant_id,
            deduplicated=job_id != new.id,
        )


def _call(call: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(call, tuple):
        return call, {}
    if isinstance(call, Mapping):
        return (), dict(call)
    return (call,), {}
