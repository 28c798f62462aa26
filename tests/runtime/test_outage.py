"""Temporary failures: one log line at the beginning, one at the end, and exponential backoff."""

from collections.abc import Iterator

import pytest
import structlog
from structlog.typing import EventDict

from plait.model.errors import DatabaseUnreachable, SchemaOutdated
from plait.runtime.outage import Outage, Retry


@pytest.fixture
def lines() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def _events(lines: list[EventDict]) -> list[str]:
    return [str(line["event"]) for line in lines]


def test_loops_that_share_a_database_log_its_outage_once(lines: list[EventDict]) -> None:
    outage = Outage()
    worker, leader = Retry("worker", outage), Retry("leader", outage)
    for _ in range(5):
        worker.failed(DatabaseUnreachable())
        leader.failed(DatabaseUnreachable())
    worker.succeeded()
    assert _events(lines) == ["database unavailable, retrying"]
    leader.succeeded()
    leader.succeeded()
    assert _events(lines)[1:] == ["database available again"]
    assert lines[0]["log_level"] == "warning"
    assert lines[1]["after_s"] >= 0
    worker.failed(DatabaseUnreachable())
    assert len(lines) == 3


def test_a_failure_that_is_no_outage_is_logged_once_for_each_kind(lines: list[EventDict]) -> None:
    retry = Retry("duty", Outage(), failing="a duty failed", recovered="a duty works again")
    for _ in range(3):
        retry.failed(SchemaOutdated("no function"))
    retry.failed(ValueError("something else"))
    retry.succeeded()
    assert _events(lines) == ["a duty failed", "a duty failed", "a duty works again"]


def test_a_loop_that_ends_while_it_fails_does_not_keep_the_outage_open(lines: list[EventDict]) -> None:
    outage = Outage()
    ended, other = Retry("ended", outage), Retry("other", outage)
    ended.failed(DatabaseUnreachable())
    other.failed(DatabaseUnreachable())
    ended.end()
    other.succeeded()
    assert _events(lines)[-1] == "database available again"


def test_pauses_grow_to_a_bound_and_begin_anew_after_a_success() -> None:
    retry = Retry("worker", first_s=0.1, longest_s=2.0)
    pauses = [retry.failed(DatabaseUnreachable()) for _ in range(40)]
    for n, pause in enumerate(pauses):
        expected = min(2.0, 0.1 * 2**n)
        assert expected / 2 <= pause <= expected
    retry.succeeded()
    assert retry.failed(DatabaseUnreachable()) <= 0.1
