"""`plait jobs logs`: text that a job's handler prints or logs."""

import json
from asyncio import sleep as pause
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from plait.cli import arguments
from plait.cli.invocation import Invocation, command
from plait.cli.jobs import Id, Tenant, find_job
from plait.cli.output import plain, say, show, show_json

if TYPE_CHECKING:
    from plait.store.logs import LogRow

FOLLOW_S = 0.5
PAGE = 1000

Level = Literal["debug", "info", "warning", "error", "critical"]


async def logs(
    cli: Invocation,
    job_id: Id,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines until the job has a final status.")
    ] = False,
    attempt: Annotated[
        int | None, typer.Option("--attempt", metavar="N", min=1, help="Only this attempt.", show_default=False)
    ] = None,
    level: Annotated[
        Level, typer.Option("--level", metavar="LEVEL", help="Only lines of this level and above.")
    ] = "debug",
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", metavar="N", min=1, max=PAGE, help="Start with the last N lines, up to 1000."),
    ] = PAGE,
    tenant: Tenant = None,
) -> None:
    """Print the log lines of a job: text that its handler prints or logs. With --json, an array, or with -f one object per line."""
    wanted = arguments.job_id(job_id)
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        scope: dict[str, Any] = {"tenant_id": job.tenant_id, "attempt": attempt, "level": level}
        rows = await store.logs.list_logs(wanted, **scope, limit=limit)
        if len(rows) >= limit and (
            earlier := await store.logs.list_logs(wanted, **scope, before=rows[0].position, limit=1)
        ):
            say(f"Earlier lines are left out: the last one is line {earlier[0].line} of attempt {earlier[0].attempt}.")
        if not follow:
            if cli.json:
                show_json([_plain(row) for row in rows])
            elif rows:
                _show(rows)
            else:
                say("No log lines.")
            return
        last = (0, 0)
        while True:
            _show(rows, as_json=cli.json)
            last = rows[-1].position if rows else last
            # The status first: lines are stored before the outcome, so a final job has all of them.
            final = (await store.jobs.get_job(wanted, tenant_id=job.tenant_id)).status.final
            rows = await store.logs.list_logs(wanted, **scope, after=last, limit=PAGE)
            if not rows:
                if final:
                    return
                await pause(FOLLOW_S)


def _show(rows: "list[LogRow]", *, as_json: bool = False) -> None:
    for row in rows:
        if as_json:
            show(json.dumps(_plain(row), ensure_ascii=False))
            continue
        named = f" {row.logger}:" if row.logger else ""
        fields = "".join(f" {name}={_value(value)}" for name, value in json.loads(row.fields or "{}").items())
        text = "".join(
            one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in row.message
        )
        show(f"{plain(row.at)} [{row.attempt}] {row.level:<8}{named} {text}{fields}")


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def _plain(row: "LogRow") -> dict[str, Any]:
    return {**plain(row), "fields": json.loads(row.fields) if row.fields else None}


def register(group: typer.Typer) -> None:
    group.command("logs", short_help="Print the log lines of a job.")(command(logs))
