"""Signatures of webhooks: as Standard Webhooks 1.0.0 says, by its own library; or `sha256=…` over the body, for receivers that know that form.

Keys are stored nowhere: each is worked out from the operator's one secret (PLAIT_SECRET_WEBHOOKS), the endpoint and the number of its key. So
a new number is a new key, and whoever reads the database can sign nothing.
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
    """One, or several with white space between: the first is the newest, and all of them sign until the old ones are taken out."""
    found = secret.split()
    if not found or min(map(len, found)) < SHORTEST:
        raise SecretMissing(f"PLAIT_SECRET_{MASTER} is {SHORTEST} characters or more: openssl rand -base64 32")
    redaction.learn(found)
    return found


def key_of(master: str, tenant_id: UUID, endpoint_id: UUID, version: int) -> str:
    """An endpoint's key in the form that receivers use: `whsec_…`."""
    said = f"plait webhook {tenant_id} {endpoint_id} {version}"
    key = base64.b64encode(hmac.digest(master.encode(), said.encode(), "sha256")).decode()
    redaction.learn([key])
    return f"whsec_{key}"


def signed(form: str, keys: Sequence[str], message_id: str, at: datetime, body: str) -> dict[str, str]:
    """The headers that say who sent a message: a signature for each key, so that a key can be exchanged while both are known."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(int(at.timestamp()))}
    if form == "standard":
        return {**headers, "webhook-signature": " ".join(Webhook(key).sign(message_id, at, body) for key in keys)}
    signatures = [
        f"{form}={hmac.new(base64.b64decode(key.removeprefix('whsec_')), body.encode(), getattr(hashlib, form)).hexdigest()}"
        for key in keys
    ]
    return {**headers, "x-webhook-signature": ",".join(signatures)}
