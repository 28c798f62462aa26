"""Every time zone, two years, six forms of cron, in virtual time: `python -m tests.triggers.time_zones`.

The expected instants of each form are computed here independently, day by day, from the zone alone. The check plans again at each instant, as a
leader does: no instant may be missed or repeated. Fixed times are checked over both years, and the form with a star over three days around each
clock change. Zones whose clocks are equal in these two years are checked once.
"""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from plait.model.schedules import Timing, plan

FIRST, LAST = datetime(2027, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)  # 2028 has a leap day
Wanted = Callable[[date], list[time]]

FIXED: dict[str, Wanted] = {
    "30 2 * * *": lambda day: [time(2, 30)],
    "30 1 * * *": lambda day: [time(1, 30)],
    "0 0 * * *": lambda day: [time(0, 0)],
    "15 0,2,3 * * 0": lambda day: [time(0, 15), time(2, 15), time(3, 15)] if day.isoweekday() == 7 else [],
    "0 12 29 2 *": lambda day: [time(12, 0)] if (day.month, day.day) == (2, 29) else [],
}
STARRED = "*/30 * * * *"


def zones() -> list[str]:
    names = available_timezones() - {"localtime", "Factory", "posixrules"}
    return sorted(name for name in names if not name.startswith(("posix/", "right/")))


def check(zone: str) -> tuple[int, list[str]]:
    """Return the number of instants checked, and their errors."""
    walked, faults = 0, []
    for cron, wanted in FIXED.items():
        found = list(walk(Timing(zone=zone, anchor=FIRST, cron=cron)))
        expected = sorted(set(expected_instants(zone, wanted)))
        walked += len(found)
        if found != expected:
            faults.append(
                f"{zone} {cron}: {sorted(set(found) ^ set(expected))[:3]}, {len(found) - len(set(found))} double"
            )
    for start in [FIRST, *(at - timedelta(days=1) for at in changes(zone))]:
        end = start + timedelta(days=3)
        found = list(walk(Timing(zone=zone, anchor=FIRST, cron=STARRED), start, end))
        walked += len(found)
        starred = [at for at in every_quarter(start, end) if at.astimezone(ZoneInfo(zone)).minute % 30 == 0]
        if found != starred:
            faults.append(f"{zone} {STARRED}: {sorted(set(found) ^ set(starred))[:3]}")
    return walked, faults


def changes(zone: str) -> list[datetime]:
    """The days on which a zone's clocks change."""
    info, days = ZoneInfo(zone), (LAST - FIRST).days
    at = [FIRST + timedelta(days=n) for n in range(days + 1)]
    return [
        day for day, after in pairwise(at) if day.astimezone(info).utcoffset() != after.astimezone(info).utcoffset()
    ]


def alike(names: list[str]) -> list[list[str]]:
    """Group zones whose clocks agree: hour by hour around each change, otherwise day by day."""
    found: dict[tuple[object, ...], list[str]] = {}
    for name in names:
        info = ZoneInfo(name)
        hours = [day + timedelta(minutes=30 * n) for day in changes(name) for n in range(50)]
        shown = tuple((at, at.astimezone(info).utcoffset()) for at in [FIRST, *hours])
        found.setdefault(shown, []).append(name)
    return list(found.values())


def walk(timing: Timing, start: datetime = FIRST, end: datetime = LAST) -> Iterator[datetime]:
    """Go from one planned instant to the next, as leaders do."""
    cursor, due = start, next(timing.after(start))
    while due < end:
        planned = plan(timing, after=cursor, now=due, catch_up="all")
        yield from planned.fires
        assert planned.next is not None
        cursor, due = planned.upto, planned.next


def expected_instants(zone: str, wanted: Wanted) -> Iterator[datetime]:
    """Each wanted time of each day, once: the first if it occurs twice, or the end of the gap if it is skipped."""
    info = ZoneInfo(zone)
    day = FIRST.date() - timedelta(days=1)
    while day <= LAST.date():
        for at in wanted(day):
            local = datetime.combine(day, at)
            while (real := local.replace(tzinfo=info).astimezone(UTC)).astimezone(info).replace(tzinfo=None) != local:
                local += timedelta(minutes=1)
            if FIRST < real < LAST:
                yield real
        day += timedelta(days=1)


def every_quarter(start: datetime, end: datetime) -> Iterator[datetime]:
    at = start + timedelta(minutes=15)
    while at < end:
        yield at
        at += timedelta(minutes=15)


def main() -> int:
    walked, faults = 0, []
    names = zones()
    groups = alike(names)
    for group in groups:
        n, found = check(group[0])
        walked += n
        faults += found
    print(
        f"{len(names)} zones ({len(groups)} that differ) x 2 years x {len(FIXED) + 1} forms of cron: "
        f"{walked:,} instants, {len(faults)} wrong"
    )
    print(*faults[:20], sep="\n")
    return 1 if faults or not walked else 0


if __name__ == "__main__":
    sys.exit(main())
