"""Health checks: whether the process is alive and can serve. They need no key, and reveal nothing else."""

from typing import Literal

from fastapi import Request
from pydantic import BaseModel

from plait.api.authentication import new_router
from plait.store import Store

router = new_router("health", prefix="")


class Health(BaseModel):
    status: Literal["ok"]


@router.get("/healthz")
async def healthz() -> Health:
    """Liveness: the process is running."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(request: Request) -> Health:
    """Readiness: the database answers."""
    store: Store = request.app.state.store
    await store.health.now()
    return Health(status="ok")
