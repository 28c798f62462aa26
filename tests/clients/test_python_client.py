"""Failures of the Python client: retries, error types, and arguments that are rejected before a request."""

import ast
import json
import sys
import tomllib
from typing import Any

import pytest

import plait_client
from plait_client import (
    AsyncPlait,
    Conflict,
    InvalidSettings,
    JobFailed,
    LeaseLost,
    NotFound,
    NotValid,
    Plait,
    Refused,
    Settings,
    TimedOut,
    TooMany,
    Unreachable,
    WorkerSettings,
)
from plait_client.errors import refusal
from plait_client.transport import Transport

from ..project.source_files import ROOT
from .fake_server import Answer, answering, in_turn, problem

MADE = Answer(201, {"id": "j", "deduplicated": False})


def test_an_enqueue_whose_answer_was_lost_is_sent_again_with_the_same_id() -> None:
    answers = in_turn("drop", problem(503, "not-available", Retry_After="0"), MADE)
    with answering(answers) as server, Plait(server.url, "k") as plait:
        plait.enqueue("add", {"a": 1})
    assert len({one.body["id"] for one in server.asked}) == 1
    assert len(server.asked) == 3
    assert server.asked[0].body["id"][14] == "7"
    assert "Idempotency-Key" not in server.asked[0].headers, "it would be the job's own"


def _misdirected(leader: str) -> Answer:
    return Answer(421, {**problem(421, "not-leader").body, "leader_url": leader})


def test_a_follower_s_word_for_where_the_leader_is_is_followed_once() -> None:
    with (
        answering(in_turn(MADE, _misdirected("http://127.0.0.1:9"))) as leader,
        answering(lambda _: _misdirected(f"{leader.url}/")) as follower,
        Plait(follower.url, "k") as plait,
    ):
        plait.enqueue("sync", {"a": 1})
        assert follower.asked[0].body["id"] == leader.asked[0].body["id"]
        assert leader.asked[0].headers["Authorization"] == "Bearer k"
        with pytest.raises(Refused, match="not-leader"):  # one that leads no more: the next call finds the new one
            plait.enqueue("sync", {"a": 1})
        assert len(follower.asked) == len(leader.asked) == 2


def test_nobody_is_followed_from_https_to_http() -> None:
    transport = Transport(Settings(url="https://plait.example", key="k"))
    body = {**problem(421, "not-leader").body, "leader_url": "http://plait.example"}
    assert transport.leader_of(refusal(421, json.dumps(body).encode(), None)) is None
    body["leader_url"] = "https://leader.example"
    assert transport.leader_of(refusal(421, json.dumps(body).encode(), None)) is not None


def test_a_change_is_sent_again_with_the_same_idempotency_key_and_another_has_another() -> None:
    moved = Answer(200, {"id": "x", "status": "canceled", "jobs": 1})
    answers = in_turn(problem(429, "too-many", Retry_After="0"), moved, moved)
    with answering(answers) as server, Plait(server.url, "k") as plait:
        plait.cancel("x")
        plait.cancel("x")
    first, again, other = (one.headers["Idempotency-Key"] for one in server.asked)
    assert first == again != other


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "not-found", NotFound),
        (409, "illegal-move", Conflict),
        (409, "lease-lost", LeaseLost),
        (422, "not-valid", NotValid),
        (500, "internal", Refused),
        (302, "moved", Refused),
    ],
)
def test_what_is_refused_for_good_is_sent_once_and_is_an_error_of_its_kind(
    status: int, code: str, kind: type[Refused]
) -> None:
    with (
        answering(lambda _: problem(status, code, Location="http://127.0.0.1:1/")) as server,
        Plait(server.url, "k") as plait,
    ):
        with pytest.raises(kind, match=f"no: {code}") as told:
            plait.get("x")
        assert (told.value.status, told.value.code, told.value.request_id) == (status, code, "r1")
    assert len(server.asked) == 1


def test_who_asks_too_often_is_told_when_to_come_again() -> None:
    with (
        answering(lambda _: problem(429, "too-many", Retry_After="7")) as server,
        Plait(server.url, "k", retries=0) as plait,
    ):
        with pytest.raises(TooMany) as told:
            plait.get("x")
        assert told.value.retry_after == 7


def test_an_error_page_of_something_between_is_an_error_too() -> None:
    page = Answer(418, ["<html>"])
    with (
        answering(lambda _: page) as server,
        Plait(server.url, "k") as plait,
        pytest.raises(Refused, match="the server responded with status 418"),
    ):
        plait.get("x")


def test_a_server_that_is_not_there_is_unreachable_and_a_silent_one_timed_out() -> None:
    with pytest.raises(Unreachable), Plait("http://127.0.0.1:1", "k", retries=0) as plait:
        plait.get("x")
    with answering(lambda _: Answer()) as server:
        silent = Plait(server.url, "k", retries=0, timeout=0.05)
        server._http.RequestHandlerClass.do_GET = lambda self: self.rfile.read(1)  # type: ignore[attr-defined]
        with pytest.raises(TimedOut), silent:
            silent.get("x")


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    queued = Answer(200, {"status": "queued"}, {"Connection": "close"})
    with answering(lambda _: queued) as server, Plait(server.url, "k", retries=0) as plait:
        for _ in range(3):
            assert plait.get("x")["status"] == "queued"


