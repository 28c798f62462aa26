"""Metrics of the leader's duties."""

import asyncio

from plait import Plait
from plait.leader.leader import Leader
from plait.leader.metrics import LeaderMetrics
from plait.runtime.service import Stop
from plait.store import Store
from plait.telemetry import catalogue
from plait.testing import TestDatabase

from ..waiting import eventually
from .scraping import Scraped, scrape


class Broken:
    async def run(self, store: Store) -> float:
        raise ZeroDivisionError


async def test_duties_are_counted_with_their_failures_and_only_the_leader_leads(
    real_clock_database: TestDatabase,
) -> None:
    app = Plait(real_clock_database.url)
    metrics, stop = LeaderMetrics(), Stop()
    leader = Leader(app, metrics=metrics)
    leader._duties = (*leader._duties, Broken())
    told = Scraped("")
    async with asyncio.TaskGroup() as group:
        group.create_task(leader.run(stop))

        async def all_have_run() -> bool:
            nonlocal told
            told = await scrape(metrics)
            ran = told.labels("plait_leader_duty_runs_total", "duty")
            return ran == {type(duty).__name__ for duty in leader._duties}

        await eventually(all_have_run)
        stop.request()
    await app.close()
    assert told("plait_leading") == 1
    assert told("plait_leader_duty_failures_total", duty="Broken") >= 1
    assert told("plait_leader_duty_failures_total", duty="Prune") == 0
    assert told("plait_retention_lag_seconds") < 60
    meant = {name for metric in catalogue.METRICS if metric.told_by == "leader" for name in metric.series}
    assert {name for name in told.names if name.startswith("plait_")} == meant
    assert (await scrape(metrics))("plait_leading") == 0
