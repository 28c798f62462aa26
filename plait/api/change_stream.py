"""The change feed: server-sent events about changes to jobs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import Header, Query, Request, Response
from starlette.responses import StreamingResponse

from plait.api.authentication import Guard, new_router
from plait.api.change_feed import Watch, Watcher
from plait.api.fairness import Shares
from plait.api.problems import Refused
from plait.api.redaction import Redaction, redaction
from plait.api.tenancy import Ask, Asking

router = new_router("stream")

QUIET_S: Final = 3.0
"""After this time without an event, a keep-alive is sent. The key is checked again after every keep-alive or batch of events."""

_EVENTS: Final[dict[str, Any]] = {
    "description": "Events `job`, `fan_out`, `log`, `log_line`, `queue`, `worker` (super-admins only), and `reset`, which means: read everything again.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


@router.get("/stream", responses={200: _EVENTS}, response_class=StreamingResponse)
async def stream(
    request: Request,
    ask: Ask,
    last_event_id: Annotated[
        str | None,
        Header(max_length=100, description="The id of the last event that you received, to continue after it."),
    ] = None,
    after: Annotated[
        str | None, Query(max_length=100, description="Same as `Last-Event-ID`, for clients that cannot set a header.")
    ] = None,
) -> Response:
    """Follow changes to jobs. Events arrive within a second. Several changes to a job may be combined into one event."""
    watch: Watch = request.app.state.watch
    watch.check_room()
    streams: Shares = request.app.state.streams
    streams.check(ask.caller)
    events = _events(request, ask, last_event_id or after, redaction())
    # A browser treats the stream as open when it gets the headers, so send them only once no later change can be missed.
    hello = await anext(events)
    return StreamingResponse(
        _after(hello, events),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _after(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


async def _events(
    request: Request, ask: Asking, last: str | None, hiding: Redaction | None
) -> AsyncGenerator[bytes, None]:
    watch: Watch = request.app.state.watch
    streams: Shares = request.app.state.streams
    try:
        streams.check(ask.caller)  # check again: many requests may have passed the first check
    except Refused:
        yield b"retry: 10000\n\n"
        return
    streams.add(ask.caller)
    try:
        async with watch.watching(ask.tenant_id, last) as watcher:
            async for piece in _told(request, watcher, hiding):
                yield piece
    finally:
        streams.remove(ask.caller)


async def _told(request: Request, watcher: Watcher, hiding: Redaction | None) -> AsyncIterator[bytes]:
    guard: Guard = request.app.state.guard
    stopping: asyncio.Event = request.app.state.stopping
    yield b"retry: 2000\n: hello\n\n"
    while not stopping.is_set():
        try:
            async with asyncio.timeout(QUIET_S):
                event = await watcher.events.get()
        except TimeoutError:
            yield b": still here\n\n"
        else:
            yield event.encoded(hiding)
            while not watcher.events.empty():
                yield watcher.events.get_nowait().encoded(hiding)
        try:
            await guard.still(request)
        except Refused:
            return  # the key was revoked meanwhile
