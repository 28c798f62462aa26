"""The states of a job and the outcomes of an attempt, as defined in `plait/sql/schema`.

The database is authoritative; `tests/foundation/test_states.py` compares every status and transition here with it.
"""

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELED = "canceled"
    SKIPPED = "skipped"

    @property
    def final(self) -> bool:
        """Whether a job with this status has ended."""
        return self not in LIVE


LIVE: Final = frozenset({Status.SCHEDULED, Status.QUEUED, Status.RUNNING, Status.WAITING})
FINAL: Final = frozenset(Status) - LIVE
RETRYABLE: Final = FINAL - {Status.SUCCEEDED}

MOVES: Final[frozenset[tuple[Status, Status]]] = frozenset(
    {
        (Status.SCHEDULED, Status.QUEUED),  # promote, reschedule
        (Status.QUEUED, Status.RUNNING),  # claim
        (Status.QUEUED, Status.SCHEDULED),  # reschedule
        (Status.RUNNING, Status.QUEUED),  # released, rescued
        (Status.RUNNING, Status.SCHEDULED),  # failed with attempts left, snoozed
        (Status.RUNNING, Status.WAITING),  # suspend
        (Status.WAITING, Status.QUEUED),  # resume
    }
)
"""The transitions of a live row. In addition, a job may move from every live state to a final state, and `retry` makes a final job live again."""


class AttemptOutcome(StrEnum):
    """The outcome of one attempt."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELED = "canceled"
    SKIPPED = "skipped"
    LOST = "lost"
    RELEASED = "released"
    SNOOZED = "snoozed"
    SUSPENDED = "suspended"
