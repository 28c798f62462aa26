"""Structured concurrency: children that a job's code does not await, but that must end before the job is final.

`spawn` adds a child to the job's own nursery. If children are unfinished when the handler returns, the job's result is stored and the job waits. It
succeeds if all children succeed; otherwise it fails after all of them have ended. `nursery()` does the same for a block of a handler: the end of the
block waits for the children. `after` adds a follow-up, which is enqueued when the job has succeeded.

Each call is a step: a handler that runs again, after a wait, a crash or a failure, spawns each child once. `def` handlers use `spawn_sync` and similar
functions. Handlers with isolation="process" have no steps and cannot spawn.
"""

import hashlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeVar
from uuid import UUID

import msgspec
from msgspec.structs import replace

from plait.model.errors import InvalidArguments, TooLarge
from plait.model.ids import new_id
from plait.model.policies import ChildMode, Children, OnChildFailure
from plait.model.texts import shown
from plait.sdk.codec import MAX_BYTES, encode
from plait.sdk.durable import Durable, durable
from plait.sdk.fan_out import Opened
from plait.sdk.from_threads import call_from_thread
from plait.sdk.options import Options, nearest, nearest_attempts, nearest_seconds, unsupported_option
from plait.sdk.results import Result
from plait.sdk.sub_jobs import Duration, Target, resolved
from plait.sdk.until_sent import until_sent
from plait.store.new_jobs import NewJob
from plait.store.nurseries import SpawnStep

P = ParamSpec("P")
T = TypeVar("T")

What = Literal["child", "sibling", "after", "always"]
_SUPPORTED = ("queue", "priority", "retries", "timeout", "delay", "dedupe_key", "limit_key")


@dataclass(frozen=True, slots=True)
class Spawned:
    """A spawned job or a follow-up. `deduplicated`: the dedupe key belonged to an existing job, and `id` is that job's id."""

    id: UUID
    deduplicated: bool = False


class _Spawner:
    """Creates jobs on behalf of the running job: children, siblings or follow-ups."""

    def __init__(self, kind: What) -> None:
        self._kind: What = kind

    def _nursery(self) -> UUID | None:
        """The nursery of the children; None for the job's own nursery."""
        return None

    async def spawn(
        self,
        job: Target | str,
        /,
        *args: Any,
        queue: str | None = None,
        priority: int | None = None,
        retries: int | None = None,
        timeout: Duration | None = None,
        delay: Duration | None = None,
        dedupe_key: str | None = None,
        **kwargs: Any,
    ) -> Spawned:
        """Spawn a job, given as a job or its name, with these arguments and options. If a parameter of the job has the same name as an option, pass
        it by position."""
        options = Options(
            queue=queue, priority=priority, retries=retries, timeout=timeout, delay=delay, dedupe_key=dedupe_key
        )
        return (await _spawn(self._kind, self._nursery(), job, [(args, kwargs)], options))[0]

    async def spawn_many(
        self,
        job: Target | str,
        calls: Iterable[Any],
        /,
        *,
        queue: str | None = None,
        priority: int | None = None,
        retries: int | None = None,
        timeout: Duration | None = None,
        delay: Duration | None = None,
    ) -> list[Spawned]:
        """Spawn one job for each call, all or none. A call is a tuple of arguments, a mapping of arguments by name, or a single argument."""
        options = Options(queue=queue, priority=priority, retries=retries, timeout=timeout, delay=delay)
        return await _spawn(self._kind, self._nursery(), job, [_call(call) for call in calls], options)


class _Follower(_Spawner):
    """Creates follow-ups of the running job."""

    async def after(
        self,
        job: Target | str,
        /,
        *args: Any,
        when: Literal["success", "always"] = "success",
        queue: str | None = None,
        priority: int | None = None,
        retries: int | None = None,
        timeout: Duration | None = None,
        delay: Duration | None = None,
        dedupe_key: str | None = None,
        **kwargs: Any,
    ) -> Spawned:
        """Add a follow-up: a separate job that is enqueued once this job and all its children have succeeded, in the same transaction. If another job has
        the follow-up's dedupe key at that time, no new job is enqueued.

        With `when="always"` the follow-up runs after any outcome: success, failure, dead letter, cancellation or skip. It is stored immediately and waits
        until this job is final, as with `job.options(after=[this job], on_dependency_failure="run").enqueue(…)`."""
        if when not in ("success", "always"):
            raise InvalidArguments(f"when must be 'success' or 'always', got {shown(when)}")
        options = Options(
            queue=queue, priority=priority, retries=retries, timeout=timeout, delay=delay, dedupe_key=dedupe_key
        )
        what: What = "after" if when == "success" else "always"
        return (await _spawn(what, None, job, [(args, kwargs)], options))[0]


