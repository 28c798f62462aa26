"""The HTTP client: all requests of connectors are sent here (tests/project/test_outgoing_requests.py).

A name is resolved once, and every returned address is checked. The client connects to a checked address, while Host, SNI and the
certificate check use the name. So the address cannot change between the check and the use (T120). Each redirect is checked again. Proxy
settings of the environment are ignored, cookies are not stored, and connections are not reused.
"""

import asyncio
import logging
import re
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, Final, Literal, Protocol

import httpcore2

from plait import __version__
from plait.connectors.addresses import Address
from plait.connectors.policy import Hosts, Policy
from plait.connectors.urls import Refused, Url, follow, parse
from plait.model.errors import PlaitError
from plait.model.redaction import names_secret
from plait.model.texts import message_of, shown

Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]


class Fill(Protocol):
    """Replaces references to secrets in a text that is sent to this URL: as late as possible, and only if the secrets may be sent there."""

    async def __call__(self, url: Url, text: str, *, in_json: bool) -> str: ...


METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CONNECT_S: Final = 10.0
MOST_BODY: Final = 1_048_576
MOST_HEADERS: Final = 100
LOOKUPS: Final = 16
"""Maximum number of concurrent name resolutions."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8192}")
_OURS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"}
    | {"proxy-authorization", "proxy-connection", "accept-encoding", "http2-settings"}
)
"""Headers of the transport, which payloads cannot set."""
_ONE_SERVERS: Final = frozenset({"authorization", "cookie", "idempotency-key"})
"""Headers that are dropped on a redirect to another server. Headers whose names indicate a secret are dropped too."""
_OF_THE_BODY: Final = frozenset({"content-type", "content-encoding", "content-language", "content-location"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

# At lower levels, this logger writes headers without redaction.
logging.getLogger("httpcore2").setLevel(logging.WARNING)


class Unreachable(PlaitError):
    """No complete response arrived. A retry may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)
    body_is: Literal["text", "json", "data"] = "text"
    """Secrets in JSON must be escaped, so that they stay within their string. No secrets are inserted into binary data."""
    timeout_s: float = 30.0
    redirects: int = 0
    """The maximum number of redirects. Exceeding it is an error; with 0, a redirect is returned as the response."""
    hosts: Hosts | None = None
    """Only these of the hosts that the operator allows, also after a redirect. None: no restriction."""
    most: int = MOST_BODY
    """The maximum number of bytes to read, after decompression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    url: str
    """The final URL, after redirects, without its query."""
    headers: list[tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)
    truncated: bool

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class Client:
    def __init__(self, policy: Policy, *, resolve: Resolve | None = None, ca_file: str | None = None) -> None:
        self._policy = policy
        self._resolve = resolve or look_up
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None

    async def send(self, request: Request, *, fill: Fill | None = None) -> Answer:
        """Send a request and return the response, with any status. Raises `Refused` if the request is not allowed, and `Unreachable` if there is no
        response."""
        if request.method not in METHODS:
            raise Refused(f"method must be one of {', '.join(sorted(METHODS))}, got {shown(request.method)}")
        if len(request.headers) > MOST_HEADERS:
            raise Refused(f"a request must have at most {MOST_HEADERS} headers")
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._follow(request, parse(request.url), fill)
        except TimeoutError:
            raise Unreachable(f"no response within {request.timeout_s:g} s") from None

    async def _follow(self, request: Request, url: Url, fill: Fill | None) -> Answer:
        for _ in range(request.redirects + 1):
            answer = await self._once(request, url, fill)
            location = answer.header("location")
            if answer.status not in _REDIRECTS or location is None or request.redirects == 0:
                return answer
            following = follow(url, location)
            if url.scheme == "https" and following.scheme == "http":
                raise Refused(f"{url.host} redirects from https to http")
            request = _sent_on(request, answer.status, same_server=url.origin == following.origin)
            url = following
        raise Refused(f"more than {request.redirects} redirects")

    async def _once(self, request: Request, url: Url, fill: Fill | None) -> Answer:
        if request.hosts is not None and not request.hosts.has(url):
            raise Refused(f"{url.host} is not among the hosts that this tenant allows")
        addresses = await self._checked(url)
        headers, body = await _filled(request, url, fill)
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._context() if url.scheme == "https" else None,
            max_connections=1,
            network_backend=_Pinned(addresses),
        )
        target = httpcore2.URL(
            scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode()
        )
        patience = min(CONNECT_S, request.timeout_s)
        timeouts = {"connect": patience, "read": request.timeout_s, "write": request.timeout_s, "pool": patience}
        try:
            async with (
                pool,
                pool.stream(
                    request.method, target, headers=headers, content=body, extensions={"timeout": timeouts}
                ) as response,
            ):
                found = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers]
                content, truncated = await _read(response.aiter_stream(), _encoding(found), request.most)
                return Answer(
                    status=response.status, url=url.without_query, headers=found, body=content, truncated=truncated
                )
        except httpcore2.LocalProtocolError as error:
            raise Refused(f"not a valid HTTP request: {message_of(error, 200)}") from None
        except (
            httpcore2.NetworkError,
            httpcore2.TimeoutException,
            httpcore2.ProtocolError,
            httpcore2.ConnectionNotAvailable,
            OSError,
        ) as error:
            said = message_of(error, 200) or type(error).__name__
            raise Unreachable(f"{url.host} sent no complete response: {said}") from None

    async def _checked(self, url: Url) -> list[Address]:
        """The addresses of a URL's host, if all of them are allowed."""
        self._policy.check_url(url)
        addresses = [url.address] if url.address is not None else list(await self._resolve(url.host, url.port))
        for address in addresses:
            self._policy.check_address(url, address)
        if not addresses:
            raise Unreachable(f"{url.host} has no address")
        return addresses

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            ca_file = self._ca_file
            self._tls = (
                ssl.create_default_context(cafile=ca_file) if ca_file is not None else httpcore2.default_ssl_context()
            )
        return self._tls


