"""A tenant's defaults for a connector. They are validated when they are set, and payloads override them."""

import time
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

import msgspec

from plait.connectors.policy import Hosts
from plait.connectors.secrets import REFERENCE
from plait.model.errors import InvalidDefinition, InvalidEndpoint, PermanentError
from plait.model.redaction import names_secret
from plait.store import Store

Type = Literal["http", "webhook", "report"]
TYPES: Final[tuple[Type, ...]] = ("http", "webhook", "report")
KNOWN_S: Final = 5.0


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    headers: dict[str, str] = {}
    timeout: float = 30.0
    redirects: int = 5
    preview: int = 65_536
    hosts: list[str] | None = None
    """Only these of the hosts that the operator allows. None: no restriction."""


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    headers: dict[str, str] = {}
    timeout: float = 15.0


class ReportSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    format: Literal["json", "html", "csv"] = "json"
    days: float = 1.0


Settings = HttpSettings | WebhookSettings | ReportSettings
_OF: Final[dict[str, type[Settings]]] = {"http": HttpSettings, "webhook": WebhookSettings, "report": ReportSettings}
_NAMES: Final = {kind: name for name, kind in _OF.items()}
S = TypeVar("S", HttpSettings, WebhookSettings, ReportSettings)


def check_settings(type_: str, settings: Any) -> str:
    """Validate the settings and return them as JSON text. Secrets must be references, because the settings are stored."""
    if type_ not in _OF:
        raise InvalidEndpoint(f"connector must be one of {', '.join(TYPES)}, got {type_!r}")
    try:
        found = msgspec.convert(settings, _OF[type_])
    except msgspec.ValidationError as error:
        raise InvalidEndpoint(f"settings of {type_}: {error}") from None
    if isinstance(found, HttpSettings | WebhookSettings):
        if not 0 < found.timeout <= 300:
            raise InvalidEndpoint("timeout must be more than 0 and at most 300 s")
        for name, value in found.headers.items():
            if names_secret(name) and not REFERENCE.search(value):
                raise InvalidEndpoint(
                    f"header {name} must be a reference such as {{{{secret.NAME}}}}, because the settings are stored in the database"
                )
    if isinstance(found, HttpSettings):
        if not (0 <= found.redirects <= 10 and 0 <= found.preview <= 262_144):
            raise InvalidEndpoint("redirects must be between 0 and 10, and preview between 0 and 262,144 bytes")
        try:
            Hosts.of(found.hosts or (), what="hosts")
        except InvalidDefinition as error:
            raise InvalidEndpoint(str(error)) from None
    if isinstance(found, ReportSettings) and not 0 < found.days <= 90:
        raise InvalidEndpoint("days must be more than 0 and at most 90")
    return msgspec.json.encode(settings).decode()


class Configurations:
    """The tenants' defaults, cached for 5 seconds."""

    def __init__(self) -> None:
        self._known: dict[UUID, tuple[float, dict[str, str]]] = {}

    async def http(self, store: Store, tenant_id: UUID) -> HttpSettings:
        return _read(await self._of(store, tenant_id, "http"), HttpSettings)

    async def webhook(self, store: Store, tenant_id: UUID) -> WebhookSettings:
        return _read(await self._of(store, tenant_id, "webhook"), WebhookSettings)

    async def report(self, store: Store, tenant_id: UUID) -> ReportSettings:
        return _read(await self._of(store, tenant_id, "report"), ReportSettings)

    async def _of(self, store: Store, tenant_id: UUID, type_: str) -> str:
        read_at, found = self._known.get(tenant_id, (0.0, {}))
        if time.monotonic() - read_at > KNOWN_S or not read_at:
            rows = await store.connectors.list_connectors(tenant_id=tenant_id)
            found = {row.type: row.settings for row in rows}
            if len(self._known) >= 10_000:
                self._known.clear()
            self._known[tenant_id] = (time.monotonic(), found)
        return found.get(type_, "{}")


def _read(text: str, kind: type[S]) -> S:
    """Decode settings. They are validated again, because they may have been written with SQL."""
    try:
        check_settings(_NAMES[kind], msgspec.json.decode(text))
        return msgspec.json.decode(text, type=kind)
    except (InvalidEndpoint, msgspec.DecodeError, RecursionError) as error:
        raise PermanentError(f"the tenant's connector defaults are not valid: {error}") from None
