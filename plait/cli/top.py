"""`plait top`: queued, running and waiting jobs, live. Each refresh is one query."""

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from plait.cli.arguments import duration
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command
from plait.cli.output import is_terminal, show, show_json, span

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plait.store.metrics import Reading
    from plait.telemetry.database import Growth

STATES: Final = ("queued", "running", "scheduled", "waiting")
WINDOW_S: Final = 30.0
"""Rates are averages over this window, because the leader updates its counts only every few seconds."""
NAME: Final = 28
OTHERS: Final = "*"


class By(StrEnum):
    QUEUE = "queue"
    TENANT = "tenant"


class Sort(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    OLDEST = "oldest"
    NAME = "name"


Choice = TypeVar("Choice", By, Sort)


@dataclass(frozen=True, slots=True)
class View:
    by: By
    sort: Sort


Row = tuple[str, dict[str, float], float | None]
"""Name, jobs by state, and the age of the oldest queued job, which is known only for queues."""


@dataclass(slots=True)
class Look:
    """One snapshot of the installation, with recent rates."""

    reading: "Reading"
    rates: dict[str, float] = field(default_factory=dict)

    def rows(self, view: View) -> list[Row]:
        found: dict[str, dict[str, float]] = {}
        jobs = self.reading.queue_jobs if view.by is By.QUEUE else self.reading.jobs
        for (name, status), n in jobs.items():
            found.setdefault(name, {})[status] = n
        oldest = self.reading.queue_oldest if view.by is By.QUEUE else {}
        rows = [(name, states, oldest.get(name)) for name, states in found.items()]
        return sorted(rows, key=lambda row: (row[0] == OTHERS, -_weight(row, view.sort), row[0]))


def _weight(row: Row, sort: Sort) -> float:
    """The sort key: largest first."""
    match sort:
        case Sort.QUEUED | Sort.RUNNING:
            return row[1].get(sort, 0.0)
        case Sort.OLDEST:
            return row[2] or 0.0
        case Sort.NAME:
            return 0.0


def register(app: typer.Typer) -> None:
    app.command("top", short_help="Watch queues, workers and rates, live.")(command(top))


async def top(
    cli: Invocation,
    by: Annotated[By, typer.Option("--by", help="Group by queue or by tenant.")] = By.QUEUE,
    sort: Annotated[Sort, typer.Option("--sort", help="Sort order: queued, running, oldest or name.")] = Sort.QUEUED,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="Refresh interval: 2s, 500ms.")] = "2s",
    once: Annotated[
        bool, typer.Option("--once", help="Print once and exit. This is the default if the output is not a terminal.")
    ] = False,
) -> None:
    """Watch queues, workers and rates, live.

    Keys: s changes the order, b groups by queue or tenant, q quits. Needs a login with the role plait_admin.
    """
    every_s = duration(every, what="--every")
    if not every_s or every_s < 0.1:
        raise BadUsage("--every must be at least 100ms")
    view = View(by, sort)
    async with cli.store() as store:
        from plait.telemetry.database import Growth

        growth = Growth()
        if cli.json or once or not is_terminal():
            look = await _look(store, growth, deque())
            if cli.json:
                show_json(_plain(look, view))
            else:
                for line in _lines(look, view):
                    show(line)
            return
        await _watch(store, growth, view, every_s)


async def _look(store: Any, growth: "Growth", past: "deque[tuple[float, dict[str, float]]]") -> Look:
    reading = await store.metrics.read(since=growth.since)
    growth.add(reading)
    now = time.monotonic()
    past.append((now, dict(growth.totals)))
    while now - past[0][0] > WINDOW_S:
        past.popleft()
    began, before = past[0]
    if now - began < 1:
        return Look(reading)
    return Look(reading, {kind: (total - before[kind]) / (now - began) for kind, total in growth.totals.items()})


