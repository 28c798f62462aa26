"""Database functions for durable functions: checkpoints, fan-outs, waits. Every write is fenced by (worker, job, attempt)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from plait.model.states import Status
from plait.store.database import Database, Row
from plait.store.named_arguments import named
from plait.store.new_jobs import NewJob, arrays_of

StepKind = Literal[
    "call",
    "transaction",
    "version",
    "fan_out",
    "stream",
    "sleep",
    "signal",
    "spawn",
    "nursery",
    "after",
    "join",
    "timer",
    "cancel",
]
Suspension = Literal["suspended", "opened", "ready", "waiting", "stale", "canceled"]

PAGE_BYTES: Final = 8 * 1024 * 1024
"""The values of steps and the results of children are loaded in pages. A page ends after the value that reaches this size. A value in a row
has at most 1 MiB."""


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The lease under which one attempt writes: its worker, job and number."""

    worker: int
    job_id: UUID
    attempt: int


class NodePlace(msgspec.Struct, frozen=True, gc=False):
    """A position in a workflow: a child of a fan-out."""

    fan_out_id: UUID | None
    fan_out_index: int | None


class StepKey(msgspec.Struct, frozen=True, gc=False):
    """The identity of a step: its branch, its name, and its occurrence in that branch. `seq`: its number among all steps."""

    branch: str
    name: str
    occurrence: int
    seq: int


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """The end of a step: a value or an error. `finished` is its place in the order of ends; None if its branch was canceled. `took_s`: how long it ran."""

    lease: Lease
    key: StepKey
    kind: StepKind
    finished: int | None
    hash: str | None
    value: str | None
    error: str | None
    took_s: float | None = None


class StepRow(msgspec.Struct, frozen=True, gc=False):
    """A recorded step. `decision`, `decided_ended` and `total` describe its fan-out. `left_out`: its value was omitted."""

    branch: str
    name: str
    occurrence: int
    seq: int
    finished: int | None
    kind: StepKind
    hash: str | None
    value: str | None
    error: str | None
    done: bool
    due_at: datetime | None
    fan_out_id: UUID | None
    decision: str | None
    decided_ended: int | None
    total: int | None
    left_out: bool = False


