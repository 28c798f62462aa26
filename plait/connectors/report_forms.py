"""Render a report as JSON, CSV or HTML. Text from jobs stays text: it cannot become a formula in CSV or markup in HTML (S20)."""

import csv
import io
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plait.model.redaction import hide, hide_in

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_WIDTH, _HEIGHT, _BAR = 720, 160, 18


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    rows: list[dict[str, Any]]

    @property
    def columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over time if the points have times, otherwise a bar for each name."""

    title: str
    points: list[tuple[Any, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    title: str
    start: datetime
    end: datetime
    totals: dict[str, Any]
    tables: list[Table]
    charts: list[Chart]
    notes: list[str]


def as_json(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = hide_in(
        {
            "title": report.title,
            "start": report.start.isoformat(),
            "end": report.end.isoformat(),
            "totals": {name: plain(value) for name, value in report.totals.items()},
            "tables": [
                {"title": table.title, "rows": [{n: plain(v) for n, v in row.items()} for row in table.rows]}
                for table in report.tables
            ],
            "notes": report.notes,
        }
    )
    return found


def as_csv(report: Report) -> str:
    """Totals and tables, separated by empty lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([cell(report.title), report.start.isoformat(), report.end.isoformat()])
    for name, value in report.totals.items():
        writer.writerow([cell(name), cell(value)])
    for table in report.tables:
        writer.writerow([])
        writer.writerow([cell(table.title)])
        writer.writerow([cell(column) for column in table.columns])
        writer.writerows([cell(value) for value in row.values()] for row in table.rows)
    for note in report.notes:
        writer.writerow([cell(note)])
    return text.getvalue()


def cell(value: Any) -> Any:
    """Convert a value for CSV. Text that a spreadsheet would parse as a formula is prefixed with an apostrophe. Numbers stay numbers."""
    value = plain(value)
    if not isinstance(value, str):
        return "" if value is None else value
    text = hide(value).replace("\0", "")
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip(" \u00a0\ufeff").startswith(_FORMULA) else text


def as_html(report: Report) -> str:
    page = _environment().get_template("report.html")
    return page.render(report=report, charts=[(chart.title, svg(chart)) for chart in report.charts], cell=_shown)


def svg(chart: Chart) -> Markup:
    """An image without scripts. All its text is escaped by `Markup.format`."""
    if not chart.points:
        return Markup("<p>No data in this period.</p>")
    most = max([1e-9, *(value for _, value in chart.points)])
    return _line(chart, most) if isinstance(chart.points[0][0], datetime) else _bars(chart, most)


def _line(chart: Chart, most: float) -> Markup:
    first, last = chart.points[0][0].timestamp(), chart.points[-1][0].timestamp()
    span = max(last - first, 1.0)
    width = max(2.0, min(40.0, _WIDTH / (len(chart.points) * 1.5)))
    bars = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {}</title></rect>').format(
            (at.timestamp() - first) / span * (_WIDTH - width),
            _HEIGHT - value / most * _HEIGHT,
            width,
            value / most * _HEIGHT,
            at.isoformat(timespec="minutes"),
            _shown(value),
        )
        for at, value in chart.points
    )
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}<text x="0" y="{}">{}</text>'
        '<text x="{}" y="{}" text-anchor="end">{}</text><text x="0" y="12">{}</text></svg>'
    ).format(
        _WIDTH, _HEIGHT + 20, chart.title, bars, _HEIGHT + 16, chart.points[0][0].isoformat(timespec="minutes"),
        _WIDTH, _HEIGHT + 16, chart.points[-1][0].isoformat(timespec="minutes"), _shown(most),
    )  # fmt: skip


def _bars(chart: Chart, most: float) -> Markup:
    bars = Markup("").join(
        Markup('<text x="0" y="{}">{}</text><rect x="240" y="{}" width="{:.1f}" height="{}"/><text x="{:.1f}" y="{}">{}</text>').format(
            at * _BAR + 13, _shown(name)[:36], at * _BAR + 2, value / most * 400, _BAR - 5, 246 + value / most * 400, at * _BAR + 13,
            _shown(value),
        )
        for at, (name, value) in enumerate(chart.points)
    )  # fmt: skip
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, len(chart.points) * _BAR + 4, chart.title, bars
    )


def plain(value: Any) -> Any:
    """Convert a value to a JSON type."""
    return value.isoformat() if isinstance(value, datetime) else value


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:,.3f}".rstrip("0").rstrip(".")
        case int():
            return f"{value:,}"
        case datetime():
            return value.isoformat(timespec="minutes")
        case _:
            return hide(str(value))


def _environment() -> Environment:
    return Environment(loader=PackageLoader("plait.connectors"), autoescape=True, undefined=StrictUndefined)
