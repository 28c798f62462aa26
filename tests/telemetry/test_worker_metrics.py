"""The worker's metrics: updated per round trip."""

from uuid import uuid4

import pytest

from plait import Plait
from plait.model.states import AttemptOutcome
from plait.store.workers import Cycle, Settlement
from plait.telemetry.histogram import Histogram
from plait.worker.metrics import WorkerMetrics

from ..harness import Harness
from ..waiting import eventually
from ..worker.conftest import Running
from .scraping import scrape


def test_a_batch_is_counted_as_its_values_would_be_one_by_one() -> None:
    values = [0.0005, 0.001, 0.0011, 0.3, 2.0, 99999.0, 0.05]
    at_once, one_by_one = Histogram(), Histogram()
    at_once.add(values)
    for value in values:
        one_by_one.add([value])
    assert at_once.buckets == one_by_one.buckets
    buckets = dict(at_once.buckets)
    assert buckets["0.001"] == 2, "a bound belongs to its bucket"
    assert buckets["0.005"] == 3
    assert buckets["3600.0"] == 6
    assert buckets["+Inf"] == len(values)
    assert at_once.sum == pytest.approx(sum(values))


async def test_outcomes_are_counted_by_definition_and_ending_and_stale_ones_apart() -> None:
    metrics = WorkerMetrics(["a", "b"], top=1)
    batch = [
        Settlement(uuid4(), 1, AttemptOutcome.SUCCEEDED, None, None, 20.0, "a"),
        Settlement(uuid4(), 1, AttemptOutcome.FAILED, None, None, 40.0, "a"),
        Settlement(uuid4(), 1, AttemptOutcome.SUCCEEDED, None, None, 9.0, "b"),
        Settlement(uuid4(), 1, AttemptOutcome.SUCCEEDED, None, None, 9.0, "a"),
        Settlement(uuid4(), 1, AttemptOutcome.RELEASED, None, None, 0.0, "a"),
    ]
    metrics.count(Cycle(alive=True, claimed=[], stale=[3], cancels=[]), batch)
    told = await scrape(metrics)
    assert told("plait_worker_settled_total", definition="a", outcome="succeeded") == 1
    assert told("plait_worker_settled_total", definition="a", outcome="failed") == 1
    assert told("plait_worker_settled_total", definition="*", outcome="succeeded") == 1, "past the bound"
    assert told("plait_worker_stale_total") == 1
    assert told("plait_run_seconds_count", definition="a") == 2, "released jobs never ran"
    assert told("plait_run_seconds_bucket", definition="a", le="0.025") == 1
    assert told("plait_run_seconds_sum", definition="a") == pytest.approx(0.06)


async def test_a_worker_tells_of_its_slots_its_runs_and_how_long_jobs_waited(app: Plait, running: Running) -> None:
    @app.job
    async def greet(name: str) -> str:
        return name

    metrics = WorkerMetrics(app.definitions, top=50)
    await greet.enqueue_many([(str(number),) for number in range(20)])
    async with running(app, concurrency=7, metrics=metrics):

        async def waits_are_told() -> bool:
            return "plait_wait_seconds_count" in (await scrape(metrics)).names

        await eventually(waits_are_told, what="a sample of waits")

        async def all_are_settled() -> bool:
            told = await scrape(metrics)
            return told("plait_worker_settled_total", definition="greet", outcome="succeeded") == 20

        await eventually(all_are_settled)

        async def listens() -> bool:
            return (await scrape(metrics))("plait_worker_listening") == 1

        if app.settings.listen:
            await eventually(listens)
        told = await scrape(metrics)
    assert told("plait_worker_slots", queue="default") == 7
    assert told("plait_worker_running", queue="default") == 0
    assert told("plait_worker_claimed_total", queue="default") == 20
    assert 1 <= told("plait_worker_cycles_total", what="outcomes") <= 20
    assert 1 <= told("plait_worker_cycles_total", what="claims") <= 20
    assert told("plait_run_seconds_count", definition="greet") == 20
    assert 0 < told("plait_wait_seconds_count", queue="default") <= 20
    assert 0 <= told("plait_wait_seconds_sum", queue="default") < 60 * 20


async def test_waits_are_of_first_claims_since_a_job_was_asked_for_or_due(harness: Harness) -> None:
    plain = await harness.enqueue("add")
    late = await harness.enqueue("add", delay_s=50)
    await harness.advance(seconds=60)
    await harness.promote()
    worker = await harness.worker()
    [first, second] = await worker.claim(2)
    assert {first.job_id, second.job_id} == {plain, late}
    await worker.succeed(first)
    assert sorted(await harness.store.metrics.claim_waits([plain, late])) == [("default", 10.0), ("default", 60.0)]
    assert await harness.store.metrics.claim_waits([await harness.enqueue("add")]) == [], "it is not claimed"
