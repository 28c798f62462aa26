"""Secrets that plait hands out: keys, sessions, login links. 256 random bits each, so their plain hash can't be searched."""

import hashlib
import secrets
from typing import Final

PREFIX: Final = "plait_"
HINT: Final = len(PREFIX) + 6
"""So many characters of a key may be shown: enough to tell keys apart, nothing to guess the rest from."""


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def hint_of(token: str) -> str:
    return token[:HINT]
