"""Send events: matching triggers enqueue jobs."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar
from uuid import UUID

from plait.model.errors import InvalidArguments
from plait.model.ids import new_id
from plait.sdk.codec import encode
from plait.sdk.options import Options
from plait.sdk.send_once import send_once
from plait.store import Store
from plait.store.caller_connections import emit_async_on, emit_sync_on, is_async
from plait.telemetry.tracing import captured

T = TypeVar("T")


class App(Protocol):
    """The part of the app that events use."""

    async def store(self) -> Store: ...
    def named_tenant(self, tenant: str | UUID | None) -> str | UUID | None: ...


class NewEvent:
    """A new event. It is validated when it is created, so that the caller gets the error."""

    def __init__(
        self,
        app: App,
        name: str,
        data: Mapping[str, Any] | None,
        *,
        tenant: str | UUID | None,
        correlation_id: str | None,
        event_id: UUID | None,
    ) -> None:
        if data is not None and not isinstance(data, Mapping):
            raise InvalidArguments(f"an event's data must be a mapping, got {type(data).__name__}")
        Options(tenant=tenant, correlation_id=correlation_id, job_id=event_id)
        self._app = app
        self._id = event_id or new_id()
        named = app.named_tenant(tenant)
        self._said = (
            name,
            encode(dict(data or {}), what="an event's data"),
            None if named is None else str(named),
            captured() if correlation_id is None else correlation_id,
        )

    async def emit(self, conn: Any) -> UUID:
        if conn is None:
            name, data, tenant, correlation_id = self._said
            events = (await self._app.store()).events

            async def send() -> list[UUID]:
                return [await events.emit(name, data, tenant=tenant, correlation_id=correlation_id, event_id=self._id)]

            [event_id] = await send_once(f"emit {name}", send)
            return event_id
        if not is_async(conn):
            raise InvalidArguments("conn is a sync connection: use emit_sync")
        return await emit_async_on(conn, *self._said, str(self._id))

    def emit_on_sync(self, conn: Any) -> UUID:
        if is_async(conn):
            raise InvalidArguments("conn is an async connection: use emit")
        return emit_sync_on(conn, *self._said, str(self._id))
