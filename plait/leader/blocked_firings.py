"""Schedules and events that wait for a user's open transaction, which locks a dedupe key or a quota that they need.

Each is skipped for an increasing delay, so that the others are not affected. The transaction may stay open for hours.
"""

import time
from uuid import UUID

FIRST_S, LONGEST_S = 0.2, 5.0
FORGET_S = 60.0


class BlockedFirings:
    def __init__(self) -> None:
        self._until: dict[UUID, tuple[float, float]] = {}
        """For each id, the time until which it is skipped, by the monotonic clock, and its last delay."""

    def __len__(self) -> int:
        return len(self._until)

    def add(self, id_: UUID) -> bool:
        """Record that a schedule or event is blocked. Returns whether it was not blocked before."""
        _, pause = self._until.get(id_, (0.0, 0.0))
        longer = min(LONGEST_S, pause * 2) or FIRST_S
        self._until[id_] = (time.monotonic() + longer, longer)
        return not pause

    def left_alone(self) -> list[UUID]:
        """The ids whose delay is not over."""
        now = time.monotonic()
        if self._until:
            self._until = {id_: held for id_, held in self._until.items() if held[0] > now - FORGET_S}
        return [id_ for id_, (until, _) in self._until.items() if until > now]

    def __contains__(self, id_: UUID) -> bool:
        """Whether the schedule or event was blocked recently, so that it must be retried alone."""
        return id_ in self._until

    def discard(self, id_: UUID) -> None:
        self._until.pop(id_, None)
