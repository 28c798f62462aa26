"""API keys and browser sessions. This module receives only hashes of secrets."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from plait.model.errors import NotFound
from plait.model.roles import Role
from plait.store.database import Database, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    id: UUID
    tenant_id: UUID | None
    hint: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The holder of a key or session."""

    key_id: UUID
    tenant_id: UUID | None
    tenant: str | None
    role: Role
    name: str
    csrf: str | None
    """For a session: the CSRF token that a page must send with each change."""
    embedded: bool = False
    """Whether this is the session of an embedded view, which is sent as a token and has its own role."""


class Keys:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def create_key(
        self,
        *,
        hash: str,  # noqa: A002 - named like the column
        hint: str,
        name: str,
        role: Role,
        tenant_id: UUID | None,
        expires_at: datetime | None,
        created_by: str,
        parent: UUID | None = None,
    ) -> UUID:
        """Create a key. `parent`: the key that creates it. The new key expires no later than its parent."""
        sql = (
            "select plait.create_key(p_hash => $1, p_hint => $2, p_name => $3, p_role => $4, p_tenant => $5, "
            "p_expires_at => $6, p_created_by => $7, p_parent => $8)"
        )
        key_id: UUID = await self._db.fetchval(
            sql, hash, hint, name, role.value, tenant_id, expires_at, created_by, parent
        )
        return UUID(bytes=key_id.bytes)

    async def list_keys(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        key_id: UUID | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[KeyRow]:
        sql = "select * from plait.list_keys($1, $2, $3, $4, $5)"
        return [_key(row) for row in await self._db.fetch(sql, tenant_id, all_tenants, key_id, before, limit)]

    async def get_key(self, key_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False) -> KeyRow:
        rows = await self.list_keys(tenant_id=tenant_id, all_tenants=all_tenants, key_id=key_id)
        if not rows:
            raise NotFound(f"there is no key {key_id}")
        return rows[0]

    async def list_descendants(
        self, key_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[KeyRow]:
        """Keys that were created with a key, directly or indirectly."""
        sql = "select * from plait.list_key_descendants($1, $2, $3)"
        return [_key(row) for row in await self._db.fetch(sql, key_id, tenant_id, all_tenants)]

    async def revoke_key(
        self, key_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False, descendants: bool = False
    ) -> None:
        sql = "select plait.revoke_key($1, $2, $3, $4)"
        await self._db.fetchval(sql, key_id, tenant_id, all_tenants, descendants)

    async def authenticate(self, hash: str, *, session: bool = False) -> Holder | None:  # noqa: A002 - as above
        row = await self._db.fetchrow("select * from plait.authenticate($1, $2)", hash, session)
        return None if row is None else Holder(**{**row, "role": Role(row["role"])})

    async def open_session(
        self,
        key_id: UUID,
        *,
        hash: str,  # noqa: A002 - as above
        csrf: str,
        ttl: timedelta,
        link: bool = False,
    ) -> datetime:
        """Create a session, or a single-use link that opens a session. Returns when it expires."""
        sql = "select plait.open_session($1, $2, $3, $4, $5)"
        ends: datetime = await self._db.fetchval(sql, key_id, hash, csrf, ttl, link)
        return ends

    async def open_embed(self, key_id: UUID, *, hash: str, role: Role, ttl: timedelta) -> datetime:  # noqa: A002 - as above
        """Create a link to an embedded view. Returns when the view expires."""
        sql = "select plait.open_embed($1, $2, $3, $4)"
        ends: datetime = await self._db.fetchval(sql, key_id, hash, role.value, ttl)
        return ends

    async def authenticate_embed(self, hash: str) -> Holder | None:  # noqa: A002 - as above
        row = await self._db.fetchrow("select * from plait.authenticate_embed($1)", hash)
        return None if row is None else Holder(**{**row, "role": Role(row["role"]), "csrf": None, "embedded": True})

    async def enter_embed(self, link: str, hash: str) -> datetime | None:  # noqa: A002 - as above
        """Exchange the link to an embedded view for its session. Returns when the session expires, or None if the link does not exist."""
        ends: datetime | None = await self._db.fetchval("select plait.enter_embed($1, $2)", link, hash)
        return ends

    async def use_login_link(self, hash: str) -> UUID | None:  # noqa: A002 - as above
        """Use a single-use login link. Returns its key, or None if the link does not exist."""
        key_id: UUID | None = await self._db.fetchval("select plait.use_login_link($1)", hash)
        return key_id

    async def close_session(self, hash: str) -> None:  # noqa: A002 - as above
        await self._db.fetchval("select plait.close_session($1)", hash)


def _key(row: Row) -> KeyRow:
    return KeyRow(**{**row, "role": Role(row["role"])})
