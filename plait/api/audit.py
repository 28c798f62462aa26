"""The audit log: who changed what through the API."""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import Query, Response

from plait.api.authentication import new_router
from plait.api.shapes import Cursor, Json, Limit, Page, Shape, page
from plait.api.tenancy import Ask

router = new_router("audit")

Name = Annotated[str | None, Query(max_length=200)]


class Entry(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"detail"})

    id: UUID
    tenant_id: UUID | None
    at: datetime
    actor: str
    action: str
    object: str | None
    request_id: str | None
    detail: Any


@router.get("/audit", response_model=Page[Entry])
async def list_audit(
    ask: Ask,
    actor: Name = None,
    action: Name = None,
    object: Name = None,  # noqa: A002 - named like the column
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List changes, newest first."""
    rows = await ask.store.audit.list_audit(
        **ask.scope, actor=actor, action=action, object=object, before=cursor, limit=limit
    )
    return Json(page([Entry.of(row) for row in rows], limit, rows[-1].id if rows else None))
