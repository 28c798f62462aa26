"""Waits that hold no worker: durable sleeps, signals and events."""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, overload
from uuid import UUID, uuid5

import msgspec

from plait.model.durations import seconds
from plait.model.errors import InvalidArguments, SignalTimeout
from plait.model.texts import is_text, message_of, shown
from plait.sdk.annotations import decoder_of
from plait.sdk.argument_checks import check_signal_name, job_id_of
from plait.sdk.artifacts import is_reference
from plait.sdk.codec import encode, encode_signal
from plait.sdk.durable import durable
from plait.sdk.until_sent import until_sent

T = TypeVar("T")
Duration = float | str | timedelta

EVENT_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


async def sleep(duration: Duration, *, name: str = "sleep") -> None:
    """Durable sleep: resume after this time, by the database's clock. A sleeping job holds no worker."""
    delay_s = seconds(duration, what="sleep")
    owner = durable()
    with await owner.begin(name, "sleep") as step:
        step.check(repr(delay_s))
        await owner.wait(step, delay_s=delay_s)


async def sleep_until(moment: datetime, *, name: str = "sleep_until") -> None:
    """Durable sleep until this time; returns immediately if it has passed."""
    if not _has_zone(moment):
        raise InvalidArguments(f"sleep_until: moment must be a datetime with a time zone, got {shown(moment)}")
    owner = durable()
    with await owner.begin(name, "sleep") as step:
        step.check(moment.isoformat())
        await owner.wait(step, until=moment)


@overload
async def wait_for_signal(name: str, *, timeout: Duration | None = None) -> Any: ...
@overload
async def wait_for_signal(name: str, *, timeout: Duration | None = None, type: type[T]) -> T: ...
@overload
async def wait_for_signal(name: str, *, timeout: Duration | None = None, type: Any) -> Any: ...
async def wait_for_signal(name: str, *, timeout: Duration | None = None, type: Any = Any) -> Any:  # noqa: A002 - reads well where it is used
    """The payload of the next signal with this name, sent before or after this call. Each signal is delivered once, in the order of arrival.

    Raises SignalTimeout if none arrives in time. `type` validates and decodes the payload; a type that cannot be decoded from JSON is rejected immediately.
    """
    check_signal_name(name)
    decoder = decoder_of(type)
    delay_s = None if timeout is None else seconds(timeout, what="timeout")
    owner = durable()
    with await owner.begin(f"signal {name}", "signal") as step:
        text, late = await owner.wait(step, delay_s=delay_s)
        if is_reference(text):
            job_id, tenant_id = owner.lease.job_id, owner.tenant_id
            text = await owner.artifacts.resolve(text, job_id=job_id, tenant_id=tenant_id, kind="signal")
    if late is not None:
        raise SignalTimeout(f"no signal {name!r} arrived in time")
    return _decoded(decoder, text, f"the payload of signal {name!r} does not match the type")


@overload
async def wait_for_event(
    name: str, *, match: Mapping[str, Any] | None = None, timeout: Duration | None = None
) -> dict[str, Any]: ...
@overload
async def wait_for_event(
    name: str, *, match: Mapping[str, Any] | None = None, timeout: Duration | None = None, type: type[T]
) -> T: ...
async def wait_for_event(
    name: str,
    *,
    match: Mapping[str, Any] | None = None,
    timeout: Duration | None = None,
    type: Any = Any,  # noqa: A002 - reads well where it is used
) -> Any:
    """The data of the next event with this name, sent with `app.emit`, whose data contains `match`. Objects in the data may have additional fields.
    Receives only events that are dispatched after this wait began. Each wait gets one event, and several waits may get the same event. Raises SignalTimeout if none arrives in
    time."""
    if not (is_text(name, most=200) and EVENT_NAME.fullmatch(name)):
        raise InvalidArguments(f"an event's name must be 1 to 200 letters, digits and _ . : / -, got {shown(name)}")
    if match is not None and not isinstance(match, Mapping):
        raise InvalidArguments(f"match must be a mapping, got {shown(match)}")
    wanted, decoder = encode(dict(match or {}), what="match"), decoder_of(type)
    delay_s = None if timeout is None else seconds(timeout, what="timeout")
    owner = durable()
    branch = owner.branches.here().path
    digest = hashlib.blake2b(f"{name}\0{wanted}\0{branch}".encode(), digest_size=8).hexdigest()
    sent_as = f"event {name[:100]} {digest}"
    with await owner.begin(f"signal {sent_as}", "signal") as step:
        if step.row is None or step.row.finished is None:
            events, key = owner.store.events, step.key
            try:
                if not await until_sent(lambda: events.await_event(owner.lease, key.branch, sent_as, name, wanted)):
                    await owner.stop_for("stale")
            except asyncio.CancelledError:
                owner.delivery.abandon(key, None)  # an earlier run may have stored this wait
                raise
        text, late = await owner.wait(step, delay_s=delay_s)
    if late is not None:
        raise SignalTimeout(f"no event {name!r} arrived in time")
    return _decoded(decoder, text, f"the data of event {name!r} does not match the type")


async def signal(job_id: UUID | str, name: str, payload: Any = None) -> None:
    """Send a signal from a handler to another job of its tenant. This is a step, so it is sent once. In other code use `handle.signal(…)`."""
    check_signal_name(name)
    target = job_id_of(job_id)
    text, large = encode_signal(payload)
    owner = durable()
    with await owner.begin(f"send {name}", "call") as step:
        step.check(f"{target}")
        if step.row is None:
            # If a crash before the checkpoint causes a second send, the signal has the same id and is delivered once.
            signal_id = uuid5(owner.lease.job_id, f"{step.key.branch}\0{step.key.name}\0{step.key.occurrence}")
            if large is not None:
                text = await owner.artifacts.keep(large, job_id=target, tenant_id=owner.tenant_id, kind="signal")
            await owner.store.jobs.signal(target, name, text, tenant_id=owner.tenant_id, signal_id=signal_id)
            await owner.save(step, None)


def _decoded(decoder: msgspec.json.Decoder[Any], text: str | None, fault: str) -> Any:
    try:
        return decoder.decode(text or "null")
    except Exception as error:  # noqa: BLE001 - a model's validators may raise anything
        raise InvalidArguments(f"{fault}: {message_of(error)}") from None


def _has_zone(moment: object) -> bool:
    return isinstance(moment, datetime) and moment.utcoffset() is not None
