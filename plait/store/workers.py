"""A worker's calls: register, cycle, renew its lease, leave.

`cycle` is the hot path. It uses the worker's own connection, passes arrays of built-in types, and decodes only
the columns that it needs.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import asyncpg
import msgspec

from plait.model.states import AttemptOutcome
from plait.model.worker_states import EndState, WorkerFilter
from plait.store.database import UNREACHABLE, Database, say_goodbye, translate
from plait.store.named_arguments import named
from plait.store.worker_rows import LastJob, WorkerRow

CAREFUL_S: Final = 1.0
"""For this long after a lock timeout, batches skip outcomes whose rows are locked."""
_OUTCOMES: Final = ("p_jobs", "p_attempts", "p_outcomes", "p_results", "p_details", "p_ran_ms")
"""The parameters for the arrays of `_columns`, in the same order."""
_SETTLED: Final = named(("p_worker", *_OUTCOMES))
_CYCLE: Final = "select * from plait.cycle(" + named((
    "p_worker", "p_queues", "p_limits", "p_cursors", "p_lane_cursors", *_OUTCOMES, "p_sleep", "p_bounds", "p_careful",
)) + ")"  # fmt: skip


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one attempt. `detail` is JSON: error, traceback, reason, permanent, delay_s, pid, exit_code."""

    job_id: UUID
    attempt: int
    outcome: AttemptOutcome
    result: str | None = None
    detail: str | None = None
    ran_ms: float | None = None
    definition: str = ""
    """Used only for metrics, and not sent to the database."""


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """A claimed job, with the fields that a worker needs to run it."""

    job_id: UUID
    attempt: int
    failed_attempts: int
    max_attempts: int
    tenant_id: UUID
    definition: str
    queue: str
    payload: str
    timeout_s: float | None
    correlation_id: str | None


_COLUMNS: Final = {
    "job_id": "o_jobs",
    "attempt": "o_attempts",
    "failed_attempts": "o_failed_attempts",
    "max_attempts": "o_max",
    "tenant_id": "o_tenants",
    "definition": "o_definitions",
    "queue": "o_queues",
    "payload": "o_payloads",
    "timeout_s": "o_timeouts",
    "correlation_id": "o_correlations",
}
"""The column of `plait.cycle` for each field."""
_CLAIMED: Final = tuple(_COLUMNS[field] for field in Claimed.__struct_fields__)
"""The columns in the order of the fields, because the hot path builds jobs by position."""


@dataclass(slots=True)
class Cursor:
    """The position at which the next fair claim on a queue continues, among tenants and among lanes, and the scan bounds that skip deleted rows."""

    tenant: UUID | None = None
    lane: str | None = None
    bounds: str | None = None
    """Scan bounds: where the next claim starts reading the index. Opaque to the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    alive: bool
    claimed: list[Claimed]
    stale: list[int]
    """Positions, from 0, of settlements that had no effect because the lease was lost."""
    cancels: list[tuple[UUID, int]]
    busy: list[int] = field(default_factory=list)
    """Positions of settlements whose rows are locked by another transaction. They were not recorded and must be sent again."""
    alone: bool | None = None
    """Whether no other worker serves its queues. None if this was not checked, because the cycle claimed too few jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    running: int
    cancels: list[tuple[UUID, int]]
    released: int
    gone: list[UUID]
    """Jobs whose lease is lost: their handlers must stop."""


