"""Output: tables and colours on a terminal, aligned plain text elsewhere, JSON with --json.

JSON output is one document: an array for a list, an object for one item. Keys are the store's field names, times are ISO 8601, and
ids are text. The terminal output may change at any time; JSON output may only gain fields.
"""

import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import typer

from plait.model.states import Status

JSON_TEXT: Final = ("payload", "result", "progress", "metadata", "data", "schema", "settings")
"""Columns that the store returns as JSON text."""

STYLES: Final[dict[str, str]] = {
    Status.SCHEDULED: "cyan",
    Status.QUEUED: "blue",
    Status.RUNNING: "yellow",
    Status.WAITING: "magenta",
    Status.SUCCEEDED: "green",
    Status.FAILED: "red",
    Status.DEAD_LETTER: "bold red",
    Status.CANCELED: "dim",
    Status.SKIPPED: "dim green",
    "timeout": "red",
    "lost": "red",
    "released": "dim",
    "snoozed": "cyan",
    "suspended": "magenta",
    "alive": "green",
    "gone": "dim",
    "stale": "bold yellow",
    "paused": "yellow",
    "problem": "bold red",
    "warning": "yellow",
    "ok": "green",
}


def is_terminal() -> bool:
    return sys.stdout.isatty()


def say(text: str = "") -> None:
    """Print a message for the user on stderr. Data goes to stdout."""
    typer.echo(text, err=True)


def show(text: str = "") -> None:
    typer.echo(text)


def show_json(value: Any) -> None:
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2 if is_terminal() else None))


def plain(value: Any) -> Any:
    """Convert the value to JSON types."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _decoded(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)}
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case None | bool() | int() | float():
            return value
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return str(value)


def _decoded(name: str, value: Any) -> Any:
    return json.loads(value) if name in JSON_TEXT and isinstance(value, str) else plain(value)


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str, optional: Sequence[str] = ()
) -> None:
    """Print a table. Statuses are coloured. On a narrow terminal, `optional` columns are dropped, in that order."""
    cells = [[cell(value) for value in row] for row in rows]
    if not cells:
        say(empty)
    elif is_terminal():
        _show_rich_table(columns, cells, optional)
    else:
        for line in aligned(columns, cells):
            show(line)


def _show_rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = {
        column: ROOM if column in WIDE else max(len(column), *(len(row[number]) for row in rows))
        for number, column in enumerate(columns)
    }
    for column in optional:
        if sum(widths.values()) + GAP * (len(widths) - 1) > console.width:
            del widths[column]
    made = Table(box=None, header_style="bold", padding=(0, GAP, 0, 0), pad_edge=False)
    for column, width in widths.items():
        wide = column in WIDE
        made.add_column(
            column.replace("_", " "),
            no_wrap=not wide,
            overflow="fold",
            justify="right" if column in NUMERIC else "left",
            min_width=None if wide else width,
        )
    for row in rows:
        shown = (value for column, value in zip(columns, row, strict=True) if column in widths)
        made.add_row(*(Text(value, style=STYLES.get(value, "dim" if value in ("-", "0") else "")) for value in shown))
    # The table may be wider than the terminal: a truncated id is useless.
    console.width = max(console.width, sum(widths.values()) + GAP * len(widths))
    console.print(made)


GAP: Final = 2
ROOM: Final = 24
"""The minimum width of a column with prose."""
WIDE: Final = frozenset({"error", "details", "finding", "advice", "queues"})
NUMERIC: Final = frozenset(
    {
        "worker",
        "pid",
        "attempt",
        "attempts",
        "priority",
        "queued",
        "running",
        "scheduled",
        "waiting",
        "workers",
        "weight",
        "total",
    }
    | set(Status)
)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the columns, two spaces apart. Nothing is truncated, and each row is one line."""
    lines = [[column.upper() for column in columns], *([" ".join(value.split()) for value in row] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    return ["  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def cell(value: Any) -> str:
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return ago(value) if is_terminal() else str(plain(value))
        case list() | tuple():
            return ", ".join(map(str, value)) or "-"
        case _:
            return str(value)


def ago(at: datetime) -> str:
    """Format a time relative to now: `5m ago`, `in 2h`."""
    distance = (datetime.now(UTC) - at).total_seconds()  # clock: for display only
    return f"in {span(-distance)}" if distance < -1 else f"{span(max(0.0, distance))} ago"


def span(seconds_: float) -> str:
    """A duration in its one or two largest units: 350ms, 4.2s, 3m 20s, 5h 2m, 3d 4h."""
    if seconds_ < 1:
        return f"{seconds_ * 1000:.0f}ms"
    if seconds_ < 60:
        return f"{seconds_:.1f}".removesuffix(".0") + "s"
    whole = round(seconds_)
    for unit, size, lesser, lesser_size in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // lesser_size
            return f"{whole // size}{unit}" + (f" {rest}{lesser}" if rest else "")
    return f"{whole}s"


def shown_url(url: str) -> str:
    """A URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.split(':')[0]}:***{at}{host}"))
