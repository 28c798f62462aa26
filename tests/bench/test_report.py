import json
from pathlib import Path
from typing import Any

import pytest

from bench import report
from bench.environments import HERE
from bench.measures.catalogue import MEASURES
from bench.rows import Row, medians
from bench.systems import SYSTEMS

META: dict[str, Any] = {
    "date": "2026-01-01 12:00 UTC",
    "command": "python -m bench.run",
    "commit": "abc",
    "machine": {"cpu": "a cpu", "cores": 2, "memory_gb": 24, "kernel": "6"},
    "postgres": "18",
    "redis": None,
    "server_settings": {"fsync": "on"},
    "rounds": 3,
    "versions": {"plait": "0.1"},
    "missing": {"oban": "needs Python 3.12"},
}


def row(system: str, value: float | None, measure: str = "process_1") -> Row:
    return Row(measure=measure, system=system, value=value, unit="jobs/s")


def test_the_figure_is_the_median_of_the_rounds() -> None:
    [made] = medians([row("plait", 1), row("plait", 100), row("plait", 2)])
    assert (made.value, made.rounds) == (2, (1, 100, 2))


def test_a_round_that_failed_does_not_hide_the_others() -> None:
    assert [made.value for made in medians([row("plait", 5), row("plait", None), row("dbos", None)])] == [5, None]


def test_a_missing_peer_is_named_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    as_json, as_markdown = report.write(META, [row("plait", 1234.5), row("dbos", None)], "2026-01-01")
    text = as_markdown.read_text()
    assert "**oban**: needs Python 3.12" in text
    assert "| `process_1` | jobs/s | 1,234 | failed |" in text
    written = json.loads(as_json.read_text())
    assert {"measure", "system", "value", "unit", "settings"} <= set(written["rows"][0])


def test_every_system_has_a_driver_a_note_and_a_way_to_see_that_all_is_done() -> None:
    for system in SYSTEMS:
        driver = f"{system.name}.mjs" if system.language == "node" else f"{system.module}.py"
        assert (HERE / "drivers" / driver).exists()
        assert system.note
        assert system.unfinished or (system.store == "redis" and system.queue_key)


def test_no_two_measures_have_one_name() -> None:
    names = [measure.name for measure in MEASURES]
    assert len(names) == len(set(names))
