"""The output of `plait demo`: a live table on a terminal, a line per second elsewhere, and the summary."""

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from plait.cli.output import STYLES, is_terminal, say, show, show_json, show_table
from plait.model.states import FINAL, Status

if TYPE_CHECKING:
    from rich.console import Group

    from plait.store.job_rows import JobRow

SHOWN = (*(status for status in Status if status is not Status.WAITING),)


@dataclass(slots=True, kw_only=True)
class Run:
    """A snapshot of all jobs of the demo."""

    jobs: "Mapping[str, list[JobRow]]"
    expected: Mapping[str, Mapping[Status, int]]
    took_s: float
    faults: list[str] = field(default_factory=list)
    notes: list[tuple[UUID, str]] = field(default_factory=list)

    def counts(self, tenant: str) -> dict[Status, int]:
        found = Counter(job.status for job in self.jobs[tenant])
        return {status: found[status] for status in Status if found[status]}

    def done(self, tenant: str) -> int:
        return sum(job.status in FINAL for job in self.jobs[tenant])

    def total(self, tenant: str) -> int:
        return sum(self.expected[tenant].values())

    @property
    def over(self) -> bool:
        return all(job.status in FINAL for jobs in self.jobs.values() for job in jobs)

    def note(self, job_id: UUID, what: str) -> None:
        self.notes.append((job_id, what))

    def job(self, job_id: UUID) -> "JobRow":
        return next(job for jobs in self.jobs.values() for job in jobs if job.id == job_id)


class View(AbstractContextManager[None], Protocol):
    """Shows the progress of the run."""

    def say(self, text: str) -> None: ...
    def update(self, run: Run) -> None: ...


def view(*, silent: bool) -> View:
    if silent:
        return _Silent()
    return _Live() if is_terminal() else _Lines()


class _Silent(View):
    def say(self, text: str) -> None:
        """Show nothing."""

    def update(self, run: Run) -> None:
        """Show nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class _Lines(_Silent):
    """For output that is not a terminal: one line per second."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def say(self, text: str) -> None:
        show(text)

    def update(self, run: Run) -> None:
        if run.took_s >= self._next_s or run.over:
            self._next_s = run.took_s + 1
            parts = (f"{tenant} {run.done(tenant)} of {run.total(tenant)} jobs" for tenant in run.jobs)
            show(f"{run.took_s:4.1f} s  {', '.join(parts)}")


class _Live(_Silent):
    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def say(self, text: str) -> None:
        self._console.print(text, style="dim", highlight=False)

    def __enter__(self) -> None:
        self._live.start()

    def update(self, run: Run) -> None:
        self._live.update(_picture(run), refresh=True)

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def _picture(run: Run) -> "Group":
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    bars = Table.grid(padding=(0, 2))
    for tenant in run.jobs:
        done, total = run.done(tenant), run.total(tenant)
        bars.add_row(Text(tenant, style="bold"), ProgressBar(total, done, width=48), f"{done} of {total}")
    counts = Table.grid(padding=(0, 2))
    counts.add_row("", *(Text(status.replace("_", " "), style=STYLES[status]) for status in SHOWN))
    for tenant in run.jobs:
        found = run.counts(tenant)
        numbers = (Text(str(found.get(status, "·")), justify="right") for status in SHOWN)
        counts.add_row(Text(tenant, style="bold"), *numbers)
    return Group(Text(f"\nTwo tenants, one worker, {run.took_s:.1f} s\n"), bars, Text(), counts)


def conclude(run: Run, data_dir: Path, *, as_json: bool) -> None:
    """Print the summary and the next commands to try."""
    if as_json:
        show_json(_document(run, data_dir))
        return
    attempts = sum(job.attempt for jobs in run.jobs.values() for job in jobs)
    total = sum(len(jobs) for jobs in run.jobs.values())
    show(f"\n{total} jobs of {len(run.jobs)} tenants in {run.took_s:.1f} s, {attempts} attempts\n")
    finals = [
        status for status in SHOWN if status in FINAL or any(run.counts(tenant).get(status) for tenant in run.jobs)
    ]
    rows = [
        (tenant, *(run.counts(tenant).get(status, 0) for status in finals), len(run.jobs[tenant]))
        for tenant in run.jobs
    ]
    show_table(("tenant", *finals, "total"), rows, empty="No jobs.")
    if run.notes:
        show("\nExamples\n")
    noted = [(run.job(job_id), what) for job_id, what in run.notes]
    show_table(
        ("id", "definition", "status", "details"),
        [(job.id, job.definition, job.status, what) for job, what in noted],
        optional=("definition",),
        empty="",
    )
    for line in _where_to_look(run, data_dir):
        show(line)
    for fault in run.faults:
        say(f"plait: the demo failed: {fault}")


def _where_to_look(run: Run, data_dir: Path) -> list[str]:
    plait, dead = _own_name(), run.notes[0][0]
    steps = [
        *([("unset PLAIT_DATABASE_URL", "")] if os.environ.get("PLAIT_DATABASE_URL") else []),
        (f"export PLAIT_DATA_DIR={shlex.quote(str(data_dir))}", "use the demo's database"),
        (f"{plait} jobs list --all-tenants --status dead_letter", "list dead letters"),
        (f"{plait} jobs show {dead}", "show one of them, with its attempts"),
        (f"{plait} jobs retry {dead}", "retry it …"),
        (f"{plait} dev plait.cli.demo_jobs", "… and run it; Ctrl-C to stop"),
        (f"{plait} doctor", "check the installation"),
    ]
    width = max(len(step) for step, _ in steps)
    return [
        "\nNext steps\n",
        *(f"  {step.ljust(width)}  # {why}" if why else f"  {step}" for step, why in steps),
    ]


def _own_name() -> str:
    """The command that starts this installation of plait."""
    called = Path(sys.argv[0])
    found = shutil.which("plait")
    if called.name != "plait" or (found and Path(found).resolve() == called.resolve()):
        return "plait"
    try:
        return shlex.quote(str(called.absolute().relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(called))


def _document(run: Run, data_dir: Path) -> dict[str, object]:
    return {
        "ok": not run.faults,
        "faults": run.faults,
        "took_s": round(run.took_s, 3),
        "data_dir": data_dir,
        "tenants": {
            tenant: {"jobs": len(jobs), "attempts": sum(job.attempt for job in jobs), "statuses": run.counts(tenant)}
            for tenant, jobs in run.jobs.items()
        },
        "notes": [
            {"id": job_id, "definition": run.job(job_id).definition, "status": run.job(job_id).status, "what": what}
            for job_id, what in run.notes
        ],
    }
