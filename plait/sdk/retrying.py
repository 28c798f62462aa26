"""Retries of a step within one attempt of its job: `call(…, retries=, backoff=, timeout=, retry_on=)`.

Each run of the function is a step, so its error is recorded. If the worker is lost, the job resumes with the remaining retries. During a short delay
before a retry, the job keeps its slot. A longer delay is a durable sleep: the job is suspended. When no retry is left, the step raises the error. If this
error ends the attempt, the job's next attempt starts with all retries.
"""

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from plait.model.durations import seconds
from plait.model.errors import DeterminismError, InvalidArguments, InvalidDefinition, NotDurable, Outcome, StepFailed
from plait.model.policies import Backoff
from plait.model.texts import shown
from plait.sdk.active_step import Step
from plait.sdk.branches import in_step
from plait.sdk.durable import Durable
from plait.sdk.unrecorded import Failure

T = TypeVar("T")

IN_PLACE_S: Final = 10.0
"""The maximum delay during which the job keeps its slot. A longer delay suspends the job."""
RetryOn = type[Exception] | tuple[type[Exception], ...]
_NEVER: Final = (Outcome, DeterminismError, NotDurable)


class StepRetries:
    """The retry options of a call, and its failed runs."""

    def __init__(
        self,
        what: str,
        *,
        retries: int | None,
        backoff: Backoff | None,
        timeout: float | str | timedelta | None,
        retry_on: RetryOn | None,
    ) -> None:
        if retries is None and (backoff is not None or retry_on is not None):
            raise InvalidArguments(f"step {what}: backoff and retry_on require retries=…")
        if retries is not None and not (type(retries) is int and 0 <= retries <= 9999):
            raise InvalidArguments(f"step {what}: retries must be a whole number from 0 to 9999, got {shown(retries)}")
        if backoff is not None and not isinstance(backoff, Backoff):
            raise InvalidArguments(
                f"step {what}: backoff must be a Backoff, such as Backoff(base='1s'), got {shown(backoff)}"
            )
        kinds: tuple[Any, ...] = (
            retry_on if isinstance(retry_on, tuple) else (Exception if retry_on is None else retry_on,)
        )
        if not kinds or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
            raise InvalidArguments(
                f"step {what}: retry_on must be an exception type or a tuple of them, got {shown(retry_on)}"
            )
        self._what = what
        self._retries = retries or 0
        self._backoff = backoff or Backoff()
        self._retry_on: tuple[type[Exception], ...] = (
            *kinds,
            StepFailed,
        )  # replaces a recorded error whose type no longer exists; that error was retried
        self.timeout_s = None if timeout is None else _positive(timeout, what)
        self._failed: list[tuple[Step, Exception]] = []

    def failed(self, step: Step, error: Exception) -> None:
        """Add a failed run of the function, from this run of the handler or an earlier one."""
        self._failed.append((step, error))

    async def run(self, owner: Durable, once: Callable[[], Awaitable[T]]) -> T:
        for number in range(1, self._retries + 2):
            try:
                return await once()
            except Exception as error:
                step, last = self._failed[-1] if self._failed else (None, None)
                if step is None or last is not error:
                    raise  # not the function's error, so no failure is recorded
                if number > self._retries or isinstance(error, _NEVER) or not isinstance(error, self._retry_on):
                    self._blame(owner)
                    raise
            await self._pause(owner, number, step)
        raise AssertionError("unreachable: the last run returns or raises")

    async def _pause(self, owner: Durable, number: int, step: Step) -> None:
        pause_s = self._backoff.pause_s(number)
        # The jitter is the same in each run of the handler, and differs between steps.
        jitter = random.Random(f"{owner.lease.job_id} {step.key.branch} {self._what} {step.key.occurrence}").uniform(
            -1, 1
        )
        spread_s = pause_s * (1 + self._backoff.jitter * jitter)
        if pause_s > IN_PLACE_S and in_step.get() is None:
            with await owner.begin(f"retry {self._what}"[:200], "sleep") as waiting:
                await owner.wait(waiting, delay_s=spread_s)
        elif step.row is None:  # otherwise an earlier run has waited
            await asyncio.sleep(spread_s)

    def _blame(self, owner: Durable) -> None:
        """Attribute the earlier failures to the last error. If it ends the attempt, the next attempt starts with all retries."""
        last = self._failed[-1][1]
        known = owner.unrecorded.failures
        for step, error in self._failed[:-1]:
            found = next((failure for failure in known if failure.error is error), None)
            if found is not None:
                found.error = last
            elif step.row is not None and step.row.finished is not None:
                known.append(Failure(last, step, step.row.finished, recorded=True))


def refuse_ambiguous(function: Any, what: str, given: dict[str, Any]) -> None:
    """Raise an error if the function has a parameter with the name of a given option, because the call would be ambiguous."""
    try:
        taken = inspect.signature(function).parameters
    except (ValueError, TypeError):
        return
    for name, value in given.items():
        if value is not None and name in taken:
            raise InvalidArguments(
                f"call({what}, {name}=…) is ambiguous: {name} is an option of call and a parameter of {what}. To pass the parameter, write"
                f" call(functools.partial({what}, {name}=…), …). To set the option, write call(functools.partial({what}), …, {name}=…)"
            )


def _positive(timeout: float | str | timedelta, what: str) -> float:
    try:
        timeout_s = seconds(timeout, what=f"step {what}: timeout")
    except InvalidDefinition as error:
        raise InvalidArguments(str(error)) from None
    if timeout_s <= 0:
        raise InvalidArguments(f"step {what}: timeout must be more than 0, got {shown(timeout)}")
    return timeout_s
