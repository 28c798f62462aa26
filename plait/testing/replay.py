"""Replay the stored history of a durable function against a handler, without a worker, to check whether unfinished jobs can continue with this code.

A history is the document that `plait jobs history ID` prints and `kit.history(handle)` returns. Recorded steps return their recorded results; no step
runs, and nothing is written. The replay ends where the history does: where the handler calls its first new step, waits, or returns.
"""

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

import msgspec

from plait.model.errors import DeterminismError, InvalidArguments
from plait.model.states import Status
from plait.model.texts import shown
from plait.runtime.settings import Settings
from plait.sdk.active_step import Step, Suspended
from plait.sdk.artifacts import Artifacts
from plait.sdk.branches import Branches, follow_tasks
from plait.sdk.codec import Codec
from plait.sdk.context import Current, running_attempt, set_attempt
from plait.sdk.definition import Definition
from plait.sdk.dependencies import complete_link, is_link
from plait.sdk.durable import Durable
from plait.sdk.durable_runtime import DurableRuntime
from plait.sdk.history import NESTED, named
from plait.sdk.timers import follow_timers
from plait.store import Store
from plait.store.nurseries import DependencyRow
from plait.store.workflows import ChildOutcome, Lease, StepKind, StepRow

FORMAT: Final = 1
TIMEOUT_S: Final = 60.0


class _Step(msgspec.Struct):
    branch: str
    name: str
    occurrence: int
    seq: int
    finished: int | None
    kind: StepKind
    hash: str | None
    value: msgspec.Raw
    error: str | None
    done: bool
    due_at: datetime | None
    fan_out_id: UUID | None
    decision: str | None
    decided_ended: int | None
    total: int | None


class _Child(msgspec.Struct):
    index: int
    job_id: UUID
    definition: str
    status: Status
    result: msgspec.Raw
    error: str | None
    reason: str | None
    attempt: int
    fan_out_id: UUID | None = None
    position: int = 0


class _History(msgspec.Struct):
    format: int
    job_id: UUID
    tenant_id: UUID
    definition: str
    queue: str
    correlation_id: str | None
    status: Status
    attempt: int
    max_attempts: int
    payload: msgspec.Raw
    steps: list[_Step]
    children: list[_Child]
    dependencies: list[_Child] = []


async def replay(
    history: Mapping[str, Any] | str | Path,
    handler: Callable[..., Any],
    *,
    definitions: Mapping[str, Definition] | None = None,
    timeout: float = TIMEOUT_S,
) -> Any:
    """Run `handler`, a job or an `async def` function, on a recorded history: a dict, JSON text, or the path of a file.

    Returns the handler's result; None if the history ends earlier. Raises DeterminismError, which names the recorded and the called step, if the
    handler calls a different step, returns before a recorded step, or continues after the recorded end. The handler's own error is raised, unless the
    recorded job failed too. `definitions`: the app's definitions, needed if the handler refers to jobs by name.
    """
    read = _read(history)
    definition = getattr(handler, "definition", None)
    function = definition.function if isinstance(definition, Definition) else handler
    if not inspect.iscoroutinefunction(function):
        raise InvalidArguments(f"handler must be a job or an `async def` function, got {shown(handler)}")
    if isinstance(definition, Definition) and definition.name != read.definition:
        raise InvalidArguments(
            f"handler must be the job of the history, {read.definition!r}, got the job {definition.name!r}"
        )
    codec = definition.codec if isinstance(definition, Definition) else Codec(function, read.definition)
    store = cast("Store", _RecordedStore(read))
    artifacts = cast("Artifacts", _NoArtifacts())
    payload = bytes(read.payload).decode()
    if is_link(payload):
        payload = (
            await complete_link(store, artifacts, payload, job_id=read.job_id, tenant_id=read.tenant_id) or payload
        )
    arguments = codec.decode_payload(payload)
    loop = asyncio.get_running_loop()
    unfollow = (follow_tasks(loop, running_attempt), follow_timers(loop, running_attempt))
    attempt = _Attempt(read, DurableRuntime(store, dict(definitions or {}), artifacts, settings=Settings()))
    context = contextvars.copy_context()
    context.run(set_attempt, attempt)
    try:
        async with asyncio.timeout(timeout):
            return await loop.create_task(attempt.run(function, arguments), context=context)
    except TimeoutError:
        raise TimeoutError(
            f"the replay did not end within {timeout:g} s: a task of the handler waits for something that is not a step"
        ) from None
    finally:
        for undo in unfollow:
            undo()


