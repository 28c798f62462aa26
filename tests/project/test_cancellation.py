"""A cancellation is never swallowed. On Python 3.11 `asyncio.wait_for` does that if the wait ends at the same moment: use `asyncio.timeout`."""

from pathlib import Path

from .source_files import name_of, sources


def test_nothing_waits_by_wait_for() -> None:
    assert [name_of(path) for path in sources("plait", ".py") if _swallows(path)] == []


def _swallows(path: Path) -> bool:
    return "asyncio.wait_for(" in path.read_text()
