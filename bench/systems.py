"""Every system of the benchmark: what is installed, in which settings it runs, and how it shows that all is done.

Settings are the best that a system's own documentation names for many small jobs; the source stands beside them. `note` says
what a reader must know to compare the rows: whether completions are batched, whether history and results are kept, and what a
power failure may cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    name: str
    language: Literal["plait", "python", "node"]
    note: str
    settings: Mapping[str, Any]
    requires: tuple[str, ...] = ()
    pickup_settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs where latency counts and not throughput."""
    store: Literal["postgres", "redis"] = "postgres"
    unfinished: str = ""
    """SQL: how many jobs are not yet final."""
    finished: str = ""
    """SQL: how many are; empty where nothing is kept of a finished job."""
    bulk: int = 1000
    """Jobs in one call of its bulk enqueue; 1 where it has none."""
    oldest_python: tuple[int, int] = (3, 11)
    many_handlers: bool = False
    """Whether one process can run 500 handlers at once: for the measure of memory."""

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")


NODE: Final = ("node@22.23.3",)
"""pg-boss 12 wants Node 22.12 or newer; both npm peers run on the same one."""

SYSTEMS: Final = (
    System(
        name="plait",
        language="plait",
        settings={"uvloop": True, "concurrency": 100},
        unfinished="select count(*) from plait.live",
        finished="select count(*) from plait.attempts where final = 'succeeded'",
        note="outcomes in batches of at most 2 ms; results and history kept; a commit is on disk",
        many_handlers=True,
    ),
    # https://worker.graphile.org/docs/performance: this very preset; docs/config: refetchDelay is off unless given.
    System(
        name="graphile-worker",
        language="node",
        requires=("graphile-worker@0.18.0", *NODE),
        settings={
            "client_pool": 10,
            "preset": {
                "concurrentJobs": 24,
                "maxPoolSize": 25,
                "localQueue": {"size": 500},
                "completeJobBatchDelay": 0,
                "failJobBatchDelay": 0,
            },
        },
        # Without a local queue a notified worker fetches at once.
        pickup_settings={"preset": {"concurrentJobs": 10, "maxPoolSize": 11}},
        unfinished="select count(*) from graphile_worker._private_jobs",
        note="completions in batches; a finished job is deleted: no history, no result; a commit is on disk",
        many_handlers=True,
    ),
    # https://pgqueuer.readthedocs.io/en/latest/performance: large batches, uvloop; tools/benchmark.py of its repository.
    System(
        name="pgqueuer",
        language="python",
        requires=("pgqueuer[asyncpg]==1.6.0", "uvloop==0.23.0"),
        settings={"uvloop": True, "batch_size": 500, "dequeue_timeout_s": 1, "client_pool": 10, "worker_pool": 5},
        unfinished="select count(*) from pgqueuer",
        finished="select count(*) from pgqueuer_log where status = 'successful'",
        note="completions in batches of up to 100 ms; history kept, no result; a commit is on disk",
        many_handlers=True,
    ),
)


def system(name: str) -> System:
    return next(system for system in SYSTEMS if system.name == name)
