"""`plait jobs`: list, show and manage jobs."""

import asyncio
from uuid import uuid4

import pytest

from plait import Plait as App
from plait import wait_for_signal
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.store import Store
from plait.testing import FakeClock, TestDatabase
from plait.worker.worker import Worker

from ..harness import Harness
from ..workflows.worker_calls import suspend
from .conftest import RunPlait


@pytest.fixture
def job(plait_on: RunPlait) -> str:
    return plait_on("enqueue", "greet", "name=Ada").out.strip()


def test_a_list_is_newest_first_and_goes_on_before_an_id(plait_on: RunPlait) -> None:
    ids = [plait_on("enqueue", "greet", f"n={n}").out.strip() for n in range(3)]
    assert [row["id"] for row in plait_on("jobs", "list", "--json").json] == ids[::-1]
    page = plait_on("jobs", "--limit", "2")
    assert page.err == f"There may be more jobs. To show them, use --before {ids[1]}\n"
    assert [row["id"] for row in plait_on("jobs", "list", "--before", ids[1], "--json").json] == [ids[0]]


def test_a_list_is_plain_text_without_a_terminal(plait_on: RunPlait, job: str) -> None:
    header, line = plait_on("jobs").out.splitlines()
    assert header.split() == ["ID", "STATUS", "DEFINITION", "QUEUE", "ATTEMPTS", "CREATED", "ERROR"]
    assert line.split() == [job, "queued", "greet", "default", "0/5", "2030-01-01T12:00:00Z", "-"]


def test_a_list_can_be_narrowed(plait_on: RunPlait, job: str) -> None:
    other = plait_on("enqueue", "mail", "--queue", "letters", "--delay", "1h").out.strip()

    def listed(*options: str) -> list[str]:
        return [row["id"] for row in plait_on("jobs", "list", "--json", *options).json]

    assert listed("--status", "queued") == listed("--definition", "greet") == listed("-q", "default") == [job]
    assert listed("--status", "queued", "--status", "scheduled") == [other, job]
    assert plait_on("jobs", "list", "--status", "lost").code == 2
    empty = plait_on("jobs", "list", "--status", "failed")
    assert (empty.code, empty.out) == (0, "")
    assert "No matching jobs" in empty.err


def test_tenants_are_apart(plait_on: RunPlait, job: str) -> None:
    plait_on("tenants", "create", "acme")
    theirs = plait_on("enqueue", "greet", "--tenant", "acme").out.strip()

    def listed(*options: str) -> list[str]:
        return [row["id"] for row in plait_on("jobs", "list", "--json", *options).json]

    assert listed() == [job]
    assert listed("--tenant", "acme") == [theirs]
    assert listed("--all-tenants") == [theirs, job]
    assert theirs in plait_on("jobs", "list", "-A").out
    assert plait_on("jobs", "list", "-A", "-t", "acme").code == 2
    assert plait_on("jobs", "show", theirs).code == 0  # found without naming its tenant
    assert plait_on("jobs", "show", theirs, "--tenant", "default").code == 1
    assert plait_on("jobs", "cancel", theirs).out == f"{theirs}  canceled\n"


def test_show_says_why_a_job_does_not_run(plait_on: RunPlait, job: str, database: TestDatabase) -> None:
    assert "no live worker serves queue default" in plait_on("jobs", "show", job).out

    async def register() -> None:
        store = await Store.open(database.url)
        await store.workers.register(
            host="h", pid=1, version="1", queues=["default"], definitions=["other"], lease_s=30, metadata={}
        )
        await store.close()

    asyncio.run(register())
    shown = plait_on("jobs", "show", job)
    assert "workers serve queue default, but none of them has the definition greet" in shown.out
    assert '"name": "Ada"' in shown.out
    told = plait_on("jobs", "show", job, "--json").json
    assert (told["payload"], told["tenant"], told["attempts"]) == ({"name": "Ada"}, "default", [])
    assert "unknown_definition" in [reason["code"] for reason in told["explanation"]]
    assert plait_on("doctor").code == 1


def test_show_tells_run_time_own_time_and_waiting_time_apart(
    plait_on: RunPlait, job: str, database: TestDatabase
) -> None:
    assert "run time" not in plait_on("jobs", "show", job).out

    async def run() -> None:
        harness = await Harness.open(database)
        worker = await harness.worker(definitions=["greet"], lease_s=86_400)
        lease = await worker.claim_one()
        await harness.advance(seconds=2)
        await suspend(harness, worker, lease, 60)
        await worker.succeed(await worker.claim_one())
        await harness.close()

    asyncio.run(run())
    shown = [line.split(maxsplit=2) for line in plait_on("jobs", "show", job).out.splitlines()]
    facts = {" ".join(words[:2]): words[2] for words in shown if len(words) == 3}
    assert {name: facts[name] for name in ("run time", "own time", "waiting time")} == {
        "run time": "1m 2s", "own time": "2s", "waiting time": "1m",
    }  # fmt: skip
    assert "attempts      1 of 5" in plait_on("jobs", "show", job).out
    told = plait_on("jobs", "show", job, "--json").json
    assert (told["total_s"], told["own_s"], told["waiting_s"], told["attempts_used"]) == (62, 2, 60, 1)


