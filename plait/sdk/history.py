"""What a durable job has on record: its steps by branch, and the order in which their ends reached the handler's code.

The handler must ask for the same steps in each branch, each time. Branches may overtake each other: only the order within one is compared. Ends are
delivered in the recorded order, so that a race has the same winner again.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from msgspec.structs import replace

from plait.model.errors import DeterminismError
from plait.store.trees import StepKey, StepKind, StepRow

_ADVICE = (
    "A durable job must ask for the same steps each time it runs. If its code has changed, keep the old path for jobs under way"
    " behind version(…). If it depends on time, chance or the outside, put that into a call(…). This job can be run again"
    " without its steps: plait jobs retry --drop-steps"
)
NESTED = "/"
Key = tuple[str, str, int]
Values = Callable[[StepRow], Awaitable["dict[Key, str] | None"]]
PAGES = 2
"""So many pages of values are held: branches may be at different places of the record."""


class History:
    def __init__(self, rows: Iterable[StepRow] = (), more: Values | None = None) -> None:
        """`more` gives the values that were left out of the rows: of a step, and of those after it."""
        self._rows: dict[Key, StepRow] = {}
        self._left: dict[str, dict[Key, StepRow]] = {}
        """Those that have not been asked for, by branch, in the order in which they were asked for before."""
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
        """Whether the handler has not come yet to where it was. New steps wait for that: in its last run they may have been canceled by what
        is still to come."""
        if not self._ended and not self.pending and not any(self._left.values()):
            self._ended = True
        return not self._ended

    async def whole(self, row: StepRow) -> StepRow | None:
        """The row with its value, which was left out; None when the lease is lost. A value is held until it is asked for, or until so many pages are newer."""
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
        """All that can be asked for of the record has been."""
        self._ended = True

    def left(self, branch: str) -> bool:
        """Whether this branch has been further than it is now."""
        return bool(self._left.get(branch))

    def has(self, branch: str, name: str) -> bool:
        return (branch, name, 1) in self._left.get(branch, ())

    def take(self, key: StepKey, kind: StepKind) -> StepRow | None:
        """What is on record of a step that is asked for now; None: it is a new one. Deadlines have no order among the steps of their branch."""
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
            self._left.pop(nested_path(key), None)  # nobody will ask for the steps of its body
        return row


def nested_path(key: StepKey) -> str:
    """The branch of the steps that are part of this one."""
    return f"{key.branch}{NESTED}{key.name}#{key.occurrence}"


def named(kind: str, key: Any) -> str:
    where = f" in branch {key.branch}" if key.branch else ""
    return f"{kind} {key.name!r} #{key.occurrence}{where}"


def differs(row: StepRow, found: str) -> DeterminismError:
    return DeterminismError(
        f"step {row.seq} of this job is {named(row.kind, row)} on record, and the code now asks for {found}. {_ADVICE}"
    )


def other_arguments(row: StepRow, found: str | None) -> DeterminismError:
    step = named(row.kind, row)
    return DeterminismError(
        f"step {row.seq} of this job, {step}, is on record with other arguments (hash {row.hash}) than the"
        f" code now gives {step} (hash {found}). {_ADVICE}"
    )
