"""The API on a socket, served in a thread with its own event loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from plait.api.service import Api
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.sdk.app import Plait


@contextmanager
def serve_api(url: str, **settings: float | str | bool) -> Iterator[str]:
    """Serve the API while the block runs. Yields its URL."""
    app = Plait(url, settings=Settings(**{"api_rate": 0, "grace": 1, **settings}))  # type: ignore[arg-type]
    api = Api(app, port=0)
    api.listen()
    loop = asyncio.new_event_loop()
    stopping: list[Stop] = []
    started = threading.Event()

    async def run() -> None:
        stop = Stop()
        stopping.append(stop)
        started.set()
        try:
            await api.run(stop)
        finally:
            await app.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    started.wait()
    try:
        yield api.url
    finally:
        loop.call_soon_threadsafe(stopping[0].request)
        thread.join()
        loop.close()
