"""The client's address behind a proxy. The client is the rightmost address of `X-Forwarded-For` that is not a trusted proxy (`PLAIT_TRUSTED_PROXIES`),
and the scheme is the last value of `X-Forwarded-Proto`. Both headers are ignored unless a trusted proxy sends them.

All clients of a proxy share its connections, so the concurrent requests of each client are counted here."""

from collections import Counter

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from plait.api.problems import Refused, problem
from plait.runtime.connections import Address, address_of, is_trusted, share_of
from plait.runtime.settings import Network


class Forwarding:
    def __init__(self, app: ASGIApp, *, trusted: tuple[Network, ...], per_client: int) -> None:
        self._app = app
        self._trusted = trusted
        self._per_client = per_client
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer = address_of(scope["client"][0]) if scope["type"] == "http" and scope.get("client") else None
        if peer is None or not is_trusted(peer, self._trusted):
            await self._app(scope, receive, send)
            return
        headers = [
            (name, value.decode("latin-1")) for name, value in scope["headers"] if name.startswith(b"x-forwarded-")
        ]
        proto = ",".join(value for name, value in headers if name == b"x-forwarded-proto").rpartition(",")[2]
        if proto.strip().lower() in ("http", "https"):
            scope["scheme"] = proto.strip().lower()
        client = self._client(",".join(value for name, value in headers if name == b"x-forwarded-for"))
        if client is None:
            await self._app(scope, receive, send)
            return
        scope["client"] = (str(client), 0)
        share = share_of(client)
        if self._under_way[share] >= self._per_client:
            error = Refused(
                429, "too-many", "this client has too many concurrent requests", headers={"Retry-After": "1"}
            )
            await problem(Request(scope), error)(scope, receive, send)
            return
        self._under_way[share] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way[share] -= 1
            if not self._under_way[share]:
                del self._under_way[share]

    def _client(self, forwarded: str) -> Address | None:
        """The first address from the right that is not a trusted proxy. Everything left of an invalid address is ignored."""
        found = None
        for part in reversed(forwarded.split(",")[-100:]):
            address = _address(part.strip())
            if address is None:
                break
            found = address
            if not is_trusted(address, self._trusted):
                break
        return found


def _address(text: str) -> Address | None:
    """Parse an address with or without a port: 10.0.0.1, 10.0.0.1:80, 2001:db8::1, [2001:db8::1]:80."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    return address_of(text)
