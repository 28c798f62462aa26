"""Queues: list, pause, resume and limit them. Changes apply to all tenants."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from fastapi import Path, Response
from pydantic import BaseModel, ConfigDict, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask, Asking
from plait.model.policies import QUEUE_NAME
from plait.store.queues import QueueRow

router = new_router("queues")

Name = Annotated[str, Path(pattern=f"^{QUEUE_NAME.pattern}$")]


class Queue(Shape):
    FROM: ClassVar[dict[str, str]] = names.QUEUE

    name: str
    paused: bool
    mode: Literal["parallel", "serial"]
    queued: int
    scheduled: int
    running: int
    waiting: int
    oldest_queued_age_seconds: float | None
    workers: int
    max_running: int | None
    rate_count: int | None
    rate_period_seconds: float | None
    root_id: UUID | None = Field(
        description="The root of the workflow that a serial queue runs now, if you may see it."
    )
    paused_at: datetime | None
    paused_by: str | None = Field(
        description="Name of the API key that paused the queue. Null if your key belongs to one tenant."
    )
    pause_reason: str | None


class Pause(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(None, min_length=1, max_length=500, description="Reason, shown with the queue.")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    mode: Literal["parallel", "serial"] | None = None
    max_running: int | None = Field(None, ge=0, le=2**31 - 1)
    rate_count: int | None = Field(None, ge=1, le=2**31 - 1)
    rate_period_seconds: float | None = Field(None, gt=0, le=3.2e9)

    def columns(self) -> dict[str, Any]:
        given = self.model_dump(exclude_unset=True)
        mode = given.pop("mode", None)
        columns = names.own_names(names.QUEUE, given)
        return columns if mode is None else {**columns, "serial": mode == "serial"}


@router.get("/queues", response_model=Page[Queue])
async def list_queues(ask: Ask) -> Response:
    """List queues. If the request is for one tenant, the numbers include only jobs of that tenant."""
    rows = await ask.store.queues.list_queues(tenant_id=ask.tenant_id)
    return Json({"items": [_shown(ask, row) for row in rows], "next": None})


@router.patch("/queues/{name}", response_model=Queue)
async def change(ask: Ask, name: Name, body: Settings) -> Response:
    """Change a queue's limits. Omitted fields stay unchanged; null removes a limit."""
    columns = body.columns()
    return await _set(ask, "queue.change", name, columns, detail=columns)


@router.post("/queues/{name}/pause", response_model=Queue)
async def pause(ask: Ask, name: Name, body: Pause | None = None) -> Response:
    """Pause a queue, so that none of its jobs start. Claims that began before the pause have finished when the response is sent."""
    reason = body.reason if body is not None else None
    settings = {"paused": True, "paused_by": ask.caller.name, "pause_reason": reason}
    return await _set(ask, "queue.pause", name, settings, detail={"paused": True, "reason": reason})


@router.post("/queues/{name}/resume", response_model=Queue)
async def resume(ask: Ask, name: Name) -> Response:
    """Resume a queue."""
    return await _set(ask, "queue.resume", name, {"paused": False}, detail={"paused": False})


async def _set(ask: Asking, action: str, name: str, settings: dict[str, Any], *, detail: dict[str, Any]) -> Response:
    await ask.changing(action, name, **detail).queues.set_queue(name, settings)
    rows = await ask.store.queues.list_queues(tenant_id=ask.tenant_id)
    return Json(next(_shown(ask, row) for row in rows if row.name == name))


def _shown(ask: Asking, row: QueueRow) -> dict[str, Any]:
    """Tenants share queues: callers of one tenant see why a queue is paused, but not who paused it."""
    return Queue.of(row if ask.caller.tenant_id is None else replace(row, paused_by=None))
