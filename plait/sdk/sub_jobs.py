"""Sub-jobs, as they are requested and as the database stores them.

Each option of a sub-job comes from the first of these that sets it: the sub-job itself, the fan-out, the job's own options. If none does, the
database chooses it as for any job, except that the retries default to the parent's.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from plait.model.errors import InvalidArguments
from plait.model.ids import new_id
from plait.model.texts import is_storable, is_text, shown
from plait.sdk.codec import encode
from plait.sdk.definition import Definition
from plait.sdk.durable import Durable
from plait.sdk.options import Options, nearest, nearest_attempts, nearest_seconds, unsupported_option
from plait.store.new_jobs import NewJob

_SUPPORTED = ("queue", "priority", "retries", "timeout", "limit_key")

Duration = float | str | timedelta

_NONE = Options()
"""Most sub-jobs have no options of their own and share this object."""


class Target(Protocol):
    """The part of a job that a sub-job uses."""

    definition: Definition

    @property
    def given(self) -> Options: ...


@dataclass(frozen=True, slots=True)
class Sub:
    """A sub-job to run; created by `sub()`."""

    job: Target | str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: Options


def sub(
    job: Target | str,
    /,
    *args: Any,
    queue: str | None = None,
    priority: int | None = None,
    retries: int | None = None,
    timeout: Duration | None = None,
    **kwargs: Any,
) -> Sub:
    """A sub-job for `fan_out`, given as a job or its name, with these arguments and options. If a parameter of the job has the same name as an
    option, pass it by position."""
    check_job(job)
    options = _NONE
    if not (queue is None and priority is None and retries is None and timeout is None):
        options = Options(queue=queue, priority=priority, retries=retries, timeout=timeout)
    return Sub(job, args, kwargs, options)


class SubKind:
    """The common part of all sub-jobs that have the same job and options. Usually one fan-out has one such part."""

    def __init__(self, owner: Durable, asked: Sub, given: Options) -> None:
        self._asked = asked
        self.name, definition, said = resolved(owner, asked.job)
        if (option := unsupported_option(said, _SUPPORTED)) is not None:
            raise InvalidArguments(f"{self.name}: sub-jobs do not support the option {option}")
        options = (asked.options, given, said)
        self._definition = definition
        self._queue, self._priority = nearest("queue", *options), nearest("priority", *options)
        self._max_attempts = nearest_attempts(*options)
        self._timeout_s = nearest_seconds("timeout", *options)
        self._limit_key = said.limit_key

    def payload(self, asked: Sub, *, check: bool) -> str:
        """The payload of a sub-job. `check`: check the arguments against the job's signature, unless an earlier run did."""
        if self._definition is not None:
            codec = self._definition.codec
            return codec.encode_call(asked.args, asked.kwargs) if check else codec.payload(asked.args, asked.kwargs)
        if asked.args:
            raise InvalidArguments(f"{self.name} is not a job of this app: pass its arguments by name")
        return encode(asked.kwargs, what=f"{self.name}: the arguments")

    def child(self, asked: Sub, payload: str) -> NewJob:
        limit_key = self._limit_key
        if limit_key is None and self._definition is not None:
            limit_key = self._definition.limit_key_of(asked.args, asked.kwargs)
        return NewJob(
            id=new_id(),
            definition=self.name,
            payload=payload,
            queue=self._queue,
            priority=self._priority,
            max_attempts=self._max_attempts,
            timeout_s=self._timeout_s,
            limit_key=limit_key,
        )


def resolved(owner: Durable, job: Target | str) -> tuple[str, Definition | None, Options]:
    """The name of a job, its definition if this app has it, and its own options."""
    check_job(job)
    if isinstance(job, str):
        return job, owner.definitions.get(job), _NONE
    return job.definition.name, job.definition, job.given


def check_job(job: object) -> None:
    if isinstance(job, str):
        if not (is_text(job, most=200) and is_storable(job)):
            raise InvalidArguments(
                f"a job's name must be text of 1 to 200 characters without NUL or surrogate characters, got {shown(job)}"
            )
    elif not isinstance(getattr(job, "definition", None), Definition):
        raise InvalidArguments(f"job must be a job or its name, got {shown(job)}")
