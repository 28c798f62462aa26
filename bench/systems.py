"""Every system of the benchmark: its packages, its settings, and how to query whether all jobs are done.

The settings aim at the best performance for many small jobs. A comment gives the source of each system's settings (a page, the package
itself, our own trials) and the values that were tried. `note` has the facts that are needed to compare the rows: whether completions are batched,
whether history and results are kept, and whether a power failure may lose data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    name: str
    language: Literal["plait", "python", "node"]
    note: str
    settings: Mapping[str, Any]
    requires: tuple[str, ...] = ()
    pickup_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ for latency measures."""
    store: Literal["postgres", "redis"] = "postgres"
    unfinished: str = ""
    """SQL: the number of unfinished jobs."""
    finished: str = ""
    """SQL: the number of finished jobs; empty if they are not kept."""
    queue_key: str = ""
    """Redis: the list of waiting messages."""
    bulk: int = 1000
    """Jobs per call of the bulk enqueue; 1 if the system has none. With the fastest peers, 10,000 jobs per call were not faster."""
    slow: bool = False
    """Whether to use a fifth of the backlog: the rate is the same, and the whole backlog would take minutes."""
    oldest_python: tuple[int, int] = (3, 11)
    memory_settings: Mapping[str, Any] | None = None
    """Settings that differ for one process that runs 500 handlers at the same time; None if the system cannot do that."""

    durable_settings: Mapping[str, Any] | None = None
    """Settings that differ for fan-outs and steps; None if the system does not have them."""

    commit: str | None = None
    """For an earlier plait: the commit whose sources and driver are used."""

    @property
    def module(self) -> str:
        return "plait" if self.language == "plait" else self.name.replace("-", "_")


NODE: Final = ("node@22.23.3",)
"""pg-boss 12 requires Node 22.12 or newer; both npm peers run on the same version."""