def test_show_counts_unread_signals(plait_on: RunPlait, job: str) -> None:
    assert "unread" not in plait_on("jobs", "show", job).out
    for name in ("paid", "paid", "approved"):
        plait_on("jobs", "signal", job, name)
    assert "unread        1 approved, 2 paid (signals)\n" in plait_on("jobs", "show", job).out
    told = plait_on("jobs", "show", job, "--json").json
    assert [(one["name"], one["signals"]) for one in told["unread_signals"]] == [("approved", 1), ("paid", 2)]


def test_jobs_are_found_by_what_their_payloads_have(plait_on: RunPlait, job: str, database: TestDatabase) -> None:
    async def define() -> None:
        store = await Store.open(database.url)
        await store.definitions.define([{"name": "greet"}])
        await store.close()

    def found(*arguments: str) -> list[str]:
        return [one["id"] for one in plait_on("jobs", "list", "--json", *arguments).json]

    asyncio.run(define())
    declared = plait_on("definitions", "set", "greet", "--search-key", "name", "--search-key", "a.b", "--json").json
    assert declared["search_keys"] == ["name", "a.b"]
    for definition in ((), ("--definition", "greet")):
        assert found("--payload", "name=Ada", *definition) == [job]
        assert found("--payload", "name=Bob", *definition) == []
    assert plait_on("jobs", "list", "--payload", "name").code == 2
    assert plait_on("definitions", "set", "greet", "--search-key", "none", "--json").json["search_keys"] is None


def test_cancel_retry_cancel(plait_on: RunPlait, job: str) -> None:
    assert plait_on("jobs", "cancel", job, "--reason", "not now").out == f"{job}  canceled\n"
    shown = plait_on("jobs", "show", job).out
    assert "not now" in shown
    assert plait_on("jobs", "cancel", job).code == 0  # already canceled, as requested
    assert plait_on("jobs", "retry", job, "--json").json == [{"id": job, "ok": True, "status": "queued"}]
    again = plait_on("jobs", "retry", job)
    assert (again.code, again.out) == (1, "")
    assert "a queued job cannot be retried" in again.err


def test_a_waiting_job_with_a_grace_period_is_being_canceled(plait_on: RunPlait, database: TestDatabase) -> None:
    app = App(database.url, settings=Settings(poll=0.05, listen=False))

    @app.job(cancel_grace="1m")
    async def saga() -> None:
        await wait_for_signal("docs")

    async def wait() -> str:
        handle = await saga.enqueue()
        await Worker(app, once=True).run(Stop())
        await app.close()
        return str(handle.id)

    job = asyncio.run(wait())
    assert "  it waits for the signal 'docs'\n" in plait_on("jobs", "show", job).out
    for _ in range(2):
        ran = plait_on("jobs", "cancel", job)
        assert (ran.code, ran.out) == (0, f"{job}  cancellation requested; its handler runs to clean up\n")
    assert plait_on("jobs", "cancel", job, "--json").json == [{"id": job, "ok": True, "status": "queued"}]


def test_one_job_that_is_not_there_does_not_spare_the_others(plait_on: RunPlait, job: str) -> None:
    missing = uuid4()
    ran = plait_on("jobs", "cancel", missing, job)
    assert (ran.code, ran.out) == (1, f"{job}  canceled\n")
    assert ran.err == f"plait: {missing}: there is no job {missing}\n"


def test_one_id_that_is_none_spares_all(plait_on: RunPlait, job: str) -> None:
    assert plait_on("jobs", "cancel", job, "nonsense").code == 2
    assert plait_on("jobs", "show", job, "--json").json["status"] == "queued"


def test_a_job_gets_another_time_by_the_databases_clock(plait_on: RunPlait, job: str, database: TestDatabase) -> None:
    assert plait_on("jobs", "reschedule", job, "--delay", "10m").out == f"{job}  scheduled\n"
    assert plait_on("jobs", "show", job, "--json").json["run_at"] == "2030-01-01T12:10:00Z"
    asyncio.run(FakeClock(database.admin_url).advance(minutes=1))
    plait_on("jobs", "reschedule", job, "--at", "2030-01-01T15:00+01:00", "--max-attempts", "9")
    told = plait_on("jobs", "show", job, "--json").json
    assert (told["run_at"], told["max_attempts"]) == ("2030-01-01T14:00:00Z", 9)
    assert plait_on("jobs", "reschedule", job, "--delay", "0").out == f"{job}  queued\n"


@pytest.mark.parametrize("options", [[], ["--at", "2030-01-01", "--delay", "1"], ["--at", "soon"], ["--delay", "soon"]])
def test_a_reschedule_says_when_or_how_often(plait_on: RunPlait, job: str, options: list[str]) -> None:
    assert plait_on("jobs", "reschedule", job, *options).code == 2
