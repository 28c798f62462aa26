"""Streams of one job over HTTP: server-sent events, for callers with an API key or with a token for that job. Your server requests the
token and passes it to a browser. The token expires and only allows reading one job's streams. It may be part of the URL, because
`EventSource` cannot send headers. An event's id is the item's number: a client that reconnects with `Last-Event-ID` continues after it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from fastapi import Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from plait.api.authentication import Guard, new_router
from plait.api.caller import Caller
from plait.api.definition_cache import DefinitionCache
from plait.api.fairness import Shares
from plait.api.problems import Refused
from plait.api.redaction import REDACTED, Redaction, redaction
from plait.api.shapes import Json
from plait.api.tenancy import Ask, asking
from plait.model.errors import InvalidArguments, NotFound
from plait.model.roles import Role
from plait.model.texts import shown
from plait.model.tokens import hash_of, new_token
from plait.sdk.follower import Follower
from plait.store import Store
from plait.store.streams import Following, News

router = new_router("streams")

QUIET_S: Final = 3.0
"""After this time without an item, a keep-alive is sent, and the key or token is checked again."""
_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "One event per item: the `id` of the event is the item's number, and its `data` is the item's JSON. The last event is `end`, with the job's status.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The stream has ended, and there are no items after `Last-Event-ID`: do not reconnect."},
}


class NewStreamToken(BaseModel):
    model_config = ConfigDict(extra="forbid")

    ttl_seconds: int = Field(3600, ge=1, le=31 * 86_400, description="Lifetime of the token.")


class StreamTokenMade(BaseModel):
    token: str = Field(
        description="The token. Send it as `?token=…` or `Authorization: Bearer …`. It only allows reading this job's streams."
    )
    expires_at: datetime


@router.post("/jobs/{job_id:uuid}/streams/token", status_code=201, response_model=StreamTokenMade)
async def create_token(ask: Ask, job_id: UUID, body: NewStreamToken | None = None) -> Response:
    """Create a token for the streams of one job, for a browser without an API key."""
    body = body or NewStreamToken()
    token, tenant_id = new_token(), await ask.job_tenant(job_id)
    expires = await ask.changing("stream.token", job_id, tenant_id=tenant_id).streams.open_stream(
        job_id,
        hash=hash_of(token),
        ttl=timedelta(seconds=body.ttl_seconds),
        tenant_id=tenant_id,
        redacted=ask.caller.role in REDACTED,
    )
    return Json({"token": token, "expires_at": expires}, status_code=201)


class StateShown(BaseModel):
    state: Any = Field(description="The value that the handler set with `current().state(…)`; null if it set none.")
    version: int = Field(description="Increases with each change; 0 if the state was never set.")


@router.get("/jobs/{job_id:uuid}/state", response_model=StateShown)
async def state(ask: Ask, job_id: UUID) -> Response:
    """Get the state that a job's handler has set. It stays available while the job waits and after it is final."""
    following = Following(job_id, await ask.job_tenant(job_id), "state", 0)
    found = (await ask.store.streams.follow([following])).get(0)
    if found is not None and found.status is None:
        raise NotFound(f"there is no job {job_id}")
    version, text = (found.items[0][0], bytes(found.items[0][1]).decode()) if found and found.items else (0, "null")
    hiding = redaction()
    text = text if hiding is None else hiding.json(text)
    return Response(f'{{"state":{text},"version":{version}}}', media_type="application/json")


