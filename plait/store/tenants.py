"""Tenants, and the logins bound to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.store.database import Database


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
    queued: int
    running: int


class Tenants:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def tenant_id(self, tenant: str) -> UUID:
        """A tenant's id by its slug, or by its id as text."""
        return UUID(bytes=(await self._db.fetchval("select plait.tenant_id($1)", tenant)).bytes)

    async def set_tenant(self, slug: str, settings: Mapping[str, Any] | None = None) -> UUID:
        text = msgspec.json.encode(dict(settings or {})).decode()
        return UUID(bytes=(await self._db.fetchval("select plait.set_tenant($1, $2::json)", slug, text)).bytes)

    async def bind_login(self, login: str, tenant_id: UUID | None) -> None:
        await self._db.fetchval("select plait.bind_login($1, $2)", login, tenant_id)

    async def list_tenants(self) -> list[TenantRow]:
        return [TenantRow(**row) for row in await self._db.fetch("select * from plait.list_tenants()")]
