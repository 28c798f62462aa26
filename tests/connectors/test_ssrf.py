"""S9, T120 to T122: no URL, redirect or DNS server makes a request reach a forbidden address. No connection reaches a canary."""

import asyncio
import contextlib
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from plait.connectors.addresses import Address, is_public
from plait.connectors.client import Client, Request, look_up
from plait.connectors.policy import Hosts, Policy
from plait.connectors.urls import Refused, parse
from plait.model.errors import InvalidDefinition

from .servers import Reply, answering, canary, rebinding, serving
from .ssrf_urls import URLS

ANY = Hosts.of(["*"], what="test")


def policy(*ports: int, **more: list[str]) -> Policy:
    """Any host, any scheme, these ports and the usual ones; `networks` are opened, `deny` is denied."""
    return Policy(
        hosts=Hosts.of(more.get("hosts", ["*"]), what="test"),
        deny=Hosts.of(more.get("deny", []), what="test"),
        networks=Hosts.of(more.get("networks", []), what="test"),
        ports=frozenset({80, 443, *ports}),
        schemes=frozenset({"http", "https"}),
    )


def test_the_corpus_is_as_large_as_it_must_be() -> None:
    assert len(set(URLS)) == len(URLS) >= 150


async def test_no_url_of_the_corpus_is_connected_to() -> None:
    """As any tenant could send them, while the operator allows every host; names are resolved by the system's own resolver."""
    async with canary() as touched:
        client = Client(policy(touched.port), resolve=_public_is_loopback)
        taken = []
        for url in URLS:
            url = url.replace("{port}", str(touched.port)).replace("{{", "{").replace("}}", "}")
            with contextlib.suppress(Refused):
                taken.append((url, await client.send(Request(url=url, timeout_s=5))))
        assert taken == []
        assert touched.connections == 0
        # The canary sings: had one of them been let through, it would have been seen.
        open_client = Client(policy(touched.port, networks=["127.0.0.0/8", "::1/128"]))
        for host in ("127.0.0.1", "127.0.0.2", "[::1]"):
            with pytest.raises(Exception, match="no complete response"):
                await open_client.send(Request(url=f"http://{host}:{touched.port}/"))
        assert touched.connections == 3


async def _public_is_loopback(host: str, port: int) -> Sequence[Address]:
    """Answers like a hostile DNS server for its own name; all other names are resolved by the system."""
    return [ip_address("127.0.0.1")] if host == "public.example" else await look_up(host, port)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{port}/", "//127.0.0.1:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "file:///etc/passwd",
                 "http://2130706433:{port}/", "http://inner.example:{port}/", "\\\\127.0.0.1:{port}\\", "http://x@127.0.0.1:{port}/"],
)  # fmt: skip
async def test_a_redirect_is_checked_like_any_url(status: int, location: str) -> None:
    async with canary() as touched:
        said = Reply(status, headers={"location": location.format(port=touched.port)})
        async with serving(said, host="127.0.0.9") as server:
            # The first server is public, as far as this client knows; what it sends to is not.
            client = Client(
                policy(server.port, touched.port, networks=["127.0.0.9/32"]),
                resolve=answering(["127.0.0.9"], ["127.0.0.1"]),
            )
            with pytest.raises(Refused):
                await client.send(Request(url=f"http://outer.example:{server.port}/", redirects=5))
            assert len(server.seen) == 1
        assert touched.connections == 0


async def test_a_name_is_resolved_once_and_the_address_that_was_checked_is_used() -> None:
    """T120: a real DNS server with a time to live of 0 says a public address first, and loopback from then on."""
    async with (
        canary() as touched,
        serving(host="127.0.0.9") as server,
        rebinding("127.0.0.9", "127.0.0.1") as (dns, resolve),
    ):
        client = Client(policy(server.port, touched.port, networks=["127.0.0.9/32"]), resolve=resolve)
        answer = await client.send(Request(url=f"http://rebind.example:{server.port}/"))
        assert (answer.status, dns.questions, len(server.seen)) == (200, 1, 1)
        assert server.seen[0].headers["host"] == f"rebind.example:{server.port}"
        for _ in range(3):  # and now it says loopback
            with pytest.raises(Refused, match="not a public address"):
                await client.send(Request(url=f"http://rebind.example:{touched.port}/"))
        assert (dns.questions, touched.connections) == (4, 0)


