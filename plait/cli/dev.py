"""`plait dev`: all services in one process, for development."""

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import typer

from plait.cli.api import Host, Port
from plait.cli.arguments import queue_limits
from plait.cli.invocation import Invocation, command
from plait.cli.output import shown_url
from plait.cli.worker import App, Concurrency, Queues

if TYPE_CHECKING:
    from plait.sdk.app import Plait


def register(app: typer.Typer) -> None:
    app.command("dev", short_help="Run an app for development: Postgres, worker, leader, API.")(command(dev))


async def dev(
    cli: Invocation,
    app_name: App,
    queues: Queues = None,
    concurrency: Concurrency = 100,
    host: Host = None,
    port: Port = None,
) -> int:
    """Run an application for development: Postgres, worker, leader and API in one process.

    Without a URL it starts an embedded Postgres. With a superuser's URL it migrates the database, creates plait's restricted
    roles and uses one of them. Ctrl-C lets running jobs finish; press it again to stop immediately.
    """
    limits = queue_limits(queues, default=concurrency)
    app = cli.load(app_name)
    from plait.api.service import Api
    from plait.cli.serving import configure_logs, serve
    from plait.leader.leader import Leader
    from plait.worker.worker import Worker

    configure_logs(app, cli, form="text")
    worker = Worker(app, queues=limits, concurrency=concurrency)
    api = Api(app, host=host, port=port, elsewhere=port is None, with_worker=True)
    api.listen()
    told = [] if cli.json else _told(cli, app, app_name, limits, api.url)

    made: list[UUID] = []

    async def signing_in() -> list[str]:
        if cli.json:
            return []
        key_id, link = await _login_link(app, api.url)
        made.append(key_id)
        return [f"  sign in   {link} (single use, valid for 10 minutes)"]

    async def signing_out() -> None:
        for key_id in made:
            await (await app.store()).keys.revoke_key(key_id, all_tenants=True)

    return await serve(app, [worker, Leader(app), api], develop=True, told=told, then=signing_in, at_end=signing_out)


async def _login_link(app: "Plait", url: str) -> tuple[UUID, str]:
    """Create a super-admin's key, and a link that opens a browser session with it. The key expires after a day."""
    from plait.model.roles import Role
    from plait.model.tokens import hash_of, hint_of, new_token

    store = await app.store()
    key, link = new_token(), new_token()
    key_id = await store.keys.create_key(
        hash=hash_of(key),
        hint=hint_of(key),
        name="plait dev",
        role=Role.SUPER_ADMIN,
        tenant_id=None,
        expires_at=await store.health.now() + timedelta(days=1),
        created_by="plait dev",
    )
    await store.keys.open_session(key_id, hash=hash_of(link), csrf="", ttl=timedelta(minutes=10), link=True)
    return key_id, f"{url}/api/v1/session/link?token={link}"


def _told(cli: Invocation, app: "Plait", app_name: str, limits: dict[str, int] | None, url: str) -> list[str]:
    from plait import __version__
    from plait.cli.serving import place

    served = limits or {definition.queue for definition in app.definitions.values()} | {"default"}
    at = f" --data-dir {cli.data_dir}" if cli.data_dir else f" --url {shown_url(cli.url)}" if cli.url else ""
    return [
        f"plait {__version__}: worker, leader and API in one process. Ctrl-C lets jobs finish; press it again to stop immediately.",
        f"  jobs      {', '.join(app.definitions) or 'none yet; decorate a function with @app.job'}",
        f"  queues    {', '.join(sorted(served))}",
        f"  database  {place(cli, app)}",
        f"  api       {url}/api/v1 (create a key: plait keys create NAME{at})",
        f"  list      plait jobs list{at}",
        *([f"  enqueue   plait enqueue {app_name} {next(iter(app.definitions))} …{at}"] if app.definitions else []),
    ]
