"""The worker's and the API's tests in each connection mode, in a separate run: some of them by default, all of them in `make test-full`."""

import os
import subprocess
import sys

import pytest

from .connection_mode import MISSING, MODES, pgbouncer

SOME = {
    "tests/worker": "not kill and not watchdog and (starts or timeout or canceled or lease or progress or retried)",
    "tests/api": "end_to_end or interleaved or connection_mode or waits or at_once or goes_on",
}


def run_suite(mode: str, suite: str, *arguments: str) -> None:
    if mode == "pgbouncer" and pgbouncer() is None:
        pytest.skip(MISSING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", suite, *arguments]
    ended = subprocess.run(
        command, env={**os.environ, "PLAIT_TEST_CONNECTION": mode}, capture_output=True, text=True, timeout=800
    )
    print(ended.stdout[-3000:])
    assert ended.returncode == 0, ended.stdout[-6000:]
    assert " passed" in ended.stdout


@pytest.mark.parametrize(("mode", "suite"), [*((mode, "tests/worker") for mode in MODES), ("pgbouncer", "tests/api")])
def test_some_of_the_tests_pass_in_this_mode(mode: str, suite: str) -> None:
    run_suite(mode, suite, "-m", "not full", "-k", SOME[suite])


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("suite", SOME)
@pytest.mark.parametrize("mode", MODES)
def test_the_whole_suite_passes_in_this_mode(mode: str, suite: str) -> None:
    run_suite(mode, suite, "-m", "not full")
