"""A job: a plain function that can also be enqueued."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, repeat
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload
from uuid import UUID

from msgspec.structs import replace

from plait.model.errors import InvalidArguments, InvalidJob, TooLarge
from plait.model.ids import new_id
from plait.model.strategies import Strategy
from plait.sdk.argument_checks import check_iterable
from plait.sdk.codec import encode
from plait.sdk.context import running_attempt
from plait.sdk.definition import Definition
from plait.sdk.enqueuer import Enqueuer
from plait.sdk.fan_out import fan_out
from plait.sdk.handle import Handle
from plait.sdk.live_handle import Connected
from plait.sdk.options import Options, OptionsDict, unknown_option
from plait.sdk.results import Result
from plait.sdk.send_once import send_once
from plait.sdk.sub_jobs import Duration, Sub
from plait.store.caller_connections import Enqueued, enqueue_async_on, enqueue_sync_on, is_async, start_async_on
from plait.store.jobs import WAIT_MS, patiently
from plait.store.new_jobs import MAX_WAIT_MS, NewJob
from plait.store.signals import start_arguments
from plait.telemetry.tracing import captured

P = ParamSpec("P")
R = TypeVar("R")

PART = 1000
"""The number of jobs to encode while the database stores the same number."""
FIRST_PARTS = (100, 100, 200, 400, 800)
"""The size of the first part, if there are several: small, so that the database can start early."""


class App(Connected, Protocol):
    """The part of the app that a job uses."""

    async def enqueuer(self) -> Enqueuer: ...
    def named_tenant(self, tenant: str | UUID | None) -> str | UUID | None: ...


class Job(Generic[P, R]):
    """A job definition, made by `@app.job`. Enqueue it, or call it as a plain function."""

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
        """Call the function directly, without a job."""
        return self._function(*args, **kwargs)

    @property
    def given(self) -> Options:
        return self._options

    def options(self, **options: Unpack[OptionsDict]) -> "Job[P, R]":
        """The same job with other options: `.options(queue=…, delay=…, dedupe_key=…).enqueue(…)`."""
        if (unknown := unknown_option(options, OptionsDict.__annotations__)) is not None:
            raise InvalidJob(f"{self.definition.name}.options: {unknown}")
        return Job(self._app, self.definition, self._function, dataclasses.replace(self._options, **options))

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Enqueue the job with these arguments. Returns after the job is committed; with `conn=`, the job is part of that transaction. Raises
        InvalidArguments, InvalidJob, NotSerializable, UnknownTenant, QuotaExceeded, IdempotencyConflict, Busy or DatabaseUnreachable."""
        tenant_id = None if self._options.conn is not None else await self._app.tenant_id(self._options.tenant)
        try:
            new = self.new_job(args, kwargs, tenant_id)
        except TooLarge as large:
            new = await self._new_large_job(large, args, kwargs, tenant_id)
        if self._options.conn is not None:
            return (await self._enqueue_on_conn([new]))[0]
        enqueuer = await self._app.enqueuer()
        if running_attempt() is None:
            return self.handle_of(new, await enqueuer.enqueue(new))

        async def send() -> list[UUID]:
            return [await enqueuer.enqueue(new)]

        [job_id] = await send_once(f"enqueue {self.definition.name}", send)
        return self.handle_of(new, job_id)

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Like `enqueue`, for sync code."""
        if self._options.conn is None:
            return self._app.call_sync(self.enqueue(*args, **kwargs))
        try:
            new = self.new_job(args, kwargs)
        except TooLarge as large:
            new = self._app.call_sync(self._new_large_job(large, args, kwargs, None))
        return self._enqueue_on_conn_sync([new])[0]

    async def signal_or_start(self, signal: str, payload: Any, /, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Send a signal to the job with the dedupe key; if there is none, enqueue it with these arguments and send the signal to it. This is one statement, so
        exactly one job gets the signal: `await cart.options(dedupe_key="cart 7").signal_or_start("added", item, customer)`. The handle is
        `deduplicated` if the job existed. With `conn=` it is part of that transaction."""
        options = self._options
        if options.dedupe_key is None:
            raise InvalidArguments(
                "signal_or_start requires a dedupe_key: job.options(dedupe_key=…).signal_or_start(…)"
            )
        if any(value is not None for value in (options.after, options.idempotency_key)):
            raise InvalidArguments("signal_or_start does not support the options `after` and `idempotency_key`")
        tenant_id = None if options.conn is not None else await self._app.tenant_id(options.tenant)
        try:
            new = self.new_job(args, kwargs, tenant_id)
        except TooLarge as large:
            new = await self._new_large_job(large, args, kwargs, tenant_id)
        text = encode(payload, what="the signal's payload")
        if options.conn is not None:
            if not is_async(options.conn):
                raise InvalidArguments(
                    "conn must be an async connection; in sync code call plait.signal_or_start in SQL"
                )
            arguments = start_arguments(
                new, signal, text, signal_id=new_id(), tenant=self._tenant_text(), in_transaction=True
            )
            return self.handle_of(new, *await start_async_on(options.conn, arguments))
        signals = (await self._app.store()).signals
        arguments = start_arguments(
            new, signal, text, signal_id=new_id(), tenant=str(tenant_id), in_transaction=False, wait_ms=WAIT_MS
        )

        async def send() -> list[UUID]:
            return [await patiently(lambda: signals.signal_or_start(arguments), MAX_WAIT_MS / 1000)]

        [job_id] = await send_once(f"signal_or_start {self.definition.name}", send)
        return self.handle_of(new, job_id)

    def signal_or_start_sync(self, signal: str, payload: Any, /, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Like `signal_or_start`, for sync code, without `conn=`."""
        if self._options.conn is not None:
            raise InvalidArguments("signal_or_start_sync does not support conn: call plait.signal_or_start in SQL")
        return self._app.call_sync(self.signal_or_start(signal, payload, *args, **kwargs))

    async def enqueue_many(self, calls: Iterable[Any]) -> list[Handle[R]]:
        """Enqueue many jobs at once, even tens of thousands: all or none are stored. A call is a tuple of arguments, a mapping of arguments by
        name, or the single argument."""
        _check_calls(calls)
        if self._options.conn is not None:
            return await self._enqueue_on_conn(list(chain.from_iterable(self._parts(calls, None))))
        tenant_id = await self._app.tenant_id(self._options.tenant)
        handles: list[Handle[R]] = []

        def parts() -> Iterator[list[NewJob]]:
            for part in self._parts(calls, tenant_id):
                handles.extend([self.handle_of(job, job.id) for job in part])
                yield part

        enqueuer = await self._app.enqueuer()

        async def send() -> list[UUID]:
            await enqueuer.enqueue_many(parts())
            return [handle.id for handle in handles]

        sent = await send_once(f"enqueue_many {self.definition.name}", send)
        if sent and not handles:  # sent by an earlier run of a durable function
            jobs = chain.from_iterable(self._parts(calls, tenant_id))
            handles = [self.handle_of(job, job_id) for job, job_id in zip(jobs, sent, strict=False)]
        return handles

    def enqueue_many_sync(self, calls: Iterable[Any]) -> list[Handle[R]]:
        """Like `enqueue_many`, for sync code."""
        _check_calls(calls)
        if self._options.conn is not None:
            return self._enqueue_on_conn_sync(list(chain.from_iterable(self._parts(calls, None))))
        return self._app.call_sync(self.enqueue_many(calls))

    async def map(
        self,
        calls: Iterable[Any],
        strategy: Strategy | None = None,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        cancel_remaining: bool | None = None,
        cancel_on_parent_failure: bool = False,
        nested: bool = True,
    ) -> list[Result[R]]:
        """In a durable function: fan out to one job for each call, and wait for the results. A call is the same as in `enqueue_many`; set queue,
        priority, retries and timeout with `.options(…)`."""
        _check_calls(calls)
        nothing = Options()
        return await fan_out(
            (Sub(self, *_call(call), nothing) for call in calls),
            strategy,
            name=f"map {self.definition.name}" if name is None else name,
            timeout=timeout,
            cancel_remaining=cancel_remaining,
            cancel_on_parent_failure=cancel_on_parent_failure,
            nested=nested,
        )

    async def _enqueue_on_conn(self, new: Sequence[NewJob]) -> list[Handle[R]]:
        if not is_async(self._options.conn):
            raise InvalidArguments("conn is a sync connection: use enqueue_sync or enqueue_many_sync")
        if not new:
            return []
        return self._handles(new, await enqueue_async_on(self._options.conn, new, tenant=self._tenant_text()))

    def _enqueue_on_conn_sync(self, new: Sequence[NewJob]) -> list[Handle[R]]:
        if is_async(self._options.conn):
            raise InvalidArguments("conn is an async connection: use enqueue or enqueue_many")
        return self._handles(new, enqueue_sync_on(self._options.conn, new, tenant=self._tenant_text())) if new else []

    def _tenant_text(self) -> str | None:
        named = self._app.named_tenant(self._options.tenant)
        return None if named is None else str(named)

    def _parts(self, calls: Iterable[Any], tenant_id: UUID | None) -> Iterator[list[NewJob]]:
        """The jobs of many calls, in parts. Common settings are computed once."""
        self._check_single()
        common: NewJob | None = None
        encode_call, limit_key_of = self.definition.codec.encode_call, self.definition.limit_key_of
        calls = iter(calls)
        head = list(islice(calls, PART + 1))
        sizes = chain(FIRST_PARTS if len(head) > PART else (), repeat(PART))
        calls = chain(head, calls)
        while part := list(islice(calls, next(sizes))):
            if common is None:
                common = self.new_job(*_call(part[0]), tenant_id)
            new = []
            for call in part:
                args, kwargs = _call(call)
                payload = encode_call(args, kwargs)
                limit_key = common.limit_key if self._options.limit_key is not None else limit_key_of(args, kwargs)
                new.append(replace(common, id=new_id(), payload=payload, limit_key=limit_key))
            yield new

    def _check_single(self) -> None:
        options = self._options
        if any(value is not None for value in (options.job_id, options.dedupe_key, options.idempotency_key)):
            raise InvalidArguments(
                "enqueue_many does not support the options id, dedupe_key and idempotency_key, because they must be unique for each job"
            )

    async def _new_large_job(
        self, large: TooLarge, args: tuple[Any, ...], kwargs: dict[str, Any], tenant_id: UUID | None
    ) -> NewJob:
        """A large payload is stored before the job, on the app's own connection. If the transaction rolls back, the leader removes it."""
        job_id = self._options.job_id or new_id()
        owner = tenant_id or await self._app.tenant_id(self._options.tenant)
        artifacts = await self._app.artifacts()
        reference = await artifacts.keep(large, job_id=job_id, tenant_id=owner, kind="payload")
        return self.new_job(args, kwargs, tenant_id, job_id=job_id, payload=reference)

    def new_job(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tenant_id: UUID | None = None,
        *,
        job_id: UUID | None = None,
        payload: str | None = None,
    ) -> NewJob:
        definition, options = self.definition, self._options
        return NewJob(
            id=job_id or options.job_id or new_id(),
            payload=definition.codec.encode_call(args, kwargs) if payload is None else payload,
            tenant_id=tenant_id,
            limit_key=options.limit_key if options.limit_key is not None else definition.limit_key_of(args, kwargs),
            correlation_id=captured() if options.correlation_id is None else options.correlation_id,
            after=options.after_text(),
            **self._same_for_all_calls,
        )

    @cached_property
    def _same_for_all_calls(self) -> dict[str, Any]:
        """The fields of a new job that do not depend on the call. Computed once, because enqueueing is a hot path."""
        definition, options = self.definition, self._options
        if options.idempotency_ttl is not None and options.idempotency_key is None:
            raise InvalidJob("idempotency_ttl requires an idempotency_key")
        fields = {
            "definition": definition.name,
            # The database sets the options that this call does not: from the definition and an operator's overrides.
            "queue": options.queue,
            "priority": options.priority,
            "max_attempts": None if options.retries is None else options.retries + 1,
            "scheduled_for": options.scheduled_for,
            "delay_s": options.seconds_of("delay"),
            "timeout_s": options.seconds_of("timeout"),
            "deadline_s": definition.deadline_s if options.deadline is None else options.seconds_of("deadline"),
            "dedupe_key": options.dedupe_key,
            "idempotency_key": options.idempotency_key,
            "idempotency_ttl_s": options.seconds_of("idempotency_ttl"),
            "on_dependency_failure": options.on_dependency_failure,
            "defaults": definition.defaults,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _handles(self, new: Sequence[NewJob], enqueued: Enqueued) -> list[Handle[R]]:
        tenant_id, existing = enqueued.tenant_id, enqueued.existing
        return [self.handle_of(job, existing.get(job.id, job.id), tenant_id) for job in new]

    def handle_of(self, new: NewJob, job_id: UUID, tenant_id: UUID | None = None) -> Handle[R]:
        other = job_id != new.id
        return Handle(
            self._app,
            self.definition.codec,
            job_id=UUID(bytes=job_id.bytes) if other else new.id,
            tenant=tenant_id or new.tenant_id,
            deduplicated=other,
        )


def _check_calls(calls: Iterable[Any]) -> None:
    check_iterable(calls, "calls must be an iterable with the arguments of each job")


def _call(call: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(call, tuple):
        return call, {}
    if isinstance(call, Mapping):
        return (), dict(call)
    return (call,), {}


class Decorator:
    """The type of `@app.job(…)`, which preserves the function's signature."""

    @overload
    def __call__(self, job: Job[P, R], /) -> Job[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Job[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Job[P, R]: ...
    def __call__(self, function: Any, /) -> Any:
        raise NotImplementedError
