"""Connections to a server are limited in number and in the time that they wait for their client."""

import asyncio
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import uvicorn

from plait.runtime.connections import FILES, RESERVE, Connections, address_of, share_of
from plait.runtime.listening import Server, bound
from plait.runtime.settings import networks_in

from ..waiting import eventually

LONG = 3600.0
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class Site:
    """A server, and an application that answers at once; or, at /wait, when the test says so."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.go_on = asyncio.Event()
        self.bodies: list[int] = []
        self.port = 0
        self._writers: list[Writer] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size = 0
        if scope["method"] == "POST" and scope["path"] != "/early":
            message: dict[str, Any] = {"more_body": True}
            while message.get("more_body"):
                message = await receive()
                size += len(message.get("body", b""))
            if message["type"] == "http.disconnect":
                return
            self.bodies.append(size)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/wait":
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await self.go_on.wait()
        if scope["path"] == "/large":
            for _ in range(1000):
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        await send({"type": "http.response.body", "body": b"last"})

    async def open(self, *sent: bytes) -> tuple[Reader, Writer]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers.append(writer)
        for data in sent:
            writer.write(data)
        await writer.drain()
        return reader, writer

    async def close(self) -> None:
        """Leave none of our ends open."""
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def ask(self, path: str = "/") -> bytes:
        """The whole answer to one request on a connection of its own."""
        reader, _ = await self.open(b"GET %s HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n" % path.encode())
        return await ended(reader)


async def ended(reader: Reader) -> bytes:
    """The server's output until it closes the connection. The timeout is for a broken server."""
    async with asyncio.timeout(60):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def answered(reader: Reader) -> bytes:
    async with asyncio.timeout(60):
        return await reader.readuntil(b"0\r\n\r\n")


MakeSite = Callable[..., AbstractAsyncContextManager[Site]]


@pytest.fixture
def serving() -> MakeSite:
    @asynccontextmanager
    async def make(**limits: Any) -> AsyncIterator[Site]:
        given = {"total": 100, "per_client": 100, "header_s": LONG, "body_s": LONG, "idle_s": LONG, **limits}
        site = Site(Connections(**given))
        taken = bound("127.0.0.1", 0)
        site.port = taken.getsockname()[1]
        config = uvicorn.Config(
            site,
            http=site.connections.protocol(),
            log_config=None,
            lifespan="off",
            timeout_keep_alive=int(LONG),
            timeout_graceful_shutdown=1,
        )
        server = Server(config)
        running = asyncio.create_task(server.serve(sockets=[taken]))
        try:
            yield site
        finally:
            site.go_on.set()
            await site.close()
            server.should_exit = server.force_exit = True
            await running

    return make


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nx-long: " + b"a" * 1000])
async def test_headers_that_do_not_arrive_end_the_connection(serving: MakeSite, sent: bytes) -> None:
    async with serving(header_s=0.2) as site:
        reader, _ = await site.open(sent)
        assert (await ended(reader)).startswith(b"HTTP/1.1 408" if sent else b"")


async def test_headers_that_trickle_in_have_one_timeout_in_all(serving: MakeSite) -> None:
    async with serving(header_s=1) as site:
        reader, writer = await site.open(GET)
        await answered(reader)
        writer.write(b"GET / HTTP/1.1\r\n")
        said = asyncio.create_task(ended(reader))
        while not said.done():
            writer.write(b"a: b\r\n")
            await asyncio.sleep(0.01)
        assert (await said)[:12] in (b"HTTP/1.1 408", b"")  # it may be lost with what was sent meanwhile
        assert site.connections.open == 0


@pytest.mark.parametrize("path", [b"/", b"/early"])
async def test_a_body_that_does_not_arrive_ends_the_connection(serving: MakeSite, path: bytes) -> None:
    """Also where the answer did not wait for it."""
    async with serving(body_s=0.2) as site:
        head = b"POST %s HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n" % path
        reader, _ = await site.open(head, b"half")
        assert (await ended(reader)).startswith(b"HTTP/1.1 408" if path == b"/" else b"HTTP/1.1 200")
        assert site.bodies == []
        assert site.connections.open == 0


