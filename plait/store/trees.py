"""What a durable job asks of the database: checkpoints, fan-outs, waiting. Every write is fenced by (worker, job, attempt)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from plait.model.states import Status
from plait.store.database import Database

StepKind = Literal[
    "call", "transaction", "version", "fan_out", "stream", "sleep", "signal", "spawn", "nursery", "after"
]
Suspension = Literal["suspended", "ready", "timeout", "stale", "canceled"]

SAVE_STEPS: Final = "select plait.save_steps($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The right of one attempt to write."""

    worker: int
    job_id: UUID
    attempt: int


class NodePlace(msgspec.Struct, frozen=True, gc=False):
    """Where in a tree: after this child of this fan-out."""

    fan_out_id: UUID | None
    fan_out_index: int | None


class StepKey(msgspec.Struct, frozen=True, gc=False):
    """Which step: the n-th of its name, asked for as the seq-th of all."""

    name: str
    occurrence: int
    seq: int


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """What a step has come to: a value, or a permanent error."""

    lease: Lease
    key: StepKey
    kind: StepKind
    overlapping: bool
    hash: str | None
    value: str | None
    error: str | None


class StepRow(msgspec.Struct, frozen=True, gc=False):
    """A step on record. `decision` and what follows it tell of its fan-out."""

    name: str
    occurrence: int
    seq: int
    kind: StepKind
    hash: str | None
    value: str | None
    error: str | None
    done: bool
    overlapping: bool
    due_at: datetime | None
    due: bool | None
    fan_out_id: UUID | None
    decision: str | None
    decided_ended: int | None
    total: int | None
    strategy: str | None


class NewChild(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One child of a fan-out: the columns of one element of `plait.open_fan_out`."""

    id: UUID
    definition: str
    payload: str
    queue: str | None = None
    priority: int | None = None
    max_attempts: int | None = None
    timeout_s: float | None = None
    limit_key: str | None = None


_REQUIRED: Final = ("id", "definition", "payload")
_OPTIONAL: Final = tuple(name for name in NewChild.__struct_fields__ if name not in _REQUIRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFanOut:
    """A fan-out, and the step that it is. `early`: decided as soon as `needed` have succeeded, not when all have ended."""

    id: UUID
    key: StepKey
    hash: str
    overlapping: bool
    strategy: str
    needed: int
    early: bool
    timeout_s: float | None
    cancel_remaining: bool
    cancel_on_parent_failure: bool
    nested: bool
    streamed: bool


class ChildRow(msgspec.Struct, frozen=True, gc=False):
    """How one child ended. `position` is where to go on."""

    position: int
    index: int
    job_id: UUID
    definition: str
    status: Status
    result: str | None
    error: str | None
    reason: str | None
    attempt: int


class Trees:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def save_steps(self, worker: int, steps: Sequence[Checkpoint]) -> list[int]:
        """Checkpoint; the positions of those whose lease is lost."""
        stale = await self._db.fetchval(SAVE_STEPS, worker, *step_columns(steps))
        return [position - 1 for position in stale or ()]

    async def load_steps(self, lease: Lease) -> list[StepRow] | None:
        """What the job has done so far, in order; None when the lease is lost."""
        rows = await self._db.fetch(
            "select * from plait.load_steps($1, $2, $3)", lease.worker, lease.job_id, lease.attempt
        )
        if rows and rows[0]["name"] is None:
            return None
        return [StepRow(*row) for row in rows]

    async def open_fan_out(self, lease: Lease, fan_out: NewFanOut, children: Sequence[NewChild]) -> Suspension:
        arrays: list[Any] = [[getattr(child, name) for child in children] for name in _REQUIRED]
        for name in _OPTIONAL:
            column = [getattr(child, name) for child in children]
            arrays.append(column if any(value is not None for value in column) else None)
        status: Suspension = await self._db.fetchval(
            _OPEN_FAN_OUT,
            lease.worker, lease.job_id, lease.attempt,
            fan_out.id, fan_out.key.name, fan_out.key.occurrence, fan_out.key.seq, fan_out.hash, fan_out.overlapping,
            fan_out.strategy, fan_out.needed, fan_out.early, fan_out.timeout_s,
            fan_out.cancel_remaining, fan_out.cancel_on_parent_failure, fan_out.nested, fan_out.streamed,
            *arrays,
        )  # fmt: skip
        return status

    async def gather(self, job_id: UUID, fan_out_id: UUID, *, after: int = -1, limit: int = 5000) -> list[ChildRow]:
        rows = await self._db.fetch("select * from plait.gather($1, $2, $3, $4)", job_id, fan_out_id, after, limit)
        return [
            ChildRow(row[0], row[1], row[2], row[3], Status(row[4]), row[5], row[6], row[7], row[8]) for row in rows
        ]

    async def suspend(
        self,
        lease: Lease,
        key: StepKey,
        kind: StepKind,
        *,
        overlapping: bool = False,
        hash: str | None = None,  # noqa: A002 - as the column is called
        delay_s: float | None = None,
        until: datetime | None = None,
        signal: str | None = None,
        fan_out_id: UUID | None = None,
        ended: int | None = None,
    ) -> tuple[Suspension, str | None]:
        """Wait, or be told why not; with the payload of a signal that was there."""
        row = await self._db.fetchrow(
            "select * from plait.suspend($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            lease.worker, lease.job_id, lease.attempt, key.name, key.occurrence, key.seq, overlapping, hash, kind,
            delay_s, until, signal, fan_out_id, ended,
        )  # fmt: skip
        return row["o_status"], row["o_value"]


_OPEN_FAN_OUT: Final = f"select plait.open_fan_out({', '.join(f'${number}' for number in range(1, 26))})"


def step_columns(steps: Sequence[Checkpoint]) -> list[Any]:
    """The arrays of `plait.save_steps`; a column that nobody uses is null."""
    hashes = [step.hash for step in steps]
    values = [step.value for step in steps]
    errors = [step.error for step in steps]
    return [
        [step.lease.job_id for step in steps],
        [step.lease.attempt for step in steps],
        [step.key.name for step in steps],
        [step.key.occurrence for step in steps],
        [step.key.seq for step in steps],
        [step.kind for step in steps],
        [step.overlapping for step in steps],
        hashes if any(value is not None for value in hashes) else None,
        values if any(value is not None for value in values) else None,
        errors if any(value is not None for value in errors) else None,
    ]
