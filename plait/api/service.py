"""The API as a service. It serves until a stop is requested, then lets running requests finish and closes streams."""

import asyncio
import math
import socket
from functools import partial

import uvicorn
from fastapi import FastAPI

from plait.api.application import build
from plait.runtime.connections import BACKLOG, Connections
from plait.runtime.listening import AddressTaken, Server, bound, url_of
from plait.runtime.logging import get_logger
from plait.runtime.outage import Retry, until_done
from plait.runtime.service import Stop
from plait.sdk.app import Plait
from plait.store.database import is_transient

log = get_logger("api")


class Api:
    def __init__(
        self,
        app: Plait,
        *,
        host: str | None = None,
        port: int | None = None,
        elsewhere: bool = False,
        with_worker: bool = False,
    ) -> None:
        """`elsewhere`: use any free port if the configured port is in use. `with_worker`: this process is also a node of the cluster, so it may be
        a follower."""
        self._app = app
        self._host = host if host is not None else app.settings.api_host
        self._port = port if port is not None else app.settings.api_port
        self._elsewhere = elsewhere
        self._with_worker = with_worker
        self._socket: socket.socket | None = None

    @property
    def url(self) -> str:
        """The URL. Available after `listen`."""
        assert self._socket is not None
        return url_of(self._socket)

    def listen(self) -> None:
        """Bind the address before anything else starts, so that a conflict is reported early."""
        if self._socket is None:
            try:
                self._socket = bound(self._host, self._port)
            except AddressTaken:
                if not self._elsewhere or self._port == 0:
                    raise
                self._socket = bound(self._host, 0)

    def close(self) -> None:
        """Release the address if it was bound but the server never ran."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def run(self, stop: Stop) -> None:
        try:
            await self._serve(stop)
        finally:
            self.close()

    async def _serve(self, stop: Stop) -> None:
        self.listen()
        assert self._socket is not None
        store = await self._app.store()
        retry = Retry("api", store.database.outage)
        check = partial(store.health.require_roles, "plait_admin", "plait_worker")
        if not await until_done(check, retry, stop, passes=is_transient):
            return
        objects = self._app.target.objects(self._app.settings.artifacts)
        settings = self._app.settings
        application = build(store, settings, holder=self._app.holder if self._with_worker else None, objects=objects)
        connections = Connections(
            total=settings.api_connections,
            per_client=settings.api_connections_per_client,
            header_s=settings.api_header_timeout,
            body_s=settings.api_body_timeout,
            idle_s=settings.api_idle_timeout,
            trusted=settings.proxies,
        )
        connections.fit_files()
        config = uvicorn.Config(
            application,
            http=connections.protocol(),
            ws="none",
            backlog=BACKLOG,
            proxy_headers=False,
            timeout_keep_alive=math.ceil(settings.api_idle_timeout),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=int(self._app.settings.grace) or 1,
        )
        server = Server(config)
        log.info("api listening", url=self.url)
        async with asyncio.TaskGroup() as group:
            group.create_task(application.state.bulk.run(stop))
            helpers = [group.create_task(_end(server, application, stop))]
            if self._app.settings.listen:
                database = store.database.beside(url=self._app.settings.direct_url)
                listening = application.state.waiting_claims.listen(database)
                helpers.append(group.create_task(listening))
            try:
                await server.serve(sockets=[self._socket])
            finally:
                for helper in helpers:
                    helper.cancel()
                await application.state.waiter.close()
                if not stop.requested:
                    stop.request()  # the server ended unexpectedly: stop the other services too


async def _end(server: uvicorn.Server, application: FastAPI, stop: Stop) -> None:
    await stop.wait()
    application.state.stopping.set()  # waiting requests get a response now
    application.state.waiting_claims.wake_all()
    server.should_exit = True
    await stop.wait_hard()
    server.force_exit = True
