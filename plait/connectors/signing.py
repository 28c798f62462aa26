"""Signatures of webhooks: Standard Webhooks 1.0.0, by its own library, or `sha256=…` over the body, for receivers that expect this form.

Keys are not stored: each is derived from the operator's secret (PLAIT_SECRET_WEBHOOKS), the endpoint and the version of its key. Therefore each
version has a different key, and someone who can read the database cannot sign.
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
"""The secret's name."""
SHORTEST: Final = 24


def masters(secret: str) -> list[str]:
    """One secret, or several separated by white space, newest first. All of them sign until the old ones are removed."""
    found = secret.split()
    if not found or min(map(len, found)) < SHORTEST:
        raise SecretMissing(
            f"PLAIT_SECRET_{MASTER} must have at least {SHORTEST} characters. Generate one: openssl rand -base64 32"
        )
    redaction.learn(found)
    return found


def key_of(master: str, tenant_id: UUID, endpoint_id: UUID, version: int) -> str:
    """An endpoint's key in the form for receivers: `whsec_…`."""
    said = f"plait webhook {tenant_id} {endpoint_id} {version}"
    key = base64.b64encode(hmac.digest(master.encode(), said.encode(), "sha256")).decode()
    redaction.learn([key])
    return f"whsec_{key}"


def signed(form: str, keys: Sequence[str], message_id: str, at: datetime, body: str) -> dict[str, str]:
    """The signature headers of a message: one signature for each key, so that a key can be rotated while both are valid."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(int(at.timestamp()))}
    if form == "standard":
        return {**headers, "webhook-signature": " ".join(Webhook(key).sign(message_id, at, body) for key in keys)}
    signatures = [
        f"{form}={hmac.new(base64.b64decode(key.removeprefix('whsec_')), body.encode(), getattr(hashlib, form)).hexdigest()}"
        for key in keys
    ]
    return {**headers, "x-webhook-signature": ",".join(signatures)}
