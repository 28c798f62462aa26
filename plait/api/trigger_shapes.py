"""What the API takes and tells where a trigger is looked at or tried: previews, renders, tests."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class Instant(BaseModel):
    instant: datetime
    local: str
    note: str | None = Field(description="What a change of clocks does to it.")


class Timetable(BaseModel):
    """A schedule that is not there yet, to look at."""

    model_config = ConfigDict(extra="forbid")

    cron_expr: str | None = Field(None, max_length=500)
    every_seconds: float | None = Field(None, ge=1, le=3.2e8)
    timezone: str = Field("UTC", max_length=100)


class Trial(BaseModel):
    model_config = ConfigDict(extra="forbid")

    data: dict[str, Any] = Field(default_factory=dict, description="The event's, for an event's trigger.")
    run: bool = Field(False, description="Ask for the job, too; schedules take no notice of it.")


class Draft(BaseModel):
    """A trigger's template that is not there yet, and what it shall be tried with."""

    model_config = ConfigDict(extra="forbid")

    definition_key: str = Field(min_length=1, max_length=200)
    payload_template: dict[str, Any] = Field(default_factory=dict)
    event_name: str | None = Field(None, min_length=1, max_length=200, description="Null: a schedule's.")
    data: dict[str, Any] = Field(default_factory=dict, description="The event's.")
    label: str = Field("new", max_length=200)


class Rendered(BaseModel):
    """What a template makes of an event; `error` instead where it does not fit, or the definition's schema refuses it."""

    payload: Any
    error: str | None


class Tried(BaseModel):
    definition_key: str
    payload: Any
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    job_id: UUID | None
