"""Schedules: the instants of a cron expression or an interval, and which of the due instants fire. This module reads no clock: callers
pass the time.

Cron expressions are parsed by `cronsim`, with Debian cron's rules for daylight-saving changes. A fixed time (minute and hour both given)
fires once a day: if it falls into the gap, it fires when the gap ends, and if it occurs twice, it fires the first time. If minute or hour
is a star, the schedule fires in every matching minute, in both passes of a repeated hour.

Only the newest due instant can be on time. `catch_up` decides which of the due instants fire:

    none    only the newest, if it is less than a minute late
    one     the newest, however late; the other missed instants are skipped
    all     every missed instant
    window  every instant within the window, and the newest if it is on time
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from plait.model.errors import InvalidTrigger
from plait.model.texts import shown

CatchUp = Literal["none", "one", "all", "window"]
Overlap = Literal["allow", "skip", "queue"]

ON_TIME: Final = timedelta(minutes=1)
BATCH: Final = 100
"""The maximum number of instants of one schedule that become jobs in one transaction. Further instants follow in the next transactions."""
COUNTED: Final = 10_000
"""Missed instants are counted up to this number: a year of minutes would take seconds."""
HORIZON: Final = timedelta(days=50 * 366)
"""How far ahead a preview searches. The limit is needed because the next instant of a rare schedule, such as 29 February, is slow to find."""
_LOOK_BACK: Final = tuple(timedelta(days=days) for days in (1 / 24, 1, 32, 367, 367 * 8 + 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a schedule fires: `cron` in a time zone, or an interval in seconds from its anchor."""

    zone: str
    anchor: datetime
    cron: str | None = None
    every_s: float | None = None

    def after(self, instant: datetime) -> Iterator[datetime]:
        """The instants after the given instant, in UTC, in order."""
        if self.every_s is not None:
            return self._every(instant)
        return self._cron(instant)

    def between(self, after: datetime, upto: datetime) -> Iterator[datetime]:
        for instant in self.after(after):
            if instant > upto:
                return
            yield instant

    def latest(self, after: datetime, upto: datetime) -> datetime | None:
        """The last instant in the interval. Searches only forwards, so that all searches agree."""
        if self.every_s is not None:
            step = timedelta(seconds=self.every_s)
            instant = self.anchor + (upto - self.anchor) // step * step
            return instant if instant > after and instant > self.anchor else None
        for span in _LOOK_BACK:
            start = max(after, upto - span)
            found = None
            for found in self.between(start, upto):  # noqa: B007 - the last one
                pass
            if found is not None or start == after:
                return found
        return None

    def _every(self, instant: datetime) -> Iterator[datetime]:
        assert self.every_s is not None
        step = timedelta(seconds=self.every_s)
        n = max(0, (instant - self.anchor) // step)
        while True:
            n += 1
            yield self.anchor + n * step

    def _cron(self, instant: datetime) -> Iterator[datetime]:
        assert self.cron is not None
        # In the second pass of a repeated hour, cronsim returns instants of the first pass. They are in the past and are skipped.
        for local in CronSim(self.cron, instant.astimezone(_zone(self.zone))):
            found = local.astimezone(UTC)
            if found > instant:
                instant = found
                yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The firings of a schedule that are due now."""

    fires: tuple[datetime, ...]
    missed: int
    upto: datetime
    """This plan covers every instant up to this one."""
    next: datetime | None
    """The first instant after `upto`; None if there is none within fifty years."""


def plan(timing: Timing, *, after: datetime, now: datetime, catch_up: CatchUp, window_s: float | None = None) -> Plan:
    """Determine which of the instants after `after` fire now, how many are missed, and when to check again."""
    latest = timing.latest(after, now)
    if latest is None:
        return Plan(fires=(), missed=0, upto=max(after, now), next=next(timing.after(max(after, now)), None))
    on_time = now - latest < ON_TIME
    fires: tuple[datetime, ...]
    match catch_up:
        case "none":
            fires = (latest,) if on_time else ()
        case "one":
            fires = (latest,)
        case "all":
            fires = tuple(islice(timing.between(after, now), BATCH))
        case _:
            start = max(after, now - timedelta(seconds=window_s or 0))
            fires = tuple(islice(timing.between(start, now), BATCH)) or ((latest,) if on_time else ())
    whole = not fires or fires[-1] == latest
    upto = now if whole else fires[-1]
    missed = _count(timing, after, upto) - len(fires)
    return Plan(fires=fires, missed=max(0, missed), upto=upto, next=next(timing.after(upto), None))


def _count(timing: Timing, after: datetime, upto: datetime) -> int:
    if timing.every_s is not None:
        step = timedelta(seconds=timing.every_s)
        return (upto - timing.anchor) // step - max(0, (after - timing.anchor) // step)
    return sum(1 for _ in islice(timing.between(after, upto), COUNTED))


def check_cron(expression: str) -> str:
    """The expression with single spaces; raises an error that says what is wrong."""
    if not isinstance(expression, str):
        raise InvalidTrigger(f"cron must be text of five fields, got {shown(expression)}")
    text = " ".join(expression.split())
    if len(text.split(" ")) != 5 or len(text) > 500:
        raise InvalidTrigger(f"cron must have five fields (minute hour day month weekday), got {shown(expression)}")
    try:
        simulated = CronSim(text, datetime(2000, 1, 1, tzinfo=UTC))
        next(simulated)
    except CronSimError as error:
        raise InvalidTrigger(f"cron {shown(text)}: {error}") from None
    except (StopIteration, RuntimeError):
        raise InvalidTrigger(f"cron {shown(text)}: this date never occurs") from None
    return text


def check_zone(name: str) -> str:
    if not isinstance(name, str):
        raise InvalidTrigger(f"a time zone must be a name such as 'Europe/Berlin', got {shown(name)}")
    _zone(name)
    return name


@lru_cache(maxsize=1000)
def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # faster in cronsim
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidTrigger(f"the time zone {shown(name)} is unknown on this machine") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """One future instant, for display."""

    instant: datetime
    local: datetime
    note: str | None
    """The effect of a daylight-saving change."""


def preview(timing: Timing, after: datetime, count: int) -> list[Preview]:
    """The next instants, up to 50 years ahead."""
    zone = _zone(timing.zone)
    return [
        Preview(instant=instant, local=instant.astimezone(zone), note=_note(timing, instant.astimezone(zone)))
        for instant in islice(timing.between(after, after + HORIZON), count)
    ]


def _note(timing: Timing, local: datetime) -> str | None:
    if timing.cron is None:
        return None
    other = local.replace(fold=1 - local.fold)
    if local.utcoffset() != other.utcoffset():
        both = _fires_at(timing, other.astimezone(UTC))
        times = "both times" if both else f"the {'second' if local.fold else 'first'} time only"
        return f"this time occurs twice because clocks go back: the schedule fires {times}"
    before = (local.astimezone(UTC) - timedelta(minutes=1)).astimezone(local.tzinfo)
    wall = local.replace(tzinfo=None)
    is_moved = (local.utcoffset() or timedelta()) > (before.utcoffset() or timedelta()) and next(
        CronSim(timing.cron, wall - timedelta(minutes=1))
    ) != wall
    return (
        "clocks go forward and skip the scheduled time, so the schedule fires when the gap ends" if is_moved else None
    )


def _fires_at(timing: Timing, instant: datetime) -> bool:
    return next(timing.after(instant - timedelta(seconds=1)), None) == instant
