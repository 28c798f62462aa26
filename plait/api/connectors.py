"""Connectors: a tenant's defaults for each connector."""

from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

from fastapi import Response
from pydantic import Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.redaction import refuse_mask
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask
from plait.connectors.configurations import check_settings
from plait.model.errors import NotFound

router = new_router("connectors")

Kind = Literal["http", "webhook", "report"]


class Connector(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"settings"})
    FROM: ClassVar[dict[str, str]] = names.CONNECTOR

    tenant_id: UUID
    connector: Kind
    settings: Any = Field(description="Secrets appear as references, `{{secret.NAME}}`, never as values.")
    updated_at: datetime
    updated_by: str


@router.get("/connectors", response_model=Page[Connector])
async def list_connectors(ask: Ask) -> Response:
    """List the defaults of all connectors."""
    rows = await ask.store.connectors.list_connectors(**ask.scope)
    return Json({"items": [Connector.of(row) for row in rows], "next": None})


@router.put("/connectors/{connector}", response_model=Connector)
async def put(ask: Ask, connector: Kind, body: dict[str, Any]) -> Response:
    """Replace the defaults of a connector. The payload of a job overrides these defaults."""
    refuse_mask(body, "settings")
    settings = check_settings(connector, body)
    changing = ask.changing("connector.set", connector, tenant_id=ask.new_in, settings=body)
    await changing.connectors.set_connector(connector, settings, tenant_id=ask.new_in, by=ask.caller.actor)
    rows = await ask.store.connectors.list_connectors(tenant_id=ask.new_in)
    return Json(next(Connector.of(row) for row in rows if row.type == connector))


@router.delete("/connectors/{connector}", status_code=204)
async def delete(ask: Ask, connector: Kind) -> Response:
    """Remove the defaults of a connector."""
    rows = await ask.store.connectors.list_connectors(tenant_id=ask.new_in)
    if all(row.type != connector for row in rows):
        raise NotFound(f"connector {connector} has no defaults")
    await ask.changing("connector.delete", connector, tenant_id=ask.new_in).connectors.set_connector(
        connector, None, tenant_id=ask.new_in
    )
    return Response(status_code=204)
