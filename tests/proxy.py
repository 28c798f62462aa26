"""A small TCP proxy before Postgres, which can be cut like a network: connections stay open, and nothing comes through."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlsplit


class Proxy:
    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

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

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
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
                    group.create_task(self._pass_on(reader, there_writer))
                    group.create_task(self._pass_on(there_reader, writer))
            finally:
                there_writer.close()
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        query = parse_qs(self._parts.query)
        host = unquote((query.get("host") or [self._parts.hostname or "127.0.0.1"])[0])
        port = int(query["port"][0]) if "port" in query else self._parts.port or 5432
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
        raise ConnectionResetError  # one side is gone: so is the other
