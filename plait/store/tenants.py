"""Tenants, and the logins bound to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from plait.model.errors import UnknownTenant
from plait.model.ids import DEFAULT_TENANT
from plait.store.database import Database

OWN_TENANT: Final = f"""coalesce(plait._visible_tenant(),
  case when coalesce(current_setting('plait.tenant', true), '') = '' then '{DEFAULT_TENANT}'::uuid end)"""
"""The tenant of a call without a tenant: the login's tenant, the tenant in the setting plait.tenant, or the default tenant. Null
if the setting is not a tenant's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRow:
    id: UUID
    slug: str
    name: str
    time_zone: str
    created_at: datetime
    paused: bool
    weight: int
    max_running: int | None
    max_queued: int | None
    max_triggers: int | None
    queued: int
    running: int
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLoadRow:
    """The load of a tenant."""

    tenant_id: UUID
    scheduled: int
    queued: int
    running: int
    waiting: int
    oldest_s: float | None
    ended: int
    """Attempts that ended since `start`."""
    failure_rate: float | None
    run_s: float
    share: float | None
    fair_share: float | None
    noisy: list[str]


class Tenants:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def tenant_id(self, tenant: str) -> UUID:
        """Get a tenant's id by its slug, or by its id as text."""
        return UUID(bytes=(await self._db.fetchval("select plait.tenant_id($1)", tenant)).bytes)

    async def own_tenant_id(self) -> UUID:
        """The tenant of calls without a tenant."""
        tenant_id = await self._db.fetchval(f"select {OWN_TENANT}")
        if tenant_id is None:
            raise UnknownTenant("the setting plait.tenant must be the id of a tenant")
        return UUID(bytes=tenant_id.bytes)

    async def set_tenant(self, slug: str, settings: Mapping[str, Any] | None = None, *, new: bool = False) -> UUID:
        """Create or change a tenant. `new`: raise an error if it exists."""
        text = msgspec.json.encode(dict(settings or {})).decode()
        sql = "select plait.set_tenant($1, $2::json, $3)"
        return UUID(bytes=(await self._db.fetchval(sql, slug, text, new)).bytes)

    async def bind_login(self, login: str, tenant_id: UUID | None) -> None:
        await self._db.fetchval("select plait.bind_login($1, $2)", login, tenant_id)

    async def tenant_load(self, start: datetime | None = None) -> list[TenantLoadRow]:
        """The load of each tenant since `start`. Default: an hour ago."""
        return [TenantLoadRow(**row) for row in await self._db.fetch("select * from plait.tenant_load($1)", start)]

    async def list_retention(self) -> dict[str, dict[str, float | None]]:
        """The tenants' own retention of final jobs, by slug and status, in seconds; None: forever."""
        rows = await self._db.fetch("select * from plait.list_retention()")
        return {row["slug"]: msgspec.json.decode(row["retention"]) for row in rows}

    async def list_tenants(self) -> list[TenantRow]:
        return [TenantRow(**row) for row in await self._db.fetch("select * from plait.list_tenants()")]