def _read(history: Mapping[str, Any] | str | Path) -> _History:
    try:
        if isinstance(history, Mapping):
            text = msgspec.json.encode(history)
        else:
            text = history.read_bytes() if isinstance(history, Path) else history.encode()
        read = msgspec.json.decode(text, type=_History)
    except (msgspec.MsgspecError, AttributeError) as error:
        raise InvalidArguments(f"history must be a document from `plait jobs history`: {error}") from None
    if read.format != FORMAT:
        raise InvalidArguments(
            f"the history's format must be {FORMAT}, got {read.format}: export it again with this version"
        )
    return read


class _Attempt:
    """Replaces the worker: holds the lease, and runs the handler."""

    def __init__(self, history: _History, runtime: DurableRuntime) -> None:
        self.suspended = False
        self.over = False
        self.key = (history.job_id, history.attempt + 1)
        self._history = history
        self._runtime = runtime
        self._steps: _Replayed | None = None

    async def run(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        steps = self.durable()
        value: Any = None
        failure: BaseException | None = None
        try:
            value = await function(**arguments)
        except Suspended:
            pass
        except BaseException as error:  # noqa: BLE001 - a handler may raise anything; raised again below
            if not self.suspended:
                failure = error
        finally:
            self.over = True
            await steps.close(failure)
        ended = not self.suspended
        difference = steps.difference(failure, ended=ended, complete=self._history.status is Status.SUCCEEDED)
        if difference is not None:
            raise difference
        if isinstance(failure, asyncio.CancelledError) and steps.delivery.canceled:
            return None
        if failure is not None and not (
            isinstance(failure, Exception) and self._history.status in (Status.FAILED, Status.DEAD_LETTER)
        ):
            raise failure
        return value if ended else None

    def current(self) -> Current:
        history = self._history
        return Current(
            job_id=history.job_id,
            attempt=history.attempt + 1,
            failed_attempts=0,
            max_attempts=history.max_attempts,
            tenant_id=history.tenant_id,
            definition=history.definition,
            queue=history.queue,
            correlation_id=history.correlation_id,
            deadline=float("inf"),
            report=lambda _: None,
            open_stream=lambda _: _NoStream(),
            last_report=_nothing_reported,
        )

    def durable(self) -> "_Replayed":
        if self._steps is None:
            self._steps = _Replayed(
                self._runtime,
                self,
                job_id=self._history.job_id,
                attempt=max(2, self._history.attempt + 1),  # the first attempt has no history
                tenant_id=self._history.tenant_id,
                max_attempts=self._history.max_attempts,
                task=asyncio.current_task(),
            )
        return self._steps

    def branches(self) -> Branches | None:
        return None if self.over else self.durable().branches

    def log(self) -> None:
        return None

    async def flush(self) -> None: ...
    def keep(self, size: int) -> None: ...
    def lost(self) -> None: ...
    def canceled(self) -> None: ...


class _NoStream:
    """A stream that discards its items, because they are already stored."""

    async def write(self, item: Any) -> None: ...
    async def close(self) -> None: ...
    def write_sync(self, item: Any) -> None: ...
    def close_sync(self) -> None: ...


async def _nothing_reported() -> tuple[None, None]:
    return None, None


class _Replayed(Durable):
    """A replayed durable function. New steps do not run: each waits until nothing else in the handler can continue."""

    def __init__(self, runtime: DurableRuntime, holder: Any, **of: Any) -> None:
        super().__init__(runtime, holder, **of)
        self._asked: set[tuple[str, str, int]] = set()
        self._beyond: Step | None = None

    async def begin(self, name: str, kind: StepKind) -> Step:
        step = await super().begin(name, kind)
        self._asked.add((step.key.branch, step.key.name, step.key.occurrence))
        if step.row is None:
            self._beyond = self._beyond or step
            with step:
                await self.wait(step)
        return step

    async def is_durable(self) -> bool:
        return True  # sending is a step, which does not run here

    def difference(self, failure: BaseException | None, *, ended: bool, complete: bool) -> DeterminismError | None:
        """The difference between the run and the history; None if there is none."""
        if failure is not None:
            return next((one for one in _leaves(failure) if isinstance(one, DeterminismError)), None)
        left = next((row for row in self._rows() if (row.branch, row.name, row.occurrence) not in self._asked), None)
        if left is not None:
            now = "returns" if ended else "waits"
            return DeterminismError(
                f"step {left.seq} of this job was recorded as {named(left.kind, left)}, but the code now {now} without it"
            )
        if complete and not ended and self._beyond is not None:
            found = named(self._beyond.kind, self._beyond.key)
            return DeterminismError(
                f"this job was recorded as succeeded, but the code now has {found} after its last step"
            )
        return None

    def _rows(self) -> list[StepRow]:
        """The recorded steps of the handler's own branches."""
        rows = cast("_RecordedWorkflows", self.store.workflows).rows
        return [row for row in rows if row.kind not in ("timer", "cancel") and NESTED not in row.branch]


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]


