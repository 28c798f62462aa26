"""Webhook endpoints: their URLs, and the outcomes that they receive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import NotFound
from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    now: datetime
    id: UUID
    tenant_id: UUID
    tenant: str
    label: str
    url: str
    enabled: bool
    signature: str
    statuses: list[str]
    """Final statuses that are delivered."""
    definitions: list[str] | None
    """Only outcomes of these definitions; None: all."""
    key_version: int
    old_key_until: datetime | None
    subscribed_at: datetime | None
    disabled_at: datetime | None
    disabled_reason: str | None
    created_by: str
    created_at: datetime
    updated_at: datetime

    @property
    def key_versions(self) -> list[int]:
        """The versions of the active keys, newest first."""
        overlaps = self.old_key_until is not None and self.old_key_until > self.now
        return [self.key_version, self.key_version - 1] if overlaps else [self.key_version]


class Endpoints:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def set_endpoint(
        self,
        label: str,
        settings: Mapping[str, Any],
        *,
        tenant_id: UUID | None = None,
        unchanged_since: datetime | None = None,
        new: bool = False,
    ) -> UUID:
        text = msgspec.json.encode(dict(settings)).decode()
        sql = "select plait.set_endpoint($1, $2::text::json, $3, $4, $5)"
        endpoint_id: UUID = await self._db.fetchval(sql, label, text, tenant_id, unchanged_since, new)
        return UUID(bytes=endpoint_id.bytes)

    async def delete_endpoint(self, endpoint_id: UUID, *, tenant_id: UUID | None = None) -> None:
        await self._db.fetchval("select plait.delete_endpoint($1, $2)", endpoint_id, tenant_id)

    async def rotate_endpoint(
        self, endpoint_id: UUID, *, tenant_id: UUID | None = None, overlap: timedelta = timedelta(days=1)
    ) -> int:
        """Rotate the signing key. Returns the version of the new key."""
        sql = "select plait.rotate_endpoint($1, $2, $3)"
        return int(await self._db.fetchval(sql, endpoint_id, tenant_id, overlap))

    async def close_endpoint(self, endpoint_id: UUID, job_id: UUID, attempt: int, reason: str) -> bool:
        """Disable the endpoint because a delivery got the response 410 Gone. Returns False if the delivery has lost its lease."""
        sql = "select plait.close_endpoint($1, $2, $3, $4)"
        return bool(await self._db.fetchval(sql, endpoint_id, job_id, attempt, reason))

    async def list_endpoints(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        endpoint_id: UUID | None = None,
        label: str | None = None,
    ) -> list[EndpointRow]:
        sql = "select * from plait.list_endpoints($1, $2, $3, $4)"
        return [EndpointRow(**row) for row in await self._db.fetch(sql, tenant_id, all_tenants, endpoint_id, label)]

    async def get_endpoint(
        self, named: str | UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> EndpointRow:
        """Get an endpoint by its id or label."""
        chosen: dict[str, Any] = {"endpoint_id": named} if isinstance(named, UUID) else {"label": named}
        rows = await self.list_endpoints(tenant_id=tenant_id, all_tenants=all_tenants, **chosen)
        if len(rows) != 1:
            raise NotFound(f"there is no endpoint {named}" if not rows else f"several tenants have an endpoint {named}")
        return rows[0]
