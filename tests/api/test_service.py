"""The API as a service: conditions under which it refuses to start, and the release of its resources at shutdown."""

import asyncio
from urllib.parse import urlsplit

import httpx
import pytest

from plait.api.service import Api
from plait.model.errors import NotGranted
from plait.runtime.listening import AddressTaken
from plait.runtime.service import Stop
from plait.sdk.app import Plait
from plait.testing import TestDatabase

from ..access.logins import Logins
from ..harness import Harness
from .api_client import new_key
from .api_server import serve_api


@pytest.mark.parametrize("roles", [["plait_client"], ["plait_admin"], ["plait_worker"]])
async def test_a_login_that_could_not_serve_every_route_is_refused(database: TestDatabase, roles: list[str]) -> None:
    logins = Logins(database)
    app = Plait(database.url_for(await logins.create(*roles)))
    try:
        with pytest.raises(NotGranted, match="plait_admin and plait_worker"):
            await Api(app, port=0).run(Stop())
    finally:
        await app.close()
        await logins.drop()


async def test_an_address_that_is_taken_is_told_or_passed_by(database: TestDatabase) -> None:
    app = Plait(database.url)
    first = Api(app, port=0)
    first.listen()
    port = int(first.url.rpartition(":")[2])
    with pytest.raises(AddressTaken):
        Api(app, port=port).listen()
    other = Api(app, port=port, elsewhere=True)
    other.listen()
    assert other.url != first.url
    for api in (first, other):
        api.close()


async def test_a_request_that_is_half_sent_ends_and_a_stream_goes_on(harness: Harness) -> None:
    _, token = await new_key(harness.store, "viewer", await harness.tenant())
    headers = {"Authorization": f"Bearer {token}"}
    timeouts = {"api_header_timeout": 1.0, "api_body_timeout": 0.5, "api_idle_timeout": 0.5}
    with serve_api(harness.database.url, **timeouts) as url:
        async with (
            httpx.AsyncClient(base_url=url, timeout=60) as client,
            client.stream("GET", "/api/v1/stream", headers=headers) as stream,
        ):
            lines = stream.aiter_lines()
            for sent in (
                b"GET /healthz HTTP/1.1\r\nhost: a\r\n",
                b"POST /api/v1/session HTTP/1.1\r\ncontent-length: 9\r\n\r\n{",
            ):
                reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
                writer.write(sent)
                async with asyncio.timeout(60):
                    assert (await reader.read()).startswith(b"HTTP/1.1 4")
                writer.close()
            async with asyncio.timeout(60):
                async for line in lines:
                    if line == ": still here":  # sent after three seconds without events
                        break
            assert (await client.get("/api/v1/jobs", headers=headers)).status_code == 200


async def test_many_idle_connections_keep_nobody_out(harness: Harness) -> None:
    with serve_api(harness.database.url, api_connections=50) as url:
        port = urlsplit(url).port
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/api/v1/jobs")).status_code == 401
        for _, writer in idle:
            writer.transport.abort()


async def test_one_client_has_a_share_of_the_connections(harness: Harness) -> None:
    with serve_api(harness.database.url, api_connections_per_client=3, trusted_proxies="") as url:
        limits = httpx.Limits(max_connections=20)
        async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
            mine = [await asyncio.open_connection("127.0.0.1", urlsplit(url).port) for _ in range(3)]
            assert (await client.get("/healthz")).status_code == 429
            for _, writer in mine:
                writer.transport.abort()
