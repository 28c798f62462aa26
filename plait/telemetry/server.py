"""`/metrics` on a separate listener: without authentication, so use an address that only the scraper can reach."""

import asyncio
import socket
from typing import Any

import uvicorn

from plait.runtime.connections import Connections
from plait.runtime.listening import Server, bound, url_of
from plait.runtime.logging import get_logger
from plait.runtime.service import Stop
from plait.telemetry.exposition import Exposition

log = get_logger("metrics")


class MetricsServer:
    def __init__(self, exposition: Exposition, *, host: str, port: int) -> None:
        """Binds the address immediately, so that a conflict is reported before anything else starts."""
        self._exposition = exposition
        self._socket: socket.socket = bound(host, port)

    @property
    def url(self) -> str:
        return url_of(self._socket)

    async def run(self, stop: Stop) -> None:
        connections = Connections(total=64, per_client=32, header_s=5, body_s=5, idle_s=75)
        config = uvicorn.Config(
            self._answer,
            http=connections.protocol(),
            proxy_headers=False,
            timeout_keep_alive=75,
            interface="asgi3",
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        server = Server(config)
        log.info("metrics listening", url=f"{self.url}/metrics")
        try:
            async with asyncio.TaskGroup() as group:
                ending = group.create_task(_end(server, stop))
                try:
                    await server.serve(sockets=[self._socket])
                finally:
                    ending.cancel()
        finally:
            self._socket.close()

    async def _answer(self, scope: Any, _receive: Any, send: Any) -> None:
        known = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] == "/metrics"
        status, body, kind = 404, b"metrics are at /metrics\n", "text/plain; charset=utf-8"
        if known:
            accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
            status, (body, kind) = 200, await self._exposition.render(accept)
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _end(server: uvicorn.Server, stop: Stop) -> None:
    await stop.wait()
    server.should_exit = True
    await stop.wait_hard()
    server.force_exit = True
