"""The worker's suite on each way, in a run of its own: a few tests of it every day, and all of it at full scale."""

import os
import subprocess
import sys

import pytest

from .ways import MISSING, WAYS, pgbouncer

SOME = "starts or timeout or canceled or lease or progress or retried"


def worker_suite(way: str, *arguments: str) -> None:
    if way == "pgbouncer" and pgbouncer() is None:
        pytest.skip(MISSING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "tests/worker",
        *arguments,
    ]
    ended = subprocess.run(
        command, env={**os.environ, "PLAIT_TEST_WAY": way}, capture_output=True, text=True, timeout=600
    )
    print(ended.stdout[-3000:])
    assert ended.returncode == 0, ended.stdout[-6000:]
    assert " passed" in ended.stdout


@pytest.mark.parametrize("way", WAYS)
def test_some_of_the_worker_s_tests_pass_on_this_way(way: str) -> None:
    worker_suite(way, "-m", "not full", "-k", f"not kill and ({SOME})")


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
def test_the_whole_suite_of_the_worker_passes_on_this_way(way: str) -> None:
    worker_suite(way, "-m", "not full")
