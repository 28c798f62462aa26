"""The installation's metrics: from existing counts, with bounded labels, and counters never decrease."""

from plait.store import Database, Store
from plait.telemetry import catalogue
from plait.telemetry.database import DatabaseMetrics

from ..harness import Harness
from .scraping import Scraped, scrape


def metrics_of(harness: Harness, top: int = 50) -> DatabaseMetrics:
    async def store() -> Store:
        return harness.store

    return DatabaseMetrics(store, top=top)


async def roll_up(harness: Harness) -> None:
    """As the leader does, until it has caught up."""
    more = True
    while more:
        more, _ = await harness.store.leader.roll_up()


async def test_depth_is_told_by_tenant_and_status_and_by_queue(harness: Harness) -> None:
    await harness.enqueue_many("add", 3, tenant="acme")
    await harness.enqueue("add", tenant="other", queue="slow", delay_s=60)
    worker = await harness.worker()
    await worker.claim(1)
    await harness.advance(seconds=30)
    told = await scrape(metrics_of(harness))
    assert told("plait_jobs", tenant="acme", status="queued") == 2
    assert told("plait_jobs", tenant="acme", status="running") == 1
    assert told("plait_jobs", tenant="other", status="scheduled") == 1
    assert told("plait_queue_jobs", queue="slow", status="scheduled") == 1
    assert told("plait_queue_oldest_seconds", queue="default") == 30
    assert told("plait_queue_oldest_seconds", queue="slow") == 0
    assert told("plait_database_up") == 1


async def test_labels_are_bounded_however_many_tenants_and_queues_there_are(harness: Harness) -> None:
    """T97: whoever can make tenants or name queues must not be able to make series."""
    for number in range(8):
        await harness.enqueue_many("add", number + 1, tenant=f"t{number}", queue=f"q{number}")
    told = await scrape(metrics_of(harness, top=3))
    assert told.labels("plait_jobs", "tenant") == {"t7", "t6", "t5", "*"}
    assert told("plait_jobs", tenant="*", status="queued") == 1 + 2 + 3 + 4 + 5
    assert told.labels("plait_queue_jobs", "queue") == {"q7", "q6", "q5", "*"}
    none = await scrape(metrics_of(harness, top=0))
    assert none.labels("plait_jobs", "tenant") == {"*"}


async def test_rates_come_from_the_leaders_counts_and_only_grow(harness: Harness) -> None:
    metrics = metrics_of(harness)
    await roll_up(harness)
    first = await scrape(metrics)
    assert first("plait_enqueued_total") == 0, "a process does not count enqueues from before its start"
    worker = await harness.worker()
    await harness.enqueue_many("add", 4, max_attempts=2)
    done, broken, again, _ = await worker.claim(4)
    await worker.succeed(done)
    await worker.fail(broken, permanent=True)
    await worker.fail(again)
    await roll_up(harness)
    told = await scrape(metrics)
    assert told("plait_enqueued_total") == 4
    assert told("plait_finished_total", status="succeeded") == 1
    assert told("plait_finished_total", status="failed") == 1
    assert told("plait_retried_total") == 1
    assert (await scrape(metrics))("plait_enqueued_total") == 4, "a minute that is scraped twice counts once"
    for _ in range(5):
        await harness.advance(minutes=3)
        await roll_up(harness)
        assert (await scrape(metrics))("plait_enqueued_total") == 4, "nor when it is closed"
    await harness.enqueue("add")
    await roll_up(harness)
    assert (await scrape(metrics))("plait_enqueued_total") == 5
    await harness.advance(days=200)
    await roll_up(harness)
    await harness.sql("delete from plait.minutes")  # as retention does in the end
    assert (await scrape(metrics))("plait_enqueued_total") == 5


async def test_workers_and_the_leader_are_told_of(harness: Harness) -> None:
    assert (await scrape(metrics_of(harness)))("plait_leader_present") == 0
    worker = await harness.worker()
    await harness.store.workers.heartbeat(worker.id, running=2, prefetched=3)
    await harness.store.leader.elect("a", lease_s=30)
    told = await scrape(metrics_of(harness))
    assert told("plait_workers", state="alive") == 1
    assert told("plait_workers", state="blocked") == 0
    assert told("plait_jobs_prefetched") == 3
    assert told("plait_leader_present") == 1
    term = told("plait_leader_term")
    await harness.advance(seconds=20)
    assert (await scrape(metrics_of(harness)))("plait_workers", state="stale") == 1
    await harness.advance(seconds=20)
    await harness.store.leader.elect("b", lease_s=30)
    assert (await scrape(metrics_of(harness)))("plait_leader_term") == term + 1


async def test_a_database_that_does_not_answer_is_told_of_and_the_process_still_is() -> None:
    store = Store(Database("postgresql://nobody@127.0.0.1:1/nothing"))

    async def connected() -> Store:
        return store

    told = await scrape(DatabaseMetrics(connected, top=50))
    assert told("plait_database_up") == 0
    assert "process_cpu_seconds_total" in told.names


async def test_every_metric_of_the_installation_is_there_and_no_other(harness: Harness) -> None:
    await harness.enqueue("add")
    await harness.store.leader.elect("a", lease_s=30)
    await roll_up(harness)
    told: Scraped = await scrape(metrics_of(harness))
    meant = {name for metric in catalogue.METRICS if metric.told_by == "installation" for name in metric.series}
    assert {name for name in told.names if name.startswith("plait_")} == meant
