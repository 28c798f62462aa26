"""Requests and responses for previewing, rendering and testing triggers."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class Instant(BaseModel):
    instant: datetime
    local: str
    note: str | None = Field(description="The effect of a daylight-saving change.")


class Timetable(BaseModel):
    """A schedule to preview. It does not need to exist."""

    model_config = ConfigDict(extra="forbid")

    cron_expr: str | None = Field(None, max_length=500)
    every_seconds: float | None = Field(None, ge=1, le=3.2e8)
    timezone: str = Field("UTC", max_length=100)


class Trial(BaseModel):
    model_config = ConfigDict(extra="forbid")

    data: dict[str, Any] = Field(default_factory=dict, description="Data of the event, for an event trigger.")
    run: bool = Field(False, description="Also enqueue the job; the schedule is not affected.")


class Draft(BaseModel):
    """A template to render, and the data to render it with. The trigger does not need to exist."""

    model_config = ConfigDict(extra="forbid")

    definition_key: str = Field(min_length=1, max_length=200)
    payload_template: dict[str, Any] = Field(default_factory=dict)
    event_name: str | None = Field(None, min_length=1, max_length=200, description="Null if the trigger is a schedule.")
    data: dict[str, Any] = Field(default_factory=dict, description="Data of the event.")
    label: str = Field("new", max_length=200)


class Rendered(BaseModel):
    """The rendered payload, or `error` if the template or the payload is not valid."""

    payload: Any
    error: str | None


class Tried(BaseModel):
    definition_key: str
    payload: Any
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    job_id: UUID | None
