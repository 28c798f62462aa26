"""Jobs one after the other, without a parent: each waits for the one before it."""

import dataclasses
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from plait.model.errors import InvalidArguments
from plait.sdk.handle import Handle
from plait.sdk.job import App, Job
from plait.sdk.sub_jobs import Sub
from plait.store.new_jobs import NewJob


async def enqueue_chain(app: App, subs: Sequence[Sub], tenant: str | UUID | None) -> list[Handle[Any]]:
    """All are stored, or none."""
    tenant_id = await app.tenant_id(tenant)
    new: list[NewJob] = []
    jobs: list[Job[..., Any]] = []
    for asked in subs:
        if not (isinstance(asked, Sub) and isinstance(asked.job, Job)):  # type: ignore[redundant-expr] # a user's mistake
            raise InvalidArguments("chain takes sub(job, …), with jobs of this app")
        said = {field.name: getattr(asked.options, field.name) for field in dataclasses.fields(asked.options)}
        options: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
        given = asked.job.given
        if given.conn is not None or given.tenant is not None:
            raise InvalidArguments("a chain is enqueued as a whole, for one tenant: its jobs take no conn or tenant")
        if new:
            options["after"] = [*(given.after or ()), new[-1].id]
        job = asked.job.options(**options)
        new.append(job.new_job(asked.args, asked.kwargs, tenant_id))
        jobs.append(job)
    if not new:
        return []
    existing = await (await app.store()).jobs.enqueue_many(new)
    return [job.handle_of(one, existing.get(one.id, one.id)) for job, one in zip(jobs, new, strict=True)]
