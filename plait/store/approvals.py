"""Approval links: each link can send one signal to its job. This module receives only hashes of secrets."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from plait.store.database import Database
from plait.store.workflows import Lease

LinkState = Literal["open", "used", "expired", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    job_id: UUID
    tenant_id: UUID
    signal: str
    message: str
    button: str
    expires_at: datetime
    used_at: datetime | None
    state: LinkState


class Approvals:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def open_link(
        self,
        lease: Lease,
        *,
        hash: str,  # noqa: A002 - named like the column
        signal: str,
        payload: str,
        expires_s: float,
        message: str,
        button: str,
    ) -> bool:
        """Create a link. Returns False if the lease is lost."""
        sql = (
            "select plait.open_link(p_worker => $1, p_job => $2, p_attempt => $3, p_hash => $4, "
            "p_signal => $5, p_payload => $6::json, p_expires_s => $7, p_message => $8, p_button => $9)"
        )
        fence = lease.worker, lease.job_id, lease.attempt
        return bool(await self._db.fetchval(sql, *fence, hash, signal, payload, expires_s, message, button))

    async def find_link(self, hash: str) -> LinkRow | None:  # noqa: A002 - as above
        row = await self._db.fetchrow("select * from plait.find_link($1)", hash)
        return None if row is None else LinkRow(**row)

    async def follow_link(self, hash: str) -> LinkState | None:  # noqa: A002 - as above
        """Use the link. Returns the state before this call; `open` means that this call used the link. None if the link does not exist."""
        state: LinkState | None = await self._db.fetchval("select plait.follow_link($1)", hash)
        return state
