"""`plait jobs failures`: failed jobs by error."""

import asyncio

from plait.testing import TestDatabase

from ..harness import Harness
from .conftest import RunPlait


def _fail(database: TestDatabase, *errors: str) -> None:
    async def fail() -> None:
        harness = await Harness.open(database)
        worker = await harness.worker(definitions=["greet"])
        for error in errors:
            await harness.enqueue("greet", max_attempts=1)
            await worker.fail(await worker.claim_one(), error)
        await worker.leave()
        await harness.close()

    asyncio.run(fail())


def test_failed_jobs_are_listed_by_error(database: TestDatabase, plait_on: RunPlait) -> None:
    assert plait_on("jobs", "failures").err.startswith("No failed jobs.")
    _fail(database, "HTTP 502", "HTTP 503", "no such file")
    header, first, second = plait_on("jobs", "failures").out.splitlines()
    assert header.split()[:2] == ["JOBS", "DEAD"]
    assert first.split()[:4] == ["2", "2", "2", "greet"]
    assert second.endswith("no such file")
    told = plait_on("jobs", "failures", "--json").json
    assert (told["all_errors"], told["all_jobs"], [row["jobs"] for row in told["rows"]]) == (2, 3, [2, 1])
    limited = plait_on("jobs", "failures", "--limit", "1")
    assert limited.err == "1 of 2 errors shown; 3 failed jobs in total.\n"
    assert plait_on("jobs", "failures", "--status", "failed").out == ""


def test_other_statuses_are_refused(plait_on: RunPlait) -> None:
    ran = plait_on("jobs", "failures", "--status", "queued")
    assert (ran.code, ran.out) == (2, "")
    assert "status must be failed or dead_letter" in ran.err
    assert plait_on("jobs", "failures", "--tenant", "a", "--all-tenants").code == 2
