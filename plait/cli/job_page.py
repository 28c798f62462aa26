"""`plait jobs show`: one job, with its payload, state and attempts."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plait.cli.output import STYLES, ago, is_terminal, plain, show, show_table, span
from plait.model.states import Status

if TYPE_CHECKING:
    from datetime import datetime

    from plait.store.job_rows import AttemptRow, JobRow, Times, UnreadSignals
    from plait.store.nodes import JobNode
    from plait.store.statistics import EarlierRuns

LONGEST = 2000


def show_job(
    job: "JobRow",
    slug: str | None,
    attempts: "Sequence[AttemptRow]",
    reasons: Sequence[tuple[str, str]],
    nodes: "Sequence[JobNode]" = (),
    times: "Times | None" = None,
    unread: "Sequence[UnreadSignals]" = (),
    earlier: "EarlierRuns | None" = None,
) -> None:
    _show_facts(job, slug, times, unread, earlier)
    _show_block("arguments", job.payload)
    progress = json.loads(job.progress) if job.progress is not None else {}
    if not job.status.final and not progress.keys() <= {"stdout", "stderr"}:
        _show_progress(progress)
    for name in ("stdout", "stderr"):
        _show_tail(name, progress.get(name))
    if job.status is Status.SUCCEEDED:
        _show_block("result", job.result or "null")
    if not job.status.final:
        show("\nexplanation")
        for _, words in reasons:
            show(f"  {words}")
    if nodes:
        _show_nodes(nodes)
    if attempts:
        _show_attempts(attempts)


def _show_facts(
    job: "JobRow",
    slug: str | None,
    times: "Times | None",
    unread: "Sequence[UnreadSignals]",
    earlier: "EarlierRuns | None",
) -> None:
    facts: list[tuple[str, Any]] = [
        ("id", job.id),
        ("definition", job.definition),
        ("status", job.status),
        ("queue", job.queue),
        ("priority", job.priority),
        ("tenant", slug or job.tenant_id),
        ("attempts", f"{job.attempts_used} of {job.max_attempts}"),
        ("created", _when(job.created_at)),
        ("due", _when(job.run_at)),
        ("started", _when(job.started_at)),
        ("finished", _when(job.finished_at)),
        ("run time", span(times.total_s) if times else None),
        ("earlier runs", _compared(earlier) if times and earlier else None),
        ("own time", span(times.own_s) if times else None),
        ("waiting time", span(times.waiting_s) if times else None),
        ("runs", job.runs if job.runs > 1 else None),
        ("unread", ", ".join(f"{one.signals} {one.name}" for one in unread) + " (signals)" if unread else None),
        ("cancel", f"requested {_when(job.cancel_requested)}" if job.cancel_requested else None),
        ("timeout", span(job.timeout_s) if job.timeout_s is not None else None),
        ("worker", job.worker),
        ("node", job.node),
        ("source", f"{job.source} {job.source_ref}" if job.source_ref else job.source),
        ("correlation", job.correlation_id),
        ("dedupe key", job.dedupe_key),
        ("idempotency", job.idempotency_key),
        ("limit key", job.limit_key),
        ("parent", job.parent_id),
        ("root", job.root_id),
        ("fan-out", f"{job.fan_out_id}, number {job.fan_out_index}" if job.fan_out_id else None),
        ("forked from", job.forked_from),
        ("reason", job.reason if job.status.final else None),
        ("error", job.error if job.status.final else None),
    ]
    for name, value in facts:
        if value is not None:
            _show_fact(name, str(value))


def _compared(earlier: "EarlierRuns") -> str:
    """The run times of the runs before, and which they are."""
    if earlier.mean_s is None or earlier.p95_s is None:
        return "none has succeeded" if earlier.complete else "none has succeeded among the newest 10,000"
    runs = "run" if earlier.runs == 1 else f"{earlier.runs} runs"
    return (
        f"average {span(earlier.mean_s)}, p95 {span(earlier.p95_s)}: the last {runs} that succeeded, "
        f"since {_when(earlier.since)}{'' if earlier.complete else '; older ones were not searched'}"
    )


def _show_fact(name: str, value: str) -> None:
    if not is_terminal():
        show(f"{name:<12}  {value}")
        return
    from rich.console import Console
    from rich.text import Text

    Console(soft_wrap=True).print(Text.assemble((f"{name:<12}  ", "dim"), (value, STYLES.get(value, ""))))


def _when(at: "datetime | None") -> str | None:
    if at is None:
        return None
    local = at.astimezone().isoformat(sep=" ", timespec="milliseconds")
    return f"{local} ({ago(at)})" if is_terminal() else str(plain(at))


def _show_block(title: str, text: str) -> None:
    """Print indented JSON, truncated if it is long; --json prints all of it."""
    shown = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}\n… ({len(text):,} characters; use --json to show all)"
    show(f"\n{title}")
    for line in shown.splitlines():
        show(f"  {line}")


def _show_progress(progress: dict[str, Any]) -> None:
    done, total, message = progress.get("done"), progress.get("total"), progress.get("message")
    show("\nprogress")
    if is_terminal() and isinstance(done, int | float) and isinstance(total, int | float) and total > 0:
        from rich.console import Console
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        bar = Table.grid(padding=(0, 1))
        bar.add_row(" ", ProgressBar(total, done, width=40), Text(f"{done:g} of {total:g}  {message or ''}"))
        Console().print(bar)
    else:
        counted = f"{done:g}" + (f" of {total:g}" if total is not None else "") if done is not None else ""
        show(f"  {counted}  {message or ''}".rstrip())


def _show_tail(name: str, text: str | None) -> None:
    """Print the last output lines of a command. Control characters are replaced with dots."""
    if text:
        show(f"\n{name}")
        for line in text.splitlines()[-20:]:
            show(
                "  "
                + "".join(letter if letter.isprintable() or letter == "\t" else "\N{MIDDLE DOT}" for letter in line)
            )


_RULES = {
    "quorum": "decided: quorum reached",
    "timeout": "decided: quorum timeout",
    "node_failed": "decided: a node failed",
    "quorum_lost": "decided: quorum lost, too many nodes failed",
}


def _show_nodes(nodes: "Sequence[JobNode]") -> None:
    first = nodes[0]
    said = _RULES[first.rule] if first.rule else "not decided"
    show(f"\nnodes ({first.needed} of {first.total} must finish; {said})")
    show_table(
        ("node", "status", "attempts", "finished", "error", "job"),
        [
            (
                node.node,
                f"{node.status}, late" if node.late else node.status,
                node.attempt,
                node.finished_at,
                node.error,
                node.job_id,
            )
            for node in nodes
        ],
        optional=("job", "attempts"),
        empty="",
    )


def _show_attempts(attempts: "Sequence[AttemptRow]") -> None:
    programs = any(attempt.exit_code is not None for attempt in attempts)
    show("\nattempts")
    show_table(
        ("attempt", "status", "worker", "host", "finished", "took", *(("exit",) if programs else ()), "error"),
        [
            (
                attempt.attempt,
                attempt.status,
                attempt.worker,
                f"{attempt.host}:{attempt.pid}" if attempt.host else None,
                attempt.finished_at,
                span((attempt.finished_at - attempt.started_at).total_seconds()) if attempt.started_at else None,
                *((attempt.exit_code,) if programs else ()),
                attempt.error or attempt.reason,
            )
            for attempt in attempts
        ],
        optional=("host", "worker"),
        empty="",
    )
    last = next((attempt for attempt in reversed(attempts) if attempt.traceback), None)
    if last is not None and last.traceback is not None:
        show(f"\ntraceback of attempt {last.attempt}")
        for line in last.traceback.rstrip().splitlines():
            show(f"  {line}")
