"""`plait after-restore`: what a database that was restored from a backup needs before anything runs on it."""

from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.invocation import Invocation, command
from plait.cli.output import show, show_json


def register(app: typer.Typer) -> None:
    app.command("after-restore", short_help="Make a restored backup ready to run on.")(command(after_restore))


async def after_restore(
    cli: Invocation,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="TIME", help="Schedules have fired up to here, on the server before; else up to now."
        ),
    ] = None,
) -> None:
    """Make a database that was restored from a backup ready, before workers, leaders and the API start on it.

    Leases are void: what ran is queued again, and a worker of before is told so. No schedule fires for a time up to now, or up to --until.
    Sessions end.
    """
    moment = arguments.moment(until, what="--until")
    async with cli.store() as store:
        done = await store.health.after_restore(moment)
    if cli.json:
        show_json(done)
    else:
        show(
            f"ready: {done.workers} workers are gone, {done.jobs} jobs are queued again, {done.schedules} schedules moved on"
        )
