"""Secrets in requests: `{{secret.NAME}}` in a header or a body is replaced with a secret of the worker.

The payload contains only the secret's name. The operator decides which secret may be sent to which host, and for which tenant (PLAIT_CONNECTOR_SECRETS).
Otherwise anyone who can enqueue a job could send any secret to their own server.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from plait.connectors.policy import Hosts
from plait.connectors.urls import Refused, Url
from plait.model.errors import InvalidDefinition, UnknownTenant
from plait.runtime.secrets import read_secret
from plait.store import Store

REFERENCE: Final = re.compile(r"\{\{\s*secret\.([A-Z][A-Z0-9_]{0,99})\s*\}\}")
_GRANT: Final = re.compile(r"([A-Z][A-Z0-9_]{0,99})(?:@([a-z0-9][a-z0-9_-]*))?:(\S+)")


@dataclass(frozen=True, slots=True)
class Grant:
    """The hosts that one secret may be sent to, for one tenant (by slug) or for all tenants."""

    name: str
    tenant: str | None
    hosts: Hosts


def grants_of(text: str) -> list[Grant]:
    """Parse `NAME:host` and `NAME@tenant:host`, separated by commas."""
    grants = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        found = _GRANT.fullmatch(entry)
        if found is None:
            raise InvalidDefinition(f"PLAIT_CONNECTOR_SECRETS must be NAME:host or NAME@tenant:host, got {entry!r}")
        hosts = Hosts.of([found[3]], what="PLAIT_CONNECTOR_SECRETS")
        grants.append(Grant(found[1], found[2], hosts))
    return grants


class Secrets:
    def __init__(self, grants: list[Grant], directory: Path | None) -> None:
        self._grants = grants
        self._directory = directory

    async def fill(self, store: Store, tenant_id: UUID, url: Url, text: str, *, in_json: bool) -> str:
        """Replace the references in a text. Inserted values are not rendered again."""
        values: dict[str, str] = {}
        for name in set(REFERENCE.findall(text)):
            if not await self._may_go(store, tenant_id, url, name):
                raise Refused(f"the secret {name} may not be sent to {url.host}: allow it in PLAIT_CONNECTOR_SECRETS")
            value = read_secret(name, self._directory)
            values[name] = json.dumps(value)[1:-1] if in_json else value
        return REFERENCE.sub(lambda found: values[found[1]], text) if values else text

    async def _may_go(self, store: Store, tenant_id: UUID, url: Url, name: str) -> bool:
        for grant in self._grants:
            if grant.name == name and grant.hosts.has(url):
                if grant.tenant is None:
                    return True
                try:
                    if await store.tenants.tenant_id(grant.tenant) == tenant_id:
                        return True
                except UnknownTenant:
                    continue
        return False
