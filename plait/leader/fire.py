"""Fire: the instants of schedules that are due make jobs.

Which instants, is worked out here, from what the database said it is and by the database's clock. That each makes exactly one job,
and the schedule moves on with it, is `plait.fire`'s: where two leaders do this at once, the second finds the schedule moved on.
"""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import UUID

import asyncpg

from plait.leader.held import Held
from plait.model import schedules
from plait.model.errors import DatabaseUnreachable, InvalidTrigger, PlaitError
from plait.model.rendering import refused, rendered, schedule_scope, tenant_scope, trigger_scope
from plait.model.schedules import CatchUp, Plan, Timing, plan
from plait.model.texts import message_of
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.database import is_held, is_transient
from plait.store.triggers import DueSchedule

log = get_logger("leader")

BATCH = 100
AT_ONCE = 4
"""Each is a transaction of its own, and waits for its commit: thousands are due at midnight."""
EVERY_S = 0.2
SMALL = 32_768
"""Payload templates up to this many characters are rendered on the loop, larger ones in a thread."""
LONG_AGO = timedelta(hours=1)
"""A schedule that is this far behind is planned in a thread: up to 10,000 missed instants are counted."""


class Fire:
    def __init__(self) -> None:
        self._after: UUID | None = None
        self._held = Held()

    async def run(self, store: Store) -> float:
        due = await store.triggers.due_schedules(BATCH, after=self._after)
        # On past those that can't be fired now, and at the end from the start: nobody keeps the others waiting.
        self._after = due[-1].id if len(due) == BATCH else None
        more = self._after is not None
        left_alone = set(self._held.left_alone())
        due = [schedule for schedule in due if schedule.id not in left_alone]
        for at in range(0, len(due), AT_ONCE):
            asked = [self._fire(store, schedule) for schedule in due[at : at + AT_ONCE]]
            for said in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(said, BaseException):
                    raise said
                more |= said
        more |= await store.triggers.release_fires(BATCH) == BATCH
        return 0.0 if more else EVERY_S

    async def _fire(self, store: Store, schedule: DueSchedule) -> bool:
        """Whether it has more to catch up with."""
        try:
            more = await fire(store, schedule) == schedules.BATCH
        except DatabaseUnreachable:
            raise
        except (PlaitError, asyncpg.PostgresError) as error:  # one schedule's trouble is not the others'
            if not is_held(error):
                log.warning(
                    "a schedule could not be fired; it is tried again", trigger=schedule.label, error=str(error)
                )
            elif self._held.add(schedule.id):
                log.info("a schedule waits for another transaction", trigger=schedule.label, error=str(error))
            return False
        self._held.discard(schedule.id)
        return more


async def fire(store: Store, schedule: DueSchedule) -> int | None:
    """Fire what is due of one schedule; how many jobs it made, or None where another leader was faster."""
    timing = Timing(zone=schedule.time_zone, anchor=schedule.anchor_at, cron=schedule.cron, every_s=schedule.every_s)
    planning = partial(
        plan,
        timing,
        after=schedule.cursor_at,
        now=schedule.now,
        catch_up=cast("CatchUp", schedule.catch_up),
        window_s=schedule.catch_up_window_s,
    )
    try:
        far_behind = schedule.now - schedule.cursor_at > LONG_AGO
        planned = await asyncio.to_thread(planning) if far_behind else planning()
        error = None if planned.next else "it has no further instant"
    except Exception as failure:  # noqa: BLE001 - cron of any kind may have come in by SQL: it is told, and the others go on
        told = str(failure) if isinstance(failure, InvalidTrigger) else f"cron {schedule.cron!r}: {failure}"
        return await store.triggers.fire(
            schedule, upto=schedule.cursor_at, next_at=None, fires=[], missed=0, error=told
        )
    small = len(schedule.payload) * len(planned.fires) <= SMALL
    fires = _fires(schedule, planned) if small else await asyncio.to_thread(_fires, schedule, planned)
    firing = partial(
        store.triggers.fire,
        schedule,
        upto=planned.upto,
        next_at=planned.next,
        missed=planned.missed,
        error=error,
    )
    try:
        fired = await firing(fires=fires)
    except DatabaseUnreachable:
        raise
    except (PlaitError, asyncpg.PostgresError) as failure:
        if is_transient(failure) or not fires:
            raise
        # What the database refuses it refuses again: the instants are recorded as refused, and the schedule moves on.
        told = message_of(failure)
        log.error("a schedule's jobs could not be enqueued", trigger=schedule.label, error=told)
        said = refused(f"it could not be fired: {told}")
        fired = await firing(fires=[{"instant": instant.isoformat(), **said} for instant in planned.fires])
    if planned.missed:
        log.warning("a schedule missed instants", trigger=schedule.label, missed=planned.missed)
    return fired


def _fires(schedule: DueSchedule, planned: Plan) -> list[dict[str, Any]]:
    return [_fire(schedule, instant) for instant in planned.fires]


def _fire(schedule: DueSchedule, instant: datetime) -> dict[str, Any]:
    scope = {
        "schedule": schedule_scope(instant, schedule.cron, schedule.time_zone),
        "trigger": trigger_scope(schedule.id, schedule.label, schedule.definition),
        "tenant": tenant_scope(schedule.tenant_id, schedule.tenant_slug, schedule.tenant_name),
    }
    said = rendered(
        schedule.payload,
        scope,
        schedule.schema,
        dedupe_key=schedule.dedupe_key,
        correlation_id=schedule.correlation_id,
        limit_key=schedule.limit_key,
    )
    return {"instant": instant.isoformat(), **said}
