"""`continue_as_new`: restart a long-running durable function, so that its history does not grow without bound."""

from typing import Any, NoReturn

from plait.model.errors import NotDurable, TooLarge
from plait.sdk.active_step import Step
from plait.sdk.branches import in_step
from plait.sdk.context import current
from plait.sdk.durable import durable


async def continue_as_new(*args: Any, **kwargs: Any) -> NoReturn:
    """End this run and start the same job again with these arguments and an empty history. Never returns.

    The job keeps its id, so handles, the dedupe key and unread signals stay with it. Its attempts count from zero again. The handler's other tasks are canceled,
    as when it returns, and so are the sub-jobs of open fan-outs. Spawned children stay children of the job. Only the follow-ups (`after`) of the last run are enqueued.
    """
    owner = durable()
    outer = in_step.get()
    if outer is not None:
        where = f"the step {outer.key.name!r}" if isinstance(outer, Step) else "a step"
        raise NotDurable(f"continue_as_new was called inside {where}: call it in the handler itself")
    definition = owner.definitions[current().definition]
    try:
        payload = definition.codec.encode_call(args, kwargs)
    except TooLarge as large:
        payload = await owner.artifacts.keep(
            large, job_id=owner.lease.job_id, tenant_id=owner.tenant_id, kind="payload"
        )
    # This step is never recorded. It ensures that the replay is over, and fails if the handler is being dropped.
    with await owner.begin("continue_as_new", "call"):
        async with owner.delivery.undelivered() as steps:
            await owner.suspend(lambda: owner.store.workflows.continue_as_new(owner.lease, payload, steps), keep=False)
    raise AssertionError("unreachable: the job was continued, or the lease is lost")
