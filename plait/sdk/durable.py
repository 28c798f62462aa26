"""One attempt of a durable job: its recorded steps, the steps that its handler calls now, and its waits.

A handler becomes durable by the operations that it calls: `call`, `fan_out`, `sleep` … Each is a step, identified by its branch (the task that calls it),
its name and its occurrence there. The result of a step is recorded before the handler receives it. When the job resumes, after a wait or a crash, its handler runs
from its start, and recorded steps return what they returned before, without being run.

The ends of steps are delivered to the handler one at a time, each after everything that follows from the previous one has happened (see branches.py). Their order
is recorded, and a replay uses the same order, so the handler behaves the same way, however it combines its tasks.

The job is suspended only when nothing in it can make progress: every branch waits for a time, a signal or a fan-out. All its waits are stored in
one statement. While anything else is running, the job keeps its slot, and the ends of its waits are delivered here.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from threading import get_ident
from typing import Any, Final, NoReturn, TypeVar
from uuid import UUID

from plait.model.errors import LeaseLost, NotDurable
from plait.sdk.active_step import Holder, Reading, Step, Suspended
from plait.sdk.branches import Branch, in_step
from plait.sdk.context import NoCurrentJob, attempt, ended
from plait.sdk.durable_runtime import DurableRuntime
from plait.sdk.history import History
from plait.sdk.step_delivery import StepDelivery
from plait.sdk.timers import CallAt, Timer
from plait.sdk.unrecorded import End, Failure, Unrecorded
from plait.sdk.until_sent import until_sent
from plait.store.workflows import Checkpoint, Lease, StepKind, Suspension, Wait

T = TypeVar("T")

REFUSALS: Final = 1000  # a handler that keeps running after its job was suspended is blocked from here on
NESTED: Final = ("call", "transaction", "version", "spawn", "after")
"""Steps that may be nested in another one."""
UNWIND_S: Final = 5.0
"""How long the remaining tasks of a finished handler may take to stop."""


class Durable:
    def __init__(
        self,
        runtime: DurableRuntime,
        holder: Holder,
        *,
        job_id: UUID,
        attempt: int,
        tenant_id: UUID,
        max_attempts: int,
        task: "asyncio.Task[Any] | None",
    ) -> None:
        """`task`: the task that the handler runs in; None if it runs in a thread."""
        self.store, self.artifacts = runtime.store, runtime.artifacts
        self.definitions, self.settings = runtime.definitions, runtime.settings
        self.lease = Lease(runtime.worker, job_id, attempt)
        self._runtime = runtime
        self.tenant_id, self.max_attempts = tenant_id, max_attempts
        self.versions: dict[str, int] = {}
        self._checkpoints = runtime.checkpoints
        self.holder = holder
        self.loop = runtime.loop
        self._thread = runtime.thread
        self._threaded = task is None
        self._real_time = runtime.real_time
        self.delivery = StepDelivery(
            self.loop, lambda suspend: self._ask(suspend=suspend), lambda: not (holder.suspended or holder.over)
        )
        self.branches = self.delivery.branches
        self.branches.main.task = task
        if attempt == 1:  # nothing is recorded yet. (A forked job's first attempt has the number 2, as after a retry.)
            self.delivery.history = History()
        self._loading: asyncio.Task[History] | None = None
        self._seq = 0
        self._size = 0  # bytes that this run has recorded
        self.unrecorded = self._unrecorded = Unrecorded()
        self._refused = 0
        self._canceling = False
        self._gone = False
        """Whether the job is suspended or the lease is lost, so that the handler can do nothing more."""

    async def begin(self, name: str, kind: StepKind) -> Step:
        """The next step with this name in the running branch. Returns when it may run, or when its recorded end was delivered."""
        if get_ident() != self._thread:
            raise NotDurable
        if self._gone or self.holder.over:
            await self._refuse()
        outer = in_step.get()
        branch = self._branch(outer, f"{kind} {name!r}", kind)
        self._seq += 1
        self.delivery.used = True
        # The threads of a `def` handler are one branch: their concurrent steps would have no order.
        nested = outer is not None or branch.inside is not None
        step = Step(self, branch, branch.key(name, self._seq), kind, nested=nested)
        if not nested:
            branch.inside = step
        try:
            history = self.delivery.history or await self.load()
            step.row = history.take(step.key, kind)
            if step.row is None and self._unrecorded:
                await self._record_the_rest()
            if history.replaying and not nested:
                await self.delivery.replay(step)
            if step.row is not None and step.row.left_out:
                step.row = await history.whole(step.row) or await self.stop_for("stale")
        except BaseException:
            step.__exit__()
            raise
        return step

    def _branch(self, outer: Any, asked: str, kind: StepKind) -> Branch:
        if outer is None:
            branch = self.branches.here()
            if branch.inside is not None and not self._threaded:
                raise NotDurable(f"{asked} was called while another step of the same branch was still running")
            return branch
        if kind not in NESTED or not isinstance(outer, Step):
            where = f"the step {outer.key.name!r}" if isinstance(outer, Step) else "a step"
            raise NotDurable(
                f"{asked} was called inside {where}, but a step cannot wait, because it would then run again from its beginning. Wait in the handler, before or after the step"
            )
        return outer.body()

    def leave(self, step: Step) -> None:
        """The step is over: the branch's own code continues."""
        if not step.nested:
            self._go_on(step.branch)

    def _go_on(self, branch: Branch) -> None:
        branch.inside = None
        if len(self.branches):
            self.branches.wake(branch)
            self.delivery.poke()

    async def load(self) -> History:
        """The recorded history, loaded once by the first caller."""
        if self.delivery.history is None:
            if self._loading is None:
                self._loading = self.loop.create_task(self._load(), context=self.delivery.context)
            history = await asyncio.shield(self._loading)
            if self.delivery.history is None:
                self.delivery.load(history)
            return history
        return self.delivery.history

    async def _load(self) -> History:
        rows = await until_sent(lambda: self.store.workflows.resume_steps(self.lease))
        if rows is None:  # otherwise it would start from the beginning and repeat another worker's steps
            await self.stop_for("stale")
        self._size += sum(len(row.value) for row in rows if row.value)
        return History(rows, lambda row: until_sent(lambda: self.store.workflows.step_values(self.lease, row)))

    async def record(self, step: Step, write: Callable[[int], Awaitable[T]]) -> T:
        """Record the end of a step. Returns when this end can be delivered to the handler."""
        number = self.delivery.reserve(step)
        try:
            result = await write(number)
        except BaseException:
            self.delivery.withdraw(step)
            raise
        await self.delivery.delivered(step)
        return result

    async def save(self, step: Step, value: str | None, error: str | None = None) -> None:
        """Checkpoint the end of a step. The same as `record`, inlined because most steps use it."""
        number = self.delivery.reserve(step)
        step.ended(self.loop.time())
        try:
            await self._store_end(step.key, step.kind, number, step.hash, value, error, step.took_s)
        except BaseException:
            self.delivery.withdraw(step)
            raise
        if step.ordered:
            await self.delivery.delivered(step)

    async def _store_end(self, *end: *End) -> None:
        """The checkpoint is stored even if the handler is stopped meanwhile: a finished step must not run again (T64)."""
        checkpoint = Checkpoint(self.lease, *end)
        self._size += len(checkpoint.value) if checkpoint.value else 0
        saving = self._checkpoints.save(checkpoint)
        try:
            stored = await saving
        except asyncio.CancelledError:
            if saving.cancelled() and (still := self._checkpoints.renew(saving)) is not None:
                await asyncio.wait({still}, timeout=5)
            raise
        if not stored:
            await self.stop_for("stale")

    async def fail(self, step: Step, error: Exception) -> NoReturn:
        """A step has failed: its error is delivered to the handler in order. The error is recorded only if the handler continues after it: an error that ends
        the attempt must not be replayed in the next one."""
        step.ended(self.loop.time())

        async def write(number: int) -> None:
            self._unrecorded.failed(Failure(error, step, number))

        await self.record(step, write)
        raise error

    async def cancel(self) -> None:
        """The job was canceled, and its definition has a grace period: deliver the cancellation to the handler."""
        if not self._canceling:
            self._canceling = True
            with contextlib.suppress(LeaseLost):
                await self.load()
                self.delivery.ask_now()

    async def is_durable(self) -> bool:
        """Whether this run, or an earlier one, has called a step."""
        return self.delivery.used or not (await self.load()).is_empty

    async def send_early(self, name: str, send: Callable[[], Awaitable[list[UUID]]]) -> list[UUID]:
        """Send something before the first step. If the handler calls a step later, the call is recorded together with that step."""
        self._seq += 1
        key = self.branches.here().key(name, self._seq)
        ids = await send()
        self._unrecorded.early.append((key, ids))
        return ids

    async def _record_the_rest(self) -> None:
        """Record everything that has happened and is not recorded yet: the handler continues after it, so a replay must see the same."""
        await self._unrecorded.record(self.delivery, self._store_end)

    def timer(self, setter: str, call_at: CallAt, when: float, callback: Any, args: Any, context: Any) -> Timer:
        """A deadline that the handler sets with asyncio."""
        self._seq += 1
        key = self.branches.here().key(f"timeout {setter}", self._seq)
        delay_s = None if self._real_time else max(0.0, when - self.loop.time())
        return self.delivery.timer(Timer(when, callback, args, context, self.loop, key, delay_s), call_at)

    async def wait(
        self,
        step: Step,
        *,
        delay_s: float | None = None,
        until: Any = None,
        fan_out_id: UUID | None = None,
        ended: int | None = None,
    ) -> tuple[str | None, str | None]:
        """Wait for something that the database completes. Returns its value and its error, immediately if they are recorded."""
        row, key, delivery = step.row, step.key, self.delivery
        if row is not None and row.finished is not None:
            return row.value, row.error
        step.wait = Wait(
            key.branch, key.name, key.occurrence, key.seq, step.kind, step.hash, delay_s, until, fan_out_id, ended
        )
        alone = delivery.alone
        delivery.waits[step] = None
        try:
            if alone:
                await delivery.ask_alone()
                if self._gone:
                    raise Suspended
                if step.end is None:
                    await delivery.until(step)  # woken by a cancellation, which is delivered now
                else:
                    delivery.take(step)
            else:
                await delivery.until(step)
        except asyncio.CancelledError:
            delivery.abandon(key, fan_out_id)
            raise
        finally:
            delivery.waits.pop(step, None)
        assert step.end is not None
        value = bytes(step.end.value).decode()
        return None if value == "null" else value, step.end.error

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """The branch reads recorded data. No other step's end is delivered meanwhile."""
        branch, reading = self.branches.here(), Reading()
        branch.inside = reading
        token = in_step.set(reading)
        try:
            yield
        finally:
            in_step.reset(token)
            self._go_on(branch)

    async def _ask(self, *, suspend: bool) -> None:
        """Ask the database for completed waits; with `suspend`, the job is suspended if there are none."""
        while await self._suspended(await self._await_steps(suspend)):
            pass

    async def _await_steps(self, suspend: bool) -> Suspension:
        if self._unrecorded:
            await self._record_the_rest()
        await self.holder.flush()  # the handler's progress must be visible while the job waits
        first, steps, waits, abandoned = self.delivery.expect()
        self.holder.suspended = suspend  # the heartbeat must not mistake this for a lost lease (T15)
        try:
            send = partial(self.store.workflows.await_steps, self.lease, waits, abandoned, next_number=first)
            status, ends, next_s = await until_sent(partial(send, suspend=suspend))
        except BaseException:
            self.holder.suspended = False
            self.delivery.abandoned[:0] = abandoned
            self.delivery.answered(steps, [], None)
            raise
        self.delivery.answered(steps, ends, next_s)
        return status

    async def _suspended(self, status: Suspension, *, keep: bool = True) -> bool:
        """Handle the database's answer: the job waits, resumes, or its lease is lost. True: it has waited, and continues here under a new lease."""
        over = self.holder.over  # the lease was lost meanwhile, and this handler was abandoned
        if status == "suspended" or over:
            kept = self.holder.keep(self._size) if keep and not over and not self._threaded else None
            if kept is None or not await kept:
                self._unwind()
                return False
            self.lease = Lease(self._runtime.worker, *self.holder.key)
            self.holder.suspended = False
            return True
        self.holder.suspended = False
        if status in ("stale", "canceled"):
            await self.stop_for(status)
        return False

    async def suspend(self, send: Callable[[], Awaitable[Suspension]], *, keep: bool = True) -> None:
        """Send a statement that suspends the job. Returns if the job need not wait, or after it has waited."""
        await self.holder.flush()
        self.holder.suspended = True
        try:
            status = await until_sent(send)
        except BaseException:
            self.holder.suspended = False
            raise
        await self._suspended(status, keep=keep)
        if self._gone:
            raise Suspended

    def _unwind(self) -> None:
        """Drop the handler's frames. Anything they still call is rejected."""
        self._gone = True
        for task in self.branches.tasks:
            task.cancel()
        main = self.branches.main
        if main.inside is None and main.task is not None:
            main.task.cancel()
        for branch in (main, *self.branches):
            inside = branch.inside
            if isinstance(inside, Step) and inside.future is not None and not inside.future.done():
                inside.future.set_exception(Suspended())
                inside.future.exception()  # retrieved, even if its task is canceled first

    async def close(self, error: BaseException | None) -> None:
        """The handler has returned or raised: stop its remaining tasks, as `asyncio.run` does. A step whose error ended the attempt runs again in the next
        attempt, and so does everything after it."""
        self.delivery.stop()
        tasks = self.branches.tasks
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=UNWIND_S)
            for task in tasks:
                if task.done() and not task.cancelled():
                    task.exception()  # nothing waits for its error
        for failure in self._unrecorded.failures:
            if failure.recorded and error is not None and not self._gone and failure.caused(error):
                drop = partial(self.store.workflows.drop_steps, self.lease, failure.seen_by, since=failure.number)
                await until_sent(drop)

    def refuse(self) -> None:
        """The lease is lost: further calls of the handler have no effect."""
        self._gone = True

    async def _refuse(self) -> NoReturn:
        if not self._gone:
            raise NotDurable(ended(self.lease.job_id, self.lease.attempt))
        self._refused += 1
        if self._refused > REFUSALS:
            await asyncio.sleep(1)
        raise Suspended

    async def stop_for(self, status: Suspension) -> NoReturn:
        """The lease is lost, or a cancellation was requested: cancel the handler now."""
        # Otherwise the handler has ended, and this is a task that it left behind.
        if not self.holder.suspended and not self.holder.over:
            if status == "stale":
                self.refuse()
            if status == "canceled":
                self.holder.canceled()
            else:
                self.holder.lost()
            if not self._threaded:  # a thread cannot be canceled, so this call raises an error in it
                await asyncio.sleep(60)  # until the cancellation arrives
        raise LeaseLost


def durable() -> Durable:
    """The durable state of the job that runs here."""
    try:
        found: Durable = attempt().durable()
    except NoCurrentJob as error:
        raise NotDurable(*error.args) from None
    return found