class Workers:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def register(
        self,
        *,
        host: str,
        pid: int,
        version: str,
        queues: Sequence[str],
        definitions: Sequence[str],
        lease_s: float,
        metadata: dict[str, Any] | None = None,
        node: str | None = None,
        holder: str | None = None,
        labels: Mapping[str, str] | None = None,
        url: str | None = None,
        build: str | None = None,
    ) -> int:
        """Register a worker. Returns its id. `node`: the worker's node. `holder`: the name of its process in leader elections. `url`: the URL
        of the API in that process. `build`: the build of its code."""
        return int(
            await self._db.fetchval(
                "select plait.register_worker(p_host => $1, p_pid => $2, p_version => $3, p_queues => $4, "
                "p_definitions => $5, p_lease_s => $6, p_metadata => $7::json, p_node => $8, p_holder => $9, "
                "p_labels => $10::json, p_url => $11, p_build => $12)",
                host,
                pid,
                version,
                list(queues),
                list(definitions),
                lease_s,
                msgspec.json.encode(metadata or {}).decode(),
                node,
                holder,
                None if labels is None else msgspec.json.encode(dict(labels)).decode(),
                url,
                build,
            )
        )

    async def drain(self, worker: int) -> None:
        """Mark the worker as shutting down, so that its node takes no part in new node jobs."""
        await self._db.fetchval("select plait.drain($1)", worker)

    async def settle(self, worker: int, settlements: Sequence[Settlement]) -> list[bool]:
        """Record outcomes. Returns, for each outcome, whether this call or an earlier call recorded it."""
        rows = await self._db.fetch(f"select accepted from plait.settle({_SETTLED})", worker, *_columns(settlements))
        return [row["accepted"] for row in rows]

    async def settle_free(self, worker: int, settlements: Sequence[Settlement]) -> list[bool | None]:
        """Like `settle`, but returns None for an outcome whose rows are locked by another transaction. Send that outcome again."""
        rows = await self._db.fetch(
            f"select accepted from plait.settle({_SETTLED}, p_careful => true)", worker, *_columns(settlements)
        )
        return [row["accepted"] for row in rows]

    async def claim(self, worker: int, queue: str, limit: int = 1, *, sleep: bool = False) -> list[Claimed]:
        """Claim jobs of one queue. `sleep`: if there are none, mark the worker as waiting, so that enqueues notify it."""
        rows = await self._db.fetch("select * from plait.claim($1, $2, $3, $4)", worker, queue, limit, sleep)
        given: list[dict[str, Any]] = [{**row, "queue": queue} for row in rows]
        return [Claimed(**{field: one[field] for field in Claimed.__struct_fields__}) for one in given]

    async def heartbeat(
        self,
        worker: int,
        *,
        running: int,
        held: Sequence[tuple[UUID, int]] | None = None,
        blocked_s: float | None = None,
        blocked_job: UUID | None = None,
        prefetched: int = 0,
    ) -> Beat:
        """Renew the worker's lease. `blocked_s`, `blocked_job`: how long its event loop has been blocked, and by which job. `prefetched`: the number of jobs that are claimed but
        not started."""
        row = await self._db.fetchrow(
            "select * from plait.heartbeat(p_worker => $1, p_running => $2, p_held => $3, "
            "p_held_attempts => $4, p_blocked_s => $5, p_blocked_job => $6, p_prefetched => $7)",
            worker,
            running,
            None if held is None else [job for job, _ in held],
            None if held is None else [attempt for _, attempt in held],
            blocked_s,
            blocked_job,
            prefetched,
        )
        return Beat(
            running=row["o_running"],
            cancels=_pairs(row["o_cancel_jobs"], row["o_cancel_attempts"]),
            released=row["o_released"],
            gone=row["o_gone"] or [],
        )

    async def progress(
        self, worker: int, job_id: UUID, attempt: int, progress: str | None, state: str | None = None
    ) -> bool:
        """Store the progress of a running attempt. Returns False if its lease is lost."""
        sql = "select plait.progress($1, $2, $3, $4::json, $5::json)"
        return bool(await self._db.fetchval(sql, worker, job_id, attempt, progress, state))

    async def last_report(self, worker: int, job_id: UUID, attempt: int) -> tuple[str | None, str | None]:
        """The last progress and state of earlier attempts."""
        row = await self._db.fetchrow("select * from plait.last_report($1, $2, $3)", worker, job_id, attempt)
        return row["o_progress"], row["o_state"]

    async def log_attempt(
        self, worker: int, job_id: UUID, attempt: int, *, stdout: str, stderr: str, progress: str | None
    ) -> bool:
        """Store the tail of a running attempt's output. Returns False if its lease is lost."""
        sql = (
            "select plait.log_attempt(p_worker => $1, p_job => $2, p_attempt => $3, p_stdout => $4, "
            "p_stderr => $5, p_progress => $6::text::json)"
        )
        return bool(await self._db.fetchval(sql, worker, job_id, attempt, stdout, stderr, progress))

    async def worker_key(self, worker: int) -> UUID | None:
        """The API key that registered an active worker."""
        key_id: UUID | None = await self._db.fetchval("select plait.worker_key($1)", worker)
        return key_id

    async def leave(self, worker: int, *, released: int = 0) -> int:
        """`released`: how many jobs the worker has released itself while it shut down."""
        return int(await self._db.fetchval("select plait.leave($1, $2)", worker, released))

    async def list_workers(self, *, state: WorkerFilter | None = None) -> list[WorkerRow]:
        """Workers that are alive, and those that were lost or left within the last hour."""
        rows = await self._db.fetch("select * from plait.list_workers(p_state => $1)", state)
        return [WorkerRow(**row) for row in rows]

    async def get_worker(self, worker: int) -> WorkerRow | None:
        rows = await self._db.fetch("select * from plait.list_workers(p_worker => $1)", worker)
        return WorkerRow(**rows[0]) if rows else None

    async def history(
        self, *, state: EndState | None = None, host: str | None = None, before: int | None = None, limit: int = 50
    ) -> list[WorkerRow]:
        """Workers that were lost or left, the last first."""
        rows = await self._db.fetch("select * from plait.worker_history($1, $2, $3, $4)", state, host, before, limit)
        return [WorkerRow(**row) for row in rows]

    async def last_jobs(self, worker: int) -> list[LastJob]:
        """Jobs that were assigned to a worker when it was lost or left, at most 100."""
        return [LastJob(**row) for row in await self._db.fetch("select * from plait.worker_jobs($1)", worker)]


