"""`plait enqueue`: enqueue a job, with or without its code."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, stepping_down
from plait.cli.output import say, show, show_json
from plait.cli.run import Payload, Tenant, find_job, wait_for

if TYPE_CHECKING:
    from plait.sdk.app import Plait
    from plait.sdk.handle import Handle

Text = str | None


def register(app: typer.Typer) -> None:
    app.command("enqueue", short_help="Enqueue a job and print its id.")(command(enqueue))


async def enqueue(
    cli: Invocation,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[APP] JOB [KEY=VALUE]...",
            help="The app that defines the job (optional), the job's name and its arguments.",
            show_default=False,
        ),
    ],
    payload: Payload = None,
    queue: Annotated[
        Text, typer.Option("--queue", "-q", metavar="NAME", help="Queue. Default: the definition's.")
    ] = None,
    priority: Annotated[int | None, typer.Option("--priority", metavar="N", help="Lower runs first.")] = None,
    delay: Annotated[
        Text, typer.Option("--delay", metavar="TIME", help="Delay before the job may start: 90s, 10m.")
    ] = None,
    at: Annotated[
        Text,
        typer.Option(
            "--at",
            metavar="WHEN",
            help="Earliest start time: 2030-01-31T12:00, in local time unless it has a time zone.",
        ),
    ] = None,
    dedupe_key: Annotated[
        Text,
        typer.Option(
            "--dedupe-key", metavar="KEY", help="Enqueue nothing while another job with this key is unfinished."
        ),
    ] = None,
    idempotency_key: Annotated[
        Text, typer.Option("--idempotency-key", metavar="KEY", help="Enqueue nothing if this key was used before.")
    ] = None,
    correlation_id: Annotated[
        Text,
        typer.Option(
            "--correlation-id", metavar="ID", help="Id that related jobs share, so that you can search for them."
        ),
    ] = None,
    tenant: Tenant = None,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            "-w",
            help="Wait until the job is final and print its result. The exit code is 1 if the job fails. A worker must be running.",
        ),
    ] = False,
) -> int:
    """Enqueue a job and print its id.

    With an app (plait enqueue app.py resize path=a.png width=200) the arguments are checked against the job's signature.
    Without an app (plait enqueue resize path=a.png width=200) they are checked against the definition's JSON Schema, if it has one,
    and by the job's code when it runs.
    """
    app_name, job_name, pairs = split(words)
    options: dict[str, Any] = {
        "queue": queue,
        "priority": priority,
        "dedupe_key": dedupe_key,
        "idempotency_key": idempotency_key,
        "correlation_id": correlation_id,
        "scheduled_for": arguments.moment(at, what="--at"),
    }
    delay_s = arguments.duration(delay, what="--delay")
    if app_name is not None:
        app = cli.load(app_name)
        job = find_job(app, app_name, job_name)
        typed = arguments.typed_payload(job.definition, pairs, payload)
        await stepping_down(app.target, app.store)
        asked = job.options(tenant=tenant, delay=delay_s, **options).enqueue(**typed)
    else:
        from plait.sdk.app import Plait

        app = cli.bind(Plait())
        plain = arguments.payload(pairs, payload)
        await stepping_down(app.target, app.store)
        asked = _by_name(app, job_name, plain, tenant, {"delay_s": delay_s, **options})
    try:
        handle = await asked
        if wait:
            return await wait_for(handle, as_json=cli.json)
        _tell(handle, as_json=cli.json)
    finally:
        await app.close()
    return 0


def split(words: list[str]) -> tuple[str | None, str, list[str]]:
    """Split into APP, JOB and the arguments. If the second word has no =, the first word is the app."""
    if len(words) > 1 and "=" not in words[1]:
        return words[0], words[1], words[2:]
    return None, words[0], words[1:]


async def _by_name(
    app: "Plait", name: str, payload: dict[str, Any], tenant: str | None, options: dict[str, Any]
) -> "Handle[Any]":
    from plait.model.ids import new_id
    from plait.sdk.codec import encode
    from plait.sdk.handle import Handle
    from plait.store.new_jobs import NewJob

    if name.endswith(".py"):
        raise BadUsage(f"no job given. Usage: plait enqueue {name} JOB [KEY=VALUE]...")
    text = encode(payload, what="the payload")
    await _check(app, name, payload)
    new = NewJob(id=new_id(), definition=name, payload=text, tenant_id=await app.tenant_id(tenant), **options)
    existing = await (await app.store()).jobs.enqueue_many([new])
    job_id = existing.get(new.id, new.id)
    return Handle(app, None, job_id=job_id, tenant=new.tenant_id, deduplicated=job_id != new.id)


async def _check(app: "Plait", name: str, payload: dict[str, Any]) -> None:
    from plait.model.errors import InvalidArguments
    from plait.model.schemas import faults

    schemas = await (await app.store()).definitions.list_schemas([name])
    if name in schemas and (wrong := faults(schemas[name], payload)):
        raise InvalidArguments(f"{name}: {wrong}")


def _tell(handle: "Handle[Any]", *, as_json: bool) -> None:
    if as_json:
        show_json({"id": handle.id, "deduplicated": handle.deduplicated})
        return
    show(str(handle.id))
    if handle.deduplicated:
        say("plait: another job has this key; no new job was enqueued")
