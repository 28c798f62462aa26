"""`Plait`: an application's jobs, and its connection to the database.

Connections belong to an event loop, so an app has one set for each loop that uses it: the user's own, and the portal's, which
runs the sync functions. An app connects on first use.
"""

import asyncio
import os
import platform
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID, uuid4

from plait.model.commands import Argument, Command
from plait.model.errors import InvalidDefinition
from plait.model.policies import NodePolicy
from plait.model.schedules import CatchUp, Overlap
from plait.runtime.settings import Settings
from plait.sdk.argument_checks import job_id_of
from plait.sdk.artifacts import Artifacts
from plait.sdk.chain import enqueue_chain
from plait.sdk.command_groups import commands_of
from plait.sdk.commands import CommandCodec, command_of, commands_in, handler_of
from plait.sdk.definition import Definition, JobOptions, define
from plait.sdk.enqueuer import Enqueuer
from plait.sdk.events import NewEvent
from plait.sdk.handle import Handle
from plait.sdk.job import Decorator, Job
from plait.sdk.node_jobs import NodeJob, NodeOptions, PartOptions, apart, leading
from plait.sdk.options import check_tenant, unknown_option
from plait.sdk.portal import Portal
from plait.sdk.sub_jobs import Sub
from plait.sdk.target import Target
from plait.sdk.tenants import Tenants
from plait.sdk.triggers import Declared, Duration, TriggerOptions, declaring, event_settings, schedule_settings
from plait.sdk.waiter import Waiter
from plait.store import Store

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(slots=True)
class _Connected:
    store: Store
    enqueuer: Enqueuer
    waiter: Waiter
    tenants: Tenants
    artifacts: Artifacts


