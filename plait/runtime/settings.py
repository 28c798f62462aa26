"""Settings of a process, from the environment (PLAIT_…) or from arguments. Settings of queues, tenants and jobs are in the database."""

import re
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_ORIGIN: Final = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?")


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

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="the least that is logged")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto: text on a terminal, else JSON")

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
