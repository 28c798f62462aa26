"""The client's address behind proxies, and its uses: the limit of failed logins, the cookie, and the client's share of resources."""

import asyncio
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from plait.api.client_address import Forwarding
from plait.model.errors import InvalidConfiguration
from plait.runtime.settings import Settings, networks_in

from ..harness import Harness
from .api_client import ApiClient, new_key

GUESSES = 25
"""More failed logins than the burst limit of one address."""


async def scope_after(trusted: str, peer: str, **headers: str) -> Scope:
    found: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        found.append(scope)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "client": (peer, 1), "scheme": "http", "headers": given}
    await Forwarding(app, trusted=networks_in(trusted), per_client=5)(scope, None, None)  # type: ignore[arg-type]  # unused
    [seen] = found
    return seen


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        ("10.0.0.0/8", "10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.0/8", "10.0.0.1", "192.0.2.7:4711", "192.0.2.7"),
        ("10.0.0.0/8", "10.0.0.1", "1.2.3.4, 192.0.2.7, 10.9.9.9", "192.0.2.7"),
        ("10.0.0.0/8", "10.0.0.1", "10.1.1.1, 10.9.9.9", "10.1.1.1"),
        ("10.0.0.0/8", "10.0.0.1", "192.0.2.7, rubbish, 10.9.9.9", "10.9.9.9"),
        ("10.0.0.0/8", "10.0.0.1", "rubbish", "10.0.0.1"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", "[2001:db8::1]:80", "2001:db8::1"),
        ("10.0.0.0/8", "192.0.2.1", "1.2.3.4", "192.0.2.1"),
        ("", "127.0.0.1", "1.2.3.4", "127.0.0.1"),
        ("10.0.0.0/8 fd00::/8", "fd00::1", "2001:db8::1", "2001:db8::1"),
    ],
)
async def test_a_trusted_proxy_says_who_the_client_is(trusted: str, peer: str, forwarded: str, client: str) -> None:
    assert (await scope_after(trusted, peer, x_forwarded_for=forwarded))["client"][0] == client


@pytest.mark.parametrize(
    ("peer", "proto", "scheme"),
    [("10.0.0.1", "https", "https"), ("10.0.0.1", "http, HTTPS", "https"), ("10.0.0.1", "gopher", "http"), ("1.2.3.4", "https", "http")],
)  # fmt: skip
async def test_a_trusted_proxy_says_whether_it_was_tls(peer: str, proto: str, scheme: str) -> None:
    assert (await scope_after("10.0.0.0/8", peer, x_forwarded_proto=proto))["scheme"] == scheme


@pytest.mark.parametrize("text", ["10.0.0.0/99", "proxy.example.com", "10.0.0.1/8"])
def test_proxies_are_addresses_and_networks(text: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"must be addresses or networks like 10\.0\.0\.0/8, got"):
        Settings(trusted_proxies=text)


async def test_the_cookie_is_secure_where_a_trusted_proxy_says_https(harness: Harness) -> None:
    for trusted, secure in (("127.0.0.1", True), ("10.0.0.0/8", False)):
        async with ApiClient.over(harness, trusted_proxies=trusted) as api:
            _, token = await new_key(harness.store, "viewer", await harness.tenant())
            opened = await api.post("/session", {"key": token}, headers={"X-Forwarded-Proto": "https"})
            assert ("secure" in opened.headers["set-cookie"].lower()) is secure


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/session", {"key": "wrong"}),
        ("GET", "/session/link?token=wrong", None),
        ("POST", "/embeds/session", {"link": "wrong"}),
    ],
)
async def test_guesses_are_limited_by_client_and_not_even_looked_up(
    harness: Harness, method: str, path: str, body: dict[str, str] | None
) -> None:
    """On every route that accepts a secret. Another client behind the same proxy is not limited."""
    options: dict[str, Any] = {} if body is None else {"json": body}
    async with ApiClient.over(harness) as api:
        api.stop_the_clock()
        said = [
            (await api.call(method, path, headers={"X-Forwarded-For": "192.0.2.1"}, **options)).status_code
            for _ in range(GUESSES)
        ]
        assert said[0] == 401
        assert said[-1] == 429
        other = await api.call(method, path, headers={"X-Forwarded-For": "192.0.2.2"}, **options)
        assert other.status_code == 401


async def test_a_login_link_is_not_used_up_by_a_client_that_has_guessed_too_often(harness: Harness) -> None:
    async with ApiClient.over(harness) as api:
        api.stop_the_clock()
        for _ in range(GUESSES):
            await api.get("/session/link?token=wrong")
        _, token = await new_key(harness.store, "viewer", await harness.tenant())
        refused = await api.get(f"/session/link?token={token}")
        assert (refused.status_code, "retry-after" in refused.headers) == (429, True)


async def test_requests_of_one_client_behind_a_proxy_are_limited(harness: Harness) -> None:
    go_on, begun = asyncio.Event(), asyncio.Event()
    statuses: list[int] = []

    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        begun.set()
        await go_on.wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def ask(client: str) -> None:
        headers = [(b"x-forwarded-for", client.encode())]
        scope: dict[str, Any] = {"type": "http", "client": ("127.0.0.1", 1), "scheme": "http", "headers": headers,
                                 "method": "GET", "path": "/", "query_string": b"", "server": ("a", 80)}  # fmt: skip
        await forwarding(scope, None, send)  # type: ignore[arg-type]  # nothing is received

    forwarding = Forwarding(app, trusted=networks_in("127.0.0.1"), per_client=1)
    first = asyncio.create_task(ask("192.0.2.1"))
    await begun.wait()
    await ask("192.0.2.1")
    assert statuses == [429]
    other = asyncio.create_task(ask("192.0.2.2"))
    go_on.set()
    await asyncio.gather(first, other)
    await ask("192.0.2.1")
    assert statuses == [429]
