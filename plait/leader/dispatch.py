"""Dispatch: enqueue jobs for events, one for each matching trigger.

Templates are rendered and payloads validated here. `plait.dispatch` ensures that each pair of an event and a trigger enqueues exactly one job, and
that the event is then done. Errors in templates and payloads are stored with the event, so that no event is dropped silently.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from plait.leader.blocked_firings import BlockedFirings
from plait.model.errors import DatabaseError, DatabaseUnreachable, PlaitError
from plait.model.rendering import event_scope, refused, rendered, tenant_scope, trigger_scope
from plait.model.texts import message_of
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.database import is_held, is_own_fault
from plait.store.events import Matched, PendingEvent

log = get_logger("leader")

BATCH = 100
EVERY_S = 0.1
PART = 4_000_000
"""The maximum size in bytes of the rendered payloads in one call. A single event may exceed it."""
HELD_AT_ONCE = 5
"""How many events that wait for another transaction are retried per page."""
MOST = 16_000_000
"""The maximum total size of the payloads for one event: a small event may match a thousand triggers that each copy its data."""


SMALL = 32_768
"""An event whose data and templates have at most this many characters is rendered on the loop, a larger event in a thread."""


class Dispatch:
    def __init__(self) -> None:
        self._blocked = BlockedFirings()

    async def run(self, store: Store) -> float:
        done = 0
        pending = await store.events.pending_events(BATCH, skip=self._blocked.left_alone())
        again = [event for event in pending if event.id in self._blocked]
        async for part in _parts([event for event in pending if event.id not in self._blocked]):
            done += await self._send(store, part)
        for event in again[:HELD_AT_ONCE]:
            async for part in _parts([event]):
                done += await self._send(store, part)
        return 0.0 if done else EVERY_S

    async def _send(self, store: Store, part: list[bytes]) -> int:
        """Enqueue the jobs of events. Returns how many events are done. If the database rejects a batch, each event is sent alone, because one is the cause."""
        try:
            return await store.events.dispatch([msgspec.Raw(event) for event in part])
        except DatabaseUnreachable:
            raise
        except (PlaitError, asyncpg.PostgresError) as error:
            if len(part) > 1:
                return await self._one_by_one(store, part)
            if is_held(error):
                event_id = UUID(msgspec.json.decode(part[0])["event"])
                if self._blocked.add(event_id):
                    log.info("event waits for another transaction", event_id=str(event_id), error=str(error))
                return 0
            return await _send_again(store, part[0], error)

    async def _one_by_one(self, store: Store, part: list[bytes]) -> int:
        done, held = 0, len(self._blocked)
        for event in part:
            done += await self._send(store, [event])
            if len(self._blocked) >= held + HELD_AT_ONCE:
                break  # each has waited for a short time: the next page skips them
        return done


async def _send_again(store: Store, event: bytes, refused: Exception) -> int:
    """Send a rejected event again, because the first rejection may have been a race. An event that is rejected again is recorded as refused."""
    try:
        return await store.events.dispatch([msgspec.Raw(event)])
    except DatabaseUnreachable:
        raise
    except (PlaitError, asyncpg.PostgresError) as error:
        at_fault = all(isinstance(one, DatabaseError) or is_own_fault(one) for one in (refused, error))
        if at_fault and not is_held(error):
            return await _refuse(store, event, message_of(error))
        log.info("event not dispatched, retrying", error=str(error))
        return 0


async def _refuse(store: Store, event: bytes, error: str) -> int:
    told = msgspec.json.decode(event)
    log.error("event cannot be dispatched", event_id=told["event"], error=error)
    said = refused(f"the event could not be dispatched: {error}")
    fires = [{"trigger": fire["trigger"], "revision": fire["revision"], **said} for fire in told["fires"]]
    try:
        return await store.events.dispatch([{"event": told["event"], "fires": fires}])
    except DatabaseUnreachable:
        raise
    except (PlaitError, asyncpg.PostgresError) as again:
        log.error("event could not be recorded as failed, retrying", event_id=told["event"], error=str(again))
        return 0


async def _parts(events: Sequence[PendingEvent]) -> AsyncIterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for pending in events:
        text = len(pending.triggers) * len(pending.data) + sum(len(trigger.payload) for trigger in pending.triggers)
        event = _dispatched(pending) if text <= SMALL else await asyncio.to_thread(_dispatched, pending)
        if part and size + len(event) > PART:
            yield part
            part, size = [], 0
        part.append(event)
        size += len(event)
    if part:
        yield part


def _dispatched(event: PendingEvent) -> bytes:
    try:
        data, trouble = msgspec.json.decode(event.data), None
    except (ValueError, RecursionError) as error:  # JSON that Postgres accepts, but Python does not
        data, trouble = None, f"the event's data cannot be decoded: {error}"
    fires: list[msgspec.Raw] = []
    left = MOST
    for trigger in event.triggers:
        named = {"trigger": trigger.id, "revision": trigger.revision}
        try:
            said = _fire(event, data, trigger) if trouble is None else refused(trouble)
            text = msgspec.json.encode({**named, **said})
        except Exception as error:  # noqa: BLE001 - an event that raises here would be retried forever, with its whole batch
            text = msgspec.json.encode(
                {**named, **refused(f"the event cannot be dispatched: {message_of(error) or type(error).__name__}")}
            )
        if len(text) > left:
            text = msgspec.json.encode(
                {**named, **refused(f"the jobs of this event must have at most {MOST:,} bytes in total")}
            )
        left -= len(text)
        fires.append(msgspec.Raw(text))
    return msgspec.json.encode({"event": event.id, "fires": fires})


def _fire(event: PendingEvent, data: Any, trigger: Matched) -> dict[str, Any]:
    scope = {
        "event": data,
        "trigger": trigger_scope(trigger.id, trigger.label, trigger.definition)
        | event_scope(event.id, event.name, event.at),
        "tenant": tenant_scope(event.tenant_id, event.tenant_slug, event.tenant_name),
    }
    said = rendered(
        trigger.payload,
        scope,
        trigger.schema,
        dedupe_key=trigger.dedupe_key,
        correlation_id=trigger.correlation_id,
        limit_key=trigger.limit_key,
    )
    if said.get("correlation_id") is None:
        said["correlation_id"] = event.correlation_id
    return said