class Plait:
    """An application: its job definitions, and its connections to the database. It connects on first use."""

    def __init__(
        self,
        url: str | None = None,
        *,
        tenant: str | UUID | None = None,
        data_dir: Path | str | None = None,
        settings: Settings | None = None,
    ) -> None:
        """`url`: the URL of a Postgres server. Default: PLAIT_DATABASE_URL if it is set, otherwise an embedded Postgres with its data in `data_dir`."""
        self.settings = settings or Settings()
        self.target = Target(
            url or self.settings.database_url,
            data_dir=Path(data_dir) if data_dir else self.settings.data_dir,
            pooler=self.settings.pooler,
        )
        self.definitions: dict[str, Definition] = {}
        self.jobs: dict[str, Job[..., Any]] = {}
        self._boot = uuid4().hex[:8]
        self.declared: dict[tuple[str | None, str], Declared] = {}
        """The triggers declared in code, by tenant and label."""
        check_tenant(tenant)
        self._tenant = tenant
        self._connected = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[_Connected]]()
        self._portal: Portal | None = None
        self._portal_lock = threading.Lock()

    @overload
    def job(self, function: Callable[P, Awaitable[R]], /) -> Job[P, R]: ...
    @overload
    def job(self, function: Callable[P, R], /) -> Job[P, R]: ...
    @overload
    def job(self, /, **options: Unpack[JobOptions]) -> Decorator: ...
    def job(self, function: Any = None, /, **options: Unpack[JobOptions]) -> Any:
        """Define a job from a function. `async def` runs on the worker's event loop, `def` in a thread. With isolation="process" it runs in a separate
        process, which a timeout can kill. Raises InvalidDefinition."""
        if (unknown := unknown_option(options, JobOptions.__annotations__)) is not None:
            raise InvalidDefinition(f"@app.job: {unknown}")

        def decorate(function: Callable[..., Any]) -> Job[..., Any]:
            definition = define(function, **options)
            if definition.name in self.definitions:
                raise InvalidDefinition(
                    f"two jobs have the name {definition.name!r}: set a unique name with @app.job(name=…)"
                )
            self.definitions[definition.name] = definition
            self.jobs[definition.name] = Job(self, definition, function)
            return self.jobs[definition.name]

        return decorate if function is None else decorate(function)

    async def chain(self, *jobs: Sub, tenant: str | UUID | None = None) -> list[Handle[Any]]:
        """Enqueue a chain: each job waits until the previous one succeeds, and gets its result as its first argument:
        `await app.chain(sub(load, "a.csv"), sub(scale, 10), sub(publish))`. If a job does not succeed, the jobs after it are canceled."""
        return await enqueue_chain(self, jobs, tenant)

    def schedule(
        self,
        cron: str | None = None,
        *,
        every: Duration | None = None,
        timezone: str | None = None,
        catch_up: CatchUp = "one",
        catch_up_window: Duration | None = None,
        overlap: Overlap = "allow",
        jitter: Duration = 0,
        **options: Unpack[TriggerOptions],
    ) -> Decorator:
        """Run a job on a schedule: a cron expression, or an interval with `every`. Use it above `@app.job`, or alone to define a job too. Default
        time zone: the tenant's. `catch_up` is the policy for missed firings, `overlap` the policy for firings while the previous job is unfinished."""
        timing = schedule_settings(
            cron,
            every=every,
            timezone=timezone,
            catch_up=catch_up,
            catch_up_window=catch_up_window,
            overlap=overlap,
            jitter=jitter,
        )
        return declaring(self, timing, timing["cron"] or f"every {every}", options)  # type: ignore[return-value]

    def on(self, event: str, **options: Unpack[TriggerOptions]) -> Decorator:
        """Run a job for each event with this name. `payload` maps the event's data to arguments, as in `{"order": "{{event.id}}"}`. Use it above
        `@app.job`, or alone to define a job too."""
        return declaring(self, event_settings(event), f"on {event}", options)  # type: ignore[return-value]

    async def emit(
        self,
        name: str,
        data: Mapping[str, Any] | None = None,
        *,
        tenant: str | UUID | None = None,
        correlation_id: str | None = None,
        event_id: UUID | None = None,
        conn: Any = None,
    ) -> UUID:
        """Send an event. Each matching trigger enqueues a job. With `conn=` the event is part of that transaction, and a rollback discards it.
        With an `event_id` the call is idempotent: sending the event again has no effect."""
        event = NewEvent(self, name, data, tenant=tenant, correlation_id=correlation_id, event_id=event_id)
        return await event.emit(conn)

    def emit_sync(
        self,
        name: str,
        data: Mapping[str, Any] | None = None,
        *,
        tenant: str | UUID | None = None,
        correlation_id: str | None = None,
        event_id: UUID | None = None,
        conn: Any = None,
    ) -> UUID:
        """Like `emit`, for sync code."""
        event = NewEvent(self, name, data, tenant=tenant, correlation_id=correlation_id, event_id=event_id)
        return self.call_sync(event.emit(None)) if conn is None else event.emit_on_sync(conn)

    def command(
        self,
        key: str,
        executable: Path | str,
        argv: Sequence[Argument] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        env: Sequence[str] = (),
        description: str = "",
        queue: str = "default",
        retries: int | None = None,
        timeout: float | str = 3600,
    ) -> Job[..., Any]:
        """Allow a program to run as a job. `argv` is text with `{{payload.…}}`, `{{job.id}}`, `{{job.attempt}}` and `{{tenant.id}}`; a nested
        list is omitted if the payload lacks one of its values. `schema` is the payload's JSON Schema, `env` lists the environment variables
        that the program gets. Only workers know the program; the database does not store it."""
        command = command_of(key, executable, argv, schema, env, description)
        return self._allow(command, queue=queue, retries=retries, timeout=timeout)

    def command_group(
        self,
        application: Any,
        executable: Path | str,
        argv: Sequence[str] = (),
        *,
        prefix: str = "",
        only: Sequence[str] | None = None,
        fixed: Mapping[str, Any] | None = None,
        env: Sequence[str] = (),
        queue: str = "default",
        retries: int | None = None,
        timeout: float | str = 3600,
    ) -> list[Job[..., Any]]:
        """Allow the commands of a Click or Typer application, or `only` some of them. `db migrate` is the job `db.migrate`, and its options and
        arguments are its payload. `executable` and `argv` start the application. Payloads cannot set the parameters in `fixed`: each has a
        value, which may contain `{{tenant.id}}` and `{{job.id}}`, or None if the parameter is never passed."""
        commands = commands_of(application, executable, argv, prefix=prefix, only=only, fixed=fixed or {}, env=env)
        return [self._allow(command, queue=queue, retries=retries, timeout=timeout) for command in commands]

    def _allow(self, command: Command, *, queue: str, retries: int | None, timeout: float | str) -> Job[..., Any]:
        function = handler_of(command)
        job = self.job(name=command.key, queue=queue, retries=retries, timeout=timeout)(function)
        self._redefine(replace(job.definition, command=command, codec=CommandCodec(command, function)))
        return self.jobs[command.key]

    def commands_from(self, path: Path | str) -> list[Job[..., Any]]:
        """Allow the command of each table in a TOML file: `[key]` with executable, argv, schema, env, description, queue, timeout, retries."""
        return [self.command(**settings) for settings in commands_in(Path(path))]

    def node_job(self, **options: Unpack[NodeOptions]) -> Callable[[Callable[P, Any]], NodeJob[P]]:
        """Define a job that runs on every active node. With `.on_leader`, the leader acts once a `quorum` of nodes ("majority", "all" or a number) has
        finished. After `quorum_timeout` the leader acts anyway, unless `on_timeout="fail"`. A failed node fails the job, unless
        `on_node_failure="tolerate"`. Retries, timeout and backoff apply to each part."""

        def decorate(function: Callable[P, Any]) -> NodeJob[P]:
            name, policy, rest = apart(function, options)
            job = self.job(name=name, **rest)(leading(function, None))
            self.job(name=policy.on_node, **rest)(function)
            self.jobs.pop(policy.on_node or "")  # a part of a node job is never enqueued alone
            made = NodeJob(self, replace(job.definition, nodes=policy), function, self._redefine)
            self._redefine(made.definition)
            self.jobs[name] = made
            return made

        return decorate

    def leader_job(self, **options: Unpack[PartOptions]) -> Decorator:
        """Define a job that runs only on the leader. Its outcome is stored only if that process is still the leader."""

        def decorate(function: Callable[..., Any]) -> Job[..., Any]:
            definition = self.job(**options)(function).definition
            self._redefine(replace(definition, nodes=NodePolicy(on_leader=True)))
            return self.jobs[definition.name]

        return decorate  # type: ignore[return-value]

    def _redefine(self, definition: Definition) -> None:
        self.definitions[definition.name] = definition
        self.jobs[definition.name] = Job(self, definition, definition.function)

    def handle(
        self, job_id: UUID | str, *, tenant: str | UUID | None = None, definition: str | None = None
    ) -> Handle[Any]:
        """A handle for an existing job, by its id. With the name of its definition, results are decoded by their annotation. Does not check that the job exists: the
        handle's methods raise NotFound."""
        known = self.definitions.get(definition) if definition else None
        return Handle(self, known.codec if known else None, job_id=job_id_of(job_id), tenant=tenant)

    @property
    def holder(self) -> str:
        """The name of this process in leader elections. It has a random part, because host names and pids repeat in containers, and two
        processes with the same name would both lead."""
        return f"{platform.node()}:{os.getpid()}:{self._boot}"

    def named_tenant(self, tenant: str | UUID | None) -> str | UUID | None:
        """The given tenant, or the app's tenant; None if the login determines it."""
        return self._tenant if tenant is None else tenant

    async def tenant_id(self, tenant: str | UUID | None = None) -> UUID:
        """The id of a tenant, by slug or id. Default: the app's tenant."""
        named = self.named_tenant(tenant)
        return named if isinstance(named, UUID) else await (await self._connect()).tenants.id_of(named)

    async def store(self) -> Store:
        return (await self._connect()).store

    async def enqueuer(self) -> Enqueuer:
        return (await self._connect()).enqueuer

    async def waiter(self) -> Waiter:
        return (await self._connect()).waiter

    async def artifacts(self) -> Artifacts:
        return (await self._connect()).artifacts

    def call_sync(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the app's own event loop and wait for it. Works in any thread, including one that runs an event loop."""
        with self._portal_lock:
            if self._portal is None or not self._portal.alive:
                self._portal = Portal()
            portal = self._portal
        return portal.call(coroutine)

    async def __aenter__(self) -> "Plait":
        await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close this loop's connections, and release the embedded Postgres if nothing else in this process uses it. The next use opens them
        again. `async with app:` connects, and closes at the end."""
        connecting = self._connected.pop(asyncio.get_running_loop(), None)
        if connecting is None:
            return
        await asyncio.wait({connecting})
        if not connecting.cancelled() and connecting.exception() is None:
            connected = connecting.result()
            await connected.enqueuer.close()
            await connected.waiter.close()
            await connected.tenants.close()
            await connected.store.close()
            await self.target.close()

    def close_sync(self) -> None:
        """Close the connections of the sync functions (`enqueue_sync`, `result_sync` …). Call it before the process ends."""
        with self._portal_lock:
            portal, self._portal = self._portal, None
        if portal is not None and portal.alive:
            portal.call(self.close())
            portal.close()

    async def _connect(self) -> _Connected:
        loop = asyncio.get_running_loop()
        connecting = self._connected.get(loop)
        if connecting is not None and connecting.done() and not connecting.cancelled() and not connecting.exception():
            return connecting.result()
        if connecting is None or connecting.done():
            connecting = loop.create_task(self._open())  # shared by concurrent callers
            self._connected[loop] = connecting
        return await asyncio.shield(connecting)

    async def _open(self) -> _Connected:
        store = await self.target.open(statement_s=self.settings.statement_s)
        artifacts = Artifacts(store, self.target.objects(self.settings.artifacts), most=self.settings.artifact_size)
        return _Connected(store, Enqueuer(store), Waiter(store), Tenants(store), artifacts)
