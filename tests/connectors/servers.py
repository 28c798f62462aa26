"""Test servers: one with configurable responses, canaries that must receive no request, and a DNS server that changes its answers."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from plait.connectors.addresses import Address


@dataclass
class Seen:
    """A request, as it came in."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    status: int = 200
    body: bytes = b"ok"
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    """It begins an answer and does not end it."""


@dataclass
class Server:
    """Answers each request by `reply`; what came is in `seen`, and how many connections in `connections`."""

    reply: Callable[[Seen], Reply]
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    server_names: list[str | None] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.seen.append(Seen(method, target, headers, body))
            reply = self.reply(self.seen[-1])
            lines = [f"HTTP/1.1 {reply.status} Said", *(f"{name}: {value}" for name, value in reply.headers.items())]
            if not reply.hangs and "content-length" not in reply.headers:
                lines.append(f"content-length: {len(reply.body)}")
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + reply.body)
            await writer.drain()
            if reply.hangs:
                await reader.read()  # until the other side has had enough
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(
    reply: Callable[[Seen], Reply] | Reply | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    given = reply or Reply()
    server = Server(given if callable(given) else lambda _: given)
    if tls is not None:
        tls.sni_callback = lambda _, name, __: server.server_names.append(name)
    listening = await asyncio.start_server(server.serve, host, port, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


@dataclass
class Canary:
    """Listens on every address of this machine, for both versions of IP. Every connection is counted."""

    port: int
    connections: int = 0


@asynccontextmanager
async def canary() -> AsyncIterator[Canary]:
    found = Canary(0)

    def touched(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        writer.close()

    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(await asyncio.start_server(touched, "0.0.0.0", 0))
        found.port = first.sockets[0].getsockname()[1]
        await stack.enter_async_context(await asyncio.start_server(touched, "::1", found.port))
        yield found


def answering(*answers: Sequence[str]) -> Any:
    """A resolver that says something else each time, and the last from then on; `asked` are the names."""

    async def resolve(host: str, port: int) -> list[Address]:
        said = answers[min(len(resolve.asked), len(answers) - 1)]  # type: ignore[attr-defined]
        resolve.asked.append(host)  # type: ignore[attr-defined]
        return [ip_address(one) for one in said]

    resolve.asked = []  # type: ignore[attr-defined]
    return resolve


class RebindingDns(asyncio.DatagramProtocol):
    """A real DNS server over UDP with a time to live of 0: the first question is answered with one address, all others with another."""

    def __init__(self, first: str, then: str) -> None:
        self._first, self._then = first, then
        self.questions = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.questions += 1
        address = self._first if self.questions == 1 else self._then
        question = data[12 : data.index(b"\0", 12) + 5]
        header = data[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
        record = struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + ip_address(address).packed
        self._transport.sendto(header + question + record, addr)


class _Question(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(data)


@asynccontextmanager
async def rebinding(first: str, then: str) -> AsyncIterator[tuple[RebindingDns, Any]]:
    """Such a server, and a resolver that asks it."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: RebindingDns(first, then), ("127.0.0.1", 0))

    async def resolve(host: str, port: int) -> list[Address]:
        name = b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"
        query = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + name + struct.pack("!HH", 1, 1)
        asking, question = await loop.create_datagram_endpoint(
            _Question, remote_addr=transport.get_extra_info("sockname")
        )
        try:
            asking.sendto(query)
            return [ip_address((await question.answer)[-4:])]
        finally:
            asking.close()

    try:
        yield server, resolve
    finally:
        transport.close()
