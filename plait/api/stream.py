"""The stream: server-sent events, for whoever wants to see jobs move."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Header, Query, Request, Response
from starlette.responses import StreamingResponse

from plait.api.guard import Guard, new_router
from plait.api.problems import Refused
from plait.api.tenancy import Ask
from plait.api.watching import Watch

router = new_router("stream")

QUIET_S: Final = 3.0
"""After so long without an event the connection is tried, and the key looked at again."""

_EVENTS: Final[dict[str, Any]] = {
    "description": "Events `job`, `fan_out`, `log`, `queue`, `worker` (super-admins), and `reset`: read everything again.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


@router.get("/stream", responses={200: _EVENTS}, response_class=StreamingResponse)
async def stream(
    request: Request,
    ask: Ask,
    last_event_id: Annotated[str | None, Header(max_length=100, description="Go on from there.")] = None,
    after: Annotated[str | None, Query(max_length=100, description="The same, for who can't set a header.")] = None,
) -> Response:
    """What moves, as it moves: within a second, each job once a look."""
    watch: Watch = request.app.state.watch
    watch.check_room()
    return StreamingResponse(
        _events(request, ask.tenant_id, last_event_id or after),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(request: Request, tenant_id: UUID | None, last: str | None) -> AsyncIterator[bytes]:
    guard: Guard = request.app.state.guard
    watch: Watch = request.app.state.watch
    stopping: asyncio.Event = request.app.state.stopping
    async with watch.watching(tenant_id, last) as watcher:
        yield b"retry: 2000\n: hello\n\n"
        while not stopping.is_set():
            try:
                event = await asyncio.wait_for(watcher.events.get(), QUIET_S)
            except TimeoutError:
                yield b": still here\n\n"
            else:
                yield event.encoded()
                while not watcher.events.empty():
                    yield watcher.events.get_nowait().encoded()
            try:
                await guard.still(request)
            except Refused:
                return  # the key was revoked meanwhile
