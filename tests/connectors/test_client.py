"""The HTTP client: names and certificates, redirects, size limits and timeouts."""

import gzip
import ssl
import zlib

import pytest
import trustme

from plait.connectors.client import Client, Request, Unreachable
from plait.connectors.urls import Refused, Url, follow, parse

from .servers import Reply, Seen, answering, serving
from .test_ssrf import policy

LOOPBACK = ["127.0.0.0/8"]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def certificate(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


async def test_a_pinned_address_keeps_the_hosts_name_for_sni_certificate_and_host_header(authority: trustme.CA) -> None:
    with authority.cert_pem.tempfile() as ca_file:
        async with serving(tls=certificate(authority, "api.example")) as server:
            client = Client(
                policy(server.port, networks=LOOPBACK), resolve=answering(["127.0.0.1"]), ca_file=str(ca_file)
            )
            answer = await client.send(Request(url=f"https://api.example:{server.port}/x?y=1"))
            assert answer.status == 200
            assert server.server_names == ["api.example"]
            assert server.seen[0].headers["host"] == f"api.example:{server.port}"
            assert server.seen[0].target == "/x?y=1"
            with pytest.raises(Unreachable, match="certificate"):
                await client.send(Request(url=f"https://other.example:{server.port}/"))
            assert len(server.seen) == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused(authority: trustme.CA) -> None:
    async with serving(tls=certificate(authority, "api.example")) as server:
        client = Client(policy(server.port, networks=LOOPBACK), resolve=answering(["127.0.0.1"]))
        with pytest.raises(Unreachable, match="certificate"):
            await client.send(Request(url=f"https://api.example:{server.port}/"))
        assert server.seen == []


async def test_from_https_nobody_is_sent_to_http(authority: trustme.CA) -> None:
    with authority.cert_pem.tempfile() as ca_file:
        async with serving() as plain:
            said = Reply(302, headers={"location": f"http://api.example:{plain.port}/"})
            async with serving(said, tls=certificate(authority, "api.example")) as server:
                client = Client(
                    policy(server.port, plain.port, networks=LOOPBACK),
                    resolve=answering(["127.0.0.1"]),
                    ca_file=str(ca_file),
                )
                with pytest.raises(Refused, match="from https to http"):
                    await client.send(Request(url=f"https://api.example:{server.port}/", redirects=3))
                assert plain.seen == []


async def test_another_server_gets_no_credentials_and_the_same_one_does() -> None:
    async with serving() as other:

        def reply(seen: Seen) -> Reply:
            to = {"/away": f"http://b.example:{other.port}/there", "/within": "/here"}.get(seen.target)
            return Reply(307, headers={"location": to}) if to else Reply()

        async with serving(reply) as server:
            client = Client(policy(server.port, other.port, networks=LOOPBACK), resolve=answering(["127.0.0.1"]))
            secrets = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "X-Mine": "stays"}
            for path in ("away", "within"):
                request = Request(
                    url=f"http://a.example:{server.port}/{path}", method="POST", headers=secrets, body="{}", redirects=3
                )
                assert (await client.send(request)).status == 200
            [seen] = other.seen
            assert not {"authorization", "cookie", "x-api-key"} & seen.headers.keys()
            assert (seen.headers["x-mine"], seen.method, seen.body) == ("stays", "POST", b"{}")
            assert server.seen[-1].target == "/here"
            assert server.seen[-1].headers["authorization"] == "Bearer x"


@pytest.mark.parametrize(
    ("status", "method", "then"), [(303, "PUT", "GET"), (302, "POST", "GET"), (301, "HEAD", "HEAD")]
)
async def test_a_redirect_may_change_the_method_and_then_drops_the_body(status: int, method: str, then: str) -> None:
    async with serving(
        lambda seen: Reply(status, headers={"location": "/x"}) if seen.target == "/" else Reply()
    ) as server:
        client = Client(policy(server.port, networks=LOOPBACK))
        body = None if method == "HEAD" else "{}"
        request = Request(
            url=f"http://127.0.0.1:{server.port}/",
            method=method,
            body=body,
            headers={"Content-Type": "x/y"},
            redirects=1,
        )
        await client.send(request)
        last = server.seen[-1]
        assert (last.method, last.body) == (then, b"")
        assert ("content-type" in last.headers) == (method == "HEAD")


