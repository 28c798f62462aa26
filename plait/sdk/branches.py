"""The tasks of one durable handler: the branch of each task, and whether any branch can make progress.

A branch is a task, named by the order of creation: `""` is the handler itself, `"2"` the second task that it created, `"2.1"` the first
task that branch `"2"` created. `gather`, `TaskGroup`, `wait_for` and similar functions create tasks through the loop's task factory, so they need no
special support. Code that runs inside a step belongs to that step, including the tasks it creates.

A branch is awake while its own code can run, and blocked while it waits. Inside one of plait's operations it counts as blocked, because
only the operation wakes it. After `SETTLED` turns of the loop in which no branch was awake, all effects of the last completion
have happened: asyncio's callbacks (a finished task wakes the task that gathers it) take one turn each.
"""

import asyncio
import contextvars
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Final

from plait.sdk.blocked import is_blocked_by
from plait.sdk.context import Attempt
from plait.store.workflows import StepKey

SETTLED: Final = 8
"""The number of turns of the loop: more than nested asyncio combinators need in practice."""

in_step: contextvars.ContextVar[Any] = contextvars.ContextVar("plait_in_step", default=None)
"""The step whose body is running here; None in the handler's own code."""


class Branch:
    __slots__ = ("children", "inside", "occurrences", "path", "task", "unordered")

    def __init__(self, path: str, task: "asyncio.Task[Any] | None") -> None:
        self.path = path
        self.task = task
        self.children = 0
        self.occurrences: dict[str, int] = {}
        self.unordered: tuple[Any, int] = (None, 0)
        """The last unordered collection from which this branch created tasks, and the number of its tasks before that."""
        self.inside: Any = None
        """The plait operation that the branch is executing."""

    def key(self, name: str, seq: int) -> StepKey:
        """The key of the next step with this name."""
        occurrence = self.occurrences[name] = self.occurrences.get(name, 0) + 1
        return StepKey(self.path, name, occurrence, seq)

    @property
    def awake(self) -> bool:
        """Whether its code can run now or in the next turn of the loop."""
        task = self.task
        if self.inside is not None:
            return bool(self.inside.awake)
        if task is None or task.done():
            return False
        waits_for = task._fut_waiter  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no public API for this
        return waits_for is None or waits_for.done()


class Branches:
    """The branches of a handler. `changed` is called when a branch ends."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.main = Branch("", None)
        self._of: dict[asyncio.Task[Any], Branch] = {}
        self._awake = {self.main}
        self._changed = changed

    def __len__(self) -> int:
        """The number of branches besides the main one."""
        return len(self._of)

    def __iter__(self) -> Iterator[Branch]:
        return iter(list(self._of.values()))

    @property
    def tasks(self) -> "list[asyncio.Task[Any]]":
        return list(self._of)

    def paths(self, tasks: "Iterable[asyncio.Future[Any]]") -> list[str]:
        """The paths of these tasks' branches."""
        return [self._of[task].path for task in tasks if isinstance(task, asyncio.Task) and task in self._of]

    def here(self) -> Branch:
        """The branch whose code is running."""
        if not self._of:
            return self.main
        task = asyncio.current_task()
        return self.main if task is None else self._of.get(task) or self.main

    def created(self, task: "asyncio.Task[Any]") -> None:
        """Register a task that the running code created."""
        parent = self.here()
        number = _number(parent, task.get_coro())
        branch = Branch(f"{parent.path}.{number}" if parent.path else str(number), task)
        self._of[task] = branch
        self._awake.add(branch)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._awake.discard(self._of.pop(task))
        self._changed()

    def wake(self, branch: Branch) -> None:
        self._awake.add(branch)

    def any_awake(self) -> bool:
        """Whether the code of any branch can run. Checks only branches that were awake before: another branch becomes awake when its future
        wakes it."""
        for branch in list(self._awake):
            if not branch.awake:
                self._awake.discard(branch)
                task = branch.task
                if branch.inside is None and task is not None and not task.done():
                    waits_for = task._fut_waiter  # type: ignore[attr-defined]  # noqa: SLF001 - as above
                    waits_for.add_done_callback(lambda _, woken=branch: self._awake.add(woken))
        return bool(self._awake)

    def all_wait(self, waits: Callable[[Any], bool]) -> bool:
        """Whether every branch is blocked: in an operation for which `waits` returns True, or by other tasks of this handler."""
        return all(
            waits(branch.inside) if branch.inside is not None else self._is_blocked(branch)
            for branch in (self.main, *self._of.values())
        )

    def _is_blocked(self, branch: Branch) -> bool:
        return branch.task is not None and is_blocked_by(branch.task, self._of.__contains__)


def _number(parent: Branch, coroutine: Any) -> int:
    """The number of a new task among its parent's tasks. `as_completed` iterates over its coroutines in no fixed order, so they are numbered by
    their position in the list that was passed to it."""
    given = _given_to_as_completed()
    if given is None:
        parent.children += 1
        return parent.children
    if parent.unordered[0] is not given:  # referenced here, so that its address is not reused
        parent.unordered = (given, parent.children)
        parent.children += len(given)
    position = next((n for n, one in enumerate(given, 1) if one is coroutine), len(given))
    return parent.unordered[1] + position


def _given_to_as_completed() -> "list[Any] | tuple[Any, ...] | None":
    frame = sys._getframe(1)  # noqa: SLF001 - the code that creates the task
    for _ in range(8):
        frame = frame.f_back  # type: ignore[assignment]
        if frame is None:
            return None
        code = frame.f_code
        if code.co_filename == asyncio.tasks.__file__:
            given = frame.f_locals.get("fs" if code.co_name == "as_completed" else "aws")
            if code.co_name in ("as_completed", "__init__"):
                return given if isinstance(given, list | tuple) else None
    return None


def follow_tasks(loop: asyncio.AbstractEventLoop, owner_of: Callable[..., Attempt | None]) -> Callable[[], None]:
    """Track the tasks that handlers create on this loop. Returns a function that stops the tracking. `owner_of`: the attempt whose code is running."""
    before: Any = loop.get_task_factory()

    def create(
        running: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> "asyncio.Task[Any]":
        if before is None:
            task = asyncio.Task(coroutine, loop=running, **options)
        else:
            task = before(running, coroutine, **options)
        owner = owner_of()
        if owner is not None and in_step.get() is None:
            branches = owner.branches()
            if branches is not None and not task.done():
                branches.created(task)
        return task

    def undo() -> None:
        if loop.get_task_factory() is create:
            loop.set_task_factory(before)

    loop.set_task_factory(create)  # type: ignore[arg-type]  # its arguments depend on the Python version
    return undo
