"""Limits and timeouts of a server's HTTP connections. uvicorn has none for incomplete requests.

Each connection is in one phase at a time. Phases that depend on the client have a timeout here; the application sets its own timeouts:

    header   until the headers of a request are complete, from the connection or from the first byte after a response
    body     until its body is complete
    busy     the application responds: a stream may take hours, so there is no timeout
    stalled  the client does not read the response
    idle     between two requests

When the total is reached, the connection that has been idle or without a complete header for the longest time is closed. If no
connection can be closed, new connections get a 503, except for health checks. One client may use only a part of the total; requests that a trusted proxy
forwards are counted for each client by `plait.api.client_address` instead.
"""

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import h11
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from plait.runtime.settings import Network

Phase = Literal["header", "body", "busy", "stalled", "idle"]

RESERVE: Final = 64
"""Connections above the total, which may only send health checks."""
HEALTH: Final = frozenset({"/healthz", "/readyz", "/metrics"})
BACKLOG: Final = 512
"""Connections that the kernel queues until they are accepted. asyncio accepts this many at once, before any of them is checked."""
FILES: Final = 512 + BACKLOG
"""File descriptors reserved for other uses, including connections that are accepted but not yet checked."""


@dataclass(kw_only=True)
class Connections:
    """The connections of one server, and their limits."""

    total: int
    per_client: int
    header_s: float
    body_s: float
    idle_s: float
    trusted: tuple[Network, ...] = ()
    """The networks of trusted proxies. Their connections count only towards the total."""

    open: int = 0
    of_client: Counter[str] = field(default_factory=Counter)
    watched: "dict[Connection, float]" = field(default_factory=dict)
    """The time at which each connection's phase times out, oldest phase first."""
    _sweeping: bool = False

    def __post_init__(self) -> None:
        self._limits: dict[Phase, float] = {
            "header": self.header_s,
            "body": self.body_s,
            "stalled": self.body_s,
            "idle": self.idle_s,
        }
        self._tick = min(1.0, *(limit / 4 for limit in self._limits.values()))

    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol class for uvicorn."""
        return type("LimitedConnection", (Connection,), {"all": self})

    def fit_files(self) -> None:
        """Raise the process's limit of open files so that it suffices for the total; if that is not allowed, lower the total."""
        try:
            import resource  # Unix only
        except ImportError:
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < self.total + FILES:
            most = self.total + FILES if hard == resource.RLIM_INFINITY else min(hard, self.total + FILES)
            if most > soft:
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            self.total = min(self.total, most - min(FILES, most // 2))

    def enter(self, one: "Connection", phase: Phase) -> None:
        self.watched.pop(one, None)  # moved to the end: ordered by age
        if phase in self._limits:
            self.watched[one] = one.loop.time() + self._limits[phase]
            if not self._sweeping:
                self._sweeping = True
                one.loop.call_later(self._tick, self._sweep, one.loop)

    def leave(self, one: "Connection") -> None:
        self.watched.pop(one, None)

    def make_room(self) -> bool:
        """Close the connection that has waited longest for a request. Returns False if no connection waits for a request."""
        for one in self.watched:
            if one.phase in ("idle", "header") and not one.expired:
                one.expire()
                return True
        return False

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in [one for one, until in self.watched.items() if until <= now]:
            one.expire()
        self._sweeping = bool(self.watched)
        if self._sweeping:
            loop.call_later(self._tick, self._sweep, loop)


class Connection(H11Protocol):
    all: Connections
    phase: Phase = "header"
    _counted: str | None = None
    _is_open = False
    expired = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        _set_timeouts(transport, self.all.idle_s)
        limits = self.all
        client = None if self.client is None else address_of(self.client[0])
        if client is not None and not is_trusted(client, limits.trusted):
            if limits.of_client[share_of(client)] >= limits.per_client:
                self._turn_away(429, b"this client has too many connections")
                return
            self._counted = share_of(client)
            limits.of_client[self._counted] += 1
        limits.open += 1
        self._is_open = True
        if limits.open > limits.total and not limits.make_room():
            if limits.open > limits.total + RESERVE:
                self._turn_away(503, b"too many connections")
                return
            self.app = _health_only(self.app)
        limits.enter(self, self.phase)

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def expire(self) -> None:
        """Close a connection whose phase has timed out. The second call aborts it without waiting for its data to be sent."""
        self.all.leave(self)
        if self.expired or self.phase == "stalled":
            self.transport.abort()
            return
        self.expired = True
        self._let_go()
        cycle: RequestResponseCycle | None = self.cycle
        started = cycle is not None and cycle.response_started and not cycle.response_complete
        if self.phase == "body" and not started:
            self.transport.write(_answer(408, b"the body of the request did not arrive in time"))
        elif self.phase == "header" and self.conn.trailing_data[0]:
            self.transport.write(_answer(408, b"the headers of the request did not arrive in time"))
        self.transport.close()
        self.all.watched[self] = (
            self.loop.time() + self.all.header_s
        )  # then abort it, even if the response was not sent

    def _look(self) -> None:
        """Determine the phase. A phase that continues keeps its timeout."""
        if self.expired or not self._is_open:
            return
        phase = self._phase()
        if phase != self.phase:
            self.phase = phase
            self.all.enter(self, phase)

    def _phase(self) -> Phase:
        if self.flow.write_paused:
            return "stalled"
        cycle: RequestResponseCycle | None = self.cycle
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        if cycle is not None and not cycle.response_complete:
            return "busy"
        return "header" if cycle is None or self.conn.trailing_data[0] else "idle"

    def _turn_away(self, status: int, reason: bytes) -> None:
        self._let_go()
        self.expired = True
        self.transport.write(_answer(status, reason))
        self.transport.close()

    def _let_go(self) -> None:
        self.all.leave(self)
        if self._is_open:
            self._is_open = False
            self.all.open -= 1
        if self._counted is not None:
            self.all.of_client[self._counted] -= 1
            if not self.all.of_client[self._counted]:
                del self.all.of_client[self._counted]
            self._counted = None


def _health_only(app: Any) -> Any:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await (app if scope["path"] in HEALTH else service_unavailable)(scope, receive, send)

    return answer


def _answer(status: int, reason: bytes) -> bytes:
    title = {408: b"Request Timeout", 429: b"Too Many Requests", 503: b"Service Unavailable"}[status]
    return (
        b"HTTP/1.1 %d %s\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n\r\n%s\n"
        % (status, title, len(reason) + 1, reason)
    )


def _set_timeouts(transport: asyncio.Transport, seconds: float) -> None:
    """Let the kernel close a connection whose peer has disappeared."""
    found = transport.get_extra_info("socket")
    if (
        found is None
        or found.family not in (socket.AF_INET, socket.AF_INET6)
        or not hasattr(socket, "TCP_USER_TIMEOUT")
    ):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, max(1, int(seconds)))
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(1, int(seconds)) * 1000)


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def address_of(text: str) -> Address | None:
    """Parse an IP address. An IPv4 address that is mapped in IPv6 becomes IPv4. Returns None if the text is not an address."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_trusted(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def share_of(address: Address) -> str:
    """The identity of a client for its limit: its address, or the /64 network of an IPv6 address, since one machine may use all addresses in it."""
    return str(address) if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