async def test_redirects_without_end_are_given_up() -> None:
    async with serving(Reply(302, headers={"location": "/again"})) as server:
        client = Client(policy(server.port, networks=LOOPBACK))
        with pytest.raises(Refused, match="more than 3 redirects"):
            await client.send(Request(url=f"http://127.0.0.1:{server.port}/", redirects=3))
        assert len(server.seen) == 4
        assert (await client.send(Request(url=f"http://127.0.0.1:{server.port}/"))).status == 302


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"\0" * 50_000_000), "gzip"),
        (zlib.compress(b"\0" * 50_000_000), "deflate"),
        (gzip.compress(gzip.compress(b"\0" * 50_000_000)), "gzip, gzip"),
        (b"\0" * 3_000_000, "identity"),
    ],
    ids=["gzip", "deflate", "twice", "plain"],
)
async def test_an_answer_is_read_to_its_bound_also_after_decompression(body: bytes, encoding: str) -> None:
    """S9: gzip bombs."""
    async with serving(Reply(body=body, headers={"content-encoding": encoding})) as server:
        client = Client(policy(server.port, networks=LOOPBACK))
        answer = await client.send(Request(url=f"http://127.0.0.1:{server.port}/", most=1000))
        assert len(answer.body) <= 1000
        assert answer.truncated == (len(answer.body) == 1000)


async def test_packed_answers_are_unpacked() -> None:
    async with serving(Reply(body=gzip.compress(b"hello"), headers={"Content-Encoding": "gzip"})) as server:
        answer = await Client(policy(server.port, networks=LOOPBACK)).send(
            Request(url=f"http://127.0.0.1:{server.port}/")
        )
        assert (answer.body, answer.truncated) == (b"hello", False)


@pytest.mark.parametrize(
    "reply",
    [Reply(hangs=True), Reply(hangs=True, headers={"content-length": "10"}), Reply(headers={"content-length": "3000"}, body=b"")],
)  # fmt: skip
async def test_an_answer_that_does_not_end_is_an_error_that_may_pass(reply: Reply) -> None:
    async with serving(reply) as server:
        client = Client(policy(server.port, networks=LOOPBACK))
        with pytest.raises(Unreachable):
            await client.send(Request(url=f"http://127.0.0.1:{server.port}/", timeout_s=0.3))


async def test_nobody_listens() -> None:
    async with serving() as server:
        gone = server.port
    with pytest.raises(Unreachable, match="no complete response"):
        await Client(policy(gone, networks=LOOPBACK)).send(Request(url=f"http://127.0.0.1:{gone}/"))


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async with serving() as server:
        resolve = answering(["127.0.0.77", "127.0.0.1"])
        client = Client(policy(server.port, networks=LOOPBACK), resolve=resolve)
        assert (await client.send(Request(url=f"http://two.example:{server.port}/"))).status == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("X", "a\r\nY: b"), ("X", "a\nb"), ("X", "a\0"), ("X Y", "a"), ("X:", "a"), ("", "a"), ("Host", "evil.example"), ("X", "→"),
     ("Transfer-Encoding", "chunked"), ("content-length", "5"), ("Connection", "upgrade"), ("Proxy-Authorization", "x"), ("X", "a" * 9000)],
)  # fmt: skip
async def test_headers_cannot_break_out(name: str, value: str) -> None:
    async with serving() as server:
        client = Client(policy(server.port, networks=LOOPBACK))
        with pytest.raises(Refused):
            await client.send(Request(url=f"http://127.0.0.1:{server.port}/", headers={name: value}))
        assert server.seen == []


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "GET / HTTP/1.1\r\nX:", ""])
async def test_only_methods_that_are_known_are_sent(method: str) -> None:
    with pytest.raises(Refused, match="method must be"):
        await Client(policy()).send(Request(url="https://example.com/", method=method))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.COM:443/a/../b?x=ä#frag", "https://example.com/a/../b?x=%C3%A4"),
        ("http://example.com.:8080?q", "http://example.com:8080/?q"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/"),
    ],
)
def test_a_url_is_read_as_it_is_sent(text: str, written: str) -> None:
    assert str(parse(text)) == written
    assert parse(written) == parse(text)


def test_where_a_redirect_leads() -> None:
    base = parse("https://example.com/a/b?c")
    led: dict[str, Url] = {to: follow(base, to) for to in ("d", "/e", "?f", "//other.example/g", "http://x.example")}
    assert [str(url) for url in led.values()] == [
        "https://example.com/a/d", "https://example.com/e", "https://example.com/a/b?f", "https://other.example/g", "http://x.example/",
    ]  # fmt: skip
