"""`plait after-restore`: prepare a database that was restored from a backup."""

from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.invocation import Invocation, command
from plait.cli.output import show, show_json


def register(app: typer.Typer) -> None:
    app.command("after-restore", short_help="Prepare a restored backup.")(command(after_restore))


async def after_restore(
    cli: Invocation,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="Time up to which the schedules had fired on the previous server. Default: now.",
        ),
    ] = None,
) -> None:
    """Prepare a database that was restored from a backup, before workers, leaders and the API use it.

    All leases expire: running jobs are requeued, and writes from old workers are rejected. Schedules do not fire for times before
    --until, or for times before now if --until is not given. Browser sessions end.
    """
    moment = arguments.moment(until, what="--until")
    async with cli.store() as store:
        done = await store.health.after_restore(moment)
    if cli.json:
        show_json(done)
    else:
        show(f"ready: {done.workers} workers removed, {done.jobs} jobs requeued, {done.schedules} schedules advanced")
