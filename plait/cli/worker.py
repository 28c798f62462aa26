"""`plait worker`: runs jobs, and takes part in leader election."""

from typing import Annotated

import typer

from plait.cli.arguments import duration, labels_of, queue_limits
from plait.cli.invocation import Invocation, MetricsPort, command

App = Annotated[
    str,
    typer.Argument(metavar="APP", help="Application: app.py, app.py:app, module or module:app.", show_default=False),
]
Queues = Annotated[
    str | None,
    typer.Option(
        "--queues",
        "-q",
        metavar="NAME[:N],…",
        help="Queues to serve, with the concurrency of each: analytics:4,default:50. Default: all queues of the app.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency", "-c", metavar="N", min=1, help="Maximum number of jobs that run at once, over all queues."
    ),
]


def register(app: typer.Typer) -> None:
    app.command("worker", short_help="Run an app's jobs until stopped.")(command(worker))


async def worker(
    cli: Invocation,
    app_name: App,
    queues: Queues = None,
    concurrency: Concurrency = 100,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            help='Jobs with isolation="process" to run at once. Default: the number of CPUs.',
            show_default=False,
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Exit when no job is left to run.")] = False,
    node: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="NAME",
            help="Name of this worker's node, for node jobs.",
            show_default="the host name, or PLAIT_NODE",
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            "--build",
            metavar="NAME",
            help="Build of the code. Durable functions that start on this worker resume on workers with the same build.",
            show_default="none, or PLAIT_BUILD",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="Label of the node; can be repeated.", show_default=False),
    ] = None,
    connectors: Annotated[
        str | None,
        typer.Option(
            "--connectors",
            metavar="KIND,…",
            help="Connectors to run: http, webhook, report; or all. Disabled by default.",
            show_default="none, or PLAIT_CONNECTORS",
        ),
    ] = None,
    leads: Annotated[bool, typer.Option("--leader/--no-leader", help="Take part in leader election.")] = True,
    grace: Annotated[
        str | None,
        typer.Option(
            "--grace",
            metavar="TIME",
            help="Graceful shutdown: how long running jobs may take to finish, such as 30s or 5m, before they are released.",
            show_default="30s, or PLAIT_GRACE",
        ),
    ] = None,
    metrics_port: MetricsPort = None,
) -> int:
    """Run an application's jobs until stopped.

    Needs a login with the role plait_worker; superusers are rejected. Ctrl-C or SIGTERM starts a graceful shutdown: running jobs may
    finish. A second signal releases them immediately.
    """
    limits = queue_limits(queues, default=concurrency)
    grace_s = duration(grace, what="--grace")
    labels = labels_of(label) if label else None
    app = cli.load(app_name)
    if grace_s is not None:
        app.settings = app.settings.model_copy(update={"grace": grace_s})
    if connectors is not None:
        from plait.connectors import install
        from plait.connectors.registry import types_in

        install(app, *types_in(connectors))
    from plait.cli.serving import configure_logs, metrics_server, place, serve
    from plait.leader.leader import Leader
    from plait.leader.metrics import LeaderMetrics
    from plait.runtime.service import Service
    from plait.worker.metrics import WorkerMetrics
    from plait.worker.worker import Worker

    configure_logs(app, cli)
    leading, working = LeaderMetrics(), WorkerMetrics(app.definitions, top=app.settings.metrics_top)
    metrics = metrics_server(app, metrics_port, working, leading, leads=lambda: leading.leads)
    services: list[Service] = [
        Worker(
            app,
            queues=limits,
            concurrency=concurrency,
            processes=processes,
            once=once,
            node=node,
            labels=labels,
            metrics=working if metrics else None,
            build=build,
        ),
        *([Leader(app, metrics=leading)] if leads else []),
        *([metrics] if metrics else []),
    ]
    told = [] if cli.json else [f"worker of {app_name} on {place(cli, app)}"]
    told += [] if cli.json or metrics is None else [f"metrics at {metrics.url}/metrics"]
    return await serve(app, services, told=told)
