"""`plait leader`: the duties that one process does for all, alone."""

from typing import Annotated

import typer

from plait.cli.command import Invocation, command


def register(app: typer.Typer) -> None:
    app.command("leader", short_help="Do what one process does for all.")(command(leader))


async def leader(
    cli: Invocation,
    app_name: Annotated[
        str | None,
        typer.Argument(metavar="APP", help="Only to find the database that the app names.", show_default=False),
    ] = None,
) -> int:
    """Start delayed jobs and retries, notice lost workers, forget old jobs.

    Every worker does this too unless it has --no-leader; only one of all leads at a time.
    """
    from plait.cli.serving import configure_logs, place, serve
    from plait.leader.leader import Leader
    from plait.sdk.app import Plait

    app = cli.load(app_name) if app_name else cli.bind(Plait())
    configure_logs(app, cli)
    return await serve(app, [Leader(app)], told=[] if cli.json else [f"leader on {place(cli, app)}"])
