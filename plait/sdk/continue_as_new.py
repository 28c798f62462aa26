"""`continue_as_new`: a durable job that goes on for long begins anew, so that its history does not grow."""

from typing import Any, NoReturn

from plait.model.errors import NotDurable, TooLarge
from plait.sdk.branches import in_step
from plait.sdk.context import current
from plait.sdk.durable import durable
from plait.sdk.operations import Step


async def continue_as_new(*args: Any, **kwargs: Any) -> NoReturn:
    """End this run, and start the same job again with these arguments and an empty history. Never returns: what comes after it is not run.

    The job keeps its id, so handles, the dedupe key and signals that were not read stay with it. Its attempts start again. Tasks that run beside are dropped,
    as when a handler returns; sub-jobs of open fan-outs are canceled. Children that were spawned stay the job's. Follow-ups (`after`) are what the last run says.
    """
    owner = durable()
    outer = in_step.get()
    if outer is not None:
        where = f"the step {outer.key.name!r}" if isinstance(outer, Step) else "a step"
        raise NotDurable(f"continue_as_new was asked for inside {where}: call it in the handler itself")
    definition = owner.definitions[current().definition]
    try:
        payload = definition.codec.encode_call(args, kwargs)
    except TooLarge as large:
        payload = await owner.artifacts.keep(
            large, job_id=owner.lease.job_id, tenant_id=owner.tenant_id, kind="payload"
        )
    # A step that is never on record: it begins when the replay is over, and is refused while the handler is dropped.
    with await owner.begin("continue_as_new", "call"):
        await owner.suspend(lambda: owner.store.trees.continue_as_new(owner.lease, payload), keep=False)
    raise AssertionError("the job has been continued, or is not this attempt's any more")
