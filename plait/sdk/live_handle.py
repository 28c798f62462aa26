"""Communication with a running job: signals, updates, state and streams."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid5

import msgspec

from plait.model.durations import seconds
from plait.model.errors import InvalidArguments, InvalidResult, NotFound, StateNotReached, UpdateRejected
from plait.model.ids import new_id
from plait.model.states import Status
from plait.model.texts import shown
from plait.model.tokens import hash_of, new_token
from plait.sdk.annotations import decoder_of
from plait.sdk.argument_checks import check_signal_name, check_stream_name, check_update_name
from plait.sdk.artifacts import Artifacts
from plait.sdk.codec import encode, encode_signal
from plait.sdk.send_once import send_once
from plait.sdk.waiter import Waiter
from plait.store import Store
from plait.store.caller_connections import is_async, signal_async_on, signal_sync_on
from plait.store.streams import Following

T = TypeVar("T")

_UNSET: Any = object()


class Connected(Protocol):
    """The part of the app that a handle uses."""

    async def store(self) -> Store: ...
    async def waiter(self) -> Waiter: ...
    async def artifacts(self) -> Artifacts: ...
    async def tenant_id(self, tenant: str | UUID | None) -> UUID: ...
    def named_tenant(self, tenant: str | UUID | None) -> str | UUID | None: ...
    def call_sync(self, coroutine: Coroutine[Any, Any, T]) -> T: ...


class LiveHandle:
    """The part of a handle that communicates with a running job."""

    # Set by Handle itself: a call of super() for each of 50,000 handles is a measurable part of enqueue_many.
    _app: Connected
    _tenant: str | UUID | None
    id: UUID

    async def status(self) -> Status:
        """The job's status."""
        row = await (await self._app.store()).jobs.get_job(self.id, tenant_id=await self._tenant_id())
        return row.status

    async def signal(
        self,
        name: str,
        payload: Any = None,
        *,
        id: UUID | str | None = None,  # noqa: A002 - reads well where it is used
        conn: Any = None,
    ) -> Status:
        """Send the job a signal: `wait_for_signal(name)` returns its payload. Returns the job's status. With `conn=` the signal is part of that
        transaction. Sending it again with the same `id` (a UUID, or text such as a webhook's delivery id) has no effect."""
        check_signal_name(name)
        text, large = encode_signal(payload)
        signal_id = _signal_id(self.id, id)
        if conn is not None:
            if large is not None:
                raise large
            if not is_async(conn):
                raise InvalidArguments("conn is a sync connection: use signal_sync")
            return Status(await signal_async_on(conn, str(self.id), name, text, self._tenant_text(), str(signal_id)))
        jobs, tenant_id = (await self._app.store()).jobs, await self._tenant_id()
        status: list[Status] = []

        async def send() -> list[UUID]:
            given = text
            if large is not None:
                artifacts = await self._app.artifacts()
                given = await artifacts.keep(large, job_id=self.id, tenant_id=tenant_id, kind="signal")
            status.append(await jobs.signal(self.id, name, given, tenant_id=tenant_id, signal_id=signal_id))
            return [signal_id]

        await send_once(f"send {name}", send)
        return status[0] if status else await self.status()

    async def update(
        self,
        name: str,
        payload: Any = None,
        *,
        timeout: float | str | timedelta = 60,
        type: Any = Any,  # noqa: A002 - reads well where it is used
    ) -> Any:
        """Send the job an update and wait for its reply: `wait_for_update(name)` receives it and calls `reply(…)`. Raises UpdateRejected with the
        validator's error, or if the job ends first; TimeoutError if there is no reply in time. After a timeout, the job may still process the update."""
        check_update_name(name)
        timeout_s = seconds(timeout, what="timeout")
        update_id, decoder = new_id(), decoder_of(type)
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                text = encode({"id": update_id, "payload": payload}, what="the update's payload")
                jobs, tenant_id = (await self._app.store()).jobs, await self._tenant_id()
                await jobs.signal(self.id, f"update {name}", text, tenant_id=tenant_id, signal_id=update_id)
                news = await (await self._app.waiter()).follower.news(self.id, tenant_id, f"reply {update_id}", 0)
        except TimeoutError:
            if limit.expired():
                raise TimeoutError(f"job {self.id} did not reply to {name!r} within {timeout_s:g} s") from None
            raise
        if not news.items:
            raise UpdateRejected(f"job {self.id} ended as {news.status} without a reply to {name!r}")
        reply = msgspec.json.decode(bytes(news.items[0][1]), type=_Reply)
        if reply.error is not None:
            raise UpdateRejected(reply.error)
        return decoder.decode(bytes(reply.value))

    async def state(
        self,
        *,
        wait_for: Any = _UNSET,
        timeout: float | str | timedelta | None = None,
        type: Any = Any,  # noqa: A002 - reads well where it is used
    ) -> Any:
        """The job's state, as set by its handler with `current().state(…)`; None if it is not set. `wait_for`: a value, or a function of the state;
        returns when the state equals the value, or when the function returns true for the state. Raises TimeoutError, or StateNotReached if the job ends first.
        `type` validates and decodes the state."""
        timeout_s = None if timeout is None else seconds(timeout, what="timeout")
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                return await self._state(wait_for, decoder_of(type))
        except TimeoutError:
            if limit.expired():
                raise TimeoutError(f"job {self.id} did not reach the expected state within {timeout_s:g} s") from None
            raise

    async def _state(self, wait_for: Any, decoder: msgspec.json.Decoder[Any]) -> Any:
        tenant_id, after, value = await self._tenant_id(), 0, None
        if wait_for is _UNSET:
            now = Following(self.id, tenant_id, "state", 0)
            found = (await (await self._app.store()).streams.follow([now])).get(0)
            if found is not None and found.status is None:
                raise NotFound(f"there is no job {self.id}")
            return decoder.decode(bytes(found.items[0][1])) if found is not None and found.items else None
        follower = (await self._app.waiter()).follower
        while True:
            news = await follower.news(self.id, tenant_id, "state", after)
            for number, item in news.items:
                after, value = number, decoder.decode(bytes(item))
                if wait_for(value) if callable(wait_for) else value == wait_for:
                    return value
            if news.ended and not news.items:
                raise StateNotReached(f"job {self.id} ended as {news.status}; its last state was {shown(value)}")

    def stream(self, name: str, *, after: int = 0, type: Any = Any) -> AsyncIterator[Any]:  # noqa: A002 - reads well where it is used
        """The items that the job writes to a stream, from the first item, as they arrive: `async for x in handle.stream("tokens")`. The loop ends when
        the stream is closed or the job is final. `after`: the number of items to skip. `type` validates and decodes each item."""
        return _values(self.stream_items(name, after=after, type=type))

    def stream_items(self, name: str, *, after: int = 0, type: Any = Any) -> AsyncIterator[tuple[int, Any]]:  # noqa: A002 - reads well where it is used
        """Like `stream`, but also yields the number of each item. Pass the last number as `after` to continue from there."""
        check_stream_name(name)
        _check_position(after)
        return self._items(name, after, decoder_of(type))

    async def _items(self, name: str, after: int, decoder: msgspec.json.Decoder[Any]) -> AsyncIterator[tuple[int, Any]]:
        follower, tenant_id = (await self._app.waiter()).follower, await self._tenant_id()
        async for number, item in follower.stream(self.id, tenant_id, name, after=after):
            try:
                yield number, decoder.decode(item)
            except msgspec.ValidationError as error:
                raise InvalidResult(f"an item of the stream {name!r} does not match the type: {error}") from None

    async def stream_token(self, ttl: float | str | timedelta = "1h") -> str:
        """A token for browsers, for `GET /jobs/{id}/streams/{name}` of the HTTP API. It allows reading this job's streams and nothing else."""
        token, streams = new_token(), (await self._app.store()).streams
        lasts = timedelta(seconds=seconds(ttl, what="ttl"))
        await streams.open_stream(self.id, hash=hash_of(token), ttl=lasts, tenant_id=await self._tenant_id())
        return token

    def signal_sync(
        self,
        name: str,
        payload: Any = None,
        *,
        id: UUID | str | None = None,  # noqa: A002 - as of `signal`
        conn: Any = None,
    ) -> Status:
        if conn is None:
            return self._app.call_sync(self.signal(name, payload, id=id))
        if is_async(conn):
            raise InvalidArguments("conn is an async connection: use signal")
        check_signal_name(name)
        text = encode(payload, what="the signal's payload")
        signal_id = str(_signal_id(self.id, id))
        return Status(signal_sync_on(conn, str(self.id), name, text, self._tenant_text(), signal_id))

    def update_sync(self, name: str, payload: Any = None, *, timeout: float | str | timedelta = 60) -> Any:
        return self._app.call_sync(self.update(name, payload, timeout=timeout))

    def state_sync(self, *, wait_for: Any = _UNSET, timeout: float | str | timedelta | None = None) -> Any:
        return self._app.call_sync(self.state(wait_for=wait_for, timeout=timeout))

    def _tenant_text(self) -> str | None:
        named = self._app.named_tenant(self._tenant)
        return None if named is None else str(named)

    async def _tenant_id(self) -> UUID:
        return await self._app.tenant_id(self._tenant)


def _check_position(after: object) -> None:
    if type(after) is not int or after < 0:
        raise InvalidArguments(f"after must be a whole number of at least 0, got {shown(after)}")


async def _values(items: AsyncIterator[tuple[int, Any]]) -> AsyncIterator[Any]:
    async for _, item in items:
        yield item


class _Reply(msgspec.Struct):
    value: msgspec.Raw
    error: str | None


def _signal_id(job_id: UUID, given: object) -> UUID:
    """A signal's id. The same text gives different ids for different jobs."""
    match given:
        case None:
            return new_id()
        case UUID():
            return given
        case str() if 1 <= len(given) <= 500:
            return uuid5(job_id, given)
        case _:
            raise InvalidArguments(f"a signal's id must be a UUID, or text of 1 to 500 characters, got {shown(given)}")