async def test_one_internal_address_among_public_ones_is_enough_to_refuse() -> None:
    async with canary() as touched:
        client = Client(policy(touched.port), resolve=answering(["93.184.215.14", "2606:2800::1", "127.0.0.1"]))
        with pytest.raises(Refused, match=r"127\.0\.0\.1"):
            await client.send(Request(url=f"http://mixed.example:{touched.port}/"))
        assert touched.connections == 0


async def test_the_environments_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with canary() as proxy, serving() as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        client = Client(policy(server.port, networks=["127.0.0.0/8"]))
        assert (await client.send(Request(url=f"http://127.0.0.1:{server.port}/"))).status == 200
        assert proxy.connections == 0


async def test_scopes_that_a_resolver_adds_are_refused() -> None:
    client = Client(policy(), resolve=answering(["fe80::1%lo"], ["2600::1%lo"]))
    for _ in range(2):
        with pytest.raises(Refused):
            await client.send(Request(url="http://scoped.example/"))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255",
                "168.63.129.15", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::8.8.8.8", "2001:4860:4860::8888"],
)  # fmt: skip
def test_what_is_public_is_told_from_what_is_not(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("entry", "taken", "refused"),
    [
        ("example.com", ["example.com", "EXAMPLE.com."], ["a.example.com", "evilexample.com", "example.com.evil.net"]),
        ("*.example.com", ["a.example.com", "a.b.example.com"], ["example.com", "evilexample.com", "a.example.com.evil.net"]),
        ("93.184.215.14", ["93.184.215.14"], ["93.184.215.15", "example.com"]),
        ("93.184.215.0/24", ["93.184.215.14"], ["93.184.216.14"]),
        ("bücher.example".encode("idna").decode(), ["bücher.example", "BÜCHER.example"], ["bucher.example"]),
    ],
)  # fmt: skip
def test_a_host_is_allowed_by_its_whole_name(entry: str, taken: list[str], refused: list[str]) -> None:
    """T121."""
    allowed = policy(hosts=[entry])
    for host in taken:
        allowed.check_url(parse(f"https://{host}/"))
    for host in refused:
        with pytest.raises(Refused, match="hosts that the operator's settings allow"):
            allowed.check_url(parse(f"https://{host}/"))


def test_what_is_denied_is_denied_whatever_else_is_said() -> None:
    strict = policy(
        deny=["bad.example", "*.bad.example", "93.184.215.0/24"], networks=["10.0.0.0/8", "93.184.215.0/24"]
    )
    for url in (
        "https://bad.example/",
        "https://a.bad.example/",
        "https://93.184.215.14/",
        "https://[64:ff9b::5db8:d70e]/",
    ):
        with pytest.raises(Refused, match="denied"):
            strict.check_url(parse(url))
    strict.check_url(parse("https://10.1.2.3/"))
    with pytest.raises(Refused, match="denied"):
        strict.check_address(parse("https://fine.example/"), ip_address("93.184.215.14"))


def test_nothing_is_allowed_before_the_operator_has_said_so() -> None:
    with pytest.raises(Refused, match="hosts that the operator's settings allow"):
        Policy(hosts=Hosts()).check_url(parse("https://example.com/"))
    with pytest.raises(Refused, match="http is not allowed"):
        Policy(hosts=ANY).check_url(parse("http://example.com/"))


@pytest.mark.parametrize(
    "entry", ["http://example.com", "*example.com", "exa*mple.com", "a b", "10.0.0.0/99", "*.*.com", "a/b"]
)
def test_an_entry_that_says_nothing_clear_keeps_the_worker_from_starting(entry: str) -> None:
    with pytest.raises(InvalidDefinition, match="must be hosts like"):
        Hosts.of([entry], what="PLAIT_CONNECTOR_HOSTS")


async def test_a_slow_name_server_is_not_waited_for() -> None:
    async def never(host: str, port: int) -> list[object]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(Exception, match=r"no response within 0\.05 s"):
        await Client(policy(), resolve=never).send(Request(url="http://slow.example/", timeout_s=0.05))  # type: ignore[arg-type]
