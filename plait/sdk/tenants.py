"""Tenants by name. A name always refers to the same id, so each name is queried once."""

import asyncio
from uuid import UUID

from plait.model.errors import DatabaseUnreachable
from plait.model.ids import DEFAULT_TENANT
from plait.store import Store


class Tenants:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str | None, UUID] = {"default": DEFAULT_TENANT}
        self._asking: dict[str | None, asyncio.Task[UUID]] = {}

    async def id_of(self, name: str | None) -> UUID:
        """The id of a tenant by name or, without a name, of this login's tenant."""
        known = self._known.get(name)
        if known is not None:
            return known
        asking = self._asking.get(name)
        if asking is None:
            asking = asyncio.get_running_loop().create_task(self._ask(name))  # shared by concurrent callers
            self._asking[name] = asking
            asking.add_done_callback(lambda _: self._asking.pop(name, None))
        known = self._known[name] = await asyncio.shield(asking)
        return known

    async def close(self) -> None:
        """Wait until pending queries are answered."""
        if self._asking:
            await asyncio.wait(set(self._asking.values()))

    async def _ask(self, name: str | None) -> UUID:
        tenants = self._store.tenants
        try:
            return await (tenants.own_tenant_id() if name is None else tenants.tenant_id(name))
        except DatabaseUnreachable:  # an idle connection was broken: use another
            return await (tenants.own_tenant_id() if name is None else tenants.tenant_id(name))
