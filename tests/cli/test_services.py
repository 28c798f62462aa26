"""Services as processes: startup errors, signals and exit codes."""

import signal
import socket
from pathlib import Path

import pytest

from plait.testing import TestDatabase

from .cli_runner import call, run, started, wait_for_line


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", ["worker", "dev", "leader"])
def test_a_signal_ends_a_service_with_its_code(
    real_clock_database: TestDatabase, shop: Path, command: str, number: signal.Signals, code: int
) -> None:
    with started(command, shop, "--url", real_clock_database.url) as process:
        wait_for_line(process, "leading")
        process.send_signal(number)
        assert process.wait(120) == code


def test_a_worker_lets_a_job_finish_and_a_second_signal_gives_it_back(
    real_clock_database: TestDatabase, shop: Path, tmp_path: Path
) -> None:
    def asked(path: Path) -> str:
        return call("enqueue", shop, "wait_for_file", f"path={path}", "--url", real_clock_database.url).out.strip()

    def told(job: str) -> str:
        return str(call("jobs", "show", job, "--url", real_clock_database.url, "--json").json["status"])

    brief, long = asked(tmp_path / "go on"), asked(tmp_path / "never")
    with started("worker", shop, "--url", real_clock_database.url, "--queues", "slow:2", "--grace", "1h") as process:
        wait_for_line(process, "worker started")
        wait_until_running(real_clock_database, brief, long)
        process.send_signal(signal.SIGTERM)
        wait_for_line(process, "stopping")
        (tmp_path / "go on").touch()
        wait_until(real_clock_database, brief, "succeeded")
        assert told(long) == "running"
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 143
    assert (told(brief), told(long)) == ("succeeded", "queued")


@pytest.mark.parametrize(("job", "arguments"), [("block", ["seconds=600"]), ("stop_loop", [])])
def test_a_handler_that_blocks_or_stops_the_loop_ends_the_worker_with_a_code_of_its_own(
    real_clock_database: TestDatabase, shop: Path, job: str, arguments: list[str]
) -> None:
    handle = call("enqueue", shop, job, *arguments, "--url", real_clock_database.url).out.strip()
    with started("worker", shop, "--url", real_clock_database.url, PLAIT_LOOP_TIMEOUT="2") as process:
        assert handle in wait_for_line(process, "the process ends")
        assert process.wait(120) == 70
    assert call("jobs", "show", handle, "--url", real_clock_database.url, "--json").json["status"] == "running"


def test_a_second_signal_ends_a_worker_whose_loop_is_blocked(real_clock_database: TestDatabase, shop: Path) -> None:
    call("enqueue", shop, "block", "seconds=600", "--url", real_clock_database.url)
    with started("worker", shop, "--url", real_clock_database.url, "--grace", "10m") as process:
        wait_until_listed(real_clock_database, "running")
        process.send_signal(signal.SIGTERM)
        wait_for_line(process, "stopping")
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 143


def test_workers_tell_whose_handler_blocks_them(real_clock_database: TestDatabase, shop: Path) -> None:
    job = call("enqueue", shop, "block", "seconds=600", "--url", real_clock_database.url).out.strip()
    with started("worker", shop, "--url", real_clock_database.url, PLAIT_HEARTBEAT="0.3") as process:
        wait_for_line(process, "event loop blocked by a handler")
        while not (told := call("workers", "--url", real_clock_database.url, "--json").json)[0]["blocked_since"]:
            pass  # until the next heartbeat; pytest's timeout limits the wait
        assert told[0]["blocked_job"] == job
        shown = call("workers", "--url", real_clock_database.url)
        assert "blocked" in shown.out
        assert f"by job {job}" in shown.err
        assert "blocked_loop" in call("doctor", "--url", real_clock_database.url, "--json").out


def test_run_is_stopped_by_ctrl_c(real_clock_database: TestDatabase, shop: Path) -> None:
    with started("run", shop, "sleep", "seconds=3600", "--url", real_clock_database.url) as process:
        wait_until_listed(real_clock_database, "running")
        process.send_signal(signal.SIGINT)
        wait_for_line(process, "waiting for the job to finish")
        process.send_signal(signal.SIGINT)
        wait_for_line(process, "was released")
        assert process.wait(120) == 130


def test_ctrl_c_does_not_wait_for_a_server_that_is_silent(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        with started("worker", shop, "--url", url) as process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                assert process.wait(8) == 130  # the connection attempt would time out after 10 s


def test_a_worker_refuses_a_superuser(database: TestDatabase, shop: Path) -> None:
    ran = run("worker", shop, "--url", database.admin_url)
    assert ran.code == 1
    assert "it is a superuser. Use a login that only has the role" in ran.err.splitlines()[-1]


def test_a_worker_needs_plait_in_the_database(empty_database: TestDatabase, shop: Path) -> None:
    assert run("worker", shop, "--url", empty_database.admin_url).code == 3


def test_dev_takes_an_empty_database_and_gives_up_the_superusers_rights(
    empty_database: TestDatabase, shop: Path
) -> None:
    with started("dev", shop, "--url", empty_database.admin_url) as process:
        wait_for_line(process, "worker started")
        asked = call("enqueue", shop, "greet", "name=Ada", "--wait", "--url", empty_database.admin_url)
        assert (asked.code, asked.out) == (0, "Hello, Ada!\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130


def test_once_runs_what_is_there_and_ends(real_clock_database: TestDatabase, shop: Path) -> None:
    job = call("enqueue", shop, "greet", "name=Ada", "--url", real_clock_database.url).out.strip()
    for leads in ("--leader", "--no-leader"):
        ran = run("worker", shop, "--url", real_clock_database.url, "--once", leads)
        assert ran.code == 0, ran.err
    assert call("jobs", "show", job, "--url", real_clock_database.url, "--json").json["result"] == "Hello, Ada!"
    [*_, last] = call("workers", "--url", real_clock_database.url, "--json").json
    assert last["metadata"]["concurrency"] == 100
    assert "greet" in call("definitions", "--url", real_clock_database.url).out


def test_bad_options_are_told_before_anything_starts(shop: Path) -> None:
    for options in (["--queues", "a:0"], ["--grace", "soon"], ["--concurrency", "0"]):
        assert call("worker", shop, *options).code == 2


def wait_until_running(database: TestDatabase, *jobs: str) -> None:
    for job in jobs:
        wait_until(database, job, "running")


def wait_until(database: TestDatabase, job: str, status: str) -> None:
    """Wait until the job has this status. pytest's timeout limits the wait."""
    while call("jobs", "show", job, "--url", database.url, "--json").json["status"] != status:
        pass


def wait_until_listed(database: TestDatabase, status: str) -> None:
    while not call("jobs", "list", "--status", status, "--url", database.url, "--json").json:
        pass
