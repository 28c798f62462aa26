"""Approval links: a URL that completes a wait when a person confirms it, without an account or an API key.

The URL contains a token, and the database stores only its hash. A replay must return the same URL, so the token is derived from a nonce that is recorded with the
step and from a secret of the workers (PLAIT_SECRET_LINKS). Read access to the database is not enough to create a link.
"""

import base64
import hmac
import secrets
from datetime import timedelta
from typing import Any, Final

import msgspec

from plait.model.durations import seconds
from plait.model.errors import InvalidArguments, NotDurable
from plait.model.texts import is_storable, shown
from plait.model.tokens import PREFIX, hash_of
from plait.runtime.secrets import SecretMissing, read_secret
from plait.runtime.settings import Settings
from plait.sdk.codec import encode
from plait.sdk.durable import durable
from plait.sdk.until_sent import until_sent

MASTER: Final = "LINKS"
SHORTEST: Final = 24
PATH: Final = "/api/v1/approvals"
MAX_MESSAGE: Final = 2_000


async def approval_url(
    signal: str,
    *,
    payload: Any = None,
    expires: float | str | timedelta = "7d",
    message: str | None = None,
    button: str = "Confirm",
) -> str:
    """A URL that can be used once: when somebody opens it and presses the button, this job gets a signal. `wait_for_signal(signal)` then returns
    `payload`. Opening the page alone has no effect, because mail and chat programs open links automatically. This is a step: a replay returns the
    same URL. `message` and `button` are shown on the page. Workers need PLAIT_API_URL and PLAIT_SECRET_LINKS."""
    for name, text, most in (("signal", signal, 180), ("message", message, MAX_MESSAGE), ("button", button, 100)):
        if not (isinstance(text, str) and 1 <= len(text) <= most and is_storable(text)) and not (
            text is None and name == "message"
        ):
            raise InvalidArguments(f"{name} must be text of 1 to {most:,} characters, got {shown(text)}")
    expires_s = seconds(expires, what="expires")
    if expires_s <= 0:
        raise InvalidArguments(f"expires must be more than 0 seconds, got {shown(expires)}")
    text = encode(payload, what="the payload of an approval link")
    owner = durable()
    with await owner.begin(f"approval_url {signal}", "call") as step:
        nonce = secrets.token_hex(16) if step.row is None else msgspec.json.decode(step.row.value or "", type=str)
        token, url = _link(owner.settings, nonce)
        if step.row is None:
            links = owner.store.approvals
            if not await until_sent(
                lambda: links.open_link(
                    owner.lease,
                    hash=hash_of(token),
                    signal=signal,
                    payload=text,
                    expires_s=expires_s,
                    message=message or f"Confirm: {signal}",
                    button=button,
                )
            ):
                await owner.stop_for("stale")
            await owner.save(step, msgspec.json.encode(nonce).decode())
    return url


def _link(settings: Settings | None, nonce: str) -> tuple[str, str]:
    if settings is None or settings.api_url is None:
        raise NotDurable("approval_url needs the URL of the API: set PLAIT_API_URL on workers")
    secret = read_secret(MASTER, settings.secrets_dir)
    if len(secret) < SHORTEST:
        raise SecretMissing(
            f"PLAIT_SECRET_{MASTER} must have at least {SHORTEST} characters. Generate one: openssl rand -base64 32"
        )
    digest = hmac.digest(secret.encode(), f"plait approval {nonce}".encode(), "sha256")
    token = PREFIX + base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return token, f"{settings.api_url.rstrip('/')}{PATH}/{token}"
