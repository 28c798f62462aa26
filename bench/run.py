"""The benchmark's command: `python -m bench.run`, or `make bench` and `make bench-quick`.

Systems alternate within a round, and every second round has the opposite order, so that other load on the machine affects
all systems. The figure is the median of the rounds. Results are written after every round, so an interrupted run still
has results.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from bench import environments, processes, report
from bench.environments import Missing
from bench.job_storage import Servers
from bench.measures.catalogue import MEASURES, Measure
from bench.measures.throughput import Plan
from bench.redis import Redis
from bench.rows import Row, medians
from bench.server import SETTINGS, Postgres
from bench.session import ROOT, Failed
from bench.systems import SYSTEMS, System, plait_before

QUICK_SYSTEMS = ("plait", "graphile-worker", "pgqueuer")


def main() -> int:
    asked = _arguments()
    # SIGINT and SIGTERM both run every `finally` block, so that no server and no worker is left running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with asyncio.Runner() as runner:
        try:
            return runner.run(_run(asked))
        except KeyboardInterrupt:
            return 130


def _arguments() -> argparse.Namespace:
    names = [system.name for system in SYSTEMS]
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="benchmark plait and its peers in one run")
    parser.add_argument("--quick", action="store_true", help="plait and two peers, few measures: two minutes")
    parser.add_argument("--systems", type=_list_of(names), help=f"systems to run: {','.join(names)}")
    parser.add_argument(
        "--measures",
        type=_list_of([measure.name for measure in MEASURES]),
        help="measures to run: " + "; ".join(f"{measure.name} ({measure.rows})" for measure in MEASURES),
    )
    parser.add_argument("--before", metavar="COMMIT", help="also measure plait at this commit, as plait-before")
    parser.add_argument("--rounds", type=int, help="number of rounds (default: 3; with --quick: 1)")
    parser.add_argument("--jobs", type=int, help="size of the backlog (default: 50,000; with --quick: 20,000)")
    parser.add_argument("--crowd", type=int, help="finished or queued jobs in the database (default: 1,000,000)")
    parser.add_argument("--sustain", type=float, metavar="SECONDS", help="duration of the long runs (default: 60)")
    parser.add_argument("--name", help="name of the files in bench/results (default: the date)")
    return parser.parse_args()


def _list_of(known: Sequence[str]) -> Any:
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"must be a list of {', '.join(known)}, got {unknown[0]!r}")
        return names

    return parse


async def _run(asked: argparse.Namespace) -> int:
    chosen = asked.systems or (QUICK_SYSTEMS if asked.quick else [system.name for system in SYSTEMS])
    systems = [system for system in SYSTEMS if system.name in chosen]
    if asked.before:
        systems.append(plait_before(asked.before))
    measures = [
        measure
        for measure in MEASURES
        if (measure.name in asked.measures if asked.measures else measure.quick or not asked.quick)
    ]
    rounds = asked.rounds or (1 if asked.quick else 3)
    plan = Plan(jobs=20_000, one_s=2.0, pickups=100) if asked.quick else Plan()
    given = {"jobs": asked.jobs, "crowd": asked.crowd, "sustain_s": asked.sustain}
    plan = replace(plan, **{name: value for name, value in given.items() if value is not None})
    missing, versions = _prepare(systems)
    systems = [system for system in systems if system.name not in missing]
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(Postgres.running())
        redis = None
        if any(system.store == "redis" for system in systems):
            try:
                redis = await stack.enter_async_context(Redis.running())
            except Missing as error:
                missing |= {system.name: str(error) for system in systems if system.store == "redis"}
                systems = [system for system in systems if system.store != "redis"]
        servers = Servers(postgres, redis)
        now = datetime.now(UTC)
        meta = {
            "date": f"{now:%Y-%m-%d %H:%M} UTC",
            "command": " ".join(["python -m bench.run", *sys.argv[1:]]),
            "commit": _commit(),
            "machine": asdict(processes.machine()),
            "postgres": await postgres.version(),
            "redis": await redis.version() if redis else None,
            "server_settings": SETTINGS,
            "rounds": rounds,
            "plan": asdict(plan),
            "versions": versions,
            "missing": missing,
        }
        name = asked.name or f"{now:%Y-%m-%d}{'-quick' if asked.quick else ''}"
        for number in range(1, rounds + 1):
            for measure in measures:
                if number <= (measure.rounds or rounds):
                    for system in systems if number % 2 else reversed(systems):
                        if measure.applies(system):
                            rows += await _measure(servers, measure, system, plan, number)
            report.write(meta, medians(rows), name)
    as_json, as_markdown = report.write(meta, medians(rows), name)
    print(as_markdown.read_text())
    print(f"Written to {as_json} and {as_markdown}.")
    return 1 if any(row.value is None for row in medians(rows)) else 0


def _prepare(systems: Sequence[System]) -> tuple[dict[str, str], dict[str, str]]:
    missing, versions = {}, {}
    for system in systems:
        try:
            environments.prepare(system)
            versions[system.name] = environments.versions(system)
        except Missing as error:
            missing[system.name] = str(error)
            _tell(f"{system.name} is missing: {error}")
    return missing, versions


async def _measure(servers: Servers, measure: Measure, system: System, plan: Plan, number: int) -> list[Row]:
    began = time.monotonic()
    try:
        rows = await measure.run(servers, system, plan)
        said = ", ".join(f"{row.measure} {row.value:,.5g} {row.unit}" for row in rows)
    except Failed as error:
        # A failure is listed in the table and does not end the run: another round may succeed.
        rows = [Row(measure=measure.name, system=system.name, value=None, unit="", settings={"missing": str(error)})]
        said = f"failed: {error}"
    _tell(f"round {number}, {system.name}: {said}  [{time.monotonic() - began:.1f} s]")
    return rows


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + (
        " with changes" if git("status", "--porcelain") else ""
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
