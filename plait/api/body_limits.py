"""Limits on request bodies. Parsing 2 MB of JSON can create 700,000 lists and block the event loop for 0.7 s. So the values are
counted before a body is parsed, and routes without authentication accept at most 16 KiB."""

import re
from typing import Final

from fastapi import Request
from starlette.requests import ClientDisconnect

from plait.api.problems import Refused

MOST: Final = 250_000
"""Maximum weight of a JSON body: one for each comma and key, four for each list or object."""
ANYBODYS: Final = 16_384
"""Maximum size in bytes of a request without authentication."""
_SMALL: Final = 50_000
"""A body of at most this size in bytes cannot exceed the maximum weight."""
_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


async def check_body(request: Request, *, signed_in: bool) -> None:
    """Reject a body that would take too long to parse, with status 413."""
    if request.method in ("GET", "HEAD"):
        return
    try:
        body = await request.body()
    except ClientDisconnect:
        raise Refused(400, "gone", "the connection was closed before the body was complete") from None
    if not signed_in and len(body) > ANYBODYS:
        raise Refused(
            413, "too-large", f"a request without an API key must have at most {ANYBODYS:,} bytes, got {len(body):,}"
        )
    if len(body) > _SMALL and (found := weight(body)) > MOST:
        raise Refused(
            413,
            "too-large",
            f"a request body must have at most {MOST:,} values, where each list or object counts as four, got {found:,}",
        )


def weight(body: bytes) -> int:
    """An upper bound of the weight. Delimiters inside strings are excluded only if the text exceeds the limit with them."""
    found = _signs(body)
    return found if found <= MOST else _signs(_STRINGS.sub(b"", body))


def _signs(text: bytes) -> int:
    return text.count(b",") + text.count(b":") + 4 * (text.count(b"[") + text.count(b"{"))
