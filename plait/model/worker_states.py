"""States of workers, as filters of lists. `plait.workers` in the schema has the rule for each."""

from enum import StrEnum


class WorkerFilter(StrEnum):
    """The workers of a list. A stale worker is alive, but its heartbeat is overdue; `alive` leaves stale workers out."""

    ALIVE = "alive"
    STALE = "stale"
    LOST = "lost"
    GONE = "gone"


class EndState(StrEnum):
    """The two final states: its lease expired, or it left."""

    LOST = "lost"
    GONE = "gone"
