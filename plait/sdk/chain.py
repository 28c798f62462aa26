"""Chains: jobs without a parent, each of which waits for the previous one and gets its result."""

import dataclasses
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from plait.model.errors import InvalidArguments
from plait.sdk.dependencies import link_payload
from plait.sdk.handle import Handle
from plait.sdk.job import App, Job
from plait.sdk.send_once import send_once
from plait.sdk.sub_jobs import Sub
from plait.store.new_jobs import NewJob


async def enqueue_chain(app: App, subs: Sequence[Sub], tenant: str | UUID | None) -> list[Handle[Any]]:
    """Enqueue all jobs or none. Each job after the first gets the previous job's result as its first argument, unless its own arguments already
    fill the signature."""
    tenant_id = await app.tenant_id(tenant)
    new: list[NewJob] = []
    jobs: list[Job[..., Any]] = []
    for asked in subs:
        if not (isinstance(asked, Sub) and isinstance(asked.job, Job)):  # type: ignore[redundant-expr] # a user's mistake
            raise InvalidArguments("chain arguments must be sub(job, …) with jobs of this app")
        said = {field.name: getattr(asked.options, field.name) for field in dataclasses.fields(asked.options)}
        options: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
        given = asked.job.given
        if given.conn is not None or given.tenant is not None:
            raise InvalidArguments(
                "jobs of a chain cannot have the options conn or tenant: the chain is enqueued as a whole, for one tenant"
            )
        if new:
            options["after"] = [*(given.after or ()), new[-1].id]
        job = asked.job.options(**options)
        payload = link_payload(job.definition.codec, asked.args, asked.kwargs) if new else None
        if payload is None:
            new.append(job.new_job(asked.args, asked.kwargs, tenant_id))
        else:
            _check_limit_key(job)
            new.append(job.new_job((None, *asked.args), asked.kwargs, tenant_id, payload=payload))
        jobs.append(job)
    if not new:
        return []

    async def send() -> list[UUID]:
        existing = await (await app.store()).jobs.enqueue_many(new)
        return [existing.get(one.id, one.id) for one in new]

    ids = await send_once("chain", send)
    return [job.handle_of(one, job_id) for job, one, job_id in zip(jobs, new, ids, strict=True)]


def _check_limit_key(job: Job[..., Any]) -> None:
    """Raise InvalidArguments if the limit key depends on the previous job's result, which does not exist yet."""
    definition = job.definition
    of_result = callable(definition.limit_key) or definition.limit_key == definition.codec.parameters[0]
    if definition.limit_key is not None and job.given.limit_key is None and of_result:
        raise InvalidArguments(
            f"{definition.name}: the limit key depends on the result of the previous job: set it with .options(limit_key=…)"
        )
