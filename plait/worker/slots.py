"""What this worker holds: runs that have started, and those claimed ahead of a free slot.

A slot belongs to a queue; the worker as a whole has a bound too. Claiming ahead keeps fast handlers fed between two round trips.
How far ahead follows from how fast they finish, so a slow job never keeps others waiting behind it; what has waited a second
all the same is given back.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from uuid import UUID

from plait.worker.run import Run

AHEAD_S = 0.05
"""Claim what will be finished within this time, judging by the last moments."""
AHEAD_MAX = 4000
AT_ONCE = 2000
"""No claim asks for more, nor for more than half of all that may be held, where that is much: so what is claimed ahead comes in two equal
parts, and one runs while the other is under way. (Unequal parts leave both cores idle in turn: a sixth slower, measured.)"""
RATE_S = 0.002
"""No rate is measured over less."""
GIVE_BACK_S = 1.0


class Slots:
    def __init__(self, queues: Mapping[str, int], total: int, start: Callable[[Run], None]) -> None:
        self._limits = dict(queues)
        self._total = total
        self._start = start
        self._ready: dict[str, deque[Run]] = {queue: deque() for queue in queues}
        self._running: dict[Run, None] = {}  # in the order in which they started
        self._running_in: dict[str, int] = dict.fromkeys(queues, 0)
        self._asked: dict[str, int] = dict.fromkeys(queues, 0)  # of the database, by claims that are under way
        self._turns = deque(queues)
        self._dry: set[str] = set()
        self._turn = 0
        self._rate = 0.0
        self._finished = 0
        self._rated_at = time.monotonic()

    def __len__(self) -> int:
        return len(self._running) + sum(map(len, self._ready.values()))

    @property
    def queues(self) -> Iterable[str]:
        return self._limits

    @property
    def running(self) -> Iterator[Run]:
        return iter(list(self._running))

    @property
    def running_count(self) -> int:
        return len(self._running)

    def state(self) -> list[tuple[str, int, int]]:
        """Of each queue: its name, how many may run, and how many do."""
        return [(queue, limit, self._running_in[queue]) for queue, limit in self._limits.items()]

    @property
    def held(self) -> list[tuple[UUID, int]]:
        return [run.key for run in (*self._running, *(run for ready in self._ready.values() for run in ready))]

    def __contains__(self, run: Run) -> bool:
        """Whether it has a slot."""
        return run in self._running

    def find(self, key: tuple[UUID, int]) -> Run | None:
        """The run of this attempt, if it has a slot. Seldom asked, so it looks at all of them."""
        return next((run for run in self._running if run.key == key), None)

    def wanted(self) -> dict[str, int]:
        """How many jobs of each queue to claim now: no more than there is room for in all, and some of every queue.

        A queue that had less than was asked of it last time is asked for one, to see whether it has more again; the others
        share the rest. So a full queue gets nearly all of the room, and an empty one before it never hides it.
        """
        self._measure_rate()
        ahead = min(AHEAD_MAX, int(self._rate * AHEAD_S))
        most = self._total + ahead
        room = min(AT_ONCE, max(AT_ONCE, most) // 2, most - len(self) - sum(self._asked.values()))
        free = {
            queue: min(limit, self._total)
            + ahead
            - self._running_in[queue]
            - len(self._ready[queue])
            - self._asked[queue]
            for queue, limit in self._limits.items()
        }
        self._turn += 1
        open_ = [queue for queue, count in free.items() if count > 0]
        order = open_[self._turn % len(open_) :] + open_[: self._turn % len(open_)] if open_ else []
        wanted = dict.fromkeys(order[: max(0, room)], 1)
        room -= len(wanted)
        sharing = [queue for queue in wanted if queue not in self._dry] or list(wanted)
        for number, queue in enumerate(sorted(sharing, key=lambda queue: free[queue])):
            more = min(free[queue] - 1, room // (len(sharing) - number))
            wanted[queue] += more
            room -= more
        return wanted

    def asked(self, wanted: dict[str, int]) -> None:
        """A claim for `wanted` is under way."""
        for queue, count in wanted.items():
            self._asked[queue] += count

    def answered(self, wanted: dict[str, int]) -> None:
        for queue, count in wanted.items():
            self._asked[queue] -= count

    def add(self, runs: Iterable[Run], wanted: dict[str, int]) -> None:
        """What a claim for `wanted` has brought."""
        brought = dict.fromkeys(wanted, 0)
        for run in runs:
            queue = run.claimed.queue
            self._ready[queue].append(run)
            brought[queue] = brought.get(queue, 0) + 1
        self._dry = {queue for queue, count in wanted.items() if brought[queue] < count}
        self._fill()

    def finish(self, run: Run) -> bool:
        """A run has ended, or is given up: its slot goes to the next that waits for one. False: it had none."""
        running, queue = self._running, run.claimed.queue
        if run not in running:
            return False
        del running[run]
        self._finished += 1
        ready = self._ready[queue]
        if ready and len(self._turns) == 1:
            following = ready.popleft()
            running[following] = None
            self._start(following)
        else:
            self._running_in[queue] -= 1
            if ready or len(running) + 1 >= self._total:
                self._fill()
        return True

    def give_back(self, *, older_than_s: float = 0.0) -> list[Run]:
        """Runs that were claimed ahead and have not started; they are no longer held here."""
        before = time.monotonic() - older_than_s
        given: list[Run] = []
        for ready in self._ready.values():
            if ready and ready[0].queued_at <= before:
                given.extend(ready)
                ready.clear()
        return given

    def withdraw(self, key: tuple[UUID, int]) -> Run | None:
        """Take back one that was claimed ahead, before it starts."""
        for ready in self._ready.values():
            for run in ready:
                if run.key == key:
                    ready.remove(run)
                    return run
        return None

    def clear(self) -> None:
        for ready in self._ready.values():
            ready.clear()
        self._running.clear()
        self._running_in = dict.fromkeys(self._limits, 0)

    def _measure_rate(self) -> None:
        """How fast do runs finish? Asked before each claim, so that it follows a rise at once, and a fall within a few of them."""
        now = time.monotonic()
        span = now - self._rated_at
        if span >= RATE_S:
            rate = self._finished / span
            self._rate = max(rate, (self._rate + rate) / 2)
            self._finished = 0
            self._rated_at = now

    def _fill(self) -> None:
        """Free slots to the queues in turn: one that always has more does not keep the others from running."""
        passed = 0
        while passed < len(self._turns) and len(self._running) < self._total:
            queue = self._turns[0]
            self._turns.rotate(-1)
            ready = self._ready[queue]
            if ready and self._running_in[queue] < self._limits[queue]:
                run = ready.popleft()
                self._running[run] = None
                self._running_in[queue] += 1
                self._start(run)
                passed = 0
            else:
                passed += 1
