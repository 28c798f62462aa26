"""Children and siblings that a running job spawns, and its follow-ups."""

from collections.abc import Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from plait.model.states import Status
from plait.store.database import Database
from plait.store.named_arguments import named
from plait.store.new_jobs import NewJob, arrays_of
from plait.store.workflows import CHILD_FIELDS, Lease, StepKey

Answer = Literal["ready", "stale", "canceled"]


SPAWN_FIELDS: Final = (*CHILD_FIELDS, "delay_s", "dedupe_key")
"""The fields of a new job that `spawn_many` and `after_many` accept."""


class SpawnStep(msgspec.Struct, frozen=True, kw_only=True):
    """The step that records the ids of the spawned jobs."""

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
        self, lease: Lease, step: SpawnStep, jobs: Sequence[NewJob], *, nursery: UUID | None, sibling: bool
    ) -> tuple[Answer, list[UUID]]:
        """Spawn jobs. Returns their ids. If a dedupe key is in use, returns the id of the existing job."""
        given = {**_spawned(lease, step, jobs), "p_nursery": nursery, "p_sibling": sibling}
        row = await self._db.fetchrow(f"select * from plait.spawn_many({named(given)})", *given.values())
        return row["o_status"], row["o_ids"] or []

    async def after_many(
        self, lease: Lease, step: SpawnStep, jobs: Sequence[NewJob], *, always: bool
    ) -> tuple[Answer, list[UUID]]:
        """Add follow-ups. Returns their ids. If a dedupe key is in use, returns the id of the existing job. `always`: the follow-ups run after any
        outcome, and are stored now."""
        given = {**_spawned(lease, step, jobs), "p_always": always}
        row = await self._db.fetchrow(f"select * from plait.after_many({named(given)})", *given.values())
        return row["o_status"], row["o_ids"] or []

    async def list_dependencies(
        self, job_id: UUID, tenant_id: UUID, *, after: int = -1, last: bool = False
    ) -> list[DependencyRow]:
        """List the dependencies of a job after the index `after`, with a few megabytes of results per call. With `last`, only the last dependency."""
        rows = await self._db.fetch(
            "select * from plait.list_dependencies($1, $2, $3, $4)", job_id, tenant_id, after, last
        )
        return [DependencyRow(**{**row, "status": Status(row["status"])}) for row in rows]

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
            "select plait.open_nursery(p_worker => $1, p_job => $2, p_attempt => $3, p_nursery => $4, "
            "p_name => $5, p_occurrence => $6, p_seq => $7, p_serial => $8, p_stop => $9, p_nested => $10, "
            "p_cancel_on_parent_failure => $11, p_branch => $12, p_finished => $13)",
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


def _spawned(lease: Lease, step: SpawnStep, jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The arguments of `spawn_many` and `after_many`, by name."""
    return {
        "p_worker": lease.worker,
        "p_job": lease.job_id,
        "p_attempt": lease.attempt,
        "p_name": step.key.name,
        "p_occurrence": step.key.occurrence,
        "p_seq": step.key.seq,
        "p_hash": step.hash,
        "p_branch": step.key.branch,
        "p_finished": step.finished,
        **arrays_of(jobs, SPAWN_FIELDS),
    }
