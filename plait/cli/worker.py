"""`plait worker`: runs jobs, and leads where nobody else does."""

from typing import Annotated

import typer

from plait.cli.arguments import duration, labels_of, queue_limits
from plait.cli.invocation import Invocation, MetricsPort, command

App = Annotated[
    str,
    typer.Argument(metavar="APP", help="app.py, app.py:app, module or module:app.", show_default=False),
]
Queues = Annotated[
    str | None,
    typer.Option(
        "--queues",
        "-q",
        metavar="NAME[:N],…",
        help="The queues to serve, and how many jobs of each at once: analytics:4,default:50. All of the app's when not given.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", "-c", metavar="N", min=1, help="How many jobs to run at once, over all queues.")
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
            help='How many jobs with isolation="process" to run at once; one for each CPU when not given.',
            show_default=False,
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when there is nothing left to run.")] = False,
    node: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="NAME",
            help="The machine that this worker is on, for node jobs.",
            show_default="the host's name, or PLAIT_NODE",
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            "--build",
            metavar="NAME",
            help="The build of the code: durable jobs that begin on this worker resume on workers of the same build.",
            show_default="none, or PLAIT_BUILD",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", metavar="KEY=VALUE", help="Something to know the node by; may be repeated.", show_default=False
        ),
    ] = None,
    connectors: Annotated[
        str | None,
        typer.Option(
            "--connectors",
            metavar="KIND,…",
            help="Built-in jobs to run too: http, webhook, report; or all.",
            show_default="none, or PLAIT_CONNECTORS",
        ),
    ] = None,
    leads: Annotated[
        bool, typer.Option("--leader/--no-leader", help="Take the leader's duties too where nobody else has them.")
    ] = True,
    grace: Annotated[
        str | None,
        typer.Option(
            "--grace",
            metavar="TIME",
            help="How long running jobs may take to finish when the worker is stopped: 30s, 5m. Then they are given back.",
            show_default="30s, or PLAIT_GRACE",
        ),
    ] = None,
    metrics_port: MetricsPort = None,
) -> int:
    """Run an application's jobs until stopped.

    Needs a login with the role plait_worker, and refuses a superuser's. Ctrl-C or SIGTERM lets running jobs finish; a second
    one gives them back at once.
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
