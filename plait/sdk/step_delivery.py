"""The order in which a handler receives the ends of its steps, and the decision to suspend it.

Ends are delivered to the handler one at a time, in the order of their numbers, each after the handler has settled: the handler has done everything that it does in
response to the previous end (see branches.py). A replay delivers the recorded ends in the recorded order. New steps begin when all recorded ends are delivered,
because in the last run one of these ends may have canceled the new steps. So each run behaves the same way, however the handler's tasks depend on each other.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from plait.sdk.active_step import Step
from plait.sdk.branches import SETTLED, Branches
from plait.sdk.history import History, Key, differs, named
from plait.sdk.timers import Timer
from plait.store.workflows import StepEnd, StepKey, Wait

CANCELLATION: Final = ("!", "cancel", 1)
"""The key of the step that represents a cancellation in the order of ends."""
LOOK_S: Final = (0.02, 0.5)
"""The first and the longest interval between checks whether a branch that does other work has finished."""
ASK_S: Final = (0.1, 2.0)
"""The first and the longest interval between queries for completed waits, while other work keeps the job from being suspended."""
RESTLESS_S: Final = 1.0
"""A handler that never settles gets the next end after this time anyway."""


class Cancellation:
    """The cancellation of the handler. It is delivered at an await, in order with the ends of steps."""

    def __init__(self, fire: Callable[[], None]) -> None:
        self.fire = fire
        self.end: StepEnd | None = None
        self.number = 0
        self.ready = False


class StepDelivery:
    """`idle`: whether anything may be delivered now. `ask`: queries the database for completed waits; with True, it also suspends the job."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, ask: Callable[[bool], Awaitable[None]], idle: Callable[[], bool]
    ) -> None:
        self.branches = Branches(self.poke)
        self.history: History | None = None
        self.waits: dict[Step, None] = {}
        """Steps whose waits the database completes."""
        self.timers: dict[Timer, None] = {}
        self.abandoned: list[StepKey] = []
        """Waits whose branch was canceled: sent to the database with the next query."""
        self._left: list[tuple[str, UUID]] = []
        """Fan-outs whose waits were canceled, by branch."""
        self.number = 0
        """The number of the last end."""
        self.used = False
        """Whether the handler has called any step."""
        self.canceled = False
        """Whether the handler has received a cancellation; its job has a grace period."""
        self.context = contextvars.Context()  # belongs to no handler
        self._loop = loop
        self._ask = ask
        self._idle = idle
        self._asked: dict[Key, Step | Timer | Cancellation] = {}
        """Steps that wait for their recorded ends to be delivered."""
        self._held: list[Step] = []
        """New steps, which wait for the end of the replay."""
        self._order: deque[Step | Timer | Cancellation | None] = deque()
        """Ended steps, in order. None reserves the place of a query's result."""
        self._asking: asyncio.Task[None] | None = None
        self._asks_itself = False
        """Whether the handler itself is suspending the job. Another query would suspend it twice."""
        self._due = False
        """Whether a timer has expired by this process's clock. The database's clock decides."""
        self._ask_at = 0.0
        self._asks = 0
        self._looks = 0
        self._quiet = 0
        self._restless_since: float | None = None
        self._tick: asyncio.Handle | None = None

    @property
    def alone(self) -> bool:
        """Whether the handler does one thing at a time: its next wait is its only wait."""
        return not (len(self.branches) or self.timers or self._order or (self.history and self.history.replaying)) and (
            self._asking is None or self._asking.done()
        )

    async def ask_alone(self) -> None:
        """Query for the end of the handler's only wait, and suspend the job. No other query is sent at the same time."""
        self._asks_itself = True
        try:
            await self._ask(True)
        finally:
            self._asks_itself = False
            if self._due:
                self.poke()

    async def replay(self, step: Step) -> None:
        """Wait until a called step may run, or until its recorded end is delivered."""
        history, row = self.history, step.row
        assert history is not None
        if row is None:
            self._held.append(step)
            try:
                await self.until(step)
            finally:
                if step in self._held:
                    self._held.remove(step)
        elif row.finished is not None:
            if history.pending and history.pending[0] is row and not len(self.branches):
                history.pending.popleft()  # no other branch waits, so it may run
                if CANCELLATION in self._asked:
                    self.poke()
            else:
                self._asked[row.branch, row.name, row.occurrence] = step
                try:
                    await self.until(step)
                except asyncio.CancelledError:
                    self.abandon(step.key, None)  # a later wait gets the signal, not this one
                    raise

    def reserve(self, step: Step) -> int:
        """Reserve the number of a step's end, which is about to be recorded."""
        self.number += 1
        step.number = self.number
        if not step.nested and (len(self.branches) or self._order):
            step.ordered = True
            self._order.append(step)
        return self.number

    def withdraw(self, step: Step) -> None:
        """Cancel the reservation: the step did not end."""
        if step.ordered:
            step.ordered = False
            self._order.remove(step)
            self.poke()

    async def delivered(self, step: Step) -> None:
        """Wait until the recorded end of a step can be delivered to the handler."""
        step.ready = True
        if not step.ordered:
            return
        if self._order[0] is step and self._quiet >= SETTLED and not self.branches.any_awake():
            self._order.popleft()
            self._deliver(step)
        else:
            await self.until(step)

    async def until(self, step: Step) -> None:
        """Wait until the step may continue."""
        step.future = self._loop.create_future()
        self.poke()
        await step.future

    def expect(self) -> tuple[int, list[Step | Timer], list[Wait], list[StepKey]]:
        """The parameters of a query: the number for the first wait that it completes, the waiting steps, their waits, and the abandoned waits."""
        self._due = False
        steps: list[Step | Timer] = [*self.waits, *self.timers]
        waits = [step.wait for step in steps if step.wait is not None]
        for timer in self.timers:
            timer.stored = True
        abandoned, self.abandoned = self.abandoned, []
        first = self.number + 1
        self.number += len(waits) + 1  # the last number is for a cancellation
        self._order.append(None)
        return first, steps, waits, abandoned

    def answered(self, steps: "list[Step | Timer]", ends: list[StepEnd], next_s: float | None) -> None:
        """Process the result of a query: `ends` are the completed waits, `next_s` is the time until the next wait is due."""
        place = self._order.index(None)
        del self._order[place]
        by_key: dict[Key, Step | Timer | Cancellation] = {
            (step.key.branch, step.key.name, step.key.occurrence): step for step in steps
        }
        by_key[CANCELLATION] = Cancellation(self._cancel)
        for end in reversed(ends):
            step = by_key.get((end.branch, end.name, end.occurrence))
            if step is not None:
                step.end, step.number, step.ready = end, end.finished, True
                if isinstance(step, Timer):
                    self.timers.pop(step, None)
                elif isinstance(step, Step):
                    self.waits.pop(step, None)
                self._order.insert(place, step)
        self._asks = 0 if ends else self._asks + 1
        pause = min(ASK_S[1], ASK_S[0] * 1.5 ** min(self._asks, 20))
        self._ask_at = self._loop.time() + (pause if next_s is None else min(pause, max(0.0, next_s)))

    def abandon(self, key: StepKey, fan_out_id: UUID | None) -> None:
        """Abandon the wait of a branch that was canceled."""
        self.abandoned.append(key)
        if fan_out_id is not None:
            self._left.append((key.branch, fan_out_id))

    @asynccontextmanager
    async def undelivered(self) -> AsyncGenerator[list[StepKey]]:
        """Yield the waits whose ends were not delivered to the handler, which is about to end. No query is sent inside this block."""
        self._asks_itself = True
        try:
            if self._asking is not None:
                await asyncio.wait([self._asking])
            open_waits = [step.key for step in (*self._order, *self.waits) if isinstance(step, Step)]
            yield [*self.abandoned, *open_waits]
        finally:
            self._asks_itself = False
            self.poke()

    def left_by(self, branches: list[str]) -> list[UUID]:
        """The fan-outs that these branches, or their descendants, waited for when they were canceled."""
        return [left for path, left in self._left if any(f"{path}.".startswith(f"{above}.") for above in branches)]

    def take(self, step: Step) -> None:
        """Let the step continue without delivery, because no other branch waits."""
        self._order.remove(step)
        if self._order:
            self.poke()

    # Deadlines that the handler sets with asyncio.

    def timer(self, timer: Timer, call_at: Callable[..., asyncio.TimerHandle]) -> Timer:
        timer.canceled = self._cancel_timer
        timer.real = call_at(timer.when(), self._timer_due, timer, context=self.context)
        self.timers[timer] = None
        if self.history is not None:
            self._adopt(timer, self.history)
        return timer

    def load(self, history: History) -> None:
        """Load the recorded history."""
        self.history = history
        self.number = history.last_number
        if any((row.branch, row.name, row.occurrence) == CANCELLATION for row in history.pending):
            self._asked[CANCELLATION] = Cancellation(self._cancel)
        for timer in list(self.timers):
            self._adopt(timer, history)

    def _adopt(self, timer: Timer, history: History) -> None:
        row = history.take(timer.key, "timer")
        if row is not None:
            timer.stored = True
            if row.finished is not None:
                self._asked[row.branch, row.name, row.occurrence] = timer
                del self.timers[timer]

    def _timer_due(self, timer: Timer) -> None:
        if not self.used:
            self.timers.pop(timer, None)
            timer.fire()  # no step was called yet
        elif timer in self.timers:
            self._due = True
            self.poke()

    def _cancel_timer(self, timer: Timer) -> None:
        if self.timers.pop(timer, self) is None and timer.stored:
            self.abandoned.append(timer.key)

    # Cancellation of a job with a grace period.

    def ask_now(self) -> None:
        """Query immediately, because the job was canceled. Its handler is notified once the database has recorded the cancellation."""
        self.used = self._due = True
        self.poke()

    def _cancel(self) -> None:
        self.canceled = True
        if self.branches.main.task is not None:
            self.branches.main.task.cancel()

    # The next end.

    def poke(self) -> None:
        """Check in the next turn of the loop whether an end can be delivered. Called after each change."""
        self._quiet = self._looks = 0
        if self._tick is None and self._idle():
            self._tick = self._loop.call_soon(self._turn, context=self.context)

    def stop(self) -> None:
        """Deliver nothing more."""
        if self._tick is not None:
            self._tick.cancel()
        if self._asking is not None:
            self._asking.cancel()
        for timer in list(self.timers):
            timer.cancel()

    def _has_settled(self) -> bool:
        if not len(self.branches) and self.branches.main.inside is not None:
            return True  # the only branch is in a step
        if not self.branches.any_awake():
            self._quiet += 1
            return self._quiet >= SETTLED
        self._quiet = 0
        now = self._loop.time()
        if self._restless_since is None:
            self._restless_since = now
        return now - self._restless_since >= RESTLESS_S

    def _turn(self) -> None:
        self._tick = None
        if not self._idle() or self.history is None:
            return
        if not self._has_settled():
            self._tick = self._loop.call_soon(self._turn, context=self.context)
            return
        self._restless_since = None
        self._quiet = max(self._quiet, SETTLED)
        if self.history.pending:
            self._replay_next(self.history)
        elif self._order:
            first = self._order[0]
            if first is not None and first.ready:
                self._order.popleft()
                self._deliver(first)
                self.poke()
        elif self._held:
            self._end_replay(self.history)
        elif (self.waits or self._due) and not self._asks_itself and (self._asking is None or self._asking.done()):
            self._ask_or_look()

    def _deliver(self, step: "Step | Timer | Cancellation") -> None:
        self._quiet = 0
        if not isinstance(step, Step):
            step.fire()
            return
        step.delivered, step.ordered = True, False
        self.branches.wake(step.branch)
        if step.future is not None and not step.future.done():
            step.future.set_result(None)

    def _replay_next(self, history: History) -> None:
        row = history.pending[0]
        step = self._asked.pop((row.branch, row.name, row.occurrence), None)
        if step is not None:
            history.pending.popleft()
            if not isinstance(step, Step) or (step.future is not None and not step.future.cancelled()):
                self._deliver(step)  # otherwise its branch was canceled first, as in the last run
            self.poke()
        elif self.branches.all_wait(lambda inside: isinstance(inside, Step) and not inside.delivered):
            self._refuse_other_code(history)
        else:
            self._look_later(LOOK_S[0])

    def _refuse_other_code(self, history: History) -> None:
        """Fail the waiting steps: the next recorded end belongs to a step that no branch has called, so the code has changed."""
        branches = (self.branches.main, *self.branches)
        found = [inside for branch in branches if isinstance(inside := branch.inside, Step)]
        new = [step for step in found if step.row is None] or found
        error = differs(history.pending[0], ", ".join(named(step.kind, step.key) for step in new[:3]))
        for step in found:
            if step.future is not None and not step.future.done():
                step.future.set_exception(error)

    def _end_replay(self, history: History) -> None:
        """Begin new steps, unless a branch has other work and has not reached its last recorded position."""
        if history.replaying and not self.branches.all_wait(lambda inside: isinstance(inside, Step)):
            self._look_later(LOOK_S[0])
            return
        history.end()
        held, self._held = self._held, []
        for step in held:
            if step.future is not None and not step.future.done():
                step.future.set_result(None)
        self.poke()

    def _ask_or_look(self) -> None:
        suspend = bool(self.waits) and self.branches.all_wait(self.waits.__contains__)
        now = self._loop.time()
        if suspend or self._due or now >= self._ask_at:
            self._asking = self._loop.create_task(self._ask_again(suspend), context=self.context)
        else:
            self._look_later(self._ask_at - now)

    def _look_later(self, longest_s: float) -> None:
        """A branch has other work: check again soon, then less often."""
        pause = min(LOOK_S[1], LOOK_S[0] * 1.5 ** min(self._looks, 30), max(0.001, longest_s))
        self._looks += 1
        self._tick = self._loop.call_later(pause, self._turn, context=self.context)

    async def _ask_again(self, suspend: bool) -> None:
        try:
            await self._ask(suspend)
        except Exception as error:  # noqa: BLE001 - reported to one branch of the handler
            waiting = next(
                (step.future for step in self.waits if step.future is not None and not step.future.done()), None
            )
            if waiting is not None:
                waiting.set_exception(error)
        finally:
            self.poke()
