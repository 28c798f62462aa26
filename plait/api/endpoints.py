"""Webhook endpoints: their URLs, the outcomes that they receive, and their signing keys."""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from fastapi import Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.etags import etag, unchanged_since
from plait.api.jobs import json_text
from plait.api.problems import Refused
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask, Asking
from plait.connectors import webhook
from plait.connectors.endpoints import check_url, keys_of
from plait.model.errors import ChangedMeanwhile
from plait.model.ids import new_id
from plait.runtime.secrets import SecretMissing
from plait.store.endpoints import EndpointRow
from plait.store.new_jobs import NewJob

router = new_router("endpoints")

Outcome = Literal["succeeded", "failed", "dead_letter", "canceled", "skipped"]


class EndpointSettings(BaseModel):
    """The settings of an endpoint. Omitted settings stay unchanged; for a new endpoint they get their defaults."""

    model_config = ConfigDict(extra="forbid")

    url: str | None = Field(None, min_length=1, max_length=2000)
    is_enabled: bool | None = None
    signature: Literal["standard", "sha256", "sha512"] | None = Field(
        None,
        description="`standard`: Standard Webhooks 1.0.0. Otherwise the header `x-webhook-signature: sha256=…` signs the body.",
    )
    statuses: list[Outcome] | None = Field(None, max_length=5, description="Final statuses that are delivered.")
    definitions: list[str] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Only outcomes of these job definitions are delivered; null if outcomes of all definitions are delivered.",
    )

    def columns(self, request: Request) -> dict[str, Any]:
        given = self.model_dump(exclude_unset=True, exclude={"label"})
        if self.url is not None:
            check_url(self.url, request.app.state.settings)
        return names.own_names(names.ENDPOINT, given)


class NewEndpoint(EndpointSettings):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "label": "orders",
                    "url": "https://hooks.example.com/plait",
                    "statuses": ["succeeded", "failed", "dead_letter"],
                    "definitions": ["sync-dropbox"],
                }
            ]
        },
    )

    label: str = Field(min_length=1, max_length=200)
    url: str = Field(min_length=1, max_length=2000)


class Endpoint(Shape):
    FROM: ClassVar[dict[str, str]] = names.ENDPOINT

    id: UUID
    tenant_id: UUID
    label: str
    url: str
    is_enabled: bool
    signature: str
    statuses: list[str]
    definitions: list[str] | None
    key_version: int
    old_key_until: datetime | None = Field(
        description="Until this time, messages are also signed with the previous key."
    )
    subscribed_at: datetime | None = Field(
        description="Outcomes since this time are delivered; null if no outcomes are delivered."
    )
    disabled_at: datetime | None
    disabled_reason: str | None
    created_by: str
    created_at: datetime
    updated_at: datetime


class Rotation(BaseModel):
    model_config = ConfigDict(extra="forbid")

    overlap_seconds: float = Field(
        86_400, ge=0, le=2_592_000, description="How long messages are also signed with the previous key."
    )


class SigningKey(BaseModel):
    version: int
    key: str = Field(description="`whsec_…`: the key that a receiver verifies signatures with.")


class EndpointTrial(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: str = Field("test", min_length=1, max_length=200)
    data: Any = None


class Delivery(BaseModel):
    job_id: UUID


IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=200, description="The ETag of the version that you read.")
]


@router.get("/endpoints", response_model=Page[Endpoint])
async def list_endpoints(ask: Ask) -> Response:
    """List a tenant's webhook endpoints, by label."""
    rows = await ask.store.endpoints.list_endpoints(**ask.scope)
    return Json({"items": [Endpoint.of(row) for row in rows], "next": None})


@router.post("/endpoints", status_code=201, response_model=Endpoint)
async def create(request: Request, ask: Ask, body: NewEndpoint) -> Response:
    """Create a webhook endpoint. Its label must be new."""
    columns = body.columns(request)
    changing = ask.changing("endpoint.create", body.label, tenant_id=ask.new_in, **columns)
    settings = {**columns, "created_by": ask.caller.actor}
    try:
        endpoint_id = await changing.endpoints.set_endpoint(body.label, settings, tenant_id=ask.new_in, new=True)
    except ChangedMeanwhile as error:
        raise Refused(409, "exists", str(error)) from None
    return _one(await ask.store.endpoints.get_endpoint(endpoint_id, tenant_id=ask.new_in), status=201)