class Wait(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One wait of a job, as an element of the argument of `plait.await_steps`."""

    branch: str
    name: str
    occurrence: int
    seq: int
    kind: StepKind
    hash: str | None = None
    delay_s: float | None = None
    until: datetime | None = None
    fan_out_id: UUID | None = None
    ended: int | None = None


class StepEnd(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A wait that has ended."""

    branch: str
    name: str
    occurrence: int
    finished: int
    value: msgspec.Raw
    error: str | None


CHILD_FIELDS: Final = ("id", "definition", "payload", "queue", "priority", "max_attempts", "timeout_s", "limit_key")
"""The fields of a new job that `open_fan_out` accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFanOut:
    """A fan-out and its step. `early`: it is decided as soon as `needed` children have succeeded, without waiting for the remaining children."""

    id: UUID
    key: StepKey
    hash: str
    strategy: str
    needed: int
    early: bool
    timeout_s: float | None
    cancel_remaining: bool | None
    """When to cancel the remaining children. True: once the fan-out is decided. None: only if it failed. False: never."""
    cancel_on_parent_failure: bool
    nested: bool
    streamed: bool


class ChildOutcome(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one child. `position`: pass it as `after` to continue."""

    position: int
    index: int
    job_id: UUID
    definition: str
    status: Status
    result: str | None
    error: str | None
    reason: str | None
    attempt: int
    failure: str | None = None


class Workflows:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def save_steps(self, worker: int, steps: Sequence[Checkpoint]) -> list[int]:
        """Checkpoint steps. Returns the positions of the steps whose lease is lost."""
        stale = await self._db.fetchval(SAVE_STEPS, worker, *step_columns(steps).values())
        return [position - 1 for position in stale or ()]

    async def resume_steps(self, lease: Lease, *, most_bytes: int = PAGE_BYTES) -> list[StepRow] | None:
        """Load the recorded steps of the job, in order. Values after `most_bytes` are omitted. Returns None if the lease is lost."""
        rows = await self._db.fetch(_RESUME_STEPS, lease.worker, lease.job_id, lease.attempt, most_bytes)
        if rows and rows[0]["name"] is None:
            return None
        return [StepRow(*row) for row in rows]

    async def step_values(
        self, lease: Lease, first: StepRow, *, most_bytes: int = PAGE_BYTES
    ) -> dict[tuple[str, str, int], str] | None:
        """Load the values of a step and of later steps, by branch, name and occurrence. Returns None if the lease is lost."""
        sql = (
            "select * from plait.step_values(p_worker => $1, p_job => $2, p_attempt => $3, p_branch => $4, "
            "p_name => $5, p_occurrence => $6, p_seq => $7, p_bytes => $8)"
        )
        key = first.branch, first.name, first.occurrence, first.seq
        rows = await self._db.fetch(sql, lease.worker, lease.job_id, lease.attempt, *key, most_bytes)
        if rows and rows[0]["name"] is None:
            return None
        return {(row["branch"], row["name"], row["occurrence"]): row["value"] for row in rows}

    async def drop_steps(self, lease: Lease, branches: Sequence[str], *, since: int) -> None:
        """Drop the steps of these branches from the number `since` on. They run again in the next attempt."""
        await self._db.fetchval(
            "select plait.drop_steps($1, $2, $3, $4, $5)",
            lease.worker,
            lease.job_id,
            lease.attempt,
            list(branches),
            since,
        )

    async def abandon_fan_outs(self, lease: Lease, fan_outs: Sequence[UUID]) -> None:
        """Stop waiting for these fan-outs, and cancel their open children."""
        await self._db.fetchval(
            "select plait.abandon_fan_outs($1, $2, $3, $4)", lease.worker, lease.job_id, lease.attempt, list(fan_outs)
        )

    async def continue_as_new(self, lease: Lease, payload: str, undelivered: Sequence[StepKey] = ()) -> Suspension:
        """Restart the job with this payload, without steps. Signals that the `undelivered` steps had received become unread again."""
        status: Suspension = await self._db.fetchval(
            "select plait.continue_as_new($1, $2, $3, $4, $5)",
            lease.worker,
            lease.job_id,
            lease.attempt,
            payload,
            msgspec.json.encode(undelivered).decode() if undelivered else None,
        )
        return status

    async def open_fan_out(
        self,
        lease: Lease,
        fan_out: NewFanOut,
        children: Sequence[NewJob],
        *,
        finished: int | None = None,
        suspend: bool = True,
    ) -> Suspension:
        given = {
            "p_worker": lease.worker,
            "p_job": lease.job_id,
            "p_attempt": lease.attempt,
            "p_fan_out": fan_out.id,
            "p_name": fan_out.key.name,
            "p_occurrence": fan_out.key.occurrence,
            "p_seq": fan_out.key.seq,
            "p_hash": fan_out.hash,
            "p_strategy": fan_out.strategy,
            "p_needed": fan_out.needed,
            "p_early": fan_out.early,
            "p_timeout_s": fan_out.timeout_s,
            "p_cancel_remaining": fan_out.cancel_remaining is not False,
            "p_cancel_on_parent_failure": fan_out.cancel_on_parent_failure,
            "p_nested": fan_out.nested,
            "p_streamed": fan_out.streamed,
            "p_branch": fan_out.key.branch,
            "p_finished": finished,
            "p_suspend": suspend,
            "p_cancel_late": fan_out.cancel_remaining is True,
            **arrays_of(children, CHILD_FIELDS, once=True),
        }
        status: Suspension = await self._db.fetchval(f"select plait.open_fan_out({named(given)})", *given.values())
        return status

    async def gather(
        self, job_id: UUID, fan_out_id: UUID, *, after: int = -1, limit: int = 5000, most_bytes: int | None = None
    ) -> list[ChildOutcome]:
        """Load the outcomes of at most `limit` children. Stops early after the outcome that reaches `most_bytes`."""
        rows = await self._db.fetch(_GATHER, job_id, fan_out_id, after, limit, most_bytes)
        return _child_outcomes(rows)

    async def await_steps(
        self, lease: Lease, waits: Sequence[Wait], abandoned: Sequence[StepKey], *, next_number: int, suspend: bool
    ) -> tuple[Suspension, list[StepEnd], float | None]:
        """Suspend until one of these waits ends, or return the waits that have ended. Also returns the seconds until the next wait is due."""
        row = await self._db.fetchrow(
            "select * from plait.await_steps(p_worker => $1, p_job => $2, p_attempt => $3, p_next => $4, "
            "p_suspend => $5, p_waits => $6, p_abandoned => $7)",
            lease.worker, lease.job_id, lease.attempt, next_number, suspend,
            msgspec.json.encode(waits).decode(), msgspec.json.encode(abandoned).decode() if abandoned else None,
        )  # fmt: skip
        ended = msgspec.json.decode(row["o_ended"], type=list[StepEnd]) if row["o_ended"] else []
        return row["o_status"], ended, row["o_next_s"]


# Rows are built by position, so the statement selects the columns in the order of the fields.
_RESUME_STEPS: Final = f"select {', '.join(StepRow.__struct_fields__)} from plait.resume_steps($1, $2, $3, $4)"
_GATHERED: Final = {"position": "o_position", "index": "fan_out_index"}
_GATHER: Final = (
    f"select {', '.join(_GATHERED.get(field, field) for field in ChildOutcome.__struct_fields__)} "
    "from plait.gather($1, $2, $3, $4, $5)"
)
_STATUS: Final = ChildOutcome.__struct_fields__.index("status")


def _child_outcomes(rows: Sequence[Row]) -> list[ChildOutcome]:
    if not rows:
        return []
    columns: list[Any] = list(zip(*rows, strict=True))
    columns[_STATUS] = [Status(status) for status in columns[_STATUS]]
    return list(map(ChildOutcome, *columns))


def step_columns(steps: Sequence[Checkpoint]) -> dict[str, list[Any] | None]:
    """The arrays of `SAVE_STEPS`, by parameter name. An unused array is null."""
    return {
        "p_jobs": [step.lease.job_id for step in steps],
        "p_attempts": [step.lease.attempt for step in steps],
        "p_names": [step.key.name for step in steps],
        "p_occurrences": [step.key.occurrence for step in steps],
        "p_seqs": [step.key.seq for step in steps],
        "p_kinds": [step.kind for step in steps],
        "p_hashes": _used([step.hash for step in steps]),
        "p_values": _used([step.value for step in steps]),
        "p_errors": _used([step.error for step in steps]),
        "p_branches": [step.key.branch for step in steps] if any(step.key.branch for step in steps) else None,
        "p_finished": [step.finished for step in steps],
        "p_done": _used([False if step.finished is None else None for step in steps]),
        "p_took_s": _used([step.took_s for step in steps]),
    }


def _used(column: list[Any]) -> list[Any] | None:
    return None if column.count(None) == len(column) else column


SAVE_STEPS: Final = f"select plait.save_steps({named(('p_worker', *step_columns(())))})"