async def test_an_idle_connection_is_closed_without_a_word(serving: MakeSite) -> None:
    async with serving(idle_s=0.2) as site:
        reader, _ = await site.open(GET)
        await answered(reader)
        assert await ended(reader) == b""


async def test_an_answer_may_take_as_long_as_it_wants(serving: MakeSite) -> None:
    """Streams and claims that wait have no timeout; those of others run out meanwhile."""
    async with serving(header_s=1, body_s=0.1, idle_s=0.1) as site:
        reader, _ = await site.open(b"GET /wait HTTP/1.1\r\nhost: a\r\n\r\n")
        for _ in range(2):
            other, _ = await site.open()
            assert await ended(other) == b""
        site.go_on.set()
        assert b"last" in await answered(reader)


async def test_a_client_that_does_not_read_its_answer_is_cut_off(serving: MakeSite) -> None:
    async with serving(body_s=0.2) as site:
        _, writer = await site.open(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # the transport of a socket has it

        async def gone() -> bool:
            return site.connections.open == 0

        await eventually(gone, what="cutting off the client")


async def test_requests_one_after_another_and_at_once_are_answered(serving: MakeSite) -> None:
    async with serving(header_s=5, body_s=5, idle_s=5) as site:
        reader, writer = await site.open()
        for _ in range(3):
            writer.write(GET)
            await answered(reader)
        writer.write(GET * 3)
        for _ in range(3):
            await answered(reader)
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n" + b"x" * 300_000)
        await answered(reader)
        assert site.bodies == [300_000]


async def test_a_new_connection_takes_the_place_of_the_one_that_is_idle_for_longest(serving: MakeSite) -> None:
    async with serving(total=20) as site:
        idle = [await site.open() for _ in range(200)]
        assert b"last" in await site.ask()
        assert site.connections.open <= 20
        assert await ended(idle[0][0]) == b""
        newest = idle[-1]
        newest[1].write(GET)
        assert b"last" in await answered(newest[0])


async def test_where_all_are_busy_others_are_refused_and_health_checks_answered(serving: MakeSite) -> None:
    async with serving(total=20, per_client=1000) as site:
        busy = [await site.open(b"GET /wait HTTP/1.1\r\nhost: a\r\n\r\n") for _ in range(20)]
        for reader, _ in busy:
            await reader.readuntil(b"first")
        assert (await site.ask()).startswith(b"HTTP/1.1 503")
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await site.ask(path)).startswith(b"HTTP/1.1 200")
        assert len(site.connections.watched) <= RESERVE


async def test_one_client_has_its_share_of_the_connections(serving: MakeSite) -> None:
    async with serving(per_client=5) as site:
        mine = [await site.open(GET) for _ in range(5)]
        for reader, _ in mine:
            await answered(reader)
        assert (await site.ask()).startswith(b"HTTP/1.1 429")
        mine[0][1].close()

        async def again() -> bool:
            return (await site.ask()).startswith(b"HTTP/1.1 200")

        await eventually(again, what="a free place")


async def test_a_trusted_proxy_is_no_client(serving: MakeSite) -> None:
    async with serving(per_client=1, trusted=networks_in("127.0.0.0/8")) as site:
        both = [await site.open(GET) for _ in range(2)]
        for reader, _ in both:
            await answered(reader)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::2%eth0", "2001:db8::/64"),
    ],
)
def test_a_client_is_counted_by_its_address_or_its_network(text: str, share: str) -> None:
    address = address_of(text)
    assert address is not None
    assert share_of(address) == share


def test_the_total_fits_into_the_files_that_the_process_may_open(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1500, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))
    for total, open_files, fits in ((400, 1500, 400), (2000, 2000 + FILES, 2000), (10_000, 4096, 4096 - FILES)):
        del limits[1:]
        connections = Connections(total=total, per_client=1, header_s=1, body_s=1, idle_s=1)
        connections.fit_files()
        assert (limits[-1], connections.total) == ((open_files, 4096), fits)