async def _watch(store: Any, growth: "Growth", view: View, every_s: float) -> None:
    from rich.console import Console
    from rich.live import Live

    past: deque[tuple[float, dict[str, float]]] = deque()
    console = Console()
    with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        look = await _look(store, growth, past)
        while True:
            live.update(_screen(look, view, console.height), refresh=True)
            try:
                async with asyncio.timeout(every_s):
                    key = await pressed.get()
            except TimeoutError:
                look = await _look(store, growth, past)
                continue
            if key in ("q", "\x03", "\x1b"):
                return
            if key == "s":
                view = replace(view, sort=_next(view.sort))
            elif key == "b":
                view = replace(view, by=_next(view.by))


def _next(value: Choice) -> Choice:
    choices = list(type(value))
    return choices[(choices.index(value) + 1) % len(choices)]


@contextlib.contextmanager
def _keys() -> "Iterator[asyncio.Queue[str]]":
    """Pressed keys, read without Enter and not echoed."""
    pressed: asyncio.Queue[str] = asyncio.Queue()
    if not sys.stdin.isatty():
        yield pressed
        return
    import os
    import termios
    import tty

    number, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(number)
    tty.setcbreak(number)

    def read() -> None:
        for key in os.read(number, 100).decode(errors="replace"):
            pressed.put_nowait(key)

    loop.add_reader(number, read)
    try:
        yield pressed
    finally:
        loop.remove_reader(number)
        termios.tcsetattr(number, termios.TCSADRAIN, before)


_WORDS: Final = {"lost": "lost in the last hour"}


def _summary(look: Look) -> list[str]:
    reading, rates = look.reading, look.rates
    total = {state: sum(n for (_, status), n in reading.queue_jobs.items() if status == state) for state in STATES}
    workers = ", ".join(f"{n:.0f} {_WORDS.get(state, state)}" for state, n in sorted(reading.workers.items())) or "none"
    leader = f"term {reading.single.get('leader_term', 0):.0f}" if reading.single.get("leader_present") else "NONE"
    happened = (
        "  ".join(
            f"{name} {rates[kind]:.1f}/s"
            for name, kind in (
                ("enqueued", "enqueued"),
                ("succeeded", "succeeded"),
                ("failed", "failed"),
                ("dead", "dead_letter"),
                ("retried", "retried"),
            )
        )
        if rates
        else "rates appear after a few refreshes"
    )
    return [
        "jobs     " + "  ".join(f"{state} {n:,.0f}" for state, n in total.items()),
        f"workers  {workers}    leader  {leader}",
        f"rates    {happened}",
    ]


def _table(look: Look, view: View) -> tuple[list[str], list[list[str]]]:
    columns = [view.by.value, *STATES, *(["oldest"] if view.by is By.QUEUE else [])]
    rows = []
    for name, states, oldest in look.rows(view):
        shown = name if len(name) <= NAME else name[: NAME - 1] + "…"
        row = [shown if name != OTHERS else "(others)", *(f"{states.get(state, 0):,.0f}" for state in STATES)]
        rows.append([*row, *([span(oldest) if oldest is not None else "-"] if view.by is By.QUEUE else [])])
    return columns, rows


def _lines(look: Look, view: View) -> list[str]:
    columns, rows = _table(look, view)
    lines = [*_summary(look), ""]
    if not rows:
        return [*lines, "no unfinished jobs"]
    widths = [max(len(line[n]) for line in [columns, *rows]) for n in range(len(columns))]
    for line in [[column.upper() for column in columns], *rows]:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells))
    return lines


def _screen(look: Look, view: View, height: int) -> "RenderableType":
    from rich.text import Text

    lines = _lines(look, view)
    room = max(6, height - 2)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more"]
    text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
    keys = f"\n\nby {view.by} (b)  sorted by {view.sort} (s)  quit (q)"
    return text.append(keys, style="dim")


def _plain(look: Look, view: View) -> dict[str, Any]:
    reading = look.reading
    return {
        "leader": {"present": bool(reading.single.get("leader_present")), "term": reading.single.get("leader_term")},
        "workers": {state: int(n) for state, n in reading.workers.items()},
        "rows": [
            {
                view.by.value: name,
                **{state: int(states.get(state, 0)) for state in STATES},
                **({"oldest_s": oldest} if view.by is By.QUEUE else {}),
            }
            for name, states, oldest in look.rows(view)
        ],
    }
