"""A step that a branch of a handler executes, from its call until the branch's own code continues."""

import asyncio
from typing import Protocol
from uuid import UUID

from plait.sdk.branches import Branch, in_step
from plait.sdk.history import nested_path, other_arguments
from plait.store.trees import StepEnd, StepKey, StepKind, StepRow, Wait


class Suspended(asyncio.CancelledError):
    """The job is suspended: its handler ends here, and runs again from its start when the job resumes. What the handler does while it ends has no effect."""


class Holder(Protocol):
    """Whoever runs the handler."""

    suspended: bool
    """The attempt ends by waiting: it is no longer held, and that is no loss."""
    over: bool
    """The handler has ended. A task or thread that it has left behind takes no steps."""

    key: tuple[UUID, int]
    """Of the job and its attempt."""

    def keep(self, size: int) -> "asyncio.Future[bool] | None":
        """The job waits: whether its handler continues here, under a new lease, told later; None: it is dropped now."""

    async def flush(self) -> None:
        """Send what the handler has said of itself: it must be visible while the job waits."""

    def lost(self) -> None: ...
    def canceled(self) -> None: ...


class Leaving(Protocol):
    def leave(self, step: "Step") -> None: ...


class Step:
    """An operation that a branch is in. `row` is what is on record of it."""

    __slots__ = (
        "_body",
        "_owner",
        "_token",
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
        "wait",
    )

    def __init__(self, owner: Leaving, branch: Branch, key: StepKey, kind: StepKind, *, nested: bool = False) -> None:
        self._owner = owner
        self._token = in_step.set(self)
        self._body: Branch | None = None
        self.nested = nested
        """It is part of another step's body: its end reaches that body, not the handler."""
        self.branch = branch
        self.key = key
        self.kind: StepKind = kind
        self.hash: str | None = None
        self.row: StepRow | None = None
        self.future: asyncio.Future[None] | None = None
        self.wait: Wait | None = None
        self.end: StepEnd | None = None
        self.number = 0
        self.ordered = False
        """Others may end at the same time: its end has a place among theirs."""
        self.ready = False
        """Its end is recorded, and may be delivered when its turn comes."""
        self.delivered = False

    @property
    def awake(self) -> bool:
        """Whether the handler's code goes on from here without anything else."""
        return self.delivered

    def body(self) -> Branch:
        """Where steps belong that its body asks for."""
        if self._body is None:
            self._body = Branch(nested_path(self.key), None)
        return self._body

    def check(self, hash: str | None) -> None:  # noqa: A002 - as the column is called
        """The arguments are those of the record, as far as they can be compared."""
        self.hash = hash
        if self.row is not None and None not in (hash, self.row.hash) and hash != self.row.hash:
            raise other_arguments(self.row, hash)

    def __enter__(self) -> "Step":
        return self

    def __exit__(self, *_: object) -> None:
        try:  # noqa: SIM105 - `suppress` costs as much as the rest
            in_step.reset(self._token)
        except ValueError:  # a frame that the garbage collector ends is in no context of its own
            pass
        self._owner.leave(self)


class Reading:
    """A branch reads what is on record: that is no step, but the ends of others wait for it."""

    awake = True
