"""The recorded history of a durable function: its steps by branch, and the order in which their ends were delivered to the handler.

The handler must call the same steps in each branch in every run. Branches may overtake each other: only the order within one branch is compared. Ends are
delivered in the recorded order, so that a race always has the same winner.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from msgspec.structs import replace

from plait.model.errors import DeterminismError
from plait.store.workflows import StepKey, StepKind, StepRow

_ADVICE = (
    "A durable function must call the same steps in every run. If its code has changed, keep the old path for unfinished jobs"
    " behind version(…). If it depends on time, randomness or external state, move that into a call(…). To restart this job"
    " without its checkpoints: plait jobs retry --drop-steps"
)
NESTED = "/"
Key = tuple[str, str, int]
Values = Callable[[StepRow], Awaitable["dict[Key, str] | None"]]
PAGES = 2
"""The number of pages of values to hold in memory. There are several because branches may be at different places in the history."""


class History:
    def __init__(self, rows: Iterable[StepRow] = (), more: Values | None = None) -> None:
        """`more` loads values that were omitted from the rows, for one step and the steps after it."""
        self._rows: dict[Key, StepRow] = {}
        self._left: dict[str, dict[Key, StepRow]] = {}
        """Steps that this run has not called yet, by branch, in the order in which they were called before."""
        ended: list[StepRow] = []
        self.last_number = self.last_seq = 0
        for row in rows:
            key = (row.branch, row.name, row.occurrence)
            self._rows[key] = row
            if row.kind not in ("timer", "cancel"):
                self._left.setdefault(row.branch, {})[key] = row
            self.last_seq = max(self.last_seq, row.seq)
            if row.finished is not None:
                ended.append(row)
                self.last_number = max(self.last_number, row.finished)
        self._ended = not self._rows
        self.pending: deque[StepRow] = deque(
            sorted((row for row in ended if NESTED not in row.branch), key=lambda row: row.finished or 0)
        )
        """Ends that have not been delivered."""
        self._more = more
        self._pages: deque[dict[Key, str]] = deque(maxlen=PAGES)

    @property
    def is_empty(self) -> bool:
        return not self._rows

    @property
    def replaying(self) -> bool:
        """Whether the handler has not yet reached its last recorded position. New steps wait until it has: an undelivered end
        may have canceled them in the last run."""
        if not self._ended and not self.pending and not any(self._left.values()):
            self._ended = True
        return not self._ended

    async def whole(self, row: StepRow) -> StepRow | None:
        """The row with its omitted value; None if the lease is lost. A value is held until it is used, or until newer pages replace its page."""
        key = (row.branch, row.name, row.occurrence)
        page = next((page for page in self._pages if key in page), None)
        if page is None:
            assert self._more is not None
            page = await self._more(row)
            if page is None:
                return None
            self._pages.append(page)
        return replace(row, value=page.pop(key, None), left_out=False)

    def end(self) -> None:
        """End the replay."""
        self._ended = True

    def left(self, branch: str) -> bool:
        """Whether this branch has recorded steps that this run has not called yet."""
        return bool(self._left.get(branch))

    def has(self, branch: str, name: str) -> bool:
        return (branch, name, 1) in self._left.get(branch, ())

    def take(self, key: StepKey, kind: StepKind) -> StepRow | None:
        """The recorded row of a step that is called now; None if it is new. Deadlines may be set in any order relative to the steps of their branch."""
        if not self._rows:
            return None
        full = (key.branch, key.name, key.occurrence)
        row = self._rows.get(full)
        left = self._left.get(key.branch)
        if row is None:
            if left and kind != "timer":
                raise differs(next(iter(left.values())), named(kind, key))
            return None
        if row.kind != kind:
            raise differs(row, named(kind, key))
        if left is not None:
            left.pop(full, None)
        if row.finished is not None:
            self._left.pop(nested_path(key), None)  # the steps in its body will not be called
        return row


def nested_path(key: StepKey) -> str:
    """The branch of the steps that are nested in this one."""
    return f"{key.branch}{NESTED}{key.name}#{key.occurrence}"


def named(kind: str, key: Any) -> str:
    where = f" in branch {key.branch}" if key.branch else ""
    return f"{kind} {key.name!r} #{key.occurrence}{where}"


def differs(row: StepRow, found: str) -> DeterminismError:
    return DeterminismError(
        f"step {row.seq} of this job was recorded as {named(row.kind, row)}, but the code now has {found}. {_ADVICE}"
    )


def other_arguments(row: StepRow, found: str | None) -> DeterminismError:
    step = named(row.kind, row)
    return DeterminismError(
        f"step {row.seq} of this job, {step}, was recorded with other arguments (hash {row.hash}) than the"
        f" code now passes to {step} (hash {found}). {_ADVICE}"
    )
