"""Children and siblings that a running job spawns, and its follow-ups."""

from collections.abc import Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from plait.model.states import Status
from plait.store.database import Database
from plait.store.workflows import Lease, StepKey

Answer = Literal["ready", "stale", "canceled"]


class NewSpawn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A spawned job or a follow-up: the columns of one element of `plait.spawn_many`."""

    id: UUID
    definition: str
    payload: str
    queue: str | None = None
    priority: int | None = None
    max_attempts: int | None = None
    timeout_s: float | None = None
    delay_s: float | None = None
    dedupe_key: str | None = None
    limit_key: str | None = None


_REQUIRED: Final = ("id", "definition", "payload")


class SpawnStep(msgspec.Struct, frozen=True, kw_only=True):
    """The step that records the result."""

    key: StepKey
    hash: str
    finished: int


class DependencyRow(msgspec.Struct, frozen=True, gc=False):
    """The state of a dependency; `index`: its position among the dependencies."""

    index: int
    job_id: UUID
    definition: str
    status: Status
    result: str | None
    error: str | None
    reason: str | None
    attempt: int


class Nurseries:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def spawn_many(
        self, lease: Lease, step: SpawnStep, jobs: Sequence[NewSpawn], *, nursery: UUID | None, sibling: bool
    ) -> tuple[Answer, list[UUID]]:
        """Their ids; if an existing job has the dedupe key, that job's."""
        row = await self._db.fetchrow(
            _SPAWN_MANY, lease.worker, lease.job_id, lease.attempt, nursery, sibling, *_step(step), *_columns(jobs),
            step.key.branch, step.finished,
        )  # fmt: skip
        return row["o_status"], row["o_ids"] or []

    async def after_many(
        self, lease: Lease, step: SpawnStep, jobs: Sequence[NewSpawn], *, always: bool
    ) -> tuple[Answer, list[UUID]]:
        """Their ids. `always`: they run after any outcome, and wait from now on; an existing job with the dedupe key takes the place of one."""
        row = await self._db.fetchrow(
            _AFTER_MANY, lease.worker, lease.job_id, lease.attempt, *_step(step), *_columns(jobs),
            step.key.branch, step.finished, always,
        )  # fmt: skip
        return row["o_status"], row["o_ids"] or []

    async def list_dependencies(
        self, job_id: UUID, tenant_id: UUID, *, after: int = -1, last: bool = False
    ) -> list[DependencyRow]:
        """The dependencies of a job from an index on, a few megabytes of results at a time; with `last`, only the last one."""
        rows = await self._db.fetch(
            "select * from plait.list_dependencies($1, $2, $3, $4)", job_id, tenant_id, after, last
        )
        return [DependencyRow(row[0], row[1], row[2], Status(row[3]), *row[4:]) for row in map(tuple, rows)]

    async def open_nursery(
        self,
        lease: Lease,
        key: StepKey,
        nursery: UUID,
        *,
        finished: int,
        serial: bool,
        stop: bool,
        nested: bool,
        cancel_on_parent_failure: bool,
    ) -> Answer:
        answer: Answer = await self._db.fetchval(
            "select plait.open_nursery($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            lease.worker, lease.job_id, lease.attempt, nursery, key.name, key.occurrence, key.seq,
            serial, stop, nested, cancel_on_parent_failure, key.branch, finished,
        )  # fmt: skip
        return answer

    async def job_info(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> dict[str, Any]:
        """The merged info of a job and its descendants."""
        text = await self._db.fetchval("select plait.job_info($1, $2, $3)::text", job_id, tenant_id, all_tenants)
        merged: dict[str, Any] = msgspec.json.decode(text)
        return merged

    async def has_pending_children(self, job_id: UUID, tenant_id: UUID) -> bool:
        return bool(await self._db.fetchval("select plait.has_pending_children($1, $2)", job_id, str(tenant_id)))

    async def has_failed_siblings(self, job_id: UUID, tenant_id: UUID) -> bool:
        return bool(await self._db.fetchval("select plait.has_failed_siblings($1, $2)", job_id, str(tenant_id)))


_SPAWN_MANY: Final = f"select * from plait.spawn_many({', '.join(f'${number}' for number in range(1, 22))})"
_AFTER_MANY: Final = f"select * from plait.after_many({', '.join(f'${number}' for number in range(1, 21))})"


def _step(step: SpawnStep) -> list[Any]:
    return [step.key.name, step.key.occurrence, step.key.seq, step.hash]


def _columns(jobs: Sequence[NewSpawn]) -> list[Any]:
    """The arrays; an unused column is null."""
    arrays: list[Any] = []
    for name in NewSpawn.__struct_fields__:
        column = [getattr(job, name) for job in jobs]
        arrays.append(column if name in _REQUIRED or any(value is not None for value in column) else None)
    return arrays
