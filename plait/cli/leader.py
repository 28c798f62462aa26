"""`plait leader`: run the leader as a separate process."""

from typing import Annotated

import typer

from plait.cli.invocation import Invocation, MetricsPort, command


def register(app: typer.Typer) -> None:
    app.command("leader", short_help="Run the leader: scheduling, rescue, retention.")(command(leader))


async def leader(
    cli: Invocation,
    app_name: Annotated[
        str | None,
        typer.Argument(metavar="APP", help="Application to read the database URL from.", show_default=False),
    ] = None,
    metrics_port: MetricsPort = None,
) -> int:
    """Run the leader: promote delayed jobs and retries, fire triggers, rescue jobs of lost workers, apply retention.

    Every worker can also become the leader, unless it is started with --no-leader. Leader election ensures that only one process leads at a time.
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
