"""The instants of a schedule: T85, F14. No database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.model.errors import InvalidTrigger
from plait.model.schedules import Timing, check_cron, check_zone, plan, preview

from . import time_zones

NEW_YORK = "America/New_York"
START = datetime(2030, 1, 1, tzinfo=UTC)


def instants(cron: str, zone: str, after: datetime, n: int) -> list[str]:
    timing = Timing(zone=zone, anchor=START, cron=cron)
    return [at.isoformat()[:16] for at in islice(timing.after(after), n)]


def test_a_time_in_the_gap_fires_once_when_it_ends() -> None:
    """T85: 2030-03-10, 02:00 becomes 03:00 in New York."""
    after = datetime(2030, 3, 9, 12, tzinfo=UTC)
    assert instants("30 2 * * *", NEW_YORK, after, 2) == ["2030-03-10T07:00", "2030-03-11T06:30"]


def test_a_time_that_comes_twice_fires_the_first_time_only() -> None:
    """T85: 2030-11-03, 02:00 becomes 01:00 in New York. Also for callers that ask between the two passes, or in the second."""
    for hour, minute in ((4, 0), (5, 29)):
        after = datetime(2030, 11, 3, hour, minute, tzinfo=UTC)
        assert instants("30 1 * * *", NEW_YORK, after, 2) == ["2030-11-03T05:30", "2030-11-04T06:30"]
    for hour, minute in ((5, 30), (6, 0), (6, 15), (6, 30), (6, 45)):
        after = datetime(2030, 11, 3, hour, minute, tzinfo=UTC)
        assert instants("30 1 * * *", NEW_YORK, after, 1) == ["2030-11-04T06:30"]


def test_what_runs_every_hour_runs_every_hour_whatever_the_clocks_do() -> None:
    for month, day in ((3, 10), (11, 3)):
        timing = Timing(zone=NEW_YORK, anchor=START, cron="0 * * * *")
        found = list(islice(timing.after(datetime(2030, month, day, tzinfo=UTC)), 30))
        assert {b - a for a, b in pairwise(found)} == {timedelta(hours=1)}


@pytest.mark.parametrize(
    "zone",
    [NEW_YORK, "Europe/London", "Australia/Lord_Howe", "America/Santiago", "UTC"],
)
def test_two_years_of_six_forms_of_cron(zone: str) -> None:
    """F14 for some time zones; `python -m tests.triggers.time_zones` tests all."""
    walked, faults = time_zones.check(zone)
    assert faults == []
    assert walked > 2_500


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_two_years_of_six_forms_of_cron_in_every_zone() -> None:
    """F14."""
    assert time_zones.main() == 0


CRONS = st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 1 * *", "15 1,13 * * 1-5", "0 0 29 2 *"])
MOMENTS = st.floats(-1e8, 3e7).map(lambda seconds: START + timedelta(seconds=seconds))


@given(CRONS, st.sampled_from([NEW_YORK, "Europe/Berlin", "Asia/Kolkata"]), MOMENTS, st.floats(0, 3e6))
def test_the_latest_instant_is_the_last_of_all(cron: str, zone: str, after: datetime, span_s: float) -> None:
    timing = Timing(zone=zone, anchor=START, cron=cron)
    upto = after + timedelta(seconds=min(span_s, 90_000 if cron.startswith("*") else 3e6))
    assert timing.latest(after, upto) == next(iter(list(timing.between(after, upto))[-1:]), None)


@given(st.floats(1, 1e6), MOMENTS, st.floats(0, 1e5))
def test_every_is_a_grid_from_its_anchor_on(every_s: float, after: datetime, span_s: float) -> None:
    timing = Timing(zone="UTC", anchor=START, every_s=every_s)
    upto = after + timedelta(seconds=span_s)
    found = list(islice(timing.between(after, upto), 1000))
    if len(found) < 1000:
        planned = plan(timing, after=after, now=upto, catch_up="one")
        assert planned.fires == tuple(found[-1:])
        assert planned.missed == max(0, len(found) - 1)
        assert planned.next == next(timing.after(upto))
        assert planned.next > upto
    assert all(at > START for at in found)


@given(CRONS, MOMENTS, st.floats(0, 2e5), st.sampled_from(["none", "one", "all"]))
def test_a_plan_leaves_nothing_out_and_takes_nothing_twice(
    cron: str, after: datetime, span_s: float, policy: str
) -> None:
    timing = Timing(zone=NEW_YORK, anchor=START, cron=cron)
    now = after + timedelta(seconds=span_s)
    expected = list(timing.between(after, now))
    fired: list[datetime] = []
    missed = 0
    while True:
        planned = plan(timing, after=after, now=now, catch_up=policy)  # type: ignore[arg-type]
        fired += planned.fires
        missed += planned.missed
        after = planned.upto
        assert planned.next is not None
        if planned.next > now:
            break
    assert len(fired) + missed == len(expected)
    assert fired == [at for at in expected if at in set(fired)]
    if policy == "all":
        assert missed == 0


def test_a_year_of_downtime_is_planned_at_once() -> None:
    timing = Timing(zone=NEW_YORK, anchor=START, cron="* * * * *")
    planned = plan(timing, after=START, now=START + timedelta(days=365), catch_up="one")
    assert planned.fires == (START + timedelta(days=365),)
    assert planned.missed == 9_999  # the maximum that is counted


def test_a_preview_tells_what_the_clocks_do() -> None:
    gap = Timing(zone=NEW_YORK, anchor=START, cron="30 2 * * *")
    notes = [one.note for one in preview(gap, datetime(2030, 3, 9, tzinfo=UTC), 3)]
    moved = "clocks go forward and skip the scheduled time, so the schedule fires when the gap ends"
    assert notes == [None, moved, None]
    fold = Timing(zone=NEW_YORK, anchor=START, cron="30 1 * * *")
    [one, *_] = preview(fold, datetime(2030, 11, 3, tzinfo=UTC), 1)
    assert one.note == "this time occurs twice because clocks go back: the schedule fires the first time only"
    [_, one, two] = preview(replace(fold, cron="30 * * * *"), datetime(2030, 11, 3, 4, tzinfo=UTC), 3)
    assert one.note == two.note == "this time occurs twice because clocks go back: the schedule fires both times"


@pytest.mark.parametrize("cron", ["0 * * * *", "*/15 * * * *", "0 3 * * *", "0 2,3 * * *"])
def test_a_preview_does_not_claim_a_firing_that_does_not_happen(cron: str) -> None:
    """03:00 is an ordinary instant: times in the gap are not made up for at 03:00."""
    timing = Timing(zone=NEW_YORK, anchor=START, cron=cron)
    at_the_gap = datetime(2030, 3, 10, 7, tzinfo=UTC)
    around = preview(timing, at_the_gap - timedelta(minutes=10), 4)
    assert at_the_gap in [one.instant for one in around]
    assert {one.note for one in around} == {None}


@pytest.mark.parametrize(
    "cron",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "0 0 30 2 *", "0 0 31 4,6 *", "a b c d e", "@daily"],
)
def test_cron_that_is_none_is_refused_with_a_reason(cron: str) -> None:
    with pytest.raises(InvalidTrigger, match="cron"):
        check_cron(cron)


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../../etc/passwd", "/etc/passwd", "\0", "EST6FOO"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(InvalidTrigger, match="time zone"):
        check_zone(zone)


def test_a_preview_ends_fifty_years_ahead() -> None:
    """The search for a leap day covers four years; for a hundred of them it would cover four centuries."""
    timing = Timing(zone="UTC", anchor=datetime(2026, 1, 1, tzinfo=UTC), cron="0 0 29 2 *")
    found = preview(timing, timing.anchor, 100)
    assert len(found) == 12
    assert found[-1].instant.year == 2072
