"""The nodes of the cluster, and their parts of node jobs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from plait.model.states import Status
from plait.store.database import Database, Row
from plait.store.workflows import Lease

NodeState = Literal["active", "draining", "lost", "left"]
Rule = Literal["quorum", "timeout", "node_failed", "quorum_lost"]
"""The rule that decided a node job. `quorum_lost`: too many nodes failed to reach the quorum."""


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
    """Unfinished parts of node jobs on this node."""
    joined_at: datetime
    seen_at: datetime
    seen_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNode:
    """The result of a node's part of a node job; the fields after `finished_at` describe the job as a whole."""

    node: str
    job_id: UUID
    definition: str
    status: Status | None
    """None in `gather_nodes` if the node is late."""
    attempt: int
    late: bool
    """Whether the node had not finished when the job was decided. The outcome of a late node has no effect."""
    result: str | None
    error: str | None
    finished_at: datetime | None
    rule: Rule | None
    """The rule that decided the job; None if it is not decided."""
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
        """List the nodes of a node job, by name. Empty for other jobs."""
        return await self._job_nodes("select * from plait.job_nodes($1, $2, $3)", job_id, tenant_id, all_tenants)

    async def gather_nodes(self, job_id: UUID) -> list[JobNode]:
        """The results that the leader acts on. Every call returns the same results."""
        return await self._job_nodes("select * from plait.gather_nodes($1)", job_id)

    async def open_nodes(self, lease: Lease, seq: int) -> str:
        """Start the parts of a node job. Returns `suspended`, `none` if there are too few nodes, `stale` or `canceled`."""
        status: str = await self._db.fetchval(
            "select plait.open_nodes($1, $2, $3, $4)", lease.worker, lease.job_id, lease.attempt, seq
        )
        return status

    async def _job_nodes(self, sql: str, *args: Any) -> list[JobNode]:
        return [_job_node(row) for row in await self._db.fetch(sql, *args)]


def _job_node(row: Row) -> JobNode:
    return JobNode(**{**row, "status": row["status"] and Status(row["status"])})
