"""`plait leader`: the duties that one process does for all, alone."""

from typing import Annotated

import typer

from plait.cli.invocation import Invocation, MetricsPort, command


def register(app: typer.Typer) -> None:
    app.command("leader", short_help="Do what one process does for all.")(command(leader))


async def leader(
    cli: Invocation,
    app_name: Annotated[
        str | None,
        typer.Argument(metavar="APP", help="Only to find the database that the app names.", show_default=False),
    ] = None,
    metrics_port: MetricsPort = None,
) -> int:
    """Start delayed jobs and retries, notice lost workers, forget old jobs.

    Every worker does this too unless it has --no-leader; only one of all leads at a time.
    """
    from plait.cli.serving import configure_logs, metrics_server, place, serve
    from plait.leader.leader import Leader
    from plait.leader.metrics import LeaderMetrics
    from plait.runtime.service import Service
    from plait.sdk.app import Plait

    app = cli.load(app_name) if app_name else cli.bind(Plait())
    configure_logs(app, cli)
    leading = LeaderMetrics()
    metrics = metrics_server(app, metrics_port, leading, leads=lambda: leading.leads)
    told = [f"leader on {place(cli, app)}", *([f"metrics at {metrics.url}/metrics"] if metrics else [])]
    services: list[Service] = [Leader(app, metrics=leading), *([metrics] if metrics else [])]
    return await serve(app, services, told=[] if cli.json else told)
