"""`plait demo`: run a small workload of two tenants on an embedded Postgres, show its progress, and check the outcomes.

The demo has its own data directory, inside the default data directory. It is kept, so that the suggested commands work after the
demo. Jobs of earlier runs are kept too, so all jobs of a run share a correlation id, and only jobs with that id are counted. The
directory's name includes a hash of the schema, so a demo never uses tables of another version or of a schema under development.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import typer

from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command
from plait.model.states import Status

if TYPE_CHECKING:
    from plait.cli.demo_report import Run, View
    from plait.runtime.service import Stop
    from plait.sdk.handle import Handle
    from plait.store import Store

OFFICE, STUDIO = "acme", "globex"
TENANTS = {
    OFFICE: {"name": "Acme Paper", "time_zone": "Europe/Berlin"},
    STUDIO: {"name": "Globex Pictures", "time_zone": "America/New_York"},
}
INVOICES, DELIVERIES, THUMBNAILS, REPEATS = 120, 24, 150, 5
DELAY_S = 2.0
LONGEST_S = 30.0
EXPECTED: dict[str, dict[Status, int]] = {
    OFFICE: {Status.SUCCEEDED: INVOICES - 1 + DELIVERIES + 1, Status.FAILED: 1, Status.DEAD_LETTER: 1},
    STUDIO: {Status.SUCCEEDED: THUMBNAILS - 1 + 1, Status.SKIPPED: 1, Status.CANCELED: 1},
}


def register(app: typer.Typer) -> None:
    app.command("demo", short_help="Run a demo workload of two tenants.")(command(demo))


async def demo(cli: Invocation) -> int:
    """Run a few hundred jobs of two tenants and show their progress and outcomes.

    Uses an embedded Postgres with its own data directory and does not touch your data. Takes a few seconds and checks the
    outcomes at the end.
    """
    if cli.url is not None:
        raise BadUsage(
            "plait demo does not accept --url: it uses its own embedded Postgres. Use --data-dir to choose the directory."
        )
    from plait.cli import demo_report
    from plait.cli.demo_jobs import app
    from plait.cli.serving import connected
    from plait.embedded.postgres_place import choose_data_dir
    from plait.leader.leader import Leader
    from plait.runtime.logging import configure
    from plait.runtime.service import Signals, Stop, run_services
    from plait.sdk.target import Target
    from plait.worker.worker import Worker

    data_dir = cli.data_dir or choose_data_dir() / f"demo-{_tables()}"
    app.target = Target(None, data_dir=data_dir)
    app.settings = app.settings.model_copy(update={"grace": 1.0})
    configure(level="error")
    view = demo_report.view(silent=cli.json)
    stop = Stop()
    with Signals(stop, grace_s=app.settings.grace) as signals:
        view.say(f"Starting an embedded Postgres in {data_dir}")
        async with connected(app, stop, signals):
            worker = Worker(app, queues={"default": 7, "pictures": 4}, concurrency=11)
            async with asyncio.TaskGroup() as group:
                group.create_task(run_services([worker, Leader(app)], stop))
                playing = group.create_task(_play(stop, view))
    outcome = playing.result()
    if signals.received or outcome is None:
        return signals.exit_code
    demo_report.conclude(outcome, data_dir, as_json=cli.json)
    return 1 if outcome.faults else 0


def _tables() -> str:
    from hashlib import sha256

    from plait.store.migrate import SQL

    return sha256(b"".join(path.read_bytes() for path in sorted((SQL / "schema").glob("*.sql")))).hexdigest()[:8]


async def _play(stop: "Stop", view: "View") -> "Run | None":
    """Enqueue the jobs, watch them and check the outcomes; None if the process was stopped by a signal."""
    from plait.cli.demo_jobs import app

    try:
        store = await app.store()
        script = await _Script.start(store)
        began = time.monotonic()
        with view:
            while True:
                run = await script.look(time.monotonic() - began)
                view.update(run)
                if run.over:
                    break
                if run.took_s > LONGEST_S:
                    run.faults.append(f"not all jobs were final after {LONGEST_S:.0f} s")
                    break
                if await stop.wait_for(0.1):
                    return None
        if run.over:
            await script.judge(run)
        return run
    finally:
        stop.request()


@dataclass(slots=True, kw_only=True)
class _Script:
    """The jobs of this run, and their expected outcomes."""

    store: "Store"
    tenants: "dict[str, Any]"
    correlation_id: str
    dead: "Handle[Any]"
    delayed: "Handle[Any]"
    canceled: "Handle[Any]"
    repeated: "Sequence[Handle[Any]]"
    deliveries: "Sequence[Handle[Any]]"
    asked_to_cancel: bool = False

    @classmethod
    async def start(cls, store: "Store") -> "_Script":
        from plait.cli import demo_jobs as jobs
        from plait.model.ids import new_id

        tenants = {slug: await store.tenants.set_tenant(slug, settings) for slug, settings in TENANTS.items()}
        run_id = f"demo-{new_id()}"

        def of(job: Any, tenant: str, **options: Any) -> Any:
            return job.options(tenant=tenants[tenant], correlation_id=run_id, **options)

        delayed = await of(jobs.remind, OFFICE, delay=DELAY_S).enqueue(101)
        dead = await of(jobs.post_ledger, OFFICE).enqueue("2026-10")
        canceled = await of(jobs.export_archive, STUDIO, priority=10).enqueue(500)
        deliveries = await of(jobs.deliver, OFFICE).enqueue_many(range(DELIVERIES))
        await of(jobs.thumbnail, STUDIO).enqueue_many(
            [("empty.png" if n == 7 else f"holiday-{n:03}.png", 16) for n in range(THUMBNAILS)]
        )
        await of(jobs.invoice, OFFICE).enqueue_many(
            [
                (1000 + n, [] if n == 13 else [(1 + n % 3, Decimal(n) / 4), (1, Decimal("9.99"))])
                for n in range(INVOICES)
            ]
        )
        repeated = [
            await of(jobs.refresh_gallery, STUDIO, dedupe_key=f"gallery {run_id}", delay=0.5).enqueue()
            for _ in range(REPEATS)
        ]
        return cls(
            store=store,
            tenants=tenants,
            correlation_id=run_id,
            dead=dead,
            delayed=delayed,
            canceled=canceled,
            repeated=repeated,
            deliveries=deliveries,
        )

    async def look(self, took_s: float) -> "Run":
        """Read the status of every job. Cancel the archive job once it is running."""
        from plait.cli.demo_report import Run

        jobs = {
            slug: await self.store.jobs.list_jobs(tenant_id=tenant, correlation_id=self.correlation_id, limit=1000)
            for slug, tenant in self.tenants.items()
        }
        archive = next(job for job in jobs[STUDIO] if job.id == self.canceled.id)
        if archive.status is Status.RUNNING and took_s > 1 and not self.asked_to_cancel:
            self.asked_to_cancel = True
            await self.canceled.cancel("no longer needed")
        return Run(jobs=jobs, expected=EXPECTED, took_s=took_s)

    async def judge(self, run: "Run") -> None:
        """Check the outcomes, and choose the jobs that the summary mentions."""
        for slug, expected in EXPECTED.items():
            if run.counts(slug) != expected:
                run.faults.append(f"{slug}: expected {_words(expected)}, found {_words(run.counts(slug))}")
        dead = await self._attempts(self.dead, OFFICE)
        if [attempt.status for attempt in dead] != ["failed"] * 3:
            run.faults.append("the dead letter did not fail three times")
        canceled = await self._attempts(self.canceled, STUDIO)
        if canceled[-1].status != "canceled":
            run.faults.append("the archive was not canceled")
        waited = await self._waited_s()
        if waited < DELAY_S:
            run.faults.append(f"the delayed job ran after {waited:.1f} s, expected at least {DELAY_S:g} s")
        repeats = sum(handle.deduplicated for handle in self.repeated)
        if repeats != REPEATS - 1 or len({handle.id for handle in self.repeated}) != 1:
            run.faults.append("the dedupe key admitted more than one job")
        retries = [
            sum(attempt.status == "failed" for attempt in await self._attempts(handle, OFFICE))
            for handle in self.deliveries
        ]
        if sum(retries) != sum(number % 3 for number in range(DELIVERIES)):
            run.faults.append(f"the deliveries failed {sum(retries)} times")
        busiest = self.deliveries[retries.index(max(retries))]
        failed = next((job for job in run.jobs[OFFICE] if job.status is Status.FAILED), None)
        run.note(self.dead.id, f"failed {len(dead)} times and exhausted its attempts: dead letter")
        if failed is not None:
            run.note(failed.id, "raised PermanentError: not retried")
        run.note(busiest.id, f"failed {max(retries)} times, then succeeded")
        run.note(self.delayed.id, f"delayed by {DELAY_S:g} s, ran after {waited:.1f} s")
        run.note(self.canceled.id, "canceled while it was running")
        run.note(self.repeated[0].id, f"enqueued {REPEATS} times with one dedupe key, ran once")

    async def _attempts(self, handle: "Handle[Any]", tenant: str) -> Any:
        return await self.store.jobs.list_attempts(handle.id, tenant_id=self.tenants[tenant])

    async def _waited_s(self) -> float:
        job = await self.delayed.info()
        [*_, last] = await self._attempts(self.delayed, OFFICE)
        return float((last.claimed_at - job.created_at).total_seconds())


def _words(counts: dict[Status, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items())
