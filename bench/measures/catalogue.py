"""The measures in the order in which they run, and the systems that each applies to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.job_storage import Servers
from bench.measures import machine_limits, scale, throughput, workflows
from bench.measures.throughput import Plan
from bench.rows import Row
from bench.systems import System


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    name: str
    run: Callable[[Servers, System, Plan], Awaitable[list[Row]]]
    rows: str
    """The measures of its rows."""
    applies: Callable[[System], bool] = lambda _: True
    quick: bool = False
    rounds: int | None = None
    """The maximum number of rounds, for measures that take minutes."""


def _plait(system: System) -> bool:
    return system.language == "plait"


def _fast(system: System) -> bool:
    """Systems that can enqueue a million jobs in less than half an hour."""
    return system.name in {"plait", "plait-before", "graphile-worker", "pgqueuer", "pg-boss"}


def _postgres(system: System) -> bool:
    return system.store == "postgres"


MEASURES: Final[Sequence[Measure]] = (
    Measure(name="enqueue", run=throughput.enqueue, rows="enqueue_one, enqueue_32", quick=True),
    Measure(
        name="process_1",
        run=throughput.process_1,
        rows="enqueue_bulk, process_1, cpu_client_us, cpu_server_us, wal_bytes",
        quick=True,
    ),
    Measure(name="process_2", run=throughput.process_2, rows="process_2", quick=True),
    Measure(name="pickup", run=throughput.pickup, rows="pickup_p50_ms, pickup_p95_ms, pickup_p99_ms", quick=True),
    Measure(
        name="limits",
        run=machine_limits.limits,
        rows="enqueue_one, enqueue_bulk, cycle, process_1 of limit_…",
        applies=_plait,
        quick=True,
    ),
    Measure(
        name="fan_out",
        run=workflows.fan_out,
        rows="fan_out_1000_s",
        applies=lambda s: s.durable_settings is not None,
        quick=True,
    ),
    Measure(
        name="steps",
        run=workflows.steps,
        rows="steps_per_s",
        applies=lambda s: s.durable_settings is not None and s.name != "celery",
        quick=True,
    ),
    Measure(
        name="resume",
        run=workflows.resume,
        rows="resume_ms, resume_replay_ms, resume_1000_steps_ms, resume_replay_1000_steps_ms, resume_10000_steps_ms",
        applies=lambda s: s.durable_settings is not None and s.name != "celery",
    ),
    Measure(name="waiting", run=workflows.waiting, rows="memory_10000_waiting_mb", applies=_plait, rounds=1),
    Measure(name="enqueue_8", run=scale.enqueue_8, rows="enqueue_8"),
    Measure(name="tenants", run=scale.many_tenants, rows="process_1_tenants_1, …_100, …_10000", applies=_plait),
    Measure(name="limited", run=scale.limits_on, rows="process_1_limits, process_1_key_limits", applies=_plait),
    Measure(
        name="memory",
        run=throughput.memory,
        rows="memory_500_mb",
        applies=lambda s: s.memory_settings is not None,
        rounds=1,
    ),
    Measure(name="idle", run=throughput.idle, rows="idle_cpu_percent, idle_queries_per_s", rounds=1),
    Measure(name="crowd_finished", run=scale.crowd_finished, rows="process_1_1m_finished", applies=_plait, rounds=1),
    Measure(name="crowd_queued", run=scale.crowd_queued, rows="process_1_1m_queued", applies=_fast, rounds=1),
    Measure(
        name="sustained",
        run=scale.sustained,
        rows="sustained, …_first_10s, …_last_10s, …_last_to_first",
        applies=_fast,
        rounds=1,
    ),
    Measure(
        name="old_snapshot",
        run=scale.old_snapshot,
        rows="old_snapshot, …_first_10s, …_last_10s, …_last_to_first",
        applies=_fast,
        rounds=1,
    ),
)
