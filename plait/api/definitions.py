"""Job definitions: their limits and schemas. The code that runs is in the workers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from fastapi import Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.etags import etag, unchanged_since
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask, Asking
from plait.model.errors import NotFound
from plait.model.schemas import check_schema
from plait.store.definitions import DefinitionRow, OverrideRow

router = new_router("definitions")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    description: str | None = Field(None, max_length=2000)
    arg_schema: dict[str, Any] | None = Field(
        None, description="JSON Schema of the payload; null if any payload is accepted."
    )
    timeout_seconds: float | None = Field(None, gt=0, le=3.2e9)
    max_attempts: int | None = Field(None, ge=1, le=10_000)
    queue: str | None = Field(None, min_length=1, max_length=100)
    priority: int | None = Field(None, ge=-32768, le=32767)
    max_running: int | None = Field(None, ge=0, le=2**31 - 1)
    rate_count: int | None = Field(None, ge=1, le=2**31 - 1)
    rate_period_seconds: float | None = Field(None, gt=0, le=3.2e9)
    key_max_running: int | None = Field(None, ge=0, le=2**31 - 1)
    key_rate_count: int | None = Field(None, ge=1, le=2**31 - 1)
    key_rate_period_seconds: float | None = Field(None, gt=0, le=3.2e9)
    search_keys: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        None,
        max_length=10,
        description="Payload keys or paths (`order.customer`) that are indexed, so that jobs can be searched by them.",
    )
    sensitive: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        None,
        max_length=50,
        description="Fields to hide from viewers and operators: names or path suffixes (`customer.ssn`). Fields with names such as `password` are "
        "always hidden.",
    )

    def columns(self) -> dict[str, Any]:
        if self.arg_schema is not None:
            check_schema(self.arg_schema)
        given = self.model_dump(exclude_unset=True)
        return names.own_names(names.DEFINITION, given)


class NewDefinition(Settings):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "key": "sync-dropbox",
                    "description": "Sync provider updates for tenant",
                    "arg_schema": {
                        "type": "object",
                        "properties": {"provider_id": {"type": "string"}, "path_prefix": {"type": "string"}},
                        "required": ["provider_id"],
                        "additionalProperties": False,
                    },
                    "timeout_seconds": 3600,
                    "max_attempts": 3,
                }
            ]
        },
    )

    key: str = Field(min_length=1, max_length=200)


class Change(Settings):
    is_active: bool | None = Field(None, description="False rejects new jobs and triggers; existing jobs still run.")


class Kind(Shape):
    """A job definition, as shown to callers that enqueue jobs."""

    RAW: ClassVar[frozenset[str]] = frozenset({"arg_schema"})
    OPEN: ClassVar[frozenset[str]] = RAW  # a schema contains field names but no values
    FROM: ClassVar[dict[str, str]] = names.DEFINITION

    key: str
    kind: str
    description: str
    arg_schema: Any
    is_active: bool
    queue: str
    priority: int
    max_attempts: int
    timeout_seconds: float
    search_keys: list[str] | None = Field(
        description="Payload keys that are indexed, so that jobs can be searched by them: `payload=key=value`."
    )
    sensitive: list[str] | None = Field(description="Fields that are hidden from viewers and operators.")


class Override(Shape):
    """A setting that an operator has overridden. It takes precedence over the code until it is cleared, even when workers register the
    definition again."""

    RAW: ClassVar[frozenset[str]] = frozenset({"value", "code_value"})

    setting: str
    value: Any
    code_value: Any = Field(description="The value in code; null if the code sets no value or does not define the job.")
    author: str
    set_at: datetime


class Definition(Kind):
    max_running: int | None
    rate_count: int | None
    rate_period_seconds: float | None
    key_max_running: int | None
    key_rate_count: int | None
    key_rate_period_seconds: float | None
    updated_at: datetime
    overrides: list[Override] = Field(description="Overrides by operators, with the values in code.")


IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=200, description="The ETag of the version that you read.")
]


@router.get("/jobs/definitions", response_model=Page[Kind])
async def list_kinds(ask: Ask) -> Response:
    """List the job definitions that can be enqueued, with their schemas."""
    return Json({"items": [Kind.of(row) for row in await ask.store.definitions.list_definitions()], "next": None})


@router.get("/admin/jobs/definitions", response_model=Page[Definition])
async def list_definitions(ask: Ask) -> Response:
    """List all job definitions, with their limits and overrides."""
    rows = await ask.store.definitions.list_definitions()
    overrides = await ask.store.definitions.list_overrides()
    return Json({"items": [_shown(row, overrides) for row in rows], "next": None})


@router.get("/admin/jobs/definitions/{definition_key:path}", response_model=Definition)
async def get_definition(ask: Ask, definition_key: str) -> Response:
    """Get a job definition, with its ETag."""
    return await _one(ask, definition_key)


@router.post("/admin/jobs/definitions", status_code=201, response_model=Definition)
async def create(request: Request, ask: Ask, body: NewDefinition) -> Response:
    """Register a job definition before a worker does. These settings take precedence over code that defines the job later, until they are cleared."""
    columns = body.columns()
    changing = ask.changing("definition.create", body.key, **columns)
    await changing.definitions.define([columns], new=True, author=ask.caller.actor)
    request.app.state.definition_cache.forget()
    return await _one(ask, body.key, status=201)


@router.patch("/admin/jobs/definitions/{definition_key:path}", response_model=Definition)
async def change(request: Request, ask: Ask, definition_key: str, body: Change, if_match: IfMatch = None) -> Response:
    """Override settings of a job definition until they are cleared. Omitted fields stay unchanged; null removes a limit."""
    row = await _get(ask, definition_key)
    since = unchanged_since(if_match, row.updated_at)
    columns = body.columns()
    changing = ask.changing("definition.change", definition_key, **columns)
    await changing.definitions.set_definition(definition_key, columns, unchanged_since=since, author=ask.caller.actor)
    request.app.state.definition_cache.forget()
    return await _one(ask, definition_key)


@router.delete("/admin/jobs/definitions/{definition_key:path}/overrides", response_model=Definition)
async def clear_overrides(
    request: Request,
    ask: Ask,
    definition_key: str,
    setting: Annotated[
        list[str] | None, Query(max_length=50, description="Can be repeated. Default: all overrides.")
    ] = None,
    if_match: IfMatch = None,
) -> Response:
    """Clear overrides, so that the values in code apply again."""
    row = await _get(ask, definition_key)
    since = unchanged_since(if_match, row.updated_at)
    columns = None if setting is None else [names.DEFINITION.get(name, name) for name in setting]
    changing = ask.changing("definition.clear", definition_key, settings=columns)
    await changing.definitions.clear_overrides(definition_key, columns, unchanged_since=since)
    request.app.state.definition_cache.forget()
    return await _one(ask, definition_key)


async def _get(ask: Asking, key: str) -> DefinitionRow:
    for row in await ask.store.definitions.list_definitions():
        if row.name == key:
            return row
    raise NotFound(f"there is no job definition {key[:200]!r}")


async def _one(ask: Asking, key: str, status: int = 200) -> Response:
    row = await _get(ask, key)
    shown = _shown(row, await ask.store.definitions.list_overrides(key))
    return Json(shown, status_code=status, headers={"ETag": etag(row.updated_at)})


def _shown(row: DefinitionRow, overrides: Sequence[OverrideRow]) -> dict[str, Any]:
    back = {column: name for name, column in names.DEFINITION.items()}
    own = [
        {**Override.of(one), "setting": back.get(one.setting, one.setting)}
        for one in overrides
        if one.definition == row.name
    ]
    return Definition.of(row, overrides=own)
