"""Dispatch: events make jobs, one for each trigger that they match.

Templates are filled in and payloads checked here; that each (event, trigger) makes exactly one job, and the event is done with it, is
`plait.dispatch`'s. What can't be filled in or does not fit is kept with the event: nothing is lost in silence.
"""

from typing import Any
from uuid import UUID

import msgspec

from plait.model.rendering import event_scope, rendered, tenant_scope, trigger_scope
from plait.store import Store
from plait.store.events import Matched, PendingEvent

BATCH = 100
EVERY_S = 0.1


class Dispatch:
    def __init__(self) -> None:
        self._after: UUID | None = None

    async def run(self, store: Store) -> float:
        events = await store.events.pending_events(BATCH, after=self._after)
        # On past those that can't be dispatched now, and at the end from the start: nobody keeps the others waiting.
        self._after = events[-1].id if len(events) == BATCH else None
        if events:
            await store.events.dispatch([_dispatched(event) for event in events])
        return 0.0 if self._after is not None else EVERY_S


def _dispatched(event: PendingEvent) -> dict[str, Any]:
    data = msgspec.json.decode(event.data)
    return {"event": event.id, "fires": [_fire(event, data, trigger) for trigger in event.triggers]}


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
    return {"trigger": trigger.id, "revision": trigger.revision, **said}
