"""One clock: the database's, through `plait.now()`. No decision uses Python's wall clock, and no test sleeps.

A line that must break the rule ends in its reason: `# clock: <reason>`, `# sleep: <reason>`, in SQL
`-- clock: <reason>`, which may also be on a line of its own up to three lines above. A monotonic clock, which can only
make a process stop itself earlier, is free to use.
"""

import ast
import re
from pathlib import Path

import pytest

from .source_files import name_of, sources

WALL_CLOCKS = {
    "time.time",
    "time.time_ns",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
}
SLEEPS = {"time.sleep"}
SQL_CLOCK = re.compile(
    r"(?<![\w.])(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(\s*\)"
    r"|pg_catalog\.(?:now|clock_timestamp|statement_timestamp|transaction_timestamp)\s*\("
    r"|(?<![\w.])(?:current_timestamp|current_date|current_time|localtimestamp|localtime)\b",
    re.IGNORECASE,
)
THE_CLOCK = "plait/sql/functions/foundation/now.sql"


@pytest.mark.parametrize("path", sources("plait", ".py"), ids=name_of)
def test_no_python_code_asks_the_wall_clock(path: Path) -> None:
    assert uses(path.read_text(), WALL_CLOCKS, excuse="clock") == []


@pytest.mark.parametrize("path", sources("tests", ".py"), ids=name_of)
def test_no_test_sleeps(path: Path) -> None:
    assert uses(path.read_text(), SLEEPS, excuse="sleep") == []


def test_no_sql_asks_another_clock_than_plait_now() -> None:
    asked = {name_of(path): sql_clocks(path.read_text()) for path in sources("plait/sql", ".sql")}
    asked.pop(THE_CLOCK, None)
    assert {name: found for name, found in asked.items() if found} == {}


def test_a_clock_is_found_under_any_name() -> None:
    assert uses("import time\nx = time.time()\n", WALL_CLOCKS, excuse="clock") == ["line 2: time.time"]
    assert uses("import time as t\nx = t.time()\n", WALL_CLOCKS, excuse="clock")
    assert uses("from time import time as t\nx = t()\n", WALL_CLOCKS, excuse="clock")
    assert uses("import datetime\nx = datetime.datetime.now(tz)\n", WALL_CLOCKS, excuse="clock")
    assert uses("from datetime import UTC, datetime\nx = datetime.now(UTC)\n", WALL_CLOCKS, excuse="clock")
    assert uses("import time\nfield(default_factory=time.time)\n", WALL_CLOCKS, excuse="clock")


def test_a_monotonic_clock_and_the_worlds_clock_are_free() -> None:
    assert uses("import time\nx = time.monotonic()\ny = harness.now()\n", WALL_CLOCKS, excuse="clock") == []


def test_an_excuse_needs_a_reason() -> None:
    call = "import time\ntime.sleep(1)"
    assert uses(call + "  # sleep:\n", SLEEPS, excuse="sleep")
    assert not uses(call + "  # sleep: a handler that blocks its loop\n", SLEEPS, excuse="sleep")


def test_a_clock_in_sql_is_found() -> None:
    assert sql_clocks("select now();") == ["line 1: now()"]
    assert sql_clocks("-- now() is not ours\nselect plait.now(), coalesce(at, clock_timestamp())")
    assert sql_clocks("created timestamptz default CURRENT_TIMESTAMP")
    assert sql_clocks("select plait.now(); -- as now() would\nselect 1") == []
    assert sql_clocks("select clock_timestamp() -- clock: measures the vacuum itself") == []
    assert sql_clocks("-- clock: measures itself\nselect 1,\n  2,\n  clock_timestamp()") == []
    assert sql_clocks("-- clock: measures itself\n" + "select 1;\n" * 3 + "select clock_timestamp()")


def uses(source: str, forbidden: set[str], *, excuse: str) -> list[str]:
    tree = ast.parse(source)
    names = _imported_names(tree)
    lines = source.splitlines()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and (name := _resolve(node, names)) in forbidden:
            ends_at = node.end_lineno or node.lineno
            if not re.search(rf"# {excuse}: \S", lines[ends_at - 1]):
                found.append(f"line {node.lineno}: {name}")
    return found


def _imported_names(tree: ast.AST) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({item.asname or item.name: item.name for item in node.names})
        elif isinstance(node, ast.ImportFrom):
            names.update({item.asname or item.name: f"{node.module}.{item.name}" for item in node.names})
    return names


def _resolve(node: ast.expr, names: dict[str, str]) -> str | None:
    match node:
        case ast.Name():
            return names.get(node.id)
        case ast.Attribute():
            owner = _resolve(node.value, names)
            return f"{owner}.{node.attr}" if owner else None
        case _:
            return None


def sql_clocks(text: str) -> list[str]:
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines, start=1):
        code, _, comment = line.partition("--")
        above = any(re.match(r" *-- clock: \S", other) for other in lines[max(0, number - 4) : number - 1])
        if (used := SQL_CLOCK.search(code)) and not above and not re.match(r" clock: \S", comment):
            found.append(f"line {number}: {used[0]}")
    return found
