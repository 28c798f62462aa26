"""Webhook signatures: Standard Webhooks 1.0.0, with its reference library, or `sha256=…` or `sha512=…` over the body.

Keys are not stored. Each key is derived from the operator's secret (PLAIT_SECRET_WEBHOOKS), the endpoint and the version of the key. So each
version has a different key, and read access to the database is not enough to sign messages.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from standardwebhooks import Webhook

from plait.model import redaction
from plait.runtime.secrets import SecretMissing

MASTER: Final = "WEBHOOKS"
"""The name of the operator's secret."""
SHORTEST: Final = 24


def masters(secret: str) -> list[str]:
    """Split the operator's secret, which may be several secrets separated by white space, newest first. Messages are signed with all of them."""
    found = secret.split()
    if not found or min(map(len, found)) < SHORTEST:
        raise SecretMissing(
            f"PLAIT_SECRET_{MASTER} must have at least {SHORTEST} characters. Generate one: openssl rand -base64 32"
        )
    redaction.learn(found)
    return found


def key_of(master: str, tenant_id: UUID, endpoint_id: UUID, version: int) -> str:
    """An endpoint's key, in the format that receivers use: `whsec_…`."""
    said = f"plait webhook {tenant_id} {endpoint_id} {version}"
    key = base64.b64encode(hmac.digest(master.encode(), said.encode(), "sha256")).decode()
    redaction.learn([key])
    return f"whsec_{key}"


def signed(form: str, keys: Sequence[str], message_id: str, at: datetime, body: str) -> dict[str, str]:
    """The signature headers of a message: one signature for each key, so that receivers can verify with either key during a rotation."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(int(at.timestamp()))}
    if form == "standard":
        return {**headers, "webhook-signature": " ".join(Webhook(key).sign(message_id, at, body) for key in keys)}
    signatures = [
        f"{form}={hmac.new(base64.b64decode(key.removeprefix('whsec_')), body.encode(), getattr(hashlib, form)).hexdigest()}"
        for key in keys
    ]
    return {**headers, "x-webhook-signature": ",".join(signatures)}