class _RecordedStore:
    """Answers a replay's queries from the history."""

    def __init__(self, history: _History) -> None:
        self.workflows = _RecordedWorkflows(history)
        self.nurseries = _RecordedNurseries(history)
        self.events = _RecordedEvents()

    def __getattr__(self, name: str) -> Any:
        raise InvalidArguments(f"a replay has no database: the handler uses {name}, which a history does not contain")


class _RecordedEvents:
    async def await_event(self, *_: object) -> bool:
        return True  # the wait is recorded


class _RecordedWorkflows:
    def __init__(self, history: _History) -> None:
        self.rows = [StepRow(**{**_fields(step), "value": _text(step.value)}) for step in history.steps]
        self._children = history.children

    async def resume_steps(self, _: Lease) -> list[StepRow]:
        return self.rows

    async def gather(
        self, _: UUID, fan_out_id: UUID, *, after: int = -1, limit: int = 5000, **_options: Any
    ) -> list[ChildOutcome]:
        rows = [
            ChildOutcome(
                one.position, one.index, one.job_id, one.definition, one.status, _text(one.result), one.error,
                one.reason, one.attempt,
            )
            for one in self._children
            if one.fan_out_id == fan_out_id and one.position > after
        ]  # fmt: skip
        return rows[:limit]

    async def await_steps(self, *_: Any, suspend: bool, **__: Any) -> tuple[str, list[Any], float | None]:
        """Report that no further steps have ended."""
        return "suspended" if suspend else "waiting", [], None

    async def drop_steps(self, *_: Any, **__: Any) -> None: ...


class _RecordedNurseries:
    def __init__(self, history: _History) -> None:
        self._dependencies = [
            DependencyRow(
                one.index, one.job_id, one.definition, one.status, _text(one.result), one.error, one.reason, one.attempt
            )
            for one in history.dependencies
        ]

    async def list_dependencies(self, _: UUID, __: UUID, *, after: int = -1, last: bool = False) -> list[DependencyRow]:
        return self._dependencies[-1:] if last else [row for row in self._dependencies if row.index > after]

    def __getattr__(self, name: str) -> Any:
        raise InvalidArguments(f"a replay has no database: the handler uses {name}, which a history does not contain")


class _NoArtifacts:
    async def resolve(self, text: str, **_: Any) -> str:
        raise InvalidArguments(f"the history refers to an artifact, which a replay cannot read: {text[:120]}")


def _fields(step: _Step) -> dict[str, Any]:
    return {name: getattr(step, name) for name in step.__struct_fields__}


def _text(value: msgspec.Raw) -> str | None:
    text = bytes(value).decode()
    return None if text == "null" else text
