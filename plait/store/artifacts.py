"""Metadata of artifacts. plait.runtime.object_storage stores their content."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from plait.store.database import Database

Kind = Literal["payload", "result", "step", "signal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactRow:
    id: UUID
    tenant_id: UUID
    job_id: UUID
    kind: Kind
    size: int
    sha256: str
    created_at: datetime


class Artifacts:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def register_artifact(self, job_id: UUID, kind: Kind, *, sha256: str, size: int, tenant_id: UUID) -> UUID:
        """Register an artifact of this job before its content is stored. Returns the id to store it under."""
        sql = "select plait.register_artifact($1, $2, $3, $4, $5)"
        return UUID(bytes=(await self._db.fetchval(sql, job_id, kind, sha256, size, tenant_id)).bytes)

    async def find_artifact(
        self,
        job_id: UUID,
        sha256: str,
        *,
        kind: Kind | None = None,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
    ) -> ArtifactRow | None:
        row = await self._db.fetchrow(
            "select * from plait.find_artifact($1, $2, $3, $4, $5)", job_id, sha256, kind, tenant_id, all_tenants
        )
        return ArtifactRow(**row) if row else None

    async def sweep_artifacts(self, removed: Sequence[UUID] = (), limit: int = 100) -> list[tuple[UUID, UUID]]:
        """Delete the metadata of artifacts whose content was removed. Returns the id and tenant of each artifact to remove next."""
        rows = await self._db.fetch("select * from plait.sweep_artifacts($1, $2)", list(removed), limit)
        return [(row["id"], row["tenant_id"]) for row in rows]
