"""The tenant that a caller acts for. Data of another tenant is reported as not found, with the same response as for data that does not exist."""

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict
from uuid import UUID

import msgspec
from fastapi import Depends, Request

from plait.api.caller import Caller
from plait.api.shapes import TenantName
from plait.model.errors import UnknownTenant
from plait.model.ids import DEFAULT_TENANT
from plait.store import Store
from plait.store.audit import Entry


class Scope(TypedDict):
    """The arguments that limit the store's queries."""

    tenant_id: UUID | None
    all_tenants: bool


@dataclass(frozen=True, slots=True)
class Asking:
    """A caller, the tenant of the request, and the store."""

    request: Request
    caller: Caller
    store: Store
    tenant_id: UUID | None
    """None: all tenants."""

    @property
    def scope(self) -> Scope:
        return {"tenant_id": self.tenant_id, "all_tenants": self.tenant_id is None}

    @property
    def new_in(self) -> UUID:
        """The tenant of new objects."""
        return self.tenant_id or DEFAULT_TENANT

    async def job_tenant(self, job_id: UUID) -> UUID:
        """The tenant of a job; raises NotFound if the job belongs to another tenant."""
        if self.tenant_id is not None:
            return self.tenant_id
        return (await self.store.jobs.get_job(job_id, all_tenants=True)).tenant_id

    def changing(self, action: str, what: Any = None, *, tenant_id: UUID | None = None, **detail: Any) -> Store:
        """The store, for one change and its audit log entry. The entry belongs to `tenant_id`. Default: the request's tenant, or the installation."""
        return self.store.auditing(
            Entry(
                tenant_id=tenant_id or self.tenant_id,
                actor=self.caller.actor,
                action=action,
                object=None if what is None else str(what),
                request_id=self.request.state.request_id,
                detail=msgspec.json.encode({k: v for k, v in detail.items() if v is not None}).decode(),
            )
        )


async def asking(request: Request, tenant: TenantName = None) -> Asking:
    caller: Caller = request.state.caller
    store: Store = request.app.state.store
    if caller.tenant_id is None:
        return Asking(request, caller, store, await store.tenants.tenant_id(tenant) if tenant is not None else None)
    if tenant is not None and tenant not in (caller.tenant, str(caller.tenant_id)):
        await store.audit.record(
            Entry(
                tenant_id=caller.tenant_id,
                actor=caller.actor,
                action="tenant.refused",
                object=tenant[:100],
                request_id=request.state.request_id,
            )
        )
        raise UnknownTenant(f"there is no tenant {tenant[:100]!r}")
    return Asking(request, caller, store, caller.tenant_id)


Ask = Annotated[Asking, Depends(asking)]