@router.get("/jobs/{job_id:uuid}/streams/{name}", responses=_EVENTS, response_class=StreamingResponse)
async def read(
    request: Request,
    job_id: UUID,
    name: Annotated[str, Path(min_length=1, max_length=100)],
    token: Annotated[str | None, Query(max_length=200, description="A token for this job's streams.")] = None,
    after: Annotated[
        str | None, Query(max_length=20, description="The number of the last item that you received.")
    ] = None,
    last_event_id: Annotated[str | None, Header(max_length=20, description="Same as `after`.")] = None,
) -> Response:
    """Read the items that a job writes to a stream, as they arrive, until the stream is closed or the job is final."""
    reader = await _admitted(request, job_id, token)
    streams: Shares = request.app.state.streams
    streams.check(reader.caller)
    store: Store = request.app.state.store
    following = Following(job_id, reader.tenant_id, f"stream {name}", _number(last_event_id or after))
    found = (await store.streams.follow([following])).get(0)
    if found is not None and found.status is None:
        raise NotFound(f"there is no job {job_id}")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if token is not None:
        headers["Access-Control-Allow-Origin"] = "*"  # the token is the only credential: cookies are not used
    if last_event_id is not None and found is not None and found.ended and not found.items:
        return Response(status_code=204, headers=headers)
    return StreamingResponse(_counted(request, reader, following), media_type="text/event-stream", headers=headers)


@dataclass(frozen=True, slots=True)
class _Reader:
    caller: Caller
    tenant_id: UUID
    redaction: Redaction | None
    still: Callable[[], Awaitable[bool]]
    """Whether the reader may continue."""


async def _admitted(request: Request, job_id: UUID, token: str | None) -> _Reader:
    """Authenticate the reader: the holder of a token for this job, or of a key or session that may view the job."""
    guard: Guard = request.app.state.guard
    store: Store = request.app.state.store
    known: DefinitionCache = request.app.state.definition_cache
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    shown_token = token or (given.strip() if scheme.lower() == "bearer" else "")
    if shown_token:
        if token is not None:
            guard.check_guesses(request)
        hash_ = hash_of(shown_token)
        found = await store.streams.authenticate_stream(hash_, job_id)
        if found is not None:

            async def token_still() -> bool:
                return await store.streams.authenticate_stream(hash_, job_id) is not None

            caller = Caller(
                key_id=UUID(hash_[:32]), role=Role.VIEWER, tenant_id=found.tenant_id, tenant=None, name="stream token"
            )
            return _Reader(caller, found.tenant_id, await known.redaction() if found.redacted else None, token_still)
        if token is not None:
            guard.count_guess(request)
    request.state.caller = caller = await guard.admit(request, Role.VIEWER)
    ask = await asking(request, request.query_params.get("tenant"))

    async def key_still() -> bool:
        try:
            await guard.still(request)
        except Refused:
            return False
        return True

    hiding = await known.redaction() if caller.role in REDACTED else None
    return _Reader(caller, await ask.job_tenant(job_id), hiding, key_still)


def _number(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and int(text) < 2**31):
        raise InvalidArguments(f"Last-Event-ID must be the number of an item, got {shown(text)}")
    return int(text)


async def _counted(request: Request, reader: _Reader, following: Following) -> AsyncIterator[bytes]:
    streams: Shares = request.app.state.streams
    try:
        streams.check(reader.caller)  # check again: many requests may have passed the first check
    except Refused:
        yield b"retry: 10000\n\n"
        return
    streams.add(reader.caller)
    try:
        yield b"retry: 2000\n\n"
        async for event in _events(request, reader, following):
            yield event
    finally:
        streams.remove(reader.caller)


async def _events(request: Request, reader: _Reader, following: Following) -> AsyncIterator[bytes]:
    follower: Follower = request.app.state.waiter.follower
    stopping: asyncio.Event = request.app.state.stopping
    after, looked = following.after, time.monotonic()
    while not stopping.is_set():
        news: News | None = None
        try:
            async with asyncio.timeout(QUIET_S):
                news = await follower.news(following.job_id, following.tenant_id, following.subject, after)
        except TimeoutError:
            yield b": still here\n\n"
        if news is not None:
            for number, value in news.items:
                after, text = number, bytes(value).decode().replace("\n", " ")
                if reader.redaction is not None:
                    text = reader.redaction.json(text)
                yield f"id: {number}\ndata: {text}\n\n".encode()
            if news.ended and not news.items:
                yield b"event: end\ndata: " + msgspec.json.encode({"status": news.status}) + b"\n\n"
                return
        if time.monotonic() - looked >= QUIET_S:
            looked = time.monotonic()
            if not await reader.still():
                return
