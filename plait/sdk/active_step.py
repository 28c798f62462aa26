"""The step that a branch of a handler is executing, from the call until the branch's own code continues."""

import asyncio
from typing import Protocol
from uuid import UUID

from plait.sdk.branches import Branch, in_step
from plait.sdk.history import nested_path, other_arguments
from plait.store.workflows import StepEnd, StepKey, StepKind, StepRow, Wait


class Suspended(asyncio.CancelledError):
    """The job is suspended: its handler ends here, and runs again from the start when the job resumes. Anything that the handler does while it ends has no effect."""


class Holder(Protocol):
    """The attempt that runs the handler."""

    suspended: bool
    """The attempt ended because the job waits. Its lease was released, not lost."""
    over: bool
    """The handler has ended. Tasks and threads that it started can no longer call steps."""

    key: tuple[UUID, int]
    """The job's id and the number of the attempt."""

    def keep(self, size: int) -> "asyncio.Future[bool] | None":
        """Keep the handler of a suspended job in memory. Returns a future that tells whether the handler continues under a new lease, or None if
        the handler is dropped now."""

    async def flush(self) -> None:
        """Send the handler's progress, info and state: they must be visible while the job waits."""

    def lost(self) -> None: ...
    def canceled(self) -> None: ...


class Leaving(Protocol):
    def leave(self, step: "Step") -> None: ...


class Step:
    """An operation that a branch is executing. `row` is its recorded row, or None for a new step."""

    __slots__ = (
        "_body",
        "_owner",
        "_token",
        "began",
        "branch",
        "delivered",
        "end",
        "future",
        "hash",
        "key",
        "kind",
        "nested",
        "number",
        "ordered",
        "ready",
        "row",
        "took_s",
        "wait",
    )

    def __init__(self, owner: Leaving, branch: Branch, key: StepKey, kind: StepKind, *, nested: bool = False) -> None:
        self._owner = owner
        self._token = in_step.set(self)
        self._body: Branch | None = None
        self.nested = nested
        """Whether the step is nested in another step. Its end is then delivered to that step's body, not to the handler."""
        self.branch = branch
        self.key = key
        self.kind: StepKind = kind
        self.hash: str | None = None
        self.row: StepRow | None = None
        self.began: float | None = None
        """When its function began to run, by the loop's clock; None: it runs none."""
        self.took_s: float | None = None
        self.future: asyncio.Future[None] | None = None
        self.wait: Wait | None = None
        self.end: StepEnd | None = None
        self.number = 0
        self.ordered = False
        """Whether other steps may end at the same time, so that the order of their ends must be recorded."""
        self.ready = False
        """The end is recorded and can be delivered when its turn comes."""
        self.delivered = False

    @property
    def awake(self) -> bool:
        """Whether the handler's code can continue from here without being woken."""
        return self.delivered

    def ended(self, now: float) -> None:
        """Its function has ended: it took this long."""
        if self.began is not None and self.took_s is None:
            self.took_s = max(0.0, now - self.began)

    def body(self) -> Branch:
        """The branch of the steps that its body calls."""
        if self._body is None:
            self._body = Branch(nested_path(self.key), None)
        return self._body

    def check(self, hash: str | None) -> None:  # noqa: A002 - named like the column
        """Check that the arguments have the recorded hash. A missing hash is not compared."""
        self.hash = hash
        if self.row is not None and None not in (hash, self.row.hash) and hash != self.row.hash:
            raise other_arguments(self.row, hash)

    def __enter__(self) -> "Step":
        return self

    def __exit__(self, *_: object) -> None:
        try:  # noqa: SIM105 - `suppress` would double the cost
            in_step.reset(self._token)
        except ValueError:  # a frame that the garbage collector closes runs in another context
            pass
        self._owner.leave(self)


class Reading:
    """A read of recorded data by a branch. It is not a step, but no step's end is delivered during the read."""

    awake = True
