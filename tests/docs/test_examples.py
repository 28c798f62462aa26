"""Every example runs, and prints what its comments say."""

import importlib
import sys
import textwrap
from pathlib import Path

import pytest

from plait.testing import TestDatabase

from .conftest import CLIENT, WorkOn

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(
    path.stem for path in (ROOT / "examples").glob("*.py") if path.stem not in ("hello", "reminder", "schedules")
)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_prints_what_it_says(
    name: str,
    real_clock_database: TestDatabase,
    work_on: WorkOn,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DATABASE_URL", real_clock_database.url_for(CLIENT))
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    module = importlib.import_module(name)
    try:
        expected = textwrap.dedent((module.__doc__ or "").partition("Prints:\n")[2]).strip().splitlines()
        assert expected
        async with work_on(lambda: module.app):
            await module.main()
    finally:
        del sys.modules[name]
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if not line.startswith("20")] == expected  # the rest is the worker's log


@pytest.mark.parametrize("name", ["reminder", "schedules"])
async def test_time_passes_in_no_time(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examples that bring their own database: one whose clock can be moved."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    module = importlib.import_module(name)
    await module.main()
    expected = textwrap.dedent((module.__doc__ or "").partition("Prints:\n")[2]).strip().splitlines()
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if not line.startswith("20")] == expected


def test_there_are_examples() -> None:
    assert {"outbox", "outcomes", "limits", "processes"} <= set(EXAMPLES)
    assert {"batch", "order", "catalogue", "saga", "approval", "statistical_units"} <= set(EXAMPLES)
