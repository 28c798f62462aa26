"""Settings of a process, from environment variables (PLAIT_…) or arguments. Settings of queues, tenants and jobs are in the database."""

import re
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from plait.model.durations import age
from plait.model.errors import InvalidConfiguration, PlaitError
from plait.model.oidc_grants import parsed
from plait.model.texts import shown
from plait.runtime.setting_errors import explain

_ORIGIN: Final = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?")

Network = IPv4Network | IPv6Network
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Symmetric algorithms are excluded, because a service that can verify their tokens could also create tokens."""


def _age(value: Any) -> timedelta | None:
    try:
        return age(value, what="")
    except PlaitError as error:
        raise ValueError(str(error).strip()) from None


Age = Annotated[timedelta | None, BeforeValidator(_age)]
"""`7d`, `12h`, or `forever`."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PLAIT_", extra="ignore", frozen=True)

    if not TYPE_CHECKING:  # type checkers know the fields

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise InvalidConfiguration(explain(error, given)) from None
            except SettingsError as error:  # a variable with JSON
                name = re.search(r'field "(\w+)"', str(error))
                raise InvalidConfiguration(
                    f"PLAIT_{name[1].upper()} must be valid JSON: {error.__cause__}" if name else str(error)
                ) from None

    database_url: str | None = Field(None, description="URL of the Postgres database. Default: an embedded Postgres")
    direct_url: str | None = Field(None, description="URL of the same server that bypasses a pooler, for LISTEN")
    pooler: bool = Field(False, description="whether the URL points to a PgBouncer older than 1.21 in transaction mode")
    data_dir: Path | None = Field(None, description="data directory of the embedded Postgres")

    node: str | None = Field(
        None, description="name of the node that a worker runs on, for node jobs. Default: the host name"
    )
    build: str | None = Field(
        None,
        description="build of a worker's code: durable functions that start on it resume on workers of the same build. Default: none",
    )
    build_fallback: float = Field(
        300,
        ge=0,
        description="number of seconds after which the durable functions of a build that has no workers left may resume on other workers",
    )
    api_url: str | None = Field(None, description="public URL of this machine's API")

    lease: float = Field(30, gt=0, description="seconds without a heartbeat after which a worker is declared lost")
    heartbeat: float | None = Field(
        None,
        gt=0,
        description="seconds between a worker's heartbeats; at most half of the lease. Default: a third of the lease, at most 10",
    )
    loop_timeout: float | None = Field(
        None,
        ge=0,
        description="seconds that a handler may block a worker's event loop before the process is ended. Default: the lease. 0: no limit",
    )
    poll: float = Field(
        1, gt=0, description="polling interval of an idle worker in seconds, as a fallback for notifications"
    )
    statement_timeout: float = Field(
        10,
        gt=0,
        description="timeout of plait's own statements in seconds; at most half of the lease",
    )
    wait_for_database: float = Field(
        60, ge=0, description="seconds that a starting service waits for its database; 0: no wait"
    )
    grace: float = Field(
        30, ge=0, description="graceful shutdown: seconds that running jobs may take to finish when a worker is stopped"
    )
    cached_handlers: int = Field(
        1000,
        ge=0,
        description="maximum number of suspended durable functions that a worker keeps in memory, so that they resume without a replay; 0: none",
    )
    cached_handlers_age: float = Field(
        60,
        ge=0,
        description="maximum number of seconds for which a worker keeps a suspended durable function in memory",
    )
    cached_handlers_size: int = Field(
        67_108_864,
        ge=0,
        description="maximum total size in bytes of the payloads and recorded steps of suspended durable functions in memory",
    )
    listen: bool = Field(True, description="use LISTEN/NOTIFY for low latency; polling is always enabled as a fallback")

    api_host: str = Field("127.0.0.1", description="address that the API listens on")
    api_port: int = Field(8717, ge=0, le=65535, description="port of the API; 0: any free port")
    api_rate: float = Field(
        500,
        ge=0,
        description="rate limit: requests per second for each API key, with bursts of ten times that; 0: no limit",
    )
    api_streams_key: int = Field(
        200,
        ge=1,
        description="maximum number of open streams per API key and API process; streams of an embedded view count towards the key that created the view",
    )
    api_streams_tenant: int = Field(500, ge=1, description="maximum number of open streams per tenant and API process")
    api_body: int = Field(2_097_152, gt=0, description="maximum size of an API request in bytes")
    api_connections: int = Field(4096, ge=16, description="maximum number of open connections to the API")
    api_connections_per_client: int = Field(
        256,
        ge=1,
        description="maximum number of connections of one client; for a client behind a trusted proxy, the maximum number of its concurrent requests",
    )
    api_header_timeout: float = Field(
        10, gt=0, description="maximum number of seconds for the headers of a request to arrive"
    )
    api_body_timeout: float = Field(
        60,
        gt=0,
        description="maximum number of seconds for the body of a request to arrive, and for a client to continue reading a response",
    )
    api_idle_timeout: float = Field(
        75, gt=0, description="seconds that a connection may stay open between two requests"
    )
    trusted_proxies: str = Field(
        "127.0.0.1, ::1",
        description="addresses and networks (CIDR) of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted; empty: none",
    )
    api_session: float = Field(43_200, gt=0, description="lifetime of a browser session in seconds")

    api_embed: str = Field(
        "",
        description="sites that may embed a tenant's view: origins such as https://app.example.com, separated by spaces",
    )
    oidc_issuer: str | None = Field(
        None, description="issuer URL of the OpenID Connect (OIDC) provider for sign-in. Default: none"
    )
    oidc_client_id: str | None = Field(None, description="client id of this installation at the OIDC provider")
    oidc_client_secret: SecretStr | None = Field(
        None, description="client secret at the OIDC provider; not set for a public client"
    )
    oidc_redirect_url: str | None = Field(
        None, description="redirect URL for the OIDC provider: https://…/api/v1/session/oidc/callback"
    )
    oidc_scope: str = Field("openid profile email", description="requested OIDC scopes")
    oidc_role_claim: str = Field("groups", description="claim, or path of a claim, that determines the role")
    oidc_roles: dict[str, str] = Field(
        {},
        description='JSON object with the role for each value of the claim, such as {"ops": "super-admin", "dev": "operator@acme"}',
    )
    oidc_tenant_claim: str | None = Field(None, description="claim with a tenant's slug, for roles without a tenant")
    oidc_algorithms: tuple[Algorithm, ...] = Field(
        ("RS256", "ES256", "PS256", "EdDSA"),
        min_length=1,
        description="allowed signature algorithms of the OIDC provider",
    )
    oidc_skew: float = Field(30, ge=0, le=300, description="allowed clock difference to the OIDC provider in seconds")

    keep_succeeded: Age = Field(
        "7d", validate_default=True, description="retention of succeeded jobs: 7d, 12h, forever"
    )
    keep_skipped: Age = Field("7d", validate_default=True, description="retention of skipped jobs")
    keep_canceled: Age = Field("30d", validate_default=True, description="retention of canceled jobs")
    keep_failed: Age = Field("90d", validate_default=True, description="retention of failed jobs")
    keep_dead_letter: Age = Field("90d", validate_default=True, description="retention of dead letters")
    artifacts: str | None = Field(
        None,
        description="artifact store: directory shared by all processes, or s3://bucket/prefix, for payloads and results above 1 MiB. "
        "Default with embedded Postgres: a directory beside its data",
    )
    artifact_size: int = Field(67_108_864, gt=0, description="maximum size of an artifact in bytes")
    archive: str | None = Field(
        None,
        description="directory or s3://bucket/prefix to which final jobs are archived before they are deleted. Default: no archive",
    )
    archive_format: Literal["jsonl", "parquet"] = Field(
        "jsonl", description="format of the archive; parquet requires the extra `parquet`"
    )

    connectors: str = Field(
        "", description="connectors that a worker runs: http, webhook, report; or all. Disabled by default"
    )
    connector_hosts: str = Field(
        "",
        description="hosts that connector.http.request may connect to: api.example.com, *.example.com, or * for all public hosts",
    )
    connector_webhook_hosts: str = Field(
        "*", description="hosts that webhooks may be delivered to, in the same form as PLAIT_CONNECTOR_HOSTS"
    )
    connector_deny: str = Field(
        "", description="hosts and networks that connectors must never connect to; overrides all other settings"
    )
    connector_networks: str = Field(
        "", description="internal networks that connectors may connect to: 10.1.0.0/16. Denied by default"
    )
    connector_ports: str = Field("80,443", description="ports that connectors may connect to")
    connector_schemes: str = Field("https", description="URL schemes that connectors may use: https, or https,http")
    connector_secrets: str = Field(
        "", description="hosts that each secret may be sent to: NAME:host, NAME@tenant:*.example.com"
    )
    connector_ca_file: Path | None = Field(
        None, description="file with trusted CA certificates, used instead of the system's certificates"
    )
    secrets_dir: Path | None = Field(
        None, description="directory with a file for each secret, in addition to PLAIT_SECRET_…"
    )

    metrics_host: str = Field("127.0.0.1", description="address on which metrics are served, without authentication")
    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="port for metrics of an API, a worker or a leader; 0: any free port. Default: none",
    )
    metrics_top: int = Field(
        50,
        ge=0,
        le=1000,
        description="maximum number of tenants, queues and definitions with their own metrics; the others are combined",
    )

    traces: Literal["app", "otlp"] = Field(
        "app",
        description="tracing. app: the application configures OpenTelemetry; otlp: plait exports traces as configured by OTEL_EXPORTER_OTLP_…, which requires plait[otel]",
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="minimum log level")
    job_logs: Literal["off", "debug", "info", "warning", "error"] = Field(
        "info",
        description="minimum level of the lines that handlers print or log and that are stored with their attempt; off: none are stored. Lines below PLAIT_LOG_LEVEL are not logged at all",
    )
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto: text on a terminal, otherwise JSON")

    @property
    def heartbeat_s(self) -> float:
        """The seconds between a worker's heartbeats. By default, two heartbeats may fail before the lease expires."""
        return min(10.0, self.lease / 3) if self.heartbeat is None else self.heartbeat

    @property
    def statement_s(self) -> float:
        """The timeout of plait's own statements in seconds."""
        return min(self.statement_timeout, self.lease / 2)

    def retention(self) -> dict[str, timedelta | None]:
        """The retention of final jobs, by status."""
        statuses = ("succeeded", "skipped", "canceled", "failed", "dead_letter")
        return {status: getattr(self, f"keep_{status}") for status in statuses}

    @field_validator("database_url", "direct_url")
    @classmethod
    def _servers(cls, given: str | None) -> str | None:
        if given:
            check_database_url(given)
        return given

    @field_validator("api_embed")
    @classmethod
    def _origins(cls, given: str) -> str:
        for origin in given.split():
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"must be origins like https://app.example.com, or https://*.example.com for all subdomains, got {origin!r}"
                )
        return given

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, given: str) -> str:
        networks_in(given)
        return given

    @property
    def proxies(self) -> tuple[Network, ...]:
        """The proxies whose forwarding headers are trusted."""
        return networks_in(self.trusted_proxies)

    @property
    def embedding(self) -> tuple[str, ...]:
        """The sites that may embed a tenant's view."""
        return tuple(self.api_embed.split())

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.heartbeat is not None and self.heartbeat > self.lease / 2:
            raise ValueError(
                f"PLAIT_HEARTBEAT must be at most half of PLAIT_LEASE ({self.lease:g} s), got {self.heartbeat:g} s"
            )
        if self.oidc_issuer is not None:
            if not (self.oidc_client_id and self.oidc_redirect_url):
                raise ValueError("PLAIT_OIDC_ISSUER requires PLAIT_OIDC_CLIENT_ID and PLAIT_OIDC_REDIRECT_URL")
            for url in (self.oidc_issuer, self.oidc_redirect_url):
                if not is_safe(url):
                    raise ValueError(f"{url} must begin with https://, or with http:// if the host is this machine")
            for granted in self.oidc_roles.values():
                parsed(granted)
        return self


def check_database_url(given: object) -> None:
    """Raise ValueError if the value is not the URL of a Postgres server."""
    if not isinstance(given, str) or not given.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"must be a Postgres URL, such as postgresql://user@host/database, got {shown(given)}")


def networks_in(text: str) -> tuple[Network, ...]:
    """Parse addresses and networks, separated by commas or spaces."""
    found: list[Network] = []
    for part in text.replace(",", " ").split():
        try:
            found.append(ip_network(part))
        except ValueError:
            raise ValueError(f"must be addresses or networks like 10.0.0.0/8, got {part!r}") from None
    return tuple(found)


_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_safe(url: str) -> bool:
    """Whether the connection cannot be read on the network: https, or plain http on this machine."""
    try:
        parts = urlsplit(url)
        local = parts.hostname in _LOCAL
    except ValueError:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and local))
