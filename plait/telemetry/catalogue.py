"""Every metric that plait exposes. Whoever adds one adds it here: it is then in the docs, and the dashboard may use it.

Labels are bounded: statuses and duties by the code, definitions by the application's, tenants and queues by `PLAIT_METRICS_TOP`, past which they
are one together, `*`. No label ever holds an id, a payload or an error.
"""

from dataclasses import dataclass
from typing import Final, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    told_by: Literal["installation", "worker", "leader"]
    help: str
    labels: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """The names that a query may use."""
        return (
            tuple(self.name + end for end in ("_bucket", "_sum", "_count"))
            if self.kind == "histogram"
            else (self.name,)
        )

    def gauge(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.help, labels=self.labels)

    def counter(self) -> CounterMetricFamily:
        return CounterMetricFamily(self.name, self.help, labels=self.labels)

    def histogram(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.help, labels=self.labels)


# Of the installation: told by every API, and by the process that leads. The same everywhere, so take the `max` over instances.
DATABASE_UP: Final = Metric("plait_database_up", "gauge", "installation", "Whether the database answered.")
JOBS: Final = Metric("plait_jobs", "gauge", "installation", "Jobs that are live.", ("tenant", "status"))
QUEUE_JOBS: Final = Metric("plait_queue_jobs", "gauge", "installation", "Jobs that are live.", ("queue", "status"))
QUEUE_OLDEST: Final = Metric(
    "plait_queue_oldest_seconds", "gauge", "installation", "For how long the oldest queued job waits.", ("queue",)
)
ENQUEUED: Final = Metric("plait_enqueued_total", "counter", "installation", "Jobs that were asked for.")
FINISHED: Final = Metric("plait_finished_total", "counter", "installation", "Jobs that became final.", ("status",))
RETRIED: Final = Metric("plait_retried_total", "counter", "installation", "Attempts that failed, and their jobs go on.")
LOST: Final = Metric("plait_lost_total", "counter", "installation", "Attempts whose worker was lost.")
RUN_TOTAL: Final = Metric("plait_handler_seconds_total", "counter", "installation", "How long handlers ran, in all.")
COUNTED: Final = Metric(
    "plait_counts_age_seconds", "gauge", "installation", "How old the leader's counts of ended attempts are."
)
WORKERS: Final = Metric(
    "plait_workers",
    "gauge",
    "installation",
    "Workers: alive, blocked (a handler blocks the event loop), stale (silent for half a lease) or lost.",
    ("state",),
)
PREFETCHED: Final = Metric(
    "plait_jobs_prefetched",
    "gauge",
    "installation",
    "Jobs that workers have claimed and not started, as of their last heartbeats. Status `running` includes them.",
)
LEADER_PRESENT: Final = Metric("plait_leader_present", "gauge", "installation", "Whether a process leads.")
LEADER_TERM: Final = Metric(
    "plait_leader_term", "gauge", "installation", "The leader's term; it grows with each change."
)
NOTIFY_QUEUE: Final = Metric(
    "plait_notify_queue_ratio", "gauge", "installation", "How full the server's queue of notifications is, of 1."
)
DEAD_ROWS: Final = Metric("plait_live_dead_rows", "gauge", "installation", "Dead rows in plait.live.")
OLDEST_JOB: Final = Metric(
    "plait_oldest_job_seconds", "gauge", "installation", "The age of the oldest job that is kept."
)

# Of a worker's process.
SLOTS: Final = Metric("plait_worker_slots", "gauge", "worker", "Jobs of a queue that may run at once.", ("queue",))
RUNNING: Final = Metric("plait_worker_running", "gauge", "worker", "Jobs of a queue that run.", ("queue",))
READY: Final = Metric("plait_worker_ready", "gauge", "worker", "Jobs that are claimed and wait for a slot.")
CYCLES: Final = Metric(
    "plait_worker_cycles_total", "counter", "worker", "Round trips that settled or claimed something.", ("what",)
)
CLAIMED: Final = Metric("plait_worker_claimed_total", "counter", "worker", "Jobs that were claimed.", ("queue",))
SETTLED: Final = Metric(
    "plait_worker_settled_total", "counter", "worker", "Attempts whose end was recorded.", ("definition", "ending")
)
STALE: Final = Metric("plait_worker_stale_total", "counter", "worker", "Outcomes that came after the lease was lost.")
RUN_SECONDS: Final = Metric(
    "plait_run_seconds", "histogram", "worker", "How long attempts ran, from their handler's start.", ("definition",)
)
WAIT_SECONDS: Final = Metric(
    "plait_wait_seconds",
    "histogram",
    "worker",
    "From being asked for, or due, to the first claim. Of a sample: up to 100 claims a second.",
    ("queue",),
)
LISTENING: Final = Metric(
    "plait_worker_listening", "gauge", "worker", "Whether notifications come: its own test one does."
)
NOTIFIED: Final = Metric("plait_worker_notifications_total", "counter", "worker", "Notifications that came.")

# Of a process that may lead.
LEADING: Final = Metric("plait_leading", "gauge", "leader", "Whether this process leads.")
DUTY_RUNS: Final = Metric("plait_leader_duty_runs_total", "counter", "leader", "How often a duty was done.", ("duty",))
DUTY_FAILURES: Final = Metric(
    "plait_leader_duty_failures_total", "counter", "leader", "How often one failed.", ("duty",)
)
DUTY_SECONDS: Final = Metric(
    "plait_leader_duty_seconds_total", "counter", "leader", "How long it took, in all.", ("duty",)
)
PRUNED: Final = Metric("plait_pruned_total", "counter", "leader", "Jobs that retention has forgotten.")
RETENTION_LAG: Final = Metric(
    "plait_retention_lag_seconds",
    "gauge",
    "leader",
    "Since retention was last through with all jobs; while this process leads.",
)

METRICS: Final = tuple(value for value in list(vars().values()) if isinstance(value, Metric))
