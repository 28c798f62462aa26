"""Write rows to a JSON file and a Markdown file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.rows import Row
from bench.systems import SYSTEMS

RESULTS = Path(__file__).parent / "results"


def write(meta: Mapping[str, Any], rows: Sequence[Row], name: str) -> tuple[Path, Path]:
    RESULTS.mkdir(exist_ok=True)
    as_json, as_markdown = RESULTS / f"{name}.json", RESULTS / f"{name}.md"
    as_json.write_text(json.dumps({"meta": meta, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    as_markdown.write_text(markdown(meta, rows))
    return as_json, as_markdown


def markdown(meta: Mapping[str, Any], rows: Sequence[Row]) -> str:
    machine = meta["machine"]
    parts = [
        f"# Benchmark of {meta['date']}",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, Linux {machine['kernel']}; "
        f"Postgres {meta['postgres']}; commit {meta['commit']}.",
        f"Command: `{meta['command']}`. Medians of {meta['rounds']} rounds; systems alternate within each round. "
        f"Jobs are no-ops with a small payload and a small result.",
        "",
        "Postgres: " + ", ".join(f"`{name} = {value}`" for name, value in meta["server_settings"].items()) + ".",
        "",
        *_table(rows),
        "",
        "The rate of a backlog is measured from the first handler of any worker process until the database has no unfinished",
        "jobs. A pick-up time is measured from the start of the enqueue call to the start of the handler.",
        "",
        "| system | version | notes | settings |",
        "|---|---|---|---|",
        *_systems(meta),
    ]
    if meta["missing"]:
        parts += ["", "## Missing", ""]
        parts += [f"- **{name}**: {reason}" for name, reason in meta["missing"].items()]
    return "\n".join(parts) + "\n"


def _table(rows: Sequence[Row]) -> list[str]:
    systems = list(dict.fromkeys(row.system for row in rows))
    measures = list(dict.fromkeys(row.measure for row in rows))
    found = {(row.measure, row.system): row for row in rows}
    lines = ["| measure | unit | " + " | ".join(systems) + " |", "|---|---|" + "--:|" * len(systems)]
    for measure in measures:
        unit = next(row.unit for row in rows if row.measure == measure)
        cells = [_cell(found.get((measure, system))) for system in systems]
        lines.append(f"| `{measure}` | {unit} | " + " | ".join(cells) + " |")
    return lines


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row.value is None:
        return "failed"
    if abs(row.value) >= 100:
        return f"{row.value:,.0f}"
    return f"{row.value:.3g}"


def _systems(meta: Mapping[str, Any]) -> list[str]:
    return [
        f"| {system.name} | {meta['versions'][system.name]} | {system.note} | `{json.dumps(dict(system.settings))}` |"
        for system in SYSTEMS
        if system.name in meta["versions"]
    ]