def test_pages_are_asked_for_as_they_are_read() -> None:
    pages = in_turn(
        Answer(200, {"items": [{"id": "a"}], "next": "a"}), Answer(200, {"items": [{"id": "b"}], "next": None})
    )
    with answering(pages) as server, Plait(server.url, "k") as plait:
        assert [one["id"] for one in plait.list(status=["failed", "dead_letter"], has_sub_jobs=True)] == ["a", "b"]
    wanted = "GET /jobs?status=failed&status=dead_letter&has_sub_jobs=true"
    assert server.paths() == [wanted, f"{wanted}&cursor=a"]


def test_a_name_in_a_path_cannot_leave_it() -> None:
    with answering(lambda _: problem(404, "not-found")) as server, Plait(server.url, "k") as plait:
        with pytest.raises(NotFound):
            plait.get("../keys?x")
        with pytest.raises(ValueError, match="job_id"):
            plait.get("..")
    assert server.paths() == ["GET /jobs/..%2Fkeys%3Fx"]


async def test_the_async_client_waits_for_results_and_tells_failures() -> None:
    def final(status: str) -> Answer:
        return Answer(200, {"id": "j", "status": status, "result": 5, "reason": None, "last_error": "boom"})

    with answering(
        in_turn(MADE, Answer(200, {"status": "running"}), final("succeeded"), final("dead_letter"))
    ) as server:
        async with AsyncPlait(server.url, "k") as plait:
            handle = await plait.enqueue("add", priority=0)
            assert await handle.result() == 5
            with pytest.raises(JobFailed, match="boom") as told:
                await handle.result()
            assert told.value.status == "dead_letter"
    assert server.asked[0].body["priority"] == 0, "T19"


def test_a_wait_ends_when_the_caller_has_waited_enough() -> None:
    queued = Answer(200, {"status": "queued"})
    with (
        answering(lambda _: queued) as server,
        Plait(server.url, "k") as plait,
        pytest.raises(TimedOut, match="queued"),
    ):
        plait.result("j", timeout=0.01)


@pytest.mark.parametrize("url", ["", "ftp://x", "http://u:p@h", "http://h/?q", "h:80", "http://h:99999", "http://h/\n"])
def test_an_address_is_checked_before_anything_is_sent(url: str) -> None:
    with pytest.raises(InvalidSettings, match="url"):
        Settings(url=url, key="k")


def test_settings_come_from_the_environment_and_all_that_is_wrong_is_said_at_once() -> None:
    given = {"PLAIT_URL": "https://h/base/", "PLAIT_KEY": "sesame", "PLAIT_TIMEOUT": "3", "PLAIT_QUEUES": "a, b"}
    settings = Settings.from_environment(given)
    assert (settings.timeout, settings.retries) == (3.0, 4)
    assert "sesame" not in repr(settings), "S18"
    assert WorkerSettings.from_environment(given).queues == ("a", "b")
    with pytest.raises(
        InvalidSettings,
        match=r"PLAIT_TIMEOUT: must be of type float, got 'soon'; key: missing; pass it, or set PLAIT_KEY",
    ):
        Settings.from_environment({"PLAIT_URL": "http://h", "PLAIT_TIMEOUT": "soon"})
    with pytest.raises(InvalidSettings, match=r"concurrency.*lease"):
        WorkerSettings.from_environment({"PLAIT_CONCURRENCY": "0", "PLAIT_LEASE": "nan"})
    with pytest.raises(InvalidSettings, match="unknown setting"):
        WorkerSettings.from_environment({}, leese=3)
    with pytest.raises(InvalidSettings) as told:
        Settings(url="http://h", key="sesame\n")
    assert "sesame" not in str(told.value)


def test_the_package_needs_nothing_but_the_standard_library() -> None:
    home = ROOT / "clients/python"
    assert tomllib.loads((home / "pyproject.toml").read_text())["project"]["dependencies"] == []
    imported: set[str] = set()
    for path in (home / "plait_client").glob("*.py"):
        for part in ast.walk(ast.parse(path.read_text())):
            if isinstance(part, ast.Import):
                imported |= {one.name.partition(".")[0] for one in part.names}
            elif isinstance(part, ast.ImportFrom):
                imported.add((part.module or "").partition(".")[0])
    assert imported - sys.stdlib_module_names == {"plait_client"}
    assert (home / "plait_client/py.typed").exists()


def test_what_the_package_exports_is_there() -> None:
    exported: list[Any] = [getattr(plait_client, name) for name in plait_client.__all__]
    assert all(exported)
