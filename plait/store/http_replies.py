"""What requests with an Idempotency-Key were answered, so that one that is sent again gets the same."""

from dataclasses import dataclass
from uuid import UUID

from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    begun: bool
    """It is the caller's to do now."""
    status: int | None
    """What it was answered before; None while another does it."""
    body: str | None


class HttpReplies:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def reserve(self, tenant_id: UUID, key_id: UUID, key: str, hash: str) -> HttpReply:  # noqa: A002 - as the column
        sql = "select * from plait.reserve_reply($1, $2, $3, $4)"
        row = await self._db.fetchrow(sql, tenant_id, key_id, key, hash)
        return HttpReply(begun=row["o_begun"], status=row["o_status"], body=row["o_body"])

    async def keep(self, tenant_id: UUID, key_id: UUID, key: str, status: int | None, body: str | None) -> None:
        """Keep the answer; without a status, forget that it was begun."""
        await self._db.fetchval("select plait.store_reply($1, $2, $3, $4, $5)", tenant_id, key_id, key, status, body)
