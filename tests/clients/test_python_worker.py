"""Failures of the Python worker. Its twin for TypeScript is clients/typescript/test/worker.test.ts."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plait_client import Context, NotAllowed, PermanentError, RetryLater, Settings, Skip, Snooze, Worker, WorkerSettings
from plait_client.logs import line

from .fake_server import Answer, Asked, Drop, FakeServer, answering, problem

Handler = Callable[[dict[str, Any], Context], Any]
Logs = list[dict[str, Any]]
QUIET = {"cancel": list[str](), "gone": list[str]()}


def job(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"00000000-0000-7000-8000-{number:012}",
        "attempt": 1,
        "failed_attempts": 1,
        "max_attempts": 5,
        "tenant_id": "00000000-0000-0000-0000-000000000001",
        "definition_key": "add",
        "queue": "default",
        "payload": {"n": number},
        "timeout_seconds": None,
        "correlation_id": None,
        **more,
    }


@asynccontextmanager
async def working(
    batches: list[list[dict[str, Any]]],
    handler: Handler,
    how: Callable[[Asked], Answer | Drop | None] = lambda _: None,
    **settings: Any,
) -> AsyncIterator[tuple[FakeServer, Worker, Logs]]:
    """A worker and a server that hands out these batches; `how` may answer otherwise. At the end it is stopped."""
    ended = threading.Event()

    def answer(asked: Asked) -> Answer | Drop:
        if (own := how(asked)) is not None:
            return own
        if asked.path == "/worker/jobs/claim":
            if batches:
                return Answer(200, {"worker": 7, "jobs": batches.pop(0)})
            ended.wait(180)
            return Answer(200, {"worker": 7, "jobs": []})
        return Answer(200, QUIET if asked.path.endswith("/heartbeat") else {})

    logs: Logs = []
    with answering(answer) as server:
        work = WorkerSettings(**{"lease": 5, "heartbeat": 0.05, "grace": 0.1, **settings})
        worker = Worker(
            Settings(url=server.url, key="k"),
            work,
            log=lambda _, event, fields: logs.append({"event": event, **fields}),
        )
        worker.handle("add")(handler)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(worker.serve(signals=False))
            try:
                yield server, worker, logs
            finally:
                ended.set()
                worker.stop()
        await running


async def seen(server: FakeServer, end: str, nth: int = 1) -> Asked:
    return await asyncio.to_thread(server.seen, end, nth)


def raising(error: BaseException) -> Handler:
    def handler(payload: dict[str, Any], context: Context) -> None:
        raise error

    return handler


class Unshowable(Exception):
    def __str__(self) -> str:
        raise ValueError("worse")


@pytest.mark.parametrize(
    ("handler", "verb", "expected"),
    [
        (lambda payload, context: payload["n"], "complete", {"result": 1}),
        (raising(PermanentError("never")), "fail", {"error": "PermanentError: never", "permanent": True}),
        (raising(RetryLater(5, "busy")), "fail", {"error": "RetryLater: busy", "delay_seconds": 5}),
        (raising(Snooze(60)), "release", {"delay_seconds": 60}),
        (raising(Skip("nothing")), "skip", {"reason": "nothing"}),
        (raising(Unshowable()), "fail", {"error": "Unshowable: the message can't be shown"}),
        (raising(SystemExit(3)), "fail", {"error": "SystemExit: 3"}),
        (raising(ValueError("half \ud83d")), "fail", {"error": "ValueError: half ?"}),
        (lambda payload, context: float("nan"), "fail", {"reason": "not_serializable", "permanent": True}),
        (lambda payload, context: {1, 2}, "fail", {"reason": "not_serializable", "permanent": True}),
    ],
)
async def test_what_a_handler_does_is_what_the_server_is_told(
    handler: Handler, verb: str, expected: dict[str, Any]
) -> None:
    async with working([[job(1)]], handler) as (server, _, _):
        said = await seen(server, f"/{verb}")
    assert said.path == f"/worker/jobs/{job(1)['id']}/{verb}"
    assert (said.body["worker"], said.body["attempt"]) == (7, 1)
    assert expected == {name: said.body[name] for name in expected}
    assert "POST /worker/leave" in server.paths()  # a claim that it ended may arrive after it


async def stand(payload: dict[str, Any], context: Context) -> None:
    await asyncio.Event().wait()


async def test_a_cancel_reaches_the_handler() -> None:
    beat = Answer(200, {"cancel": [job(1)["id"]], "gone": []})
    async with working([[job(1)]], stand, lambda asked: beat if asked.path.endswith("/heartbeat") else None) as (
        server,
        _,
        _,
    ):
        said = await seen(server, "/fail")
    assert (said.body["reason"], said.body["error"]) == ("canceled", "Stopped: the job was canceled")


async def test_a_handler_in_a_thread_sees_that_it_shall_stop_and_its_success_counts() -> None:
    """T64."""
    beat = Answer(200, {"cancel": [job(1)["id"]], "gone": []})

    def patient(payload: dict[str, Any], context: Context) -> str:
        context.stopped.wait()
        return "done"

    async with working([[job(1)]], patient, lambda asked: beat if asked.path.endswith("/heartbeat") else None) as (
        server,
        _,
        _,
    ):
        assert (await seen(server, "/complete")).body["result"] == "done"


async def test_a_handler_that_ignores_its_timeout_loses_its_slot() -> None:
    """T103, F20."""
    release = threading.Event()

    def deaf(payload: dict[str, Any], context: Context) -> int:
        if payload["n"] == 1:
            release.wait()
        return int(payload["n"])

    async with working([[job(1, timeout_seconds=0.01)], [job(2)]], deaf, concurrency=1) as (server, _, _):
        assert (await seen(server, "/fail")).body["timeout"] is True
        assert (await seen(server, "/complete")).body["result"] == 2
    release.set()


async def test_t47_a_handler_that_blocks_the_loop_loses_no_lease() -> None:
    blocked, beaten = threading.Event(), threading.Event()

    async def rude(payload: dict[str, Any], context: Context) -> bool:
        blocked.set()
        return beaten.wait(180)

    def how(asked: Asked) -> None:
        if asked.path.endswith("/heartbeat") and blocked.is_set():
            beaten.set()

    async with working([[job(1)]], rude, how) as (server, _, _):
        assert (await seen(server, "/complete")).body["result"] is True


@pytest.mark.parametrize("lost", [Answer(200, {"cancel": [], "gone": [job(1)["id"]]}), problem(409, "worker-lost")])
async def test_t34_a_lost_lease_stops_the_handler_and_nothing_is_reported(lost: Answer) -> None:
    stopped, told, claims = asyncio.Event(), threading.Event(), itertools.count(1)

    async def handler(payload: dict[str, Any], context: Context) -> str:
        if payload["n"] == 1:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
        return "other"

    def how(asked: Asked) -> Answer | None:
        held = [one["id"] for one in asked.body.get("held") or ()] if asked.path.endswith("/heartbeat") else None
        if held is not None and (job(1)["id"] in asked.path or job(1)["id"] in held):
            told.set()
            return lost
        if asked.path == "/worker/jobs/claim" and next(claims) > 1:
            told.wait(180)  # else the second job may be there already, and is lost with its worker
        return None

    async with working([[job(1)], [job(2)]], handler, how) as (server, _, logs):
        await seen(server, f"/{job(2)['id']}/complete")
        await asyncio.wait_for(stopped.wait(), 180)
    said = [path for path in server.paths() if job(1)["id"] in path and not path.endswith("/heartbeat")]
    assert said == []
    assert [one["job_id"] for one in logs if one["event"] == "lease lost"] == [job(1)["id"]]


async def test_f8_handlers_stop_when_the_server_cannot_be_reached_for_as_long_as_the_lease() -> None:
    cut, stopped = threading.Event(), asyncio.Event()

    async def handler(payload: dict[str, Any], context: Context) -> None:
        cut.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.clear()
            stopped.set()

    async with working([[job(1)]], handler, lambda _: "drop" if cut.is_set() else None, wait=0) as (server, _, logs):
        await asyncio.wait_for(stopped.wait(), 180)
    assert any(one["event"] == "worker lost" for one in logs)
    assert not [path for path in server.paths() if path.endswith(("/complete", "/fail", "/release"))]


async def test_an_outcome_is_sent_until_it_is_heard() -> None:
    answers: list[Answer | Drop] = ["drop", problem(500, "internal"), problem(503, "no", Retry_After="0")]

    def how(asked: Asked) -> Answer | Drop | None:
        return answers.pop(0) if asked.path.endswith("/complete") and answers else None

    async with working([[job(1)]], lambda payload, context: 1, how) as (server, _, _):
        await seen(server, "/complete", 4)


async def test_t66_a_result_that_the_server_does_not_take_fails_the_job() -> None:
    refuse = problem(413, "too-large")
    how = lambda asked: refuse if asked.path.endswith("/complete") else None  # noqa: E731
    async with working([[job(1)]], lambda payload, context: "x", how) as (server, _, _):
        assert (await seen(server, "/fail")).body["reason"] == "outcome_refused"


async def test_after_a_claim_whose_answer_was_lost_what_we_do_not_know_of_is_given_back_before_the_next() -> None:
    claims = 0

    def how(asked: Asked) -> Drop | None:
        nonlocal claims
        claims += asked.path.endswith("/claim")
        return "drop" if asked.path.endswith("/claim") and claims == 2 else None

    async with working([[job(1)]], stand, how, concurrency=2) as (server, _, _):
        await seen(server, "/claim", 3)
        said = [one.body.get("held", one.path) if one.path.endswith("/heartbeat") else one.path for one in server.asked]
    lost, again = [at for at, one in enumerate(said) if one == "/worker/jobs/claim"][1:3]
    assert [{"id": job(1)["id"], "attempt": 1}] in said[lost:again]


async def test_a_worker_that_comes_before_its_server_waits_for_it() -> None:
    claims = 0

    def how(asked: Asked) -> Drop | None:
        nonlocal claims
        claims += asked.path.endswith("/claim")
        return "drop" if asked.path.endswith("/claim") and claims <= 2 else None

    async with working([[job(1)]], lambda payload, context: 1, how) as (server, _, logs):
        await seen(server, "/complete")
    events = [one["event"] for one in logs]
    assert events.count("claim failed") == 2
    assert "worker lost" not in events


async def test_no_heartbeat_names_what_is_held_while_a_claim_is_under_way() -> None:
    async with working([[job(1)]], stand, concurrency=2) as (server, _, _):
        await seen(server, "/claim", 2)
        before = len(server.asked)
        await seen(server, "/heartbeat", 3)
        held = [one.body.get("held") for one in server.asked[before:] if one.path.endswith("/heartbeat")]
    assert held[-1] is None


async def test_t42_a_worker_that_is_stopped_lets_handlers_end_and_releases_what_has_not_begun() -> None:
    end = asyncio.Event()

    async def handler(payload: dict[str, Any], context: Context) -> None:
        await end.wait()

    async with working([[job(1), job(2), job(3)]], handler, concurrency=1, claim_limit=3, grace=30) as (
        server,
        worker,
        logs,
    ):
        await seen(server, "/heartbeat")
        worker.stop()
        await seen(server, "/release", 2)
        end.set()
        await seen(server, "/leave")
    said = [path.rpartition("/")[2] for path in server.paths() if not path.endswith("/heartbeat")]
    assert said == ["claim", "release", "release", "complete", "leave"]
    assert logs[-1]["event"] == "worker stopped"


async def test_a_key_that_may_not_is_told_to_who_started_the_worker() -> None:
    with answering(lambda _: problem(403, "not-allowed")) as server:
        worker = Worker(Settings(url=server.url, key="k"), log=lambda *_: None)
        worker.handle("add")(stand)
        with pytest.raises(NotAllowed):
            await worker.serve(signals=False)


async def test_logs_are_one_json_object_a_line_with_the_jobs_and_the_traces_ids() -> None:
    """S19."""
    trace = "a" * 32

    def handler(payload: dict[str, Any], context: Context) -> None:
        assert context.traceparent.startswith(f"00-{trace}-")
        context.log.info("mine", text="a\nb")

    async with working([[job(1, correlation_id=trace)]], handler) as (server, _, logs):
        await seen(server, "/complete")
    mine = next(one for one in logs if one["event"] == "mine")
    assert (mine["job_id"], mine["trace_id"], mine["worker_id"], mine["attempt"]) == (job(1)["id"], trace, 7, 1)
    assert any(one["event"] == "job succeeded" and "duration_ms" in one for one in logs)
    assert "\n" not in line("info", "mine", mine)
    circle: dict[str, Any] = {}
    circle["self"] = circle
    assert "not serializable" in line("info", "mine", circle)


def test_a_kind_has_one_handler() -> None:
    worker = Worker(Settings(url="http://h", key="k"))
    worker.handle("add")(stand)
    with pytest.raises(ValueError, match="already"):
        worker.handle("add")
