"""The worker's suite and the API's on each way, in a run of its own: a few tests of each every day, and all of them at full scale."""

import os
import subprocess
import sys

import pytest

from .connection_mode import MISSING, WAYS, pgbouncer

SOME = {
    "tests/worker": "not kill and not watchdog and (starts or timeout or canceled or lease or progress or retried)",
    "tests/api": "end_to_end or interleaved or connection_mode or waits or at_once or goes_on",
}


def run_suite(way: str, suite: str, *arguments: str) -> None:
    if way == "pgbouncer" and pgbouncer() is None:
        pytest.skip(MISSING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", suite, *arguments]
    ended = subprocess.run(
        command, env={**os.environ, "PLAIT_TEST_WAY": way}, capture_output=True, text=True, timeout=800
    )
    print(ended.stdout[-3000:])
    assert ended.returncode == 0, ended.stdout[-6000:]
    assert " passed" in ended.stdout


@pytest.mark.parametrize(("way", "suite"), [*((way, "tests/worker") for way in WAYS), ("pgbouncer", "tests/api")])
def test_some_of_the_tests_pass_on_this_way(way: str, suite: str) -> None:
    run_suite(way, suite, "-m", "not full", "-k", SOME[suite])


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("suite", SOME)
@pytest.mark.parametrize("way", WAYS)
def test_the_whole_suite_passes_on_this_way(way: str, suite: str) -> None:
    run_suite(way, suite, "-m", "not full")
