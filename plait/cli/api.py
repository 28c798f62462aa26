"""`plait api`: the HTTP API as a separate process."""

from typing import Annotated

import typer

from plait.cli.invocation import Invocation, MetricsPort, command

Host = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="ADDRESS", help="Address to listen on.", show_default="127.0.0.1, or PLAIT_API_HOST"
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65535,
        help="Port to listen on; 0 picks a free port.",
        show_default="8717, or PLAIT_API_PORT",
    ),
]


def register(app: typer.Typer) -> None:
    app.command("api", short_help="Serve the HTTP API.")(command(api))


async def api(
    cli: Invocation,
    app_name: Annotated[
        str | None,
        typer.Argument(metavar="APP", help="Application to read the database URL from.", show_default=False),
    ] = None,
    host: Host = None,
    port: Port = None,
    metrics_port: MetricsPort = None,
) -> int:
    """Serve the HTTP API until stopped. It serves plain HTTP: on an untrusted network, put a TLS proxy in front of it.

    Needs a login with the roles plait_admin and plait_worker; superusers are rejected. Create API keys with plait keys create.
    """
    from plait.api.service import Api
    from plait.cli.serving import configure_logs, metrics_server, place, serve
    from plait.sdk.app import Plait

    app = cli.load(app_name) if app_name else cli.bind(Plait())
    configure_logs(app, cli)
    served = Api(app, host=host, port=port)
    served.listen()
    metrics = metrics_server(app, metrics_port, leads=lambda: True)
    told = [f"api at {served.url} on {place(cli, app)}", *([f"metrics at {metrics.url}/metrics"] if metrics else [])]
    return await serve(app, [served, *([metrics] if metrics else [])], told=[] if cli.json else told)
