"""The URL check and the signing keys of webhook endpoints."""

from plait.connectors.exchange import policy_of
from plait.connectors.signing import MASTER, key_of, masters
from plait.connectors.urls import Refused, parse
from plait.model.errors import InvalidEndpoint
from plait.runtime.secrets import read_secret
from plait.runtime.settings import Settings
from plait.store.endpoints import EndpointRow


def check_url(url: str, settings: Settings) -> None:
    """Check the URL against this process's settings, without resolving the name. Each delivery is checked again, against the worker's
    settings and the resolved addresses."""
    try:
        policy_of(settings, settings.connector_webhook_hosts).check_url(parse(url))
    except Refused as error:
        raise InvalidEndpoint(str(error)) from None


def keys_of(row: EndpointRow, settings: Settings) -> list[tuple[int, str]]:
    """The active keys of an endpoint, with their versions, newest first."""
    found = masters(read_secret(MASTER, settings.secrets_dir))
    return [
        (version, key_of(master, row.tenant_id, row.id, version)) for version in row.key_versions for master in found
    ]
