"""Run services until the process receives a signal. At the start, print the services and the database."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from plait.cli.output import say, shown_url
from plait.model.errors import PlaitError
from plait.runtime.logging import configure
from plait.runtime.memory import collect_seldom
from plait.runtime.service import Service, Signals, Stop, run_services

if TYPE_CHECKING:
    from plait.cli.invocation import Invocation
    from plait.sdk.app import Plait
    from plait.telemetry.exposition import Source
    from plait.telemetry.server import MetricsServer


AT_END_S: Final = 5.0


def configure_logs(
    app: "Plait", cli: "Invocation", *, level: str = "info", form: Literal["auto", "text"] = "auto"
) -> None:
    """Configure logs and traces. Precedence: the environment, --json, the command's default. Tracing must start before the
    first span."""
    if app.settings.traces == "otlp":
        from plait.telemetry import tracing

        tracing.configure("plait")
    said = app.settings.model_fields_set
    chosen = app.settings.log_format if "log_format" in said else ("json" if cli.json else form)
    configure(level=app.settings.log_level if "log_level" in said else level, form=chosen)


def metrics_server(
    app: "Plait", port: int | None, *sources: "Source", leads: Callable[[], bool]
) -> "MetricsServer | None":
    """The metrics listener, if one is configured. `leads`: whether this process also reports the installation's metrics."""
    from plait.telemetry.database import DatabaseMetrics
    from plait.telemetry.exposition import Exposition
    from plait.telemetry.server import MetricsServer

    chosen = app.settings.metrics_port if port is None else port
    if chosen is None:
        return None
    of_all = DatabaseMetrics(app.store, top=app.settings.metrics_top, wanted=leads)
    return MetricsServer(Exposition(of_all, *sources), host=app.settings.metrics_host, port=chosen)


async def serve(
    app: "Plait",
    services: Sequence[Service],
    *,
    develop: bool = False,
    told: Sequence[str] = (),
    then: Callable[[], Awaitable[Sequence[str]]] | None = None,
    at_end: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Connect, print `told` and the lines of `then`, and run services until a signal arrives or they end. Returns the exit code. `at_end`
    runs afterwards, for at most 5 seconds, while the database is still connected."""
    stop = Stop()
    with Signals(stop, grace_s=app.settings.grace) as signals:
        async with connected(app, stop, signals, develop=develop, wait_s=app.settings.wait_for_database):
            collect_seldom()
            for line in [*told, *(await then() if then is not None else ())]:
                say(line)
            try:
                await run_services(services, stop)
            finally:
                if at_end is not None:
                    with contextlib.suppress(PlaitError, TimeoutError):
                        async with asyncio.timeout(AT_END_S):
                            await at_end()
    return signals.exit_code


@asynccontextmanager
async def connected(
    app: "Plait", stop: Stop, signals: Signals, *, develop: bool = False, wait_s: float = 0.0
) -> AsyncIterator[None]:
    """Connect the app. `develop`: prepare the database first. `wait_s`: how long to wait for a database that is down. A signal before the
    connection is made ends the process."""
    if not await _until(stop, _connect(app, develop=develop, wait_s=wait_s)):
        # There is no work yet, but a thread may be waiting for a server that is starting or not answering: Ctrl-C must not wait for the thread.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(signals.exit_code)
    try:
        yield
    finally:
        await app.close()


async def _connect(app: "Plait", *, develop: bool, wait_s: float) -> None:
    from plait.model.errors import DatabaseUnreachable
    from plait.runtime.outage import Outage, Retry
    from plait.store.database import is_refusal

    retry, deadline = Retry("start", Outage(), longest_s=2.0), time.monotonic() + wait_s
    while True:
        try:
            if develop:
                await app.target.prepare_development()
            await app.store()
        except DatabaseUnreachable as error:
            # Waiting would not help: this process starts the embedded Postgres itself, and a rejected login is a wrong setting.
            if app.target.embedded or is_refusal(error) or time.monotonic() >= deadline:
                raise
            await asyncio.sleep(retry.failed(error))
        else:
            retry.succeeded()
            return


async def _until(stop: Stop, work: Coroutine[Any, Any, None]) -> bool:
    """Run the work until it is done or a stop is requested; returns whether it is done."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        working.result()
        return True
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


def place(cli: "Invocation", app: "Plait") -> str:
    """A description of the database for messages."""
    if app.target.embedded:
        from plait.embedded.postgres_place import choose_data_dir

        return f"embedded Postgres in {choose_data_dir(cli.data_dir or app.settings.data_dir)}"
    return shown_url(cli.url or app.settings.database_url or "the URL in the code")
