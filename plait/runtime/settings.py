"""Settings of a process, from the environment (PLAIT_…) or from arguments. Settings of queues, tenants and jobs are in the database."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from plait.model.durations import age
from plait.model.errors import PlaitError

_ORIGIN: Final = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?")


def _age(value: Any) -> timedelta | None:
    try:
        return age(value)
    except PlaitError as error:
        raise ValueError(str(error)) from None


Age = Annotated[timedelta | None, BeforeValidator(_age)]
"""`7d`, `12h`, or `forever`."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PLAIT_", extra="ignore", frozen=True)

    database_url: str | None = Field(None, description="Postgres to use; embedded when it is not set")
    direct_url: str | None = Field(None, description="the same server past a pooler, for LISTEN")
    pooler: bool = Field(False, description="the URL leads to PgBouncer in transaction mode, older than 1.21")
    data_dir: Path | None = Field(None, description="where embedded Postgres keeps its data")

    node: str | None = Field(
        None, description="the machine that a worker is on, for node jobs; the host's name when it is not set"
    )
    api_url: str | None = Field(None, description="where this machine's API is, as others reach it")

    lease: float = Field(30, gt=0, description="seconds after which a silent worker is declared lost")
    heartbeat: float = Field(10, gt=0, description="seconds between a worker's heartbeats")
    poll: float = Field(1, gt=0, description="seconds between an idle worker's looks, when no notification comes")
    grace: float = Field(30, ge=0, description="seconds that running jobs get to finish when a worker is stopped")
    listen: bool = Field(True, description="use LISTEN for fast pick-up; polling is always on")

    api_host: str = Field("127.0.0.1", description="the address that the API listens on")
    api_port: int = Field(8717, ge=0, le=65535, description="its port; 0: any that is free")
    api_rate: float = Field(
        500, ge=0, description="requests a second for each key, in bursts of ten times that; 0: no limit"
    )
    api_body: int = Field(2_097_152, gt=0, description="bytes that a request to the API may have")
    api_session: float = Field(43_200, gt=0, description="seconds that a browser stays signed in")

    api_embed: str = Field(
        "",
        description="sites that may embed a tenant's view: origins like https://app.example.com, with spaces between",
    )
    keep_succeeded: Age = Field(
        "7d", validate_default=True, description="how long jobs that succeeded are kept: 7d, 12h, forever"
    )
    keep_skipped: Age = Field("7d", validate_default=True, description="the same for those that were skipped")
    keep_canceled: Age = Field("30d", validate_default=True, description="canceled")
    keep_failed: Age = Field("90d", validate_default=True, description="failed")
    keep_dead_letter: Age = Field("90d", validate_default=True, description="dead letters")
    artifacts: str | None = Field(
        None,
        description="a directory that all processes share, or s3://bucket/prefix, for payloads and results above 1 MiB; "
        "with embedded Postgres, a directory beside its data",
    )
    artifact_size: int = Field(67_108_864, gt=0, description="bytes that one of these may have")
    archive: str | None = Field(
        None, description="a directory, or s3://bucket/prefix, where jobs are written to before they are forgotten"
    )
    archive_format: Literal["jsonl", "parquet"] = Field("jsonl", description="parquet needs the extra of that name")

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="the least that is logged")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto: text on a terminal, else JSON")

    def retention(self) -> dict[str, timedelta | None]:
        """How long final jobs are kept, by status."""
        statuses = ("succeeded", "skipped", "canceled", "failed", "dead_letter")
        return {status: getattr(self, f"keep_{status}") for status in statuses}

    @field_validator("api_embed")
    @classmethod
    def _origins(cls, given: str) -> str:
        for origin in given.split():
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"{origin!r} is no origin: https://app.example.com, or https://*.example.com for all below it"
                )
        return given

    @property
    def embedding(self) -> tuple[str, ...]:
        """The sites that may embed a tenant's view."""
        return tuple(self.api_embed.split())
