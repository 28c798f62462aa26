"""A small TCP proxy in front of Postgres that can simulate a network failure: connections stay open, and no data passes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlsplit


class Proxy:
    def __init__(self, url: str, *, port: int = 0) -> None:
        """`port`: where to listen; 0: any that is free."""
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
        """The same database, through here."""
        user = f"{self._parts.username}@" if self._parts.username else ""
        return f"postgresql://{user}127.0.0.1:{self._port}{self._parts.path}?sslmode=disable"

    def cut(self) -> None:
        """From now on nothing comes through, either way; who connects gets no answer."""
        self._open.clear()

    def heal(self) -> None:
        """New connections work; those of before the cut are gone, as after a real one."""
        if not self._open.is_set():
            for task in self._tasks:
                task.cancel()
            self._open.set()

    def thaw(self) -> None:
        """After a cut: connections continue where they were, as after a frozen server."""
        self._open.set()

    def swallow(self) -> None:
        """Connections of now stay open and whatever is sent on them, either way, is lost; new ones work. So it is when a host
        has lost power and another has its address, or a NAT entry has expired."""
        self._swallowing |= self._tasks

    @property
    def passing(self) -> int:
        """How many connections are open and work."""
        return len(self._tasks - self._swallowing)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for _ in range(3):  # one may just have come; and a transport needs a turn of the loop to close
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
            await asyncio.Event().wait()  # the other side is not told either
        with contextlib.suppress(OSError):
            writer.close()
        raise ConnectionResetError  # one side is gone: so is the other