_lookups: Final = ThreadPoolExecutor(LOOKUPS, "plait-lookup")


async def look_up(host: str, port: int) -> Sequence[Address]:
    """Resolve a name with the system's resolver."""
    try:
        found = await asyncio.get_running_loop().run_in_executor(_lookups, _addresses, host, port)
    except OSError as error:
        raise Unreachable(f"{host} could not be resolved: {message_of(error, 200)}") from None
    return list(dict.fromkeys(ip_address(one) for one in found))


def _addresses(host: str, port: int) -> list[str]:
    # The text of an IPv6 address includes its scope, such as `fe80::1%eth0`. Addresses with a scope are rejected later.
    return [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class _Pinned(httpcore2.AsyncNetworkBackend):
    """Connects only to checked addresses, and ignores the name."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - it must not be resolved again
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        for number, address in enumerate(self._addresses, 1):
            try:
                return await self._sockets.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == len(self._addresses):
                    raise
        raise AssertionError("unreachable: there is at least one address")


def _sent_on(request: Request, status: int, *, same_server: bool) -> Request:
    """The request to send after a redirect."""
    method, body, headers = request.method, request.body, dict(request.headers)
    if not same_server:
        headers = {
            name: value
            for name, value in headers.items()
            if name.lower() not in _ONE_SERVERS and not names_secret(name)
        }
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_BODY}
    return replace(request, method=method, body=body, headers=headers)


async def _filled(request: Request, url: Url, fill: Fill | None) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
    headers = [("host", url.authority), ("connection", "close"), ("accept-encoding", "gzip")]
    given = {"user-agent": f"plait/{__version__}", "accept": "*/*"}
    for name, value in request.headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise Refused(f"header {shown(name[:80])} cannot be set")
        given[name.lower()] = await fill(url, value, in_json=False) if fill is not None else value
    for name, value in given.items():
        if not _VALUE.fullmatch(value):
            raise Refused(f"header {name}: the value must be one line of at most 8,192 printable characters")
        headers.append((name, value))
    body = None
    if request.body is not None:
        text = request.body
        if fill is not None and request.body_is != "data":
            text = await fill(url, text, in_json=request.body_is == "json")
        body = text.encode()
        headers.append(("content-length", str(len(body))))
    elif request.method in ("POST", "PUT", "PATCH"):
        headers.append(("content-length", "0"))
    return [(name.encode(), value.encode("latin-1")) for name, value in headers], body


def _encoding(headers: list[tuple[str, str]]) -> str:
    return ",".join(value for name, value in headers if name == "content-encoding").strip().lower()


async def _read(stream: Any, encoding: str, most: int) -> tuple[bytes, bool]:
    """Read at most `most` bytes. Also returns whether there were more. Only gzip and deflate are decoded."""
    unpack = zlib.decompressobj(wbits=47) if encoding in ("gzip", "x-gzip", "deflate") else None
    content = bytearray()
    async for chunk in stream:
        try:
            content += chunk if unpack is None else unpack.decompress(chunk, most + 1 - len(content))
        except zlib.error as error:
            raise Unreachable(f"the response cannot be decompressed: {error}") from None
        if len(content) > most:
            return bytes(content[:most]), True
    return bytes(content), False
