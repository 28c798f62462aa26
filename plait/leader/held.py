"""Schedules and events that wait for a user's open transaction, which holds a dedupe key or a quota that they need.

Each is left alone for a pause that grows, so that the others do not pay for it; whoever holds it may do so for hours.
"""

import time
from uuid import UUID

FIRST_S, LONGEST_S = 0.2, 5.0
FORGET_S = 60.0


class Held:
    def __init__(self) -> None:
        self._until: dict[UUID, tuple[float, float]] = {}
        """Until when each is left alone, by the monotonic clock, and its last pause."""

    def __len__(self) -> int:
        return len(self._until)

    def add(self, id_: UUID) -> bool:
        """It was held just now; whether that is new."""
        _, pause = self._until.get(id_, (0.0, 0.0))
        longer = min(LONGEST_S, pause * 2) or FIRST_S
        self._until[id_] = (time.monotonic() + longer, longer)
        return not pause

    def left_alone(self) -> list[UUID]:
        """Those whose pause is not over."""
        now = time.monotonic()
        if self._until:
            self._until = {id_: held for id_, held in self._until.items() if held[0] > now - FORGET_S}
        return [id_ for id_, (until, _) in self._until.items() if until > now]

    def __contains__(self, id_: UUID) -> bool:
        """Whether it was held not long ago: then it is tried alone."""
        return id_ in self._until

    def discard(self, id_: UUID) -> None:
        self._until.pop(id_, None)