class CycleConnection:
    """A connection for `cycle`. It is not safe for concurrent calls: a worker has one connection per concurrent round trip of its pump."""

    def __init__(self, connection: asyncpg.Connection, statement_s: float | None) -> None:
        self._connection = connection
        self._careful_until = 0.0
        self._statement_s = statement_s

    @classmethod
    async def open(cls, database: Database) -> "CycleConnection":
        return cls(await database.connect(), database.statement_s)

    async def close(self) -> None:
        await say_goodbye(self._connection)

    def terminate(self) -> None:
        self._connection.terminate()

    async def cycle(
        self,
        worker: int,
        wanted: dict[str, int],
        cursors: dict[str, Cursor],
        settlements: Sequence[Settlement],
        *,
        sleep: bool,
        careful: bool = False,
    ) -> Cycle:
        """Settle outcomes, then claim up to `wanted` jobs of each queue. Advances the cursors.

        The database waits about 300 ms for rows that other transactions lock. After that, the batch is sent again without waiting for locks.
        """
        queues = [queue for queue, limit in wanted.items() if limit > 0]
        at = [cursors.setdefault(queue, Cursor()) for queue in queues]
        settled = _columns(settlements) if settlements else [None] * 6
        arguments = [
            worker,
            queues,
            [wanted[queue] for queue in queues],
            [cursor.tenant for cursor in at],
            [cursor.lane for cursor in at],
            *settled,
            sleep,
            [cursor.bounds for cursor in at],
        ]
        careful = careful or time.monotonic() < self._careful_until
        try:
            try:
                row = await self._connection.fetchrow(_CYCLE, *arguments, careful)
            except asyncpg.LockNotAvailableError:
                if careful or not settlements:
                    raise
                self._careful_until = time.monotonic() + CAREFUL_S
                row = await self._connection.fetchrow(_CYCLE, *arguments, True)
        except (asyncpg.PostgresError, *UNREACHABLE) as error:
            ours = translate(error, statement_s=self._statement_s)
            if ours is error:
                raise
            raise ours from error
        if row["o_cursors"]:
            for cursor, *moved in zip(at, row["o_cursors"], row["o_lane_cursors"], row["o_bounds"], strict=True):
                cursor.tenant, cursor.lane, cursor.bounds = moved
        jobs = row["o_jobs"] or []
        count = len(jobs)
        return Cycle(
            alive=row["o_alive"],
            claimed=list(map(Claimed, *(_all(row[column], count) for column in _CLAIMED))) if jobs else [],
            stale=[position - 1 for position in row["o_stale"] or ()],
            cancels=_pairs(row["o_cancel_jobs"], row["o_cancel_attempts"]),
            busy=[position - 1 for position in row["o_busy"] or ()],
            alone=row["o_alone"],
        )


def _columns(settlements: Sequence[Settlement]) -> list[Any]:
    """The six arrays of `plait.settle`. An unused column is null. If all attempts succeeded, the outcomes are null."""
    outcomes = [s.outcome for s in settlements]
    return [
        [s.job_id for s in settlements],
        [s.attempt for s in settlements],
        None if outcomes.count(AttemptOutcome.SUCCEEDED) == len(outcomes) else [outcome.value for outcome in outcomes],
        _used([s.result for s in settlements]),
        _used([s.detail for s in settlements]),
        _used([s.ran_ms for s in settlements]),
    ]


def _used(column: list[Any]) -> list[Any] | None:
    return None if column.count(None) == len(column) else column


def _all(values: list[Any] | None, count: int) -> list[Any]:
    """Expand a column: a common value is sent once, and a column without values is null."""
    if not values:
        return [None] * count
    return values if len(values) == count else values * count


def _pairs(jobs: list[UUID] | None, attempts: list[int] | None) -> list[tuple[UUID, int]]:
    return list(zip(jobs or (), attempts or (), strict=True))
