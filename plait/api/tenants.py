"""Tenants: their jobs, limits and load."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask, Asking

router = new_router("tenants")

Slug = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9_-]{0,62}$")]


class Tenant(Shape):
    id: UUID
    slug: str
    name: str
    time_zone: str
    created_at: datetime
    paused: bool
    weight: int
    max_running: int | None
    max_queued: int | None
    queued: int = Field(description="Unfinished jobs that are not running.")
    running: int
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, min_length=1, max_length=200)
    time_zone: str | None = Field(None, max_length=100)
    paused: bool | None = None
    pause_reason: str | None = Field(
        None,
        min_length=1,
        max_length=500,
        description="Why the tenant is paused, shown with its jobs. Removed on resume.",
    )
    weight: int | None = Field(None, ge=1, le=1000, description="Weight in fair scheduling.")
    max_running: int | None = Field(None, ge=0, le=2**31 - 1)
    max_queued: int | None = Field(None, ge=0, le=2**31 - 1, description="Quota: maximum number of unfinished jobs.")


class NewTenant(Settings):
    slug: str = Field(pattern="^[a-z0-9][a-z0-9_-]{0,62}$")


@router.get("/tenants", response_model=Page[Tenant])
async def list_tenants(ask: Ask) -> Response:
    """List all tenants, with their unfinished jobs."""
    return Json({"items": [Tenant.of(row) for row in await ask.store.tenants.list_tenants()], "next": None})


class TenantLoad(Shape):
    """The load of one tenant."""

    FROM: ClassVar[dict[str, str]] = names.TENANT_LOAD

    tenant_id: UUID
    scheduled: int
    queued: int
    running: int
    waiting: int
    oldest_queued_age_seconds: float | None
    ended: int = Field(description="Attempts that ended since `start`.")
    failure_rate: float | None = Field(
        description="Share of `ended` attempts that failed, from 0 to 1. Null if none ended."
    )
    run_seconds: float = Field(description="Total run time of handlers since `start`.")
    share: float | None = Field(description="The tenant's share of all running jobs, from 0 to 1.")
    fair_share: float | None = Field(
        description="The tenant's fair share by weight, among tenants with unfinished jobs."
    )
    noisy: list[Literal["slots", "backlog", "failures"]] = Field(
        description="Why the tenant may slow down other tenants. `slots`: it uses more than twice its fair share while others wait. `backlog`: most jobs of a long "
        "queue are its own. `failures`: most of its attempts fail."
    )


@router.get("/tenants/load", response_model=Page[TenantLoad])
async def load(
    ask: Ask,
    start: Annotated[
        AwareDatetime | None, Query(description="Count attempts since this time. Default: an hour ago.")
    ] = None,
) -> Response:
    """List the load of each tenant, and whether it may slow down other tenants."""
    rows = await ask.store.tenants.tenant_load(start)
    return Json({"items": [TenantLoad.of(row) for row in rows], "next": None})


@router.post("/tenants", status_code=201, response_model=Tenant)
async def create(ask: Ask, body: NewTenant) -> Response:
    """Create a tenant."""
    settings = body.model_dump(exclude_unset=True, exclude={"slug"})
    return await _set(ask, "tenant.create", body.slug, settings, new=True)


@router.patch("/tenants/{slug}", response_model=Tenant)
async def change(ask: Ask, slug: Slug, body: Settings) -> Response:
    """Change a tenant. Omitted fields stay unchanged; null removes a limit."""
    await ask.store.tenants.tenant_id(slug)  # an unknown tenant is not created
    return await _set(ask, "tenant.change", slug, body.model_dump(exclude_unset=True))


async def _set(ask: Asking, action: str, slug: str, settings: dict[str, Any], *, new: bool = False) -> Response:
    by = {"paused_by": ask.caller.name} if settings.get("paused") else {}
    await ask.changing(action, slug, **settings).tenants.set_tenant(slug, settings | by, new=new)
    rows = await ask.store.tenants.list_tenants()
    return Json(next(Tenant.of(row) for row in rows if row.slug == slug), status_code=201 if new else 200)
