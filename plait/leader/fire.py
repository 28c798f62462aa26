"""Fire: enqueue jobs for due instants of schedules.

The instants are computed here, from the stored schedule and by the database's clock. `plait.fire` enqueues exactly one job for each instant
and advances the schedule in the same transaction. If two leaders do this at the same time, the second finds the schedule already advanced.
"""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import UUID

import asyncpg

from plait.leader.blocked_firings import BlockedFirings
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
"""Number of concurrent firings. Each is a separate transaction and waits for its commit, and thousands may be due at midnight."""
EVERY_S = 0.2
SMALL = 32_768
"""Payload templates up to this many characters are rendered on the loop, larger ones in a thread."""
LONG_AGO = timedelta(hours=1)
"""A schedule that is this far behind is planned in a thread, because up to 10,000 missed instants are counted."""


class Fire:
    def __init__(self) -> None:
        self._after: UUID | None = None
        self._blocked = BlockedFirings()

    async def run(self, store: Store) -> float:
        due = await store.triggers.due_schedules(BATCH, after=self._after)
        # Continue after the schedules that cannot be fired now, then from the start, so that no schedule blocks the others.
        self._after = due[-1].id if len(due) == BATCH else None
        more = self._after is not None
        left_alone = set(self._blocked.left_alone())
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
        """Fire one schedule. Returns whether it has more firings to catch up on."""
        try:
            more = await fire(store, schedule) == schedules.BATCH
        except DatabaseUnreachable:
            raise
        except (PlaitError, asyncpg.PostgresError) as error:  # one schedule's error must not affect the others
            if not is_held(error):
                log.warning("schedule not fired, retrying", trigger=schedule.label, error=str(error))
            elif self._blocked.add(schedule.id):
                log.info("schedule waits for another transaction", trigger=schedule.label, error=str(error))
            return False
        self._blocked.discard(schedule.id)
        return more


async def fire(store: Store, schedule: DueSchedule) -> int | None:
    """Fire the due instants of one schedule; returns the number of jobs, or None if another leader was faster."""
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
        error = None if planned.next else "the schedule has no further firings"
    except Exception as failure:  # noqa: BLE001 - any cron text may have been stored by SQL: report it, and continue with the others
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
        # A rejection would repeat: the firings are recorded as refused, and the schedule advances.
        told = message_of(failure)
        log.error("jobs of a schedule could not be enqueued", trigger=schedule.label, error=told)
        said = refused(f"the schedule could not be fired: {told}")
        fired = await firing(fires=[{"instant": instant.isoformat(), **said} for instant in planned.fires])
    if planned.missed:
        log.warning("schedule missed firings", trigger=schedule.label, missed=planned.missed)
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