SYSTEMS: Final = (
    System(
        name="plait",
        language="plait",
        settings={"uvloop": True, "concurrency": 100},
        memory_settings={"concurrency": 500},
        durable_settings={},
        bulk=10_000,
        unfinished="select count(*) from plait.live",
        finished="select count(*) from plait.attempts where final = 'succeeded'",
        note="outcomes are batched for at most 2 ms; results and history kept; commits are durable",
    ),
    # https://worker.graphile.org/docs/performance: the preset of its quick stats. For pick-up, one trial without a local queue.
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
        # Without a local queue, a worker fetches immediately after a notification.
        pickup_settings={"preset": {"concurrentJobs": 10, "maxPoolSize": 11}},
        unfinished="select count(*) from graphile_worker._private_jobs",
        note="completions in batches; a finished job is deleted: no history, no result; commits are durable",
        memory_settings={
            "preset": {
                "concurrentJobs": 500,
                "maxPoolSize": 25,
                "localQueue": {"size": 500},
                "completeJobBatchDelay": 0,
            }
        },
    ),
    # tools/benchmark.py of janbjorge/pgqueuer (asyncpg, uvloop; its own default batch is 10). Not from its documentation:
    # batch_size 500 was the fastest of 200, 500 and 1000, tried once each on a busy machine.
    System(
        name="pgqueuer",
        language="python",
        requires=("pgqueuer[asyncpg]==1.6.0", "uvloop==0.23.0"),
        settings={"uvloop": True, "batch_size": 500, "dequeue_timeout_s": 1, "client_pool": 10, "worker_pool": 5},
        unfinished="select count(*) from pgqueuer",
        finished="select count(*) from pgqueuer_log where status = 'successful'",
        note="completions in batches of up to 100 ms; history kept, no result; commits are durable",
        memory_settings={},
    ),
    # docs/api/workers.md (batchSize) and the package's types.d.ts: burstWhenBatchFull (fetch without a pause while batches come
    # back full), localConcurrency; useListenNotify and a queue's `notify` where latency counts. Sizes are our choice.
    System(
        name="pg-boss",
        language="node",
        requires=("pg-boss@12.35.0", *NODE),  # the newest version whose dependencies are on every mirror
        settings={
            "client_pool": 10,
            "boss": {},
            "queue": {},
            "work": {
                "batchSize": 1000,
                "burstWhenBatchFull": True,
                "localConcurrency": 2,
                "pollingIntervalSeconds": 0.5,
            },
        },
        pickup_settings={
            "boss": {"useListenNotify": True},
            "queue": {"notify": True},
            "work": {"batchSize": 1, "pollingIntervalSeconds": 0.5, "notifyPollingIntervalSeconds": 0.5},
        },
        unfinished="select count(*) from pgboss.job where state < 'completed'",
        finished="select count(*) from pgboss.job where state = 'completed'",
        note="a batch is completed as a whole: one failure fails the whole batch; history kept, no result; commits are durable",
    ),
    # From the package itself: a queue's limit is its concurrency. Its README says that bulk acknowledgement requires Oban Pro.
    # Limit 500 was the fastest of 50, 200 and 500, tried once each on a busy machine.
    System(
        name="oban",
        language="python",
        requires=("oban==0.7.0",),
        oldest_python=(3, 12),
        settings={"uvloop": True, "limit": 500, "client_pool": 10, "worker_pool": 10},
        pickup_settings={"limit": 20},
        unfinished="select count(*) from oban_jobs where state not in ('completed', 'discarded', 'cancelled')",
        finished="select count(*) from oban_jobs where state = 'completed'",
        note="acknowledgements with the next fetch, within 5 ms; results and history kept; commits are durable",
        memory_settings={},
    ),
    # From the docstring of run_worker_async: concurrency for async tasks. 30 was faster than 10, tried once each on a busy machine.
    System(
        name="procrastinate",
        language="python",
        slow=True,
        requires=("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.8", "uvloop==0.23.0"),
        settings={"uvloop": True, "concurrency": 30, "pool": 20},
        unfinished="select count(*) from procrastinate_jobs where status in ('todo', 'doing')",
        finished="select count(*) from procrastinate_jobs where status = 'succeeded'",
        note="one fetch and one completion for each job; history kept, no result; commits are durable",
        memory_settings={"concurrency": 500},
    ),
    # https://docs.dbos.dev/python/reference/queues: worker_concurrency; polling_interval_sec is 1 s by default. The values are the
    # fastest of five combinations, tried once each with 2,000 jobs on a busy machine; async workflows only with other values.
    System(
        name="dbos",
        language="python",
        slow=True,
        requires=("dbos==3.3.0",),
        settings={
            "worker_concurrency": 500,
            "threads": 16,
            "polling_interval_sec": 0.2,
            "client_pool": 20,
            "worker_pool": 20,
        },
        pickup_settings={"polling_interval_sec": 0.01},
        durable_settings={"polling_interval_sec": 0.05},
        unfinished="select count(*) from dbos.workflow_status where status in ('ENQUEUED', 'PENDING')",
        finished="select count(*) from dbos.workflow_status where status = 'SUCCESS'",
        note="one completion for each job; results and history kept; no bulk enqueue, 1,000 in one transaction; commits are durable",
    ),
    # From the SDK's start_worker: batch_size for claims, concurrency, poll_interval; no notifications. Untuned.
    System(
        name="absurd-sdk",
        language="python",
        slow=True,
        requires=("absurd-sdk==0.5.1", "absurdctl==0.5.1", "uvloop==0.23.0"),
        settings={
            "uvloop": True,
            "concurrency": 100,
            "batch_size": 100,
            "poll_interval": 0.05,
            "client_connections": 10,
        },
        pickup_settings={"concurrency": 10, "batch_size": 10, "poll_interval": 0.01},
        durable_settings={"poll_interval": 0.01},
        unfinished="select count(*) from absurd.t_default where state in ('pending', 'running', 'sleeping')",
        finished="select count(*) from absurd.t_default where state = 'completed'",
        note="one completion for each job; results and history kept; no bulk enqueue, 1,000 in one transaction; commits are durable",
    ),
    # Celery's guide to optimizing (the 2.1 edition names 64 or 128): a large prefetch multiplier for many short tasks. Untuned.
    System(
        name="celery",
        language="python",
        slow=True,
        requires=("celery[redis]==5.7.0", "hiredis==3.5.0"),
        store="redis",
        queue_key="celery",
        settings={"pool": "prefork", "concurrency": 1, "worker_prefetch_multiplier": 128},
        durable_settings={},
        note="Redis: the last second may be lost in a power failure; a message is acknowledged before its job runs; results kept"
        " a day, no history; no bulk enqueue",
    ),
    # dramatiq's changelog: dramatiq_queue_prefetch; 8 threads are the default of a worker. Untuned.
    System(
        name="dramatiq",
        language="python",
        slow=True,
        requires=("dramatiq[redis]==2.2.1", "hiredis==3.5.0"),
        store="redis",
        queue_key="dramatiq:default",
        settings={"threads": 8, "dramatiq_queue_prefetch": 128},
        note="Redis: the last second may be lost in a power failure; results kept ten minutes, no history; no bulk enqueue",
    ),
)


def system(name: str) -> System:
    return next(system for system in SYSTEMS if system.name == name)


def plait_before(commit: str) -> System:
    """plait at an earlier commit, beside the current plait, so that a change can be measured in one run."""
    return replace(SYSTEMS[0], name="plait-before", commit=commit, note=f"plait at {commit}")
