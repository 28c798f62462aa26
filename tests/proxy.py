"""A small TCP proxy in front of Postgres that can simulate a network failure: connections stay open, and no data passes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlsplit


class Proxy:
    def __init__(self, url: str, *, port: int = 0) -> None:
        """`port`: the port to listen on. 0: any free port."""
        self._parts = urlsplit(url)
        self._swallowing: set[asyncio.Task[None]] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = port

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """The URL of the same database, through this proxy."""
        user = f"{self._parts.username}@" if self._parts.username else ""
        return f"postgresql://{user}127.0.0.1:{self._port}{self._parts.path}?sslmode=disable"

    def cut(self) -> None:
        """Stop forwarding data in both directions. New connections are accepted but get no response."""
        self._open.clear()

    def heal(self) -> None:
        """End the cut. New connections work; connections from before the cut are closed, as after a real network failure."""
        if not self._open.is_set():
            for task in self._tasks:
                task.cancel()
            self._open.set()

    def thaw(self) -> None:
        """End the cut. Connections continue where they were, as after a server was frozen."""
        self._open.set()

    def swallow(self) -> None:
        """Drop all data on existing connections, in both directions, and keep them open. New connections work. This happens when a host
        has lost power and another host has its address, or when a NAT entry has expired."""
        self._swallowing |= self._tasks

    @property
    def passing(self) -> int:
        """The number of open connections that work."""
        return len(self._tasks - self._swallowing)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            # A connection may just have arrived, and a transport needs an iteration of the loop to close.
            for _ in range(3):
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
                await asyncio.sleep(0)
            await server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._open.wait()
            there_reader, there_writer = await self._connect()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass_on(task, reader, there_writer))
                    group.create_task(self._pass_on(task, there_reader, writer))
            finally:
                there_writer.transport.abort()  # unsent data is dropped, as in a network failure
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        query = parse_qs(self._parts.query)
        host = unquote((query.get("host") or [self._parts.hostname or "127.0.0.1"])[0])
        port = int(query["port"][0]) if "port" in query else self._parts.port or 5432
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pass_on(
        self, connection: "asyncio.Task[None]", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._open.wait()
                if connection in self._swallowing:
                    continue
                writer.write(data)
                await writer.drain()
        if connection in self._swallowing:
            await asyncio.Event().wait()  # the other side is not notified either
        with contextlib.suppress(OSError):
            writer.close()
        raise ConnectionResetError  # one side has closed the connection: close the other side
