"""Secrets that plait issues: API keys, sessions, login links. Each has 256 random bits, so a plain hash cannot be reversed by brute force."""

import hashlib
import secrets
from typing import Final

PREFIX: Final = "plait_"
HINT: Final = len(PREFIX) + 6
"""How many characters of a key may be shown: enough to distinguish keys, too few to help guess a key."""


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def hint_of(token: str) -> str:
    return token[:HINT]
