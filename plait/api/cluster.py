"""The cluster: its nodes, who leads, and what each node has made of a node job. Who asks a follower for one is told where the leader is."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel, Field

from plait.api.guard import new_router
from plait.api.privacy import composed
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask
from plait.model.errors import NotLeader
from plait.model.states import Status

router = new_router("cluster")


class ClusterNode(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"labels"})
    FROM: ClassVar[dict[str, str]] = {"running_count": "running", "open_count": "open", "last_seen_at": "seen_at"}

    name: str
    state: str = Field(description="active, draining, lost or left.")
    leads: bool
    url: str | None
    version: str | None
    labels: Any
    workers: int
    running_count: int
    open_count: int = Field(description="Parts of node jobs that wait for it, or run there.")
    joined_at: datetime
    last_seen_at: datetime


class Leading(Shape):
    holder: str = Field(description="The process that leads.")
    term: int
    since: datetime
    expires_at: datetime
    node: str | None
    url: str | None


class Cluster(BaseModel):
    leader: Leading | None = Field(description="None: nobody leads now.")
    nodes: list[ClusterNode]


class JobNode(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"result"})

    node: str
    job_id: UUID
    status: Status | None
    attempt: int
    late: bool = Field(description="It had not ended when the job was decided: what it comes to changes nothing.")
    result: Any
    error: str | None
    finished_at: datetime | None
    rule: str | None = Field(description="What decided the job: quorum, timeout, node_failed or quorum_lost.")


@router.get("/cluster", response_model=Cluster)
async def get_cluster(ask: Ask) -> Response:
    """The machines that workers run on, and who leads."""
    leader = await ask.store.leader.get_leader()
    nodes = await ask.store.nodes.list_nodes()
    return Json({"leader": Leading.of(leader) if leader else None, "nodes": [ClusterNode.of(row) for row in nodes]})


@router.get("/jobs/{job_id}/nodes", response_model=Page[JobNode])
async def list_job_nodes(ask: Ask, job_id: UUID) -> Response:
    """What each node has made of its part of a node job; nothing for any other job."""
    job = await ask.store.jobs.get_job(job_id, **ask.scope)
    rows = await ask.store.nodes.job_nodes(job_id, **ask.scope)
    return Json(
        {"items": await composed(lambda: [JobNode.of(row, about=job.definition) for row in rows]), "next": None}
    )


async def refuse_unless_leading(request: Request) -> None:
    """421 with the leader's address, where this is the API of another node. A `plait api` that is no node's, with neither a worker
    in its process nor `PLAIT_API_URL`, takes node jobs whoever leads: it follows nobody."""
    holder, own_url = request.app.state.holder, request.app.state.settings.api_url
    if holder is None and own_url is None:
        return
    leader = await request.app.state.store.leader.get_leader()
    if leader is None or leader.url is None or leader.holder == holder:
        return
    if own_url is None or leader.url.rstrip("/") != own_url.rstrip("/"):
        raise NotLeader(leader.url)
