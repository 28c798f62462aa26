"""The cluster: its nodes, the leader, and each node's result in a node job. A follower rejects node jobs with 421 and the leader's URL."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.redaction import composed
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask
from plait.model.errors import NotLeader
from plait.model.states import Status

router = new_router("cluster")


class ClusterNode(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"labels"})
    FROM: ClassVar[dict[str, str]] = names.NODE

    name: str
    state: str = Field(description="active, draining, lost or left.")
    leads: bool
    url: str | None
    version: str | None
    labels: Any
    workers: int
    running_count: int
    open_count: int = Field(description="Unfinished parts of node jobs on this node.")
    joined_at: datetime
    last_seen_at: datetime


class Leading(Shape):
    holder: str = Field(description="Name of the leader's process.")
    term: int
    since: datetime
    expires_at: datetime
    node: str | None
    url: str | None


class Cluster(BaseModel):
    leader: Leading | None = Field(description="Null if there is no leader.")
    nodes: list[ClusterNode]


class JobNode(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"result"})

    node: str
    job_id: UUID
    status: Status | None
    attempt: int
    late: bool = Field(
        description="Whether the node had not finished when the job was decided. The outcome of a late node has no effect."
    )
    result: Any
    error: str | None
    finished_at: datetime | None
    rule: str | None = Field(description="The rule that decided the job: quorum, timeout, node_failed or quorum_lost.")


@router.get("/cluster", response_model=Cluster)
async def get_cluster(ask: Ask) -> Response:
    """Get the nodes of the cluster and the leader."""
    leader = await ask.store.leader.get_leader()
    nodes = await ask.store.nodes.list_nodes()
    return Json({"leader": Leading.of(leader) if leader else None, "nodes": [ClusterNode.of(row) for row in nodes]})


@router.get("/jobs/{job_id}/nodes", response_model=Page[JobNode])
async def list_job_nodes(ask: Ask, job_id: UUID) -> Response:
    """List the results of a node job by node. The list is empty for other jobs."""
    job = await ask.store.jobs.get_job(job_id, **ask.scope)
    rows = await ask.store.nodes.job_nodes(job_id, **ask.scope)
    return Json(
        {"items": await composed(lambda: [JobNode.of(row, about=job.definition) for row in rows]), "next": None}
    )


async def refuse_unless_leading(request: Request) -> None:
    """Reject with 421 and the leader's URL if this process belongs to a node that does not lead. A `plait api` process without a worker
    and without `PLAIT_API_URL` belongs to no node and accepts all node jobs."""
    holder, own_url = request.app.state.holder, request.app.state.settings.api_url
    if holder is None and own_url is None:
        return
    leader = await request.app.state.store.leader.get_leader()
    if leader is None or leader.url is None or leader.holder == holder:
        return
    if own_url is None or leader.url.rstrip("/") != own_url.rstrip("/"):
        raise NotLeader(leader.url)
