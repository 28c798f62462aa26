"""Shared by all connectors: HTTP clients and their policies, the circuit breaker, secrets, defaults, and the mapping from responses to outcomes."""

from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Final
from uuid import UUID

from plait.connectors.breaker import Breaker
from plait.connectors.client import Answer, Client, Request, Resolve, Unreachable
from plait.connectors.configurations import Configurations
from plait.connectors.policy import Hosts, Policy
from plait.connectors.secrets import Secrets, grants_of
from plait.connectors.urls import Refused, Url, parse
from plait.model.errors import InvalidDefinition, PermanentError, RequestFailed, RetryLater
from plait.model.traces import traceparent
from plait.runtime.settings import Settings
from plait.sdk.app import Plait
from plait.sdk.context import Current
from plait.store import Store
from plait.telemetry.tracing import captured, span

LONGEST_S: Final = 86_400.0
"""The maximum delay that a server's Retry-After can request."""
_AGAIN: Final = frozenset({408, 425, 429})


class Exchange:
    def __init__(self, app: Plait, *, resolve: Resolve | None = None) -> None:
        settings = app.settings
        ca_file = str(settings.connector_ca_file) if settings.connector_ca_file else None
        self._app = app
        self.settings = settings
        self.http = Client(policy_of(settings, settings.connector_hosts), resolve=resolve, ca_file=ca_file)
        self.webhooks = Client(policy_of(settings, settings.connector_webhook_hosts), resolve=resolve, ca_file=ca_file)
        self.secrets = Secrets(grants_of(settings.connector_secrets), settings.secrets_dir)
        self.configurations = Configurations()
        self._breaker = Breaker()

    async def store(self) -> Store:
        return await self._app.store()

    async def send(self, client: Client, request: Request, job: Current) -> Answer:
        """Send one request of a job. Raises an error if the request is not allowed, or if a retry may succeed: no response, 5xx, 408, 425 and 429.
        The caller handles other responses."""
        store = await self.store()
        origin = _origin(request.url)
        try:
            await self._breaker.admit(store, job.tenant_id, origin)
            with span(f"{request.method} {origin}", outgoing=True):
                answer = await client.send(_traced(request, job), fill=_Filling(self.secrets, store, job.tenant_id))
        except Refused as error:
            raise PermanentError(str(error)) from None
        except Unreachable as error:
            await self._breaker.report(store, job.tenant_id, origin, ok=False)
            raise RequestFailed(str(error)) from None
        await self._breaker.report(store, job.tenant_id, origin, ok=answer.status < 500)
        if answer.status >= 500 or answer.status in _AGAIN:
            told = f"{answer.url} responded {answer.status}"
            wait_s = retry_after(answer)
            if wait_s is not None:
                raise RetryLater(wait_s, told)
            raise RequestFailed(told)
        return answer


def _origin(url: str) -> str:
    try:
        return parse(url).origin
    except Refused as error:
        raise PermanentError(str(error)) from None


class _Filling:
    def __init__(self, secrets: Secrets, store: Store, tenant_id: UUID) -> None:
        self._secrets, self._store, self._tenant_id = secrets, store, tenant_id

    async def __call__(self, url: Url, text: str, *, in_json: bool) -> str:
        return await self._secrets.fill(self._store, self._tenant_id, url, text, in_json=in_json)


def policy_of(settings: Settings, hosts: str) -> Policy:
    """Build the operator's network policy. Raises an error for an invalid setting."""
    schemes = frozenset(filter(None, (part.strip().lower() for part in settings.connector_schemes.split(","))))
    if not schemes or not schemes <= {"http", "https"}:
        raise InvalidDefinition(
            f"PLAIT_CONNECTOR_SCHEMES must be https or https,http, got {settings.connector_schemes!r}"
        )
    try:
        ports = frozenset(int(part) for part in settings.connector_ports.split(",") if part.strip())
    except ValueError:
        raise InvalidDefinition(
            f"PLAIT_CONNECTOR_PORTS must be a list of ports, got {settings.connector_ports!r}"
        ) from None
    networks = Hosts.of(settings.connector_networks.split(","), what="PLAIT_CONNECTOR_NETWORKS")
    if networks.any or networks.names or networks.suffixes:
        raise InvalidDefinition(
            "PLAIT_CONNECTOR_NETWORKS must be networks like 10.1.0.0/16; host names belong in PLAIT_CONNECTOR_HOSTS"
        )
    return Policy(
        hosts=Hosts.of(hosts.split(","), what="PLAIT_CONNECTOR_HOSTS"),
        deny=Hosts.of(settings.connector_deny.split(","), what="PLAIT_CONNECTOR_DENY"),
        networks=networks,
        ports=ports,
        schemes=schemes,
    )


def retry_after(answer: Answer) -> float | None:
    """The delay that the server requests. A date is compared with the response's Date header."""
    text = answer.header("retry-after")
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return min(float(text.strip()[:9]), LONGEST_S)
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(answer.header("date") or "")
    except (ValueError, TypeError):
        return None
    return min(max(wait.total_seconds(), 0.0), LONGEST_S)


def _traced(request: Request, job: Current) -> Request:
    headers: Mapping[str, str] = {
        name: value for name, value in request.headers.items() if name.lower() != "traceparent"
    }
    parent = captured() or traceparent(job.job_id, job.attempt, job.correlation_id)
    return replace(request, headers={**headers, "traceparent": parent})
