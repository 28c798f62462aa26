"""Every metric that plait exposes. Add a new metric here, so that the docs list it and the dashboard may use it. The number of label values is
bounded: statuses and duties by plait's code, definitions by the application's code, tenants and queues by `PLAIT_METRICS_TOP`; the others are
combined as `*`. No label ever contains an id, a payload or an error.
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
        """The series names that a query may use."""
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


# Installation metrics: reported by every API, and by the leader. All instances report the same values, so query the `max` over instances.
DATABASE_UP: Final = Metric("plait_database_up", "gauge", "installation", "Whether the database answered.")
JOBS: Final = Metric("plait_jobs", "gauge", "installation", "Unfinished jobs.", ("tenant", "status"))
QUEUE_JOBS: Final = Metric("plait_queue_jobs", "gauge", "installation", "Unfinished jobs.", ("queue", "status"))
QUEUE_OLDEST: Final = Metric(
    "plait_queue_oldest_seconds", "gauge", "installation", "Age of the oldest queued job.", ("queue",)
)
ENQUEUED: Final = Metric("plait_enqueued_total", "counter", "installation", "Enqueued jobs.")
FINISHED: Final = Metric("plait_finished_total", "counter", "installation", "Jobs that became final.", ("status",))
RETRIED: Final = Metric("plait_retried_total", "counter", "installation", "Failed attempts that are retried.")
LOST: Final = Metric("plait_lost_total", "counter", "installation", "Attempts whose worker was lost.")
RUN_TOTAL: Final = Metric("plait_handler_seconds_total", "counter", "installation", "Total run time of handlers.")
COUNTED: Final = Metric(
    "plait_counts_age_seconds", "gauge", "installation", "Age of the leader's counts of ended attempts."
)
WORKERS: Final = Metric(
    "plait_workers",
    "gauge",
    "installation",
    "Workers: alive, blocked (a handler blocks the event loop), stale (no heartbeat for half a lease) or lost (within the last hour).",
    ("state",),
)
PREFETCHED: Final = Metric(
    "plait_jobs_prefetched",
    "gauge",
    "installation",
    "Prefetched jobs: claimed but not started at the workers' last heartbeats. Status `running` includes them.",
)
LEADER_PRESENT: Final = Metric("plait_leader_present", "gauge", "installation", "Whether there is a leader.")
LEADER_TERM: Final = Metric(
    "plait_leader_term", "gauge", "installation", "The leader's term; it increases with each leader election."
)
NOTIFY_QUEUE: Final = Metric(
    "plait_notify_queue_ratio", "gauge", "installation", "Fill level of the server's notification queue, from 0 to 1."
)
DEAD_ROWS: Final = Metric("plait_live_dead_rows", "gauge", "installation", "Dead rows in plait.live.")
OLDEST_JOB: Final = Metric("plait_oldest_job_seconds", "gauge", "installation", "Age of the oldest job.")

# Worker metrics.
SLOTS: Final = Metric(
    "plait_worker_slots", "gauge", "worker", "Slots: jobs of a queue that may run at once.", ("queue",)
)
RUNNING: Final = Metric("plait_worker_running", "gauge", "worker", "Running jobs of a queue.", ("queue",))
READY: Final = Metric("plait_worker_ready", "gauge", "worker", "Prefetched jobs that wait for a slot.")
CYCLES: Final = Metric(
    "plait_worker_cycles_total", "counter", "worker", "Round trips that settled or claimed something.", ("what",)
)
CLAIMED: Final = Metric("plait_worker_claimed_total", "counter", "worker", "Claimed jobs.", ("queue",))
SETTLED: Final = Metric(
    "plait_worker_settled_total", "counter", "worker", "Settled attempts, by outcome.", ("definition", "outcome")
)
STALE: Final = Metric("plait_worker_stale_total", "counter", "worker", "Stale outcomes: sent after the lease was lost.")
RUN_SECONDS: Final = Metric(
    "plait_run_seconds", "histogram", "worker", "Run time of attempts, from the start of the handler.", ("definition",)
)
WAIT_SECONDS: Final = Metric(
    "plait_wait_seconds",
    "histogram",
    "worker",
    "Time from enqueue, or from the due time, to the first claim; from a sample of up to 100 claims per second.",
    ("queue",),
)
LISTENING: Final = Metric(
    "plait_worker_listening", "gauge", "worker", "Whether notifications arrive, checked with a test notification."
)
NOTIFIED: Final = Metric("plait_worker_notifications_total", "counter", "worker", "Received notifications.")

# Leader metrics.
LEADING: Final = Metric("plait_leading", "gauge", "leader", "Whether this process is the leader.")
DUTY_RUNS: Final = Metric("plait_leader_duty_runs_total", "counter", "leader", "Runs of a leader duty.", ("duty",))
DUTY_FAILURES: Final = Metric(
    "plait_leader_duty_failures_total", "counter", "leader", "Failures of a leader duty.", ("duty",)
)
DUTY_SECONDS: Final = Metric(
    "plait_leader_duty_seconds_total", "counter", "leader", "Total run time of a leader duty.", ("duty",)
)
PRUNED: Final = Metric("plait_pruned_total", "counter", "leader", "Jobs deleted by retention.")
RETENTION_LAG: Final = Metric(
    "plait_retention_lag_seconds",
    "gauge",
    "leader",
    "Time since retention last completed a round over all jobs. Reported only while this process leads.",
)

METRICS: Final = tuple(value for value in list(vars().values()) if isinstance(value, Metric))
