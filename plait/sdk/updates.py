"""Updates: a caller sends a running job a request and gets a reply. The caller uses `handle.update(…)`.

An update is a signal with an id; its reply is a row with this id. Both a rejection and a reply are steps: each is sent once.
"""

import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from plait.model.errors import InvalidArguments
from plait.model.texts import message_of
from plait.sdk.annotations import decoder_of
from plait.sdk.argument_checks import check_update_name
from plait.sdk.codec import encode
from plait.sdk.durable import Durable, durable
from plait.sdk.until_sent import until_sent
from plait.sdk.waits import Duration, wait_for_signal

T = TypeVar("T")


class _Asked(msgspec.Struct):
    id: UUID
    payload: msgspec.Raw


class Update(Generic[T]):
    """A request to the job. Answer it once: `await update.reply(value)`, or `await update.reject("why")`."""

    def __init__(self, owner: Durable, name: str, update_id: UUID, payload: T) -> None:
        self._owner = owner
        self._answered = False
        self.name = name
        self.id = update_id
        self.payload = payload

    def __repr__(self) -> str:
        return f"<Update {self.name} {self.id}>"

    async def reply(self, value: Any = None) -> None:
        """Send the reply, which `handle.update(…)` returns to the caller."""
        await self._answer(encode(value, what=f"the reply to the update {self.name!r}"), None)

    async def reject(self, message: str) -> None:
        """Reject the update: the caller gets UpdateRejected with this message."""
        await self._answer(None, str(message))

    async def _answer(self, value: str | None, error: str | None) -> None:
        if self._answered:
            raise InvalidArguments(f"the update {self.name!r} was already answered: an update has one reply")
        self._answered = True
        with await self._owner.begin(f"reply {self.name}", "call") as step:
            if step.row is None:
                await _send(self._owner, self.id, value, error)
                await self._owner.save(step, None)


async def wait_for_update(
    name: str,
    *,
    validator: Callable[[Any], Any] | None = None,
    timeout: Duration | None = None,
    type: Any = Any,  # noqa: A002 - reads well where it is used
) -> Update[Any]:
    """The next update with this name, sent before or after this call, in the order of arrival. An update is rejected if its payload does not match
    `type` or the validator raises an error: its caller gets that error, and the wait continues. The validator, `def` or `async def`, is a step: it
    runs once for each update. Raises SignalTimeout if none arrives within `timeout`, which restarts after a rejected update."""
    check_update_name(name)
    owner = durable()
    while True:
        asked = await wait_for_signal(f"update {name}", timeout=timeout, type=_Asked)
        payload, fault = _decode(asked.payload, type)
        if validator is not None or fault is not None:
            with await owner.begin(f"validate {name}", "call") as step:
                if step.row is not None:
                    fault = msgspec.json.decode(step.row.value or "null", type=str | None)
                else:
                    fault = fault or await _fault(validator, payload)
                    if fault is not None:
                        await _send(owner, asked.id, None, fault)
                    await owner.save(step, msgspec.json.encode(fault).decode())
        if fault is None:
            return Update(owner, name, asked.id, payload)


def _decode(payload: msgspec.Raw, kind: Any) -> tuple[Any, str | None]:
    try:
        return decoder_of(kind).decode(bytes(payload)), None
    except msgspec.ValidationError as error:
        return None, f"the payload does not match the type: {error}"


async def _fault(validator: Callable[[Any], Any] | None, payload: Any) -> str | None:
    """The reason why the validator rejects the update; None if it accepts it."""
    if validator is None:
        return None
    try:
        answer = validator(payload)
        if inspect.isawaitable(answer):
            await answer
    except Exception as error:  # noqa: BLE001 - any error of the validator is a rejection
        return message_of(error) or error.__class__.__name__
    return None


async def _send(owner: Durable, update_id: UUID, value: str | None, error: str | None) -> None:
    lease, signals = owner.lease, owner.store.signals
    if not await until_sent(
        lambda: signals.reply_update(lease.worker, lease.job_id, lease.attempt, update_id, value=value, error=error)
    ):
        await owner.stop_for("stale")
