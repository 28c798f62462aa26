"""Durable operations of `def` handlers: they run on the worker's event loop while the handler's thread waits."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from plait.model.errors import NotDurable
from plait.sdk.active_step import Suspended
from plait.sdk.durable import Durable

T = TypeVar("T")


def call_from_thread(owner: Durable, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise NotDurable("the sync function was called on an event loop, which it would block: use the async function")
    coroutine = function()
    try:
        future = asyncio.run_coroutine_threadsafe(coroutine, owner.loop)
    except BaseException:
        coroutine.close()  # the loop is closed: the worker has stopped, and the lease is lost
        raise
    try:
        return future.result()
    except BaseException as error:
        future.cancel()
        if owner.holder.suspended and not isinstance(error, Suspended):
            raise Suspended from None
        raise