_children = _Spawner("child")
spawn = _children.spawn
"""Spawn a child of the running job. The child may start immediately. This job becomes final only after its children."""
spawn_many = _children.spawn_many
spawn_sibling = _Spawner("sibling").spawn
"""Spawn another child of this job's parent, for example when a child finds more work. The parent waits for it too."""
after = _Follower("after").after


async def has_pending_children() -> bool:
    """Whether this job has unfinished children that it spawned."""
    owner = durable()
    return await owner.store.nurseries.has_pending_children(owner.lease.job_id, owner.tenant_id)


async def has_failed_siblings() -> bool:
    """Whether another child of this job's parent failed or was canceled. A handler can use this to stop early."""
    owner = durable()
    return await owner.store.nurseries.has_failed_siblings(owner.lease.job_id, owner.tenant_id)


def _sync(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The sync version for `def` handlers: it runs on the worker's event loop while their thread waits."""

    def sync(*args: P.args, **kwargs: P.kwargs) -> T:
        return call_from_thread(durable(), lambda: function(*args, **kwargs))

    return sync


spawn_sync = _sync(spawn)
spawn_many_sync = _sync(spawn_many)
spawn_sibling_sync = _sync(spawn_sibling)
after_sync = _sync(after)
has_pending_children_sync = _sync(has_pending_children)
has_failed_siblings_sync = _sync(has_failed_siblings)


class Nursery(_Spawner):
    """Created by `nursery()`. `results` is set after the block, in the order in which the children were spawned.

    If an exception leaves the block, the block does not wait for the children, and the next attempt enters it again. The job still becomes final only
    after its children.
    """

    def __init__(self, name: str, children: Children) -> None:
        super().__init__("child")
        self._name = name
        self._children = children
        self._opened: Opened | None = None
        self._id: UUID | None = None
        self.results: list[Result[Any]] = []

    def _nursery(self) -> UUID:
        if self._id is None:
            raise InvalidArguments("spawn must be called inside the nursery's `async with` block")
        return self._id

    async def __aenter__(self) -> "Nursery":
        if self._opened is not None:
            raise InvalidArguments("a nursery can be entered only once: create another with nursery()")
        owner, children = durable(), self._children
        with await owner.begin(self._name, "nursery") as step:
            nursery_id = step.row.fan_out_id if step.row is not None else None
            if nursery_id is None:
                nursery_id = made = new_id()

                async def write(number: int) -> None:
                    status = await until_sent(
                        lambda: owner.store.nurseries.open_nursery(
                            owner.lease,
                            step.key,
                            made,
                            finished=number,
                            serial=children.mode == "serial",
                            stop=children.on_failure == "stop",
                            nested=children.allow_nested,
                            cancel_on_parent_failure=children.cancel_on_parent_failure,
                        )
                    )
                    if status != "ready":
                        await owner.stop_for(status)

                await owner.record(step, write)
        self._id = nursery_id
        self._opened = Opened(owner, self._name, nursery_id, 0, "nursery")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> Literal[False]:
        opened, self._id = self._opened, None
        if kind is not None or opened is None:
            return False
        await opened.join(None)
        self.results.extend([result async for result in opened.results()])
        if opened.decision != "succeeded":
            opened.total = len(self.results)
            raise opened.error([one.error for one in self.results if one.error is not None], self.results)
        return False


def nursery(
    *,
    name: str = "nursery",
    child_mode: ChildMode = "concurrent",
    on_child_failure: OnChildFailure = "continue",
    allow_nested: bool = True,
    cancel_on_parent_failure: bool = False,
) -> Nursery:
    """`async with nursery() as n: await n.spawn(…)`: the end of the block waits, without holding a worker, until all children have ended, and
    raises FanOutError if any did not succeed."""
    children = Children(
        mode=child_mode,
        on_failure=on_child_failure,
        allow_nested=allow_nested,
        cancel_on_parent_failure=cancel_on_parent_failure,
    )
    return Nursery(name, children)


class _Made(msgspec.Struct):
    """The recorded result of a spawn: the job ids, and the positions of the ids that belong to existing jobs."""

    ids: list[UUID] = []
    older: list[int] = []


async def _spawn(
    what: What,
    nursery_id: UUID | None,
    job: Target | str,
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]],
    options: Options,
) -> list[Spawned]:
    if not calls:
        return []
    owner = durable()
    new = [_new(owner, job, args, kwargs, options, at_once=what != "after") for args, kwargs in calls]
    if len(new) > 1 and new[0].dedupe_key is not None:
        raise InvalidArguments(
            "spawn_many would give all jobs the same dedupe key: remove the key, or call spawn for each job"
        )
    verb: Literal["after", "spawn"] = "after" if what in ("after", "always") else "spawn"
    with await owner.begin(f"{verb} {new[0].definition}", verb) as step:
        digest = hashlib.blake2b(digest_size=8)
        for one in new:
            digest.update(f"{one.definition}\0{one.payload}\0".encode())
        step.check(digest.hexdigest())
        if step.row is not None:
            made = msgspec.json.decode(step.row.value or "{}", type=_Made)
            older = set(made.older)
            return [Spawned(one, n in older) for n, one in enumerate(made.ids)]
        new = [await _kept(owner, one) if len(one.payload) > MAX_BYTES // 4 else one for one in new]

        async def write(number: int) -> list[UUID]:
            return await _send(
                owner, SpawnStep(key=step.key, hash=digest.hexdigest(), finished=number), what, nursery_id, new
            )

        ids = await owner.record(step, write)
    return [Spawned(UUID(bytes=one.bytes), one != asked.id) for one, asked in zip(ids, new, strict=True)]


async def _kept(owner: Durable, one: NewJob) -> NewJob:
    """The job with an artifact, if its payload is too large for a row."""
    if (size := len(one.payload.encode())) <= MAX_BYTES:
        return one
    large = TooLarge(
        f"{one.definition}: the arguments cannot be stored: the size is {size:,} bytes, but the limit is {MAX_BYTES:,}",
        one.payload,
    )
    return replace(
        one, payload=await owner.artifacts.keep(large, job_id=one.id, tenant_id=owner.tenant_id, kind="payload")
    )


async def _send(
    owner: Durable,
    asked: SpawnStep,
    what: What,
    nursery_id: UUID | None,
    new: list[NewJob],
) -> list[UUID]:
    nurseries = owner.store.nurseries
    if what in ("after", "always"):
        status, ids = await until_sent(lambda: nurseries.after_many(owner.lease, asked, new, always=what == "always"))
    else:
        status, ids = await until_sent(
            lambda: nurseries.spawn_many(owner.lease, asked, new, nursery=nursery_id, sibling=what == "sibling")
        )
    if status != "ready":
        await owner.stop_for(status)
    return ids


def _new(
    owner: Durable,
    job: Target | str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Options,
    *,
    at_once: bool,
) -> NewJob:
    """Each option comes from the first of these that sets it: the call, the job's own options and, in the database, its definition with an operator's overrides.
    Retries default to the spawning job's. A job that is not created `at_once` cannot have an artifact, because the artifact would be removed before the job uses it."""
    name, definition, said = resolved(owner, job)
    if (option := unsupported_option(said, _SUPPORTED)) is not None:
        raise InvalidArguments(f"{name}: spawned jobs do not support the option {option}")
    if definition is None and args:
        raise InvalidArguments(f"{name} is not a job of this app: pass its arguments by name")
    try:
        payload = (
            definition.codec.encode_call(args, kwargs) if definition else encode(kwargs, what=f"{name}: the arguments")
        )
    except TooLarge as large:
        if not at_once:
            raise
        payload = large.text

    limit_key = said.limit_key
    if definition is not None:
        limit_key = definition.limit_key_of(args, kwargs) if limit_key is None else limit_key
    return NewJob(
        id=new_id(),
        definition=name,
        payload=payload,
        queue=nearest("queue", options, said),
        priority=nearest("priority", options, said),
        max_attempts=nearest_attempts(options, said),
        timeout_s=nearest_seconds("timeout", options, said),
        delay_s=nearest_seconds("delay", options, said),
        dedupe_key=nearest("dedupe_key", options, said),
        limit_key=limit_key,
    )


def _call(call: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(call, tuple):
        return call, {}
    if isinstance(call, Mapping):
        return (), dict(call)
    return (call,), {}
