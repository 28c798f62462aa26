"""Dispatch: events make jobs, one for each trigger that they match.

Templates are filled in and payloads checked here; that each (event, trigger) makes exactly one job, and the event is done with it, is
`plait.dispatch`'s. What can't be filled in or does not fit is kept with the event: nothing is lost in silence.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from plait.leader.rendering import event_scope, refused, rendered, tenant_scope, trigger_scope
from plait.model.errors import DatabaseUnreachable, PlaitError
from plait.model.texts import message_of
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.database import is_transient
from plait.store.events import Matched, PendingEvent

log = get_logger("leader")

BATCH = 100
EVERY_S = 0.1
PART = 4_000_000
"""So many bytes of rendered payloads are sent at once, but for a single event's."""
MOST = 16_000_000
"""So many bytes may one event make in all: a small event may meet a thousand triggers that repeat it."""


class Dispatch:
    def __init__(self) -> None:
        self._after: UUID | None = None

    async def run(self, store: Store) -> float:
        events = await store.events.pending_events(BATCH, after=self._after)
        # On past those that can't be dispatched now, and at the end from the start: nobody keeps the others waiting.
        self._after = events[-1].id if events else None
        for part in _parts(_dispatched(event) for event in events):
            await _send(store, part)
        return 0.0 if events else EVERY_S


async def _send(store: Store, part: list[bytes]) -> None:
    """Make jobs of events. Where the database refuses them, it is one event's fault, and not the others'."""
    try:
        await store.events.dispatch(part)
    except DatabaseUnreachable:
        raise
    except (PlaitError, asyncpg.PostgresError) as error:
        if len(part) > 1:
            for one in part:
                await _send(store, [one])
        elif is_transient(error):
            log.warning("an event could not be dispatched; it is tried again", error=str(error))
        else:
            await _refuse(store, part[0], message_of(error))


async def _refuse(store: Store, event: bytes, error: str) -> None:
    told = msgspec.json.decode(event)
    log.error("an event could not be dispatched", event_id=told["event"], error=error)
    said = refused(f"it could not be dispatched: {error}")
    fires = [{"trigger": fire["trigger"], "revision": fire["revision"], **said} for fire in told["fires"]]
    try:
        await store.events.dispatch([msgspec.json.encode({"event": told["event"], "fires": fires})])
    except DatabaseUnreachable:
        raise
    except (PlaitError, asyncpg.PostgresError) as again:
        log.error("an event could not even be refused; it is tried again", event_id=told["event"], error=str(again))


def _parts(events: Iterable[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for event in events:
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
    except (ValueError, RecursionError) as error:  # JSON that Postgres takes, and Python does not
        data, trouble = None, f"the event's data cannot be read: {error}"
    fires: list[msgspec.Raw] = []
    left = MOST
    for trigger in event.triggers:
        named = {"trigger": trigger.id, "revision": trigger.revision}
        said = _fire(event, data, trigger) if trouble is None else refused(trouble)
        text = msgspec.json.encode({**named, **said})
        if len(text) > left:
            text = msgspec.json.encode(
                {**named, **refused(f"what this event makes is more than {MOST:,} bytes in all")}
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
