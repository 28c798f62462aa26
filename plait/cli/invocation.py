"""Common to every command: the database, the output format, and an event loop.

The common options may come before or after the command: `plait --json jobs list`, `plait jobs list --json`. `Settings`
reads the environment variables, not typer: with typer, a variable would override an option that is given before the command.
"""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from plait.cli.errors import BadUsage
from plait.model.errors import UnsafeRole

if TYPE_CHECKING:
    from plait.sdk.app import Plait
    from plait.sdk.target import Target
    from plait.store import Store

T = TypeVar("T")

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="Postgres URL. Default: PLAIT_DATABASE_URL, or an embedded Postgres if it is not set.",
        metavar="URL",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Data directory of the embedded Postgres. Default: PLAIT_DATA_DIR.",
        metavar="DIR",
        file_okay=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, including errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors (also PLAIT_DEBUG=1).")]

MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        metavar="N",
        min=0,
        max=65535,
        help="Serve metrics on this port at /metrics, without authentication; 0 picks a free port.",
        show_default="PLAIT_METRICS_PORT",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One invocation of plait, with its common options."""

    url: str | None = None
    data_dir: Path | None = None
    json: bool = False
    debug: bool = False

    def under(self, outer: "Invocation") -> "Invocation":
        """Take options that are not set from `outer`, the options before the command."""
        if self.url is None and self.data_dir is None:
            inner = replace(self, url=outer.url, data_dir=outer.data_dir)
        else:
            inner = self
        if inner.url is not None and inner.data_dir is not None:
            raise BadUsage(
                "--url and --data-dir cannot be used together: --url names a server, --data-dir an embedded Postgres"
            )
        return replace(inner, json=self.json or outer.json, debug=self.debug or outer.debug)

    def target(self) -> "Target":
        """The database: from the options, otherwise from the environment, otherwise embedded."""
        from plait.runtime.settings import Settings
        from plait.sdk.target import Target

        settings = Settings()
        if self.data_dir is not None:
            return Target(None, data_dir=self.data_dir, pooler=settings.pooler)
        return Target(self.url or settings.database_url, data_dir=settings.data_dir, pooler=settings.pooler)

    @asynccontextmanager
    async def store(self) -> "AsyncIterator[Store]":
        """Connect to the database for one command."""
        target = self.target()
        store = await stepping_down(target, lambda: target.open(max_connections=2))
        try:
            yield store
        finally:
            await store.close()
            await target.close()

    def load(self, name: str) -> "Plait":
        """Load the application, bind it to the database that the options name, and install the connectors of its settings."""
        from plait.cli.loading import load_app

        app = self.bind(load_app(name))
        if app.settings.connectors:
            from plait.connectors import install

            install(app)
        return app

    def bind(self, app: "Plait") -> "Plait":
        """Apply the options, which override the application's code."""
        if self.url is not None or self.data_dir is not None:
            app.target = self.target()
        return app


async def stepping_down(target: "Target", connect: Callable[[], Awaitable[T]]) -> T:
    """Connect. If the URL is rejected because it is a superuser's, connect as the login that `plait dev` created, if it exists."""
    from plait.store.dev_login import DEV_LOGIN

    try:
        return await connect()
    except UnsafeRole as refused:
        target.act_as(DEV_LOGIN)
        try:
            return await connect()
        except Exception:  # noqa: BLE001 - no such login, or not a superuser: raise the first error
            raise refused from None


def new_group(help_text: str, name: str | None = None, *, lists: bool = False) -> typer.Typer:
    """A group of commands. With `lists`, it lists its items when no command is given."""
    return typer.Typer(
        name=name,
        help=help_text,
        short_help=help_text.removesuffix(" Lists them by default."),
        no_args_is_help=not lists,
        invoke_without_command=lists,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=name is None,
    )


def _show_version(wanted: bool) -> None:
    if wanted:
        from plait import __version__

        typer.echo(f"plait {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    del version
    context.obj = Invocation(url=url, data_dir=data_dir, json=as_json, debug=debug).under(Invocation())


Handler = Callable[..., Coroutine[Any, Any, int | None]]


def command(function: Handler) -> Callable[..., int]:
    """Turn `async def f(cli: Invocation, …) -> int | None` into a command: add the common options, run it, return its exit code."""

    def run(context: typer.Context, **given: Any) -> int:
        own = Invocation(
            url=given.pop("url"), data_dir=given.pop("data_dir"), json=given.pop("as_json"), debug=given.pop("debug")
        )
        context.obj = invocation = own.under(context.obj or Invocation())
        if context.invoked_subcommand is not None:
            return 0  # a subcommand was given: the group's own command only passes on its options
        return run_async(function(invocation, **given)) or 0

    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, default, kind in (
            ("url", None, Url),
            ("data_dir", None, DataDir),
            ("as_json", False, AsJson),
            ("debug", False, Debug),
        )
    ]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    signature = inspect.Signature([context, *own, *common])
    run.__signature__ = signature  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    run.__name__, run.__doc__ = function.__name__.rstrip("_"), function.__doc__
    return run


def run_async(coroutine: Coroutine[Any, Any, int | None]) -> int | None:
    """Run the coroutine, on uvloop if it is installed."""
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with contextlib.suppress(ImportError):
        import uvloop

        new_loop = uvloop.new_event_loop
    from plait.runtime.service import run_to_end

    return run_to_end(coroutine, loop_factory=new_loop)
