"""Settings of a process, from the environment (PLAIT_…) or from arguments. Settings of queues, tenants and jobs are in the database."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


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

    metrics_host: str = Field("127.0.0.1", description="the address that metrics are served on without a key")
    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="the port for that, of an API, a worker or a leader; none when it is not set; 0: any that is free",
    )
    metrics_top: int = Field(
        50,
        ge=0,
        le=1000,
        description="tenants, queues and definitions with metrics of their own; the others are one together",
    )

    traces: Literal["app", "otlp"] = Field(
        "app",
        description="app: where the application configures OpenTelemetry; otlp: sent as OTEL_EXPORTER_OTLP_… say (plait[otel])",
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="the least that is logged")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto: text on a terminal, else JSON")
