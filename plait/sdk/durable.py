"""One attempt of a durable job: what it has done before, and what it asks for now.

A handler becomes durable by what it calls: `call`, `fan_out`, `sleep` … Each is a step, known by its name and its occurrence (the
second `charge` is another step than the first). What a step has come to is checkpointed; when the job goes on, after a wait or a
crash, its handler runs from its start, and steps that are on record return what they returned then.

The handler must ask for the same steps each time. What it asks for is compared with the record: another kind, other arguments, or
a new step in the place of one on record is a DeterminismError. Steps under way at the same time have no order among each other.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NoReturn, Protocol, TypeVar
from uuid import UUID

from plait.model.errors import DatabaseUnreachable, DeterminismError, LeaseLost, NotDurable
from plait.sdk.artifacts import Artifacts
from plait.sdk.checkpoints import OUTAGE_S, Checkpoints
from plait.sdk.context import NoCurrentJob, attempt, ended
from plait.sdk.definition import Definition
from plait.store import Store
from plait.store.database import is_held, is_transient
from plait.store.trees import Checkpoint, Lease, StepKey, StepKind, StepRow, Suspension

T = TypeVar("T")

PAUSES_S = (0.05, 0.25, 1.0)
"""Before each repetition of a statement whose reply was lost."""


class Suspended(BaseException):
    """The job waits; its handler ends here, and runs again from its start. Not an Exception: a handler must let it pass."""


class Holder(Protocol):
    """Whoever runs the handler."""

    suspended: bool
    """The attempt ends by waiting: it is no longer held, and that is no loss."""
    over: bool
    """The handler has ended. A task or thread that it has left behind takes no steps."""

    def lost(self) -> None: ...
    def canceled(self) -> None: ...


class Durables:
    """What the durable jobs of one worker share."""

    def __init__(
        self, store: Store, definitions: Mapping[str, Definition], artifacts: Artifacts, *, node: str | None = None
    ) -> None:
        self.store = store
        self.artifacts = artifacts
        self.definitions = definitions
        self.checkpoints = Checkpoints(store)
        self.loop = asyncio.get_running_loop()
        self.worker = 0
        self.node = node

    async def close(self) -> None:
        await self.checkpoints.close()


class Durable:
    def __init__(
        self,
        durables: Durables,
        holder: Holder,
        *,
        job_id: UUID,
        attempt: int,
        tenant_id: UUID,
        max_attempts: int,
        threaded: bool,
    ) -> None:
        self.store = durables.store
        self.artifacts = durables.artifacts
        self.definitions = durables.definitions
        self.lease = Lease(durables.worker, job_id, attempt)
        self.tenant_id = tenant_id
        self.max_attempts = max_attempts
        self._checkpoints = durables.checkpoints
        self._holder = holder
        self._loop = durables.loop
        self._threaded = threaded
        self._occurrences: dict[str, int] = {}
        self._seq = 0
        # A first attempt has nothing on record. (A forked job's first one is its second, as after a retry.)
        self._recorded: dict[tuple[str, int], StepRow] | None = {} if attempt == 1 else None
        self._loading: asyncio.Task[dict[tuple[str, int], StepRow]] | None = None
        self._under_way: set[Step] = set()
        self.versions: dict[str, int] = {}

    async def begin(self, name: str, kind: StepKind) -> "Step":
        """The next step of this name. Numbered at once: what comes first in the code is first, whatever is awaited meanwhile."""
        if asyncio.get_running_loop() is not self._loop:
            raise NotDurable
        if self._holder.over:
            raise NotDurable(ended(self.lease.job_id, self.lease.attempt))
        occurrence = self._occurrences[name] = self._occurrences.get(name, 0) + 1
        self._seq += 1
        step = Step(self, StepKey(name, occurrence, self._seq), kind)
        for other in self._under_way:
            step.overlapping = other.overlapping = True
        self._under_way.add(step)
        try:
            recorded = self._recorded if self._recorded is not None else await self.load()
            step.row = recorded.pop((name, occurrence), None)
            self._check(step)
        except BaseException:
            self.end(step)
            raise
        return step

    def end(self, step: "Step") -> None:
        self._under_way.discard(step)

    async def load(self) -> dict[tuple[str, int], StepRow]:
        """What is on record and has not been asked for. Loaded once, by whoever comes first."""
        if self._recorded is None:
            if self._loading is None:
                self._loading = self._loop.create_task(self._load())
            self._recorded = await asyncio.shield(self._loading)
        return self._recorded

    async def _load(self) -> dict[tuple[str, int], StepRow]:
        rows = await self.surely(lambda: self.store.trees.load_steps(self.lease))
        if rows is None:  # else it would begin anew, and do again what another does already
            await self.stop_for("stale")
        return {(row.name, row.occurrence): row for row in rows}

    def _check(self, step: "Step") -> None:
        """A step on record is of the kind that is asked for. Before one that is new, all on record have been asked for, but for
        those whose order means nothing."""
        if step.row is not None:
            if step.row.kind != step.kind:
                raise _differs(_named(step.row.kind, step.row.name, step.row.occurrence), step, step.row.seq)
            return
        if not self._recorded:
            return
        left = (row for row in self._recorded.values() if not row.overlapping)
        expected = min(left, key=lambda row: row.seq, default=None)
        if expected is not None:
            raise _differs(_named(expected.kind, expected.name, expected.occurrence), step, expected.seq)

    async def save(self, step: "Step", value: str | None, error: str | None = None) -> None:
        """Checkpoint. It is stored also when the handler is stopped meanwhile: what was done must not be done again (T64)."""
        saving = self._checkpoints.save(
            Checkpoint(self.lease, step.key, step.kind, step.overlapping, step.hash, value, error)
        )
        try:
            stored = await asyncio.shield(saving)
        except asyncio.CancelledError:
            if not saving.done():
                await asyncio.wait({saving}, timeout=5)
            raise
        if not stored:
            await self.stop_for("stale")

    async def suspend(
        self, send: Callable[[], Awaitable[tuple[Suspension, str | None]]]
    ) -> tuple[Suspension, str | None]:
        """Send what makes the job wait. Returns only when there is nothing to wait for: ready, or timeout."""
        self._holder.suspended = True  # who looks after leases must not take that for a loss (T15)
        try:
            status, value = await self.surely(send)
        except BaseException:
            self._holder.suspended = False
            raise
        if status == "suspended":
            raise Suspended
        self._holder.suspended = False
        if status in ("stale", "canceled"):
            await self.stop_for(status)
        return status, value

    def call_sync(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run it on the worker's loop, and wait for it here, in a thread."""
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            raise NotDurable("the sync form was called on a loop, which it would block: use the async one")
        coroutine = function()
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except BaseException:
            coroutine.close()  # the loop is closed: the worker has gone, and so has the lease
            raise
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def surely(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send it, and again when it is not known whether it went through: all of it may be sent twice.

        A row of the job's that a user's transaction holds is waited for as long as the job may run; no connection is held meanwhile.
        A database that is unavailable is no fault of the handler's: it waits for `OUTAGE_S`, or until the lease is lost.
        """
        pauses, began = iter(PAUSES_S), time.monotonic()
        while True:
            try:
                return await send()
            except Exception as error:
                waits = isinstance(error, DatabaseUnreachable) and time.monotonic() - began <= OUTAGE_S
                passing = next(pauses, PAUSES_S[-1] if waits else None) if is_transient(error) else None
                pause = PAUSES_S[-1] if is_held(error) else passing
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def stop_for(self, status: Suspension) -> NoReturn:
        """The lease is lost, or the job was asked to stop: the handler is canceled, here and now."""
        # Else the handler has ended, and this is a task that it has left behind.
        if not self._holder.suspended and not self._holder.over:
            if status == "canceled":
                self._holder.canceled()
            else:
                self._holder.lost()
            if not self._threaded:  # a thread can't be canceled: it is told
                await asyncio.sleep(60)  # until canceled, which is under way
        raise LeaseLost


class Step:
    """A step that was asked for. `row` is what is on record of it."""

    __slots__ = ("_durable", "hash", "key", "kind", "overlapping", "row")

    def __init__(self, durable: Durable, key: StepKey, kind: StepKind) -> None:
        self._durable = durable
        self.key = key
        self.kind: StepKind = kind
        self.hash: str | None = None
        self.overlapping = False
        self.row: StepRow | None = None

    def check(self, hash: str | None) -> None:  # noqa: A002 - as the column is called
        """The arguments are those of the record, as far as they can be compared."""
        self.hash = hash
        if self.row is not None and None not in (hash, self.row.hash) and hash != self.row.hash:
            named = _named(self.kind, self.key.name, self.key.occurrence)
            raise DeterminismError(
                f"step {self.row.seq} of this job, {named}, is on record with other arguments (hash {self.row.hash}) than the"
                f" code now gives {named} (hash {hash}). {_ADVICE}"
            )

    def __enter__(self) -> "Step":
        return self

    def __exit__(self, *_: object) -> None:
        self._durable.end(self)


_ADVICE = (
    "A durable job must ask for the same steps each time it runs. If its code has changed, keep the old path for jobs under way"
    " behind version(…). If it depends on time, chance or the outside, put that into a call(…). This job can be run again"
    " without its steps: plait jobs retry --drop-steps"
)


def _differs(expected: str, step: Step, seq: int) -> DeterminismError:
    found = _named(step.kind, step.key.name, step.key.occurrence)
    return DeterminismError(
        f"step {seq} of this job is {expected} on record, and the code now asks for {found}. {_ADVICE}"
    )


def _named(kind: str, name: str, occurrence: int) -> str:
    return f"{kind} {name!r} #{occurrence}"


def durable() -> Durable:
    """The durable side of the job that runs here."""
    try:
        found: Durable = attempt().durable()
    except NoCurrentJob as error:
        raise NotDurable(*error.args) from None
    return found
