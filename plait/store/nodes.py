"""The machines of the cluster, and the parts that they have in node jobs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from plait.model.states import Status
from plait.store.database import Database, Row
from plait.store.trees import Lease

NodeState = Literal["active", "draining", "lost", "left"]
Rule = Literal["quorum", "timeout", "node_failed", "quorum_lost"]
"""Which rule decided a node job: enough nodes were done; the time was up; a node failed; too many have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    name: str
    state: NodeState
    leads: bool
    url: str | None
    version: str | None
    labels: str
    workers: int
    running: int
    open: int
    """Parts of node jobs that wait for it, or run there."""
    joined_at: datetime
    seen_at: datetime
    seen_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNode:
    """What one node has made of its part of a node job; what follows `finished_at` tells of the job as a whole."""

    node: str
    job_id: UUID
    definition: str
    status: Status | None
    """None, for the leader, where the node is late."""
    attempt: int
    late: bool
    """It had not ended when the job was decided: whatever it comes to changes nothing."""
    result: str | None
    error: str | None
    finished_at: datetime | None
    rule: Rule | None
    """Which decided the job; None: it is not decided."""
    decided_at: datetime | None
    total: int
    needed: int


class Nodes:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def list_nodes(self) -> list[Node]:
        return [Node(**row) for row in await self._db.fetch("select * from plait.list_nodes()")]

    async def job_nodes(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[JobNode]:
        """The nodes of a node job, by name; none of any other."""
        return await self._job_nodes("select * from plait.job_nodes($1, $2, $3)", job_id, tenant_id, all_tenants)

    async def gather_nodes(self, job_id: UUID) -> list[JobNode]:
        """What the leader acts on: the same each time."""
        return await self._job_nodes("select * from plait.gather_nodes($1)", job_id)

    async def open_nodes(self, lease: Lease, seq: int) -> str:
        """Ask the nodes of a node job: suspended, none when there are too few of them, stale or canceled."""
        status: str = await self._db.fetchval(
            "select plait.open_nodes($1, $2, $3, $4)", lease.worker, lease.job_id, lease.attempt, seq
        )
        return status

    async def _job_nodes(self, sql: str, *args: Any) -> list[JobNode]:
        return [_job_node(row) for row in await self._db.fetch(sql, *args)]


def _job_node(row: Row) -> JobNode:
    return JobNode(**{**row, "status": row["status"] and Status(row["status"])})