@router.get("/endpoints/{endpoint_id:uuid}", response_model=Endpoint)
async def get_endpoint(ask: Ask, endpoint_id: UUID) -> Response:
    """Get a webhook endpoint, with its ETag."""
    return _one(await _get(ask, endpoint_id))


@router.patch("/endpoints/{endpoint_id:uuid}", response_model=Endpoint)
async def change(
    request: Request, ask: Ask, endpoint_id: UUID, body: EndpointSettings, if_match: IfMatch = None
) -> Response:
    """Change a webhook endpoint. Omitted fields stay unchanged; new statuses apply to jobs that finish after the change."""
    row = await _get(ask, endpoint_id)
    since = unchanged_since(if_match, row.updated_at)
    columns = body.columns(request)
    changing = ask.changing("endpoint.change", endpoint_id, tenant_id=row.tenant_id, **columns)
    await changing.endpoints.set_endpoint(row.label, columns, tenant_id=row.tenant_id, unchanged_since=since)
    return _one(await _get(ask, endpoint_id))


@router.delete("/endpoints/{endpoint_id:uuid}", status_code=204)
async def delete(ask: Ask, endpoint_id: UUID) -> Response:
    """Delete a webhook endpoint. Pending deliveries fail."""
    row = await _get(ask, endpoint_id)
    changing = ask.changing("endpoint.delete", endpoint_id, tenant_id=row.tenant_id, label=row.label)
    await changing.endpoints.delete_endpoint(endpoint_id, tenant_id=row.tenant_id)
    return Response(status_code=204)


@router.get("/endpoints/{endpoint_id:uuid}/keys", response_model=Page[SigningKey])
async def list_keys(request: Request, ask: Ask, endpoint_id: UUID) -> Response:
    """List the active signing keys, newest first. Keys are not stored: they are derived from `PLAIT_SECRET_WEBHOOKS`."""
    row = await _get(ask, endpoint_id)
    # Reading keys is recorded in the audit log, like a change.
    await ask.changing("endpoint.show_keys", endpoint_id, tenant_id=row.tenant_id).health.now()
    return _keys(request, row)


@router.post("/endpoints/{endpoint_id:uuid}/rotate", response_model=Page[SigningKey])
async def rotate(request: Request, ask: Ask, endpoint_id: UUID, body: Rotation | None = None) -> Response:
    """Rotate the signing key. During the overlap, messages are signed with both keys."""
    row = await _get(ask, endpoint_id)
    overlap = timedelta(seconds=(body or Rotation()).overlap_seconds)
    changing = ask.changing("endpoint.rotate", endpoint_id, tenant_id=row.tenant_id)
    await changing.endpoints.rotate_endpoint(endpoint_id, tenant_id=row.tenant_id, overlap=overlap)
    return _keys(request, await _get(ask, endpoint_id))


@router.post("/endpoints/{endpoint_id:uuid}/test", status_code=202, response_model=Delivery)
async def try_(ask: Ask, endpoint_id: UUID, body: EndpointTrial | None = None) -> Response:
    """Send a test message. Returns the id of the job that delivers it."""

    row = await _get(ask, endpoint_id)
    body = body or EndpointTrial()
    payload = json_text({"endpoint": str(row.id), "type": body.type, "data": body.data})
    new = NewJob(id=new_id(), definition=webhook.NAME, payload=payload, tenant_id=row.tenant_id)
    await ask.changing("endpoint.test", endpoint_id, tenant_id=row.tenant_id, job=new.id).jobs.enqueue_many([new])
    return Json({"job_id": new.id}, status_code=202)


async def _get(ask: Asking, endpoint_id: UUID) -> EndpointRow:
    return await ask.store.endpoints.get_endpoint(endpoint_id, **ask.scope)


def _keys(request: Request, row: EndpointRow) -> Response:
    try:
        found = keys_of(row, request.app.state.settings)
    except SecretMissing as error:
        raise Refused(503, "not-available", str(error)) from None
    return Json({"items": [{"version": version, "key": key} for version, key in found], "next": None})


def _one(row: EndpointRow, status: int = 200) -> Response:
    return Json(Endpoint.of(row), status_code=status, headers={"ETag": etag(row.updated_at)})
