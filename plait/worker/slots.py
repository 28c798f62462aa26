"""The jobs of this worker: running jobs, and prefetched jobs, which are claimed before a slot is free.

A slot belongs to a queue; the worker as a whole has a limit too. Prefetching keeps fast handlers busy between two round trips. It is limited
by time: no more jobs than will finish within 10 ms, or within two round trips if they take longer. Free slots are assigned to tenants
round-robin, so a tenant's job waits for one job of each other tenant, not for all jobs that were prefetched before it. Prefetched jobs that have
waited longer than 0.3 s are released, so that other workers can run them.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from uuid import UUID

from plait.worker.run import Run

AHEAD_S, AHEAD_MOST_S = 0.01, 0.05
"""Prefetch the jobs that will start within this time, or within two round trips if they take longer, up to the second value."""
AT_ONCE = 2000
"""The maximum size of a claim. A claim is also at most half of the worker's capacity, or 1,000 if that is more. Prefetched jobs arrive in two equal parts:
one runs while the other is being claimed. (With unequal parts, the two cores were idle alternately, and a benchmark was a sixth slower.)"""
RATE_S, RATE_OVER_S = 0.002, 0.02
"""The rate is measured over at least the first time, and averaged over the second, or over two run times if they are longer."""
SAMPLE = 8
"""The run time is measured for one of this many runs."""
GIVE_BACK_S = 0.3


class Slots:
    def __init__(self, queues: Mapping[str, int], total: int, start: Callable[[Run], None]) -> None:
        self._limits = dict(queues)
        self._total = total
        self._start = start
        self._ready = {queue: Ready() for queue in queues}
        self._running: dict[Run, None] = {}  # in the order of their start
        self._running_in: dict[str, int] = dict.fromkeys(queues, 0)
        self._asked: dict[str, int] = dict.fromkeys(queues, 0)  # requested by running claims
        self._turns = deque(queues)
        self._dry: set[str] = set()
        self._turn = 0
        self._rate = 0.0
        self._finished = 0
        self._sampled = 0
        self._ran_s = 0.0
        self._run_s = 0.0
        self._trip_s = 0.0
        self._idle_s = 0.0
        self._idle_since = time.monotonic()
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

    @property
    def prefetched_count(self) -> int:
        return sum(map(len, self._ready.values()))

    def state(self) -> list[tuple[str, int, int]]:
        """For each queue: its name, its slots, and its running jobs."""
        return [(queue, limit, self._running_in[queue]) for queue, limit in self._limits.items()]

    @property
    def held(self) -> list[tuple[UUID, int]]:
        return [run.key for run in (*self._running, *(run for ready in self._ready.values() for run in ready))]

    def __contains__(self, run: Run) -> bool:
        """Whether the run has a slot."""
        return run in self._running

    def find(self, key: tuple[UUID, int]) -> Run | None:
        """The run of this attempt, if it has a slot. Rarely called, so a search of all running jobs is fast enough."""
        return next((run for run in self._running if run.key == key), None)

    def wanted(self) -> dict[str, int]:
        """How many jobs of each queue to claim now: at most the free capacity in total, and at least one job of each queue, if possible.

        From a queue that returned fewer jobs than requested last time, one job is requested, to find out whether it has jobs again. The other
        queues share the remaining capacity. So a full queue gets nearly all of the capacity, and empty queues do not reduce it.
        """
        self._measure_rate()
        # Claimed jobs arrive a round trip later. Jobs that start before that do not count.
        ahead = int(self._rate * (min(AHEAD_MOST_S, max(AHEAD_S, 2 * self._trip_s)) + self._trip_s))
        asked = sum(self._asked.values())
        most = self._total + ahead * (2 if asked else 1)  # the current jobs will have started by then
        room = min(AT_ONCE, max(AT_ONCE, most) // 2, most - len(self) - asked)
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
        """Record that a claim for `wanted` was sent."""
        for queue, count in wanted.items():
            self._asked[queue] += count

    def answered(self, wanted: dict[str, int]) -> None:
        for queue, count in wanted.items():
            self._asked[queue] -= count

    def add(self, runs: Iterable[Run], wanted: dict[str, int]) -> None:
        """Add the jobs of a claim for `wanted`."""
        brought = dict.fromkeys(wanted, 0)
        for run in runs:
            queue = run.claimed.queue
            self._ready[queue].append(run)
            brought[queue] = brought.get(queue, 0) + 1
        if not self._running:
            self._idle_s += time.monotonic() - self._idle_since
        self._dry = {queue for queue, count in wanted.items() if brought[queue] < count}
        self._fill()

    def finish(self, run: Run) -> bool:
        """Free the slot of a run that has ended or was abandoned, and start the next waiting run. Returns False if the run had no slot."""
        running, queue = self._running, run.claimed.queue
        if run not in running:
            return False
        del running[run]
        self._finished += 1
        if not running or self._finished % SAMPLE == 1:
            self._idle_since = now = time.monotonic()
            self._ran_s += now - run.started_at if run.started_at else 0.0
            self._sampled += 1
        ready = self._ready[queue]
        if ready.count and len(self._turns) == 1:
            following = ready.popleft()
            running[following] = None
            self._start(following)
        else:
            self._running_in[queue] -= 1
            if ready.count or len(running) + 1 >= self._total:
                self._fill()
        return True

    def give_back(self, *, older_than_s: float = 0.0) -> list[Run]:
        """Remove and return prefetched runs that have not started."""
        before = time.monotonic() - older_than_s
        given: list[Run] = []
        for ready in self._ready.values():
            if ready and ready.since <= before:
                given.extend(ready)
                ready.clear()
        return given

    def withdraw(self, key: tuple[UUID, int]) -> Run | None:
        """Remove a prefetched run before it starts."""
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

    def tripped(self, took_s: float) -> None:
        """Record the time of a round trip. The average adapts quickly if runs are much shorter than round trips, since slots would be empty before the next claim arrives.
        Otherwise it adapts slowly, so that one slow round trip does not cause too much prefetching."""
        self._trip_s += (took_s - self._trip_s) / (2 if 10 * self._run_s < took_s else 8)

    def _measure_rate(self) -> None:
        """Measure how many runs finish per second of work, on average; idle time does not count. Runs that began together end together, so the rate
        is limited to the number of runs that the slots can finish, given the run time."""
        now = time.monotonic()
        if not self._running:
            self._idle_s += now - self._idle_since
            self._idle_since = now
        span = now - self._rated_at - self._idle_s
        if span < RATE_S:
            return
        if self._sampled:
            self._run_s += (self._ran_s / self._sampled - self._run_s) / 2
        over = max(RATE_OVER_S, 2 * self._run_s)
        self._rate += (self._finished / span - self._rate) * min(1.0, span / over)
        if self._run_s > 0:
            self._rate = min(self._rate, self._total / self._run_s)
        self._finished, self._sampled, self._ran_s, self._idle_s, self._rated_at = 0, 0, 0.0, 0.0, now

    def _fill(self) -> None:
        """Assign free slots to the queues round-robin: a queue that is always full does not starve the others."""
        passed = 0
        while passed < len(self._turns) and len(self._running) < self._total:
            queue = self._turns[0]
            self._turns.rotate(-1)
            ready = self._ready[queue]
            if ready.count and self._running_in[queue] < self._limits[queue]:
                run = ready.popleft()
                self._running[run] = None
                self._running_in[queue] += 1
                self._start(run)
                passed = 0
            else:
                passed += 1


class Ready:
    """Prefetched runs of one queue. Tenants are served round-robin; a tenant's own runs keep their order."""

    def __init__(self) -> None:
        self._of: dict[UUID, deque[Run]] = {}
        """The runs by tenant. A tenant without runs has no entry."""
        self._turns: deque[deque[Run]] = deque()
        """The same runs, with the tenants in round-robin order."""
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Run]:
        return (run for runs in self._turns for run in runs)

    @property
    def since(self) -> float:
        """The time at which the oldest of these runs arrived."""
        return min(runs[0].queued_at for runs in self._turns)

    def append(self, run: Run) -> None:
        runs = self._of.get(run.claimed.tenant_id)
        if runs is None:
            runs = self._of[run.claimed.tenant_id] = deque()
            self._turns.append(runs)
        runs.append(run)
        self.count += 1

    def popleft(self) -> Run:
        turns = self._turns
        run = turns[0].popleft()
        self.count -= 1
        if not turns[0]:
            turns.popleft()
            del self._of[run.claimed.tenant_id]
        elif len(turns) > 1:
            turns.rotate(-1)
        return run

    def remove(self, run: Run) -> None:
        runs = self._of[run.claimed.tenant_id]
        runs.remove(run)
        self.count -= 1
        if not runs:
            self._turns = deque(filter(None, self._turns))
            del self._of[run.claimed.tenant_id]

    def clear(self) -> None:
        self._of.clear()
        self._turns.clear()
        self.count = 0
