"""Settings of a process, from the environment (PLAIT_…) or from arguments. Settings of queues, tenants and jobs are in the database."""

import re
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from plait.model.durations import age
from plait.model.errors import PlaitError
from plait.model.oidc_grants import parsed

_ORIGIN: Final = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?")

Network = IPv4Network | IPv6Network
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""No symmetric one: who may check a token could make one."""


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
    build: str | None = Field(
        None,
        description="the build of a worker's code: durable jobs that begin on it go on there; none when it is not set",
    )
    build_fallback: float = Field(
        300,
        ge=0,
        description="seconds after which durable jobs of a build that no worker has any more run on other workers",
    )
    api_url: str | None = Field(None, description="where this machine's API is, as others reach it")

    lease: float = Field(30, gt=0, description="seconds after which a silent worker is declared lost")
    heartbeat: float = Field(10, gt=0, description="seconds between a worker's heartbeats")
    loop_timeout: float | None = Field(
        None,
        ge=0,
        description="seconds that a handler may block a worker's event loop before the process ends; the lease when it is not set; 0: for ever",
    )
    poll: float = Field(1, gt=0, description="seconds between an idle worker's looks, when no notification comes")
    statement_timeout: float = Field(
        10,
        gt=0,
        description="seconds in which the database must answer a statement of plait's own; at most half of the lease counts",
    )
    wait_for_database: float = Field(
        60, ge=0, description="seconds that a service which starts waits for its database; 0: it ends at once"
    )
    grace: float = Field(30, ge=0, description="seconds that running jobs get to finish when a worker is stopped")
    cached_handlers: int = Field(
        1000,
        ge=0,
        description="waiting handlers of durable jobs that a worker keeps in memory, to continue without a replay; 0: none",
    )
    cached_handlers_age: float = Field(60, ge=0, description="seconds that each of them is kept at most")
    cached_handlers_size: int = Field(
        67_108_864, ge=0, description="bytes that their payloads and recorded steps may have, in all"
    )
    listen: bool = Field(True, description="use LISTEN for fast pick-up; polling is always on")

    api_host: str = Field("127.0.0.1", description="the address that the API listens on")
    api_port: int = Field(8717, ge=0, le=65535, description="its port; 0: any that is free")
    api_rate: float = Field(
        500, ge=0, description="requests a second for each key, in bursts of ten times that; 0: no limit"
    )
    api_streams_key: int = Field(
        200,
        ge=1,
        description="streams that one key may have open at one API process; embedded views count for their key",
    )
    api_streams_tenant: int = Field(500, ge=1, description="the same for all keys of one tenant")
    api_body: int = Field(2_097_152, gt=0, description="bytes that a request to the API may have")
    api_connections: int = Field(4096, ge=16, description="maximum number of open connections to the API")
    api_connections_per_client: int = Field(
        256,
        ge=1,
        description="maximum number of connections of one client; behind a trusted proxy, of its requests under way",
    )
    api_header_timeout: float = Field(10, gt=0, description="seconds for the headers of a request to arrive")
    api_body_timeout: float = Field(
        60, gt=0, description="seconds for the body of a request to arrive, and for a client to go on reading an answer"
    )
    api_idle_timeout: float = Field(
        75, gt=0, description="seconds that a connection may stay open between two requests"
    )
    trusted_proxies: str = Field(
        "127.0.0.1, ::1",
        description="addresses and networks (CIDR) of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; empty: none",
    )
    api_session: float = Field(43_200, gt=0, description="seconds that a browser stays signed in")

    api_embed: str = Field(
        "",
        description="sites that may embed a tenant's view: origins like https://app.example.com, with spaces between",
    )
    oidc_issuer: str | None = Field(
        None, description="the OpenID Connect provider that people sign in by; none when it is not set"
    )
    oidc_client_id: str | None = Field(None, description="what the provider calls this installation")
    oidc_client_secret: SecretStr | None = Field(None, description="its secret there; none for a public client")
    oidc_redirect_url: str | None = Field(
        None, description="where the provider sends browsers back to: https://…/api/v1/session/oidc/callback"
    )
    oidc_scope: str = Field("openid profile email", description="what is asked of the provider")
    oidc_role_claim: str = Field(
        "groups", description="the claim, or the path of one, that decides what somebody may do"
    )
    oidc_roles: dict[str, str] = Field(
        {}, description='JSON: what the claim\'s values stand for, like {"ops": "super-admin", "dev": "operator@acme"}'
    )
    oidc_tenant_claim: str | None = Field(None, description="the claim with a tenant's slug, for roles that name none")
    oidc_algorithms: tuple[Algorithm, ...] = Field(
        ("RS256", "ES256", "PS256", "EdDSA"), min_length=1, description="how the provider may sign"
    )
    oidc_skew: float = Field(30, ge=0, le=300, description="seconds that the provider's clock may differ")

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

    connectors: str = Field(
        "", description="the connectors that a worker runs: http, webhook, report; or all. None when it is not set"
    )
    connector_hosts: str = Field(
        "",
        description="hosts that connector.http.request may ask: api.example.com, *.example.com, or * for any that is public",
    )
    connector_webhook_hosts: str = Field("*", description="hosts that webhooks may be delivered to, likewise")
    connector_deny: str = Field("", description="hosts and networks that no connector asks, whatever else is said")
    connector_networks: str = Field(
        "", description="internal networks that connectors may reach all the same: 10.1.0.0/16"
    )
    connector_ports: str = Field("80,443", description="ports that connectors may connect to")
    connector_schemes: str = Field("https", description="https, or https,http")
    connector_secrets: str = Field(
        "", description="which secrets may be sent where: NAME:host, NAME@tenant:*.example.com"
    )
    connector_ca_file: Path | None = Field(
        None, description="certificates of authorities to trust, in place of the system's"
    )
    secrets_dir: Path | None = Field(None, description="a directory with a file for each secret, beside PLAIT_SECRET_…")

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

    @property
    def statement_s(self) -> float:
        """The time in which a statement of plait's own must be answered."""
        return min(self.statement_timeout, self.lease / 2)

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

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, given: str) -> str:
        networks_in(given)
        return given

    @property
    def proxies(self) -> tuple[Network, ...]:
        """The proxies that are believed about their clients."""
        return networks_in(self.trusted_proxies)

    @property
    def embedding(self) -> tuple[str, ...]:
        """The sites that may embed a tenant's view."""
        return tuple(self.api_embed.split())

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.oidc_issuer is not None:
            if not (self.oidc_client_id and self.oidc_redirect_url):
                raise ValueError("PLAIT_OIDC_ISSUER needs PLAIT_OIDC_CLIENT_ID and PLAIT_OIDC_REDIRECT_URL")
            for url in (self.oidc_issuer, self.oidc_redirect_url):
                if not is_safe(url):
                    raise ValueError(f"{url} is neither https nor on this machine")
            for granted in self.oidc_roles.values():
                parsed(granted)
        return self


def networks_in(text: str) -> tuple[Network, ...]:
    """Addresses and networks, with commas or spaces between."""
    found: list[Network] = []
    for part in text.replace(",", " ").split():
        try:
            found.append(ip_network(part))
        except ValueError:
            raise ValueError(f"must be addresses or networks like 10.0.0.0/8, got {part!r}") from None
    return tuple(found)


_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_safe(url: str) -> bool:
    """Whether nobody on the way can read what is sent there: https; or plain http on this machine."""
    try:
        parts = urlsplit(url)
        local = parts.hostname in _LOCAL
    except ValueError:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and local))
