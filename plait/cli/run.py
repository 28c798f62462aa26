"""`plait run`: run one job now, and start and stop everything it needs."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli.arguments import typed_payload
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command
from plait.cli.output import is_terminal, say, show, show_json
from plait.cli.worker import App
from plait.model.errors import JobCanceled, JobDeadLettered, JobFailed, JobSkipped
from plait.model.states import Status

if TYPE_CHECKING:
    from plait.runtime.service import Signals, Stop
    from plait.sdk.app import Plait
    from plait.sdk.handle import Handle
    from plait.sdk.job import Job

JobName = Annotated[str, typer.Argument(metavar="JOB", help="Name of the job.", show_default=False)]
Pairs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="The job's arguments. A value is parsed as JSON if it is valid and fits the type; otherwise it is text.",
        show_default=False,
    ),
]
Payload = Annotated[
    str | None,
    typer.Option(
        "--payload", metavar="JSON", help="The arguments as a JSON object; - reads stdin.", show_default=False
    ),
]

Tenant = Annotated[
    str | None,
    typer.Option(
        "--tenant", "-t", metavar="SLUG", help="Tenant of the job. Default: the default tenant.", show_default=False
    ),
]


def register(app: typer.Typer) -> None:
    app.command("run", short_help="Run one job now, and print its result.")(command(run))


async def run(
    cli: Invocation,
    app_name: App,
    job_name: JobName,
    pairs: Pairs = None,
    payload: Payload = None,
    tenant: Tenant = None,
) -> int:
    """Run one job, print its result, and exit.

    Starts what the job needs (an embedded Postgres, a worker, a leader), enqueues it, and waits until it is final. The
    exit code is 0 if the job succeeded or was skipped, otherwise 1.
    """
    app = cli.load(app_name)
    job = find_job(app, app_name, job_name)
    arguments = typed_payload(job.definition, pairs or [], payload)
    from plait.cli.serving import configure_logs, connected
    from plait.leader.leader import Leader
    from plait.runtime.service import Signals, Stop, run_services
    from plait.worker.worker import Worker

    configure_logs(app, cli, level="warning")
    stop = Stop()
    with Signals(stop, grace_s=app.settings.grace) as signals:
        async with connected(app, stop, signals, develop=True):
            handle = await job.options(tenant=tenant).enqueue(**arguments)
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(_wait(handle, stop, as_json=cli.json))
                group.create_task(_tell(signals, stop))
                await run_services([Worker(app), Leader(app)], stop)
                waiting.cancel()  # if a signal stopped the services before the job was final; otherwise the task is done
    if not waiting.cancelled():
        return signals.exit_code or waiting.result()
    say(f"plait: job {handle.id} was released and will run on the next worker")
    return signals.exit_code


def find_job(app: "Plait", app_name: str, name: str) -> "Job[..., Any]":
    if name not in app.jobs:
        known = ", ".join(app.jobs) or "none"
        raise BadUsage(f"{app_name} has no job called {name!r}; it has {known}")
    return app.jobs[name]


async def _tell(signals: "Signals", stop: "Stop") -> None:
    await stop.wait()
    if signals.received:
        say("plait: waiting for the job to finish; press Ctrl-C again to release it immediately")


async def _wait(handle: "Handle[Any]", stop: "Stop", *, as_json: bool) -> int:
    try:
        return await wait_for(handle, as_json=as_json)
    finally:
        stop.request()


async def wait_for(handle: "Handle[Any]", *, as_json: bool) -> int:
    """Wait until the job is final and print its outcome; 0 if it succeeded or was skipped."""
    try:
        value = await handle.result()
    except JobFailed as error:
        status = _status(error)
        if as_json:
            told = {"id": handle.id, "status": status, "reason": error.reason, "error": str(error)}
            show_json({**told, "traceback": error.traceback})
        else:
            say(f"{(error.traceback or '').rstrip()}\nplait: {error}".lstrip())
        return 0 if status is Status.SKIPPED else 1
    show_result(handle, value, as_json=as_json)
    return 0


def _status(error: JobFailed) -> Status:
    match error:
        case JobDeadLettered():
            return Status.DEAD_LETTER
        case JobCanceled():
            return Status.CANCELED
        case JobSkipped():
            return Status.SKIPPED
        case _:
            return Status.FAILED


def show_result(handle: "Handle[Any]", value: Any, *, as_json: bool) -> None:
    """Print text as it is, other values as JSON."""
    import msgspec

    from plait.sdk.codec import encode

    decoded = msgspec.json.decode(encode(value, what="the result"))
    if as_json:
        show_json({"id": handle.id, "status": "succeeded", "result": decoded})
    elif value is None:
        say(f"job {handle.id} succeeded")
    elif isinstance(value, str):
        show(value)
    else:
        from json import dumps

        show(dumps(decoded, ensure_ascii=False, indent=2 if is_terminal() else None))
