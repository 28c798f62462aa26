"""`connector.http.request`: send a request to another server as a job. The response, truncated and redacted, is the job's result."""

import asyncio
import base64
from collections.abc import Callable
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from plait.connectors.client import Answer, Request
from plait.connectors.exchange import Exchange
from plait.connectors.policy import Hosts
from plait.model.errors import NotSerializable, PermanentError
from plait.model.redaction import HIDDEN, hide, hide_in, hide_known, names_secret
from plait.sdk.codec import encode
from plait.sdk.context import current

NAME: Final = "connector.http.request"
SMALL: Final = 8_192
_CHARSETS: Final = frozenset(
    {"ascii", "utf_8", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be", "latin_1", "koi8_r", "koi8_u"}
    | {f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))}
    | {f"cp{page}" for page in (874, 932, 949, 950, *range(1250, 1259))}
    | {"shift_jis", "euc_jp", "iso2022_jp", "gb2312", "gbk", "gb18030", "big5", "euc_kr"}
)
"""Python's names of the supported encodings. All are decoded in C and in linear time; others, such as punycode, can take seconds."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def handler(exchange: Exchange) -> Callable[..., Any]:
    async def request(
        url: str,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        body: str | None = None,
        json: Any = None,
        timeout: float | None = None,
        redirects: int | None = None,
        preview: int | None = None,
    ) -> dict[str, Any]:
        """Send a request to another server. Transport errors, 5xx, 408, 425 and 429 are retried, after the delay in Retry-After. Other 4xx responses fail the job."""
        job = current()
        set_ = await exchange.configurations.http(await exchange.store(), job.tenant_id)
        given = _headers(set_.headers, headers or {})
        if json is not None:
            if body is not None:
                raise PermanentError("body and json cannot be used together")
            body = msgspec.json.encode(json).decode()
            given.setdefault("content-type", "application/json")
        if method.upper() not in _SAFE:
            given.setdefault("idempotency-key", str(job.job_id))
        asked = Request(
            url=_with_query(url, query),
            method=method.upper(),
            headers=given,
            body=body,
            body_is="json" if json is not None or "json" in given.get("content-type", "") else "text",
            timeout_s=min(max(set_.timeout if timeout is None else timeout, 0.001), 300.0),
            hosts=None if set_.hosts is None else Hosts.of(set_.hosts, what="hosts"),
            redirects=min(max(set_.redirects if redirects is None else redirects, 0), 10),
            most=min(max(set_.preview if preview is None else preview, 0), 262_144),
        )
        answer = await exchange.send(exchange.http, asked, job)
        if 400 <= answer.status < 500:
            said = hide(answer.body[:500].decode(errors="replace"))
            raise PermanentError(f"{answer.url} responded {answer.status}: {said}")
        # Redacting 256 kB takes up to 0.4 s of CPU, which would block the worker's event loop.
        return await asyncio.to_thread(shown, answer) if len(answer.body) > SMALL else shown(answer)

    return request


def _headers(*given: dict[str, str]) -> dict[str, str]:
    """Merge headers by lower-case name. Later headers take precedence."""
    return {name.lower(): value for headers in given for name, value in headers.items()}


def _with_query(url: str, query: dict[str, str] | None) -> str:
    if not query:
        return url
    bare = url.partition("#")[0]
    return bare + ("&" if "?" in bare else "?") + urlencode(query)


def shown(answer: Answer) -> dict[str, Any]:
    """Convert a response to the job's result."""
    found: dict[str, Any] = {
        "status": answer.status,
        "url": hide(answer.url),
        "headers": {name: HIDDEN if names_secret(name) else hide(value) for name, value in answer.headers},
        "truncated": answer.truncated,
    }
    kind, _, rest = (answer.header("content-type") or "").partition(";")
    kind = kind.strip().lower()
    if (kind == "application/json" or kind.endswith("+json")) and not answer.truncated:
        try:
            value = hide_in(msgspec.json.decode(answer.body))
            encode(value, what="the answer")  # a value that cannot be stored is kept as text
        except (msgspec.DecodeError, RecursionError, NotSerializable, ValueError):
            pass
        else:
            return {**found, "json": value}
    text = _text(answer.body, rest, truncated=answer.truncated)
    if text is not None:
        try:
            encode(text, what="the answer")
        except NotSerializable:  # most of it would be escaped
            return {**found, "body": hide(text[:10_000]), "truncated": True}
        return {**found, "body": hide(text)}
    raw = answer.body.decode("latin-1")
    return {**found, "base64": HIDDEN if hide_known(raw) != raw else base64.b64encode(answer.body).decode()}


def _text(body: bytes, parameters: str, *, truncated: bool) -> str | None:
    """Decode the bytes; None if they are not text."""
    charset = parameters.strip().lower().partition("charset=")[2].partition(";")[0].strip("\"' ") or "utf-8"
    if len(charset) > 40 or not charset.isascii():
        return None
    name = normalize_encoding(charset)
    name = aliases.get(name, name)
    if name not in _CHARSETS:  # not `codecs.lookup`, which caches every name forever
        return None
    try:
        text = body.decode(name, "ignore" if truncated else "strict")
    except ValueError:
        return None
    return None if "\0" in text else text
