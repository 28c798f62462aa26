"""`plait jobs logs`: the lines of a job, and new ones until it is final."""

import asyncio
import json
from collections.abc import Sequence
from uuid import UUID

import pytest

from plait.model.states import AttemptOutcome
from plait.store import Store
from plait.store.logs import Level, LogEntry, LogLine
from plait.store.workers import Settlement
from plait.store.workflows import Lease
from plait.testing import TestDatabase

from .conftest import RunPlait


class Job:
    """A running job, whose worker is this test."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lease: Lease
        self.lines = 0

    async def start(self) -> None:
        store = await Store.open(self.url)
        await store.definitions.define([{"name": "greet"}])
        worker = await store.workers.register(
            host="h", pid=1, version="0", queues=["default"], definitions=["greet"], lease_s=600
        )
        [claimed] = await store.workers.claim(worker, "default", 1)
        self.lease = Lease(worker, claimed.job_id, claimed.attempt)
        await store.close()

    async def log(self, *messages: str, level: Level = "info", fields: str | None = None) -> None:
        store = await Store.open(self.url)
        entries = [LogEntry(0, level, "log", "library", message, fields) for message in messages]
        lines = [LogLine(self.lease, self.lines + n, entry) for n, entry in enumerate(entries, 1)]
        self.lines += len(lines)
        await store.logs.write(lines, now=0)
        await store.close()

    async def succeed(self) -> None:
        store = await Store.open(self.url)
        settlement = Settlement(
            self.lease.job_id, self.lease.attempt, AttemptOutcome.SUCCEEDED, None, None, 1.0, "greet"
        )
        await store.workers.settle(self.lease.worker, [settlement])
        await store.close()

    @property
    def id(self) -> UUID:
        return self.lease.job_id


@pytest.fixture
def job(database: TestDatabase, plait_on: RunPlait) -> Job:
    plait_on("enqueue", "greet", "name=Ada")
    job = Job(database.url)
    asyncio.run(job.start())
    return job


def test_lines_are_printed_with_their_time_attempt_and_level(plait_on: RunPlait, job: Job) -> None:
    assert plait_on("jobs", "logs", str(job.id)).err == "No log lines.\n"
    asyncio.run(job.log("hello\tworld\x07", fields='{"n":1}'))
    asyncio.run(job.log("careful", level="warning"))
    assert plait_on("jobs", "logs", str(job.id)).out.splitlines() == [
        "2030-01-01T12:00:00Z [1] info     library: hello\tworld\ufffd n=1",
        "2030-01-01T12:00:00Z [1] warning  library: careful",
    ]
    [line] = plait_on("jobs", "logs", str(job.id), "--level", "warning", "--json").json
    assert (line["message"], line["attempt"], line["line"], line["fields"]) == ("careful", 1, 2, None)
    cut = plait_on("jobs", "logs", str(job.id), "-n", "1")
    assert cut.out.endswith("careful\n")
    assert cut.err == "Earlier lines are left out: the last one is line 1 of attempt 1.\n"
    assert plait_on("jobs", "logs", str(job.id), "--attempt", "2").out == ""


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_following_ends_with_the_job_and_misses_no_line(
    plait_on: RunPlait, job: Job, monkeypatch: pytest.MonkeyPatch, options: Sequence[str]
) -> None:
    asyncio.run(job.log("before"))
    waits = 0

    async def wait(_seconds: float) -> None:
        """In place of each pause, the job runs further."""
        nonlocal waits
        waits += 1
        await job.log(f"during {waits}")
        if waits == 2:
            await job.succeed()

    monkeypatch.setattr("plait.cli.job_logs.pause", wait)
    out = plait_on("jobs", "logs", str(job.id), "-f", *options).out.splitlines()
    shown = [json.loads(line)["message"] if options else line.rpartition(" library: ")[2] for line in out]
    assert shown == ["before", "during 1", "during 2"]
