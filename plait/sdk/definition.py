"""A job definition, as declared in code."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import msgspec

from plait.model.commands import Command
from plait.model.durations import seconds
from plait.model.errors import InvalidDefinition, InvalidSchema
from plait.model.policies import QUEUE_NAME, Backoff, ChildMode, Children, Limits, NodePolicy, OnChildFailure, Rate
from plait.model.redaction import fields
from plait.model.schemas import check_schema
from plait.model.texts import is_text, shown
from plait.sdk.codec import Codec
from plait.sdk.payload_schemas import payload_schema

Isolation = Literal["loop", "thread", "process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A job definition. `isolation` is where the handler runs: on the event loop (async def), in a thread (def), or in a process that can be killed."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    codec: Codec = field(repr=False)
    isolation: Isolation
    queue: str
    priority: int
    max_attempts: int
    retries: int | None
    """The `retries` option; None if it is not set. A sub-job then inherits its parent's retries."""
    timeout_s: float
    backoff: Backoff
    limits: Limits
    limit_key: str | Callable[..., str] | None
    children: Children
    command: Command | None = field(default=None, repr=False)
    """The command that the job runs; None if its handler is a function."""
    nodes: NodePolicy | None = None
    """The policy of a node job."""
    connector: bool = False
    """Whether this is the definition of one of plait's connectors."""
    search_keys: tuple[str, ...] | None = None
    """Payload keys and paths that jobs can be searched by; None if the code does not set them."""
    sensitive: tuple[str, ...] | None = None
    """Fields that are hidden from viewers and operators, given by name or by the end of their path."""
    cancel_grace_s: float | None = None
    """How long its handlers may clean up after a cancellation. None: they end immediately."""
    deadline_s: float | None = None
    """The deadline of the whole job, including waits and retries; None: no deadline."""
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    """The JSON Schema of its payloads, as given; None: derived from the annotations."""
    defaults: str = field(init=False, repr=False, default="")
    """The settings, as JSON, that an enqueue uses until a worker has registered the definition."""

    def __post_init__(self) -> None:
        said = {"queue": self.queue, "priority": self.priority, "max_attempts": self.max_attempts}
        object.__setattr__(self, "defaults", msgspec.json.encode(said).decode())

    def row(self) -> dict[str, Any]:
        """The definition as a row for `plait.define`. Raises InvalidDefinition if this process could not decode its payloads."""
        self.codec.check()
        limits = self.limits
        return {
            "name": self.name,
            "kind": self._kind,
            "schema": self.payload_schema(),
            "description": self.command.description if self.command else self._about,
            "queue": self.queue,
            "priority": self.priority,
            "max_attempts": None if self.retries is None else self.max_attempts,
            "timeout_s": self.timeout_s,
            "backoff_base_s": seconds(self.backoff.base),
            "backoff_factor": self.backoff.factor,
            "backoff_max_s": seconds(self.backoff.max),
            "backoff_jitter": self.backoff.jitter,
            "max_running": limits.max_running,
            "rate_count": limits.rate and limits.rate.count,
            "rate_period_s": limits.rate and seconds(limits.rate.period),
            "key_max_running": limits.key_max_running,
            "key_rate_count": limits.key_rate and limits.key_rate.count,
            "key_rate_period_s": limits.key_rate and seconds(limits.key_rate.period),
            "child_mode": self.children.mode,
            "on_child_failure": self.children.on_failure,
            "allow_nested": self.children.allow_nested,
            "cancel_on_parent_failure": self.children.cancel_on_parent_failure,
            "search_keys": self.search_keys,
            "sensitive": self.sensitive,
            "cancel_grace_s": self.cancel_grace_s,
            "deadline_s": self.deadline_s,
            **(_node_row(self.nodes) if self.nodes else {}),
        }

    def payload_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of its payloads: a command's, the given one, or the one of the annotations. None: any payload."""
        if self.command:
            return self.command.schema
        if self.schema is not None:
            return self.schema
        return payload_schema(self.codec.fields, self.codec.required, fields(self.sensitive or ()))

    @property
    def _kind(self) -> str:
        if self.command:
            return "command"
        return "node" if self.nodes else "connector" if self.connector else "function"

    @property
    def _about(self) -> str | None:
        """The description of a connector: its docstring."""
        return " ".join((self.function.__doc__ or "").split()) if self.connector else None

    def limit_key_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The limit key of a call: the value of an argument, or the result of the `key` function."""
        if self.limit_key is None:
            return None
        key = (
            self.limit_key(*args, **kwargs)
            if callable(self.limit_key)
            else self.codec.argument(args, kwargs, self.limit_key)
        )
        return None if key is None else str(key)


def _node_row(nodes: NodePolicy) -> dict[str, Any]:
    return {
        "on_node": nodes.on_node,
        "on_leader": nodes.on_leader,
        "quorum": str(nodes.quorum),
        "quorum_timeout_s": seconds(nodes.quorum_timeout),
        "on_timeout": nodes.on_timeout,
        "on_node_failure": nodes.on_node_failure,
    }


class JobOptions(TypedDict, total=False):
    """The options of `@app.job(…)`."""

    name: str | None
    """Name of the definition. Default: the function's name."""
    queue: str
    """Queue of its jobs. Default: `"default"`."""
    priority: int
    """Lower runs first. Default: 100."""
    retries: int | None
    """n retries allow n + 1 attempts. Default: 4; for a sub-job, its parent's value."""
    timeout: float | str
    """Time limit of one attempt. It restarts after a durable wait. Default: one hour."""
    backoff: Backoff | None
    """Exponential backoff between attempts. Default: `Backoff()`."""
    max_running: int | None
    """Concurrency limit over all workers. Default: none."""
    rate: Rate | None
    """Rate limit over all workers. Default: none."""
    key: str | Callable[..., str] | None
    """The limit key for the per-key limits (`key_…`): the name of an argument, or a function that takes the arguments and returns the key."""
    key_max_running: int | None
    """Concurrency limit of each limit key. Default: none."""
    key_rate: Rate | None
    """Rate limit of each limit key. Default: none."""
    isolation: Literal["process"] | None
    """`"process"` runs the handler in a separate process, which a timeout can kill. Default: on the event loop (`async def`) or in a thread."""
    child_mode: ChildMode
    """How spawned children run: `"concurrent"`, or `"serial"` (one at a time). Default: `"concurrent"`."""
    on_child_failure: OnChildFailure
    """After a child fails, `"continue"` runs the other children, and `"stop"` cancels those that have not started. Default: `"continue"`."""
    allow_nested: bool
    """Whether its children may spawn children. Default: True."""
    cancel_on_parent_failure: bool
    """Whether running children are also canceled when the job fails. Default: False."""
    search_keys: Sequence[str] | None
    """Arguments, or paths within arguments, to index for searches."""
    sensitive: Sequence[str] | None
    """Fields that are hidden from viewers and operators."""
    schema: Mapping[str, Any] | None
    """JSON Schema of its payloads, for the API, triggers and workers. Default: derived from the annotations."""
    deadline: float | str | None
    """Time limit of the whole job, including waits and retries. Default: none."""
    cancel_grace: float | str | None
    """A canceled handler receives CancelledError and may clean up for this long. Default: it ends immediately."""


def define(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    queue: str = "default",
    priority: int = 100,
    retries: int | None = None,
    timeout: float | str = 3600,
    backoff: Backoff | None = None,
    max_running: int | None = None,
    rate: Rate | None = None,
    key: str | Callable[..., str] | None = None,
    key_max_running: int | None = None,
    key_rate: Rate | None = None,
    isolation: Literal["process"] | None = None,
    child_mode: ChildMode = "concurrent",
    on_child_failure: OnChildFailure = "continue",
    allow_nested: bool = True,
    cancel_on_parent_failure: bool = False,
    search_keys: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    cancel_grace: float | str | None = None,
    deadline: float | str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Definition:
    """Validate the options of a decorator, and build a definition."""
    if name is not None and not is_text(name, most=1_000_000):
        raise InvalidDefinition(f"name must be text of 1 to 200 characters, got {shown(name)}")
    name = str(name or getattr(function, "__name__", ""))
    if not inspect.isroutine(function):
        raise InvalidDefinition(f"a job must be a function, got {function!r}")
    if name in ("", "<lambda>"):
        raise InvalidDefinition("the function has no name: set one with @app.job(name=…)")
    if len(name) > 200 or name != name.strip() or not name.isprintable():
        raise InvalidDefinition(f"a job's name must be 1 to 200 printable characters, got {shown(name)}")
    if not is_text(queue, most=100) or not QUEUE_NAME.fullmatch(queue):
        raise InvalidDefinition(f"job {name}: queue must be 1 to 100 letters, digits and _ . : -, got {shown(queue)}")
    if type(priority) is not int or not -32768 <= priority <= 32767:
        raise InvalidDefinition(
            f"job {name}: priority must be a whole number between -32768 and 32767, got {shown(priority)}"
        )
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise InvalidDefinition(f"job {name}: a job cannot be a generator function")
    if isolation == "process" and "<locals>" in function.__qualname__:
        raise InvalidDefinition(
            f"job {name}: isolation='process' requires a function at module level, so that another process can import it"
        )
    if retries is not None and (type(retries) is not int or not 0 <= retries <= 9999):
        raise InvalidDefinition(f"job {name}: retries must be a whole number between 0 and 9999, got {shown(retries)}")
    timeout_s = seconds(timeout, what=f"job {name}: timeout")
    if timeout_s <= 0:
        raise InvalidDefinition(f"job {name}: timeout must be more than 0, got {shown(timeout)}")
    deadline_s = None if deadline is None else seconds(deadline, what=f"job {name}: deadline")
    if deadline_s == 0:
        raise InvalidDefinition(f"job {name}: deadline must be more than 0, got {shown(deadline)}")
    if backoff is not None and not isinstance(backoff, Backoff):
        example = f"base={backoff!r}" if isinstance(backoff, str) and len(backoff) < 20 else "base='1s'"
        raise InvalidDefinition(
            f"job {name}: backoff must be a Backoff, such as Backoff({example}), got {shown(backoff)}"
        )
    cancel_grace_s = None if cancel_grace is None else seconds(cancel_grace, what=f"job {name}: cancel_grace")
    if cancel_grace_s is not None and cancel_grace_s <= 0:
        raise InvalidDefinition(f"job {name}: cancel_grace must be more than 0, got {shown(cancel_grace)}")
    if cancel_grace_s is not None and isolation:
        raise InvalidDefinition(f"job {name}: cancel_grace is not supported with isolation={shown(isolation)}")
    if cancel_grace_s is not None and not inspect.iscoroutinefunction(function):
        raise InvalidDefinition(f"job {name}: cancel_grace requires an `async def` function, got a `def` function")
    codec = Codec(function, name)
    codec.check(early=True)
    limits = Limits(max_running=max_running, rate=rate, key_max_running=key_max_running, key_rate=key_rate)
    if key is not None and not isinstance(key, str) and not callable(key):
        raise InvalidDefinition(
            f"job {name}: key must be the name of a parameter, or a function that takes the arguments and returns the key, got {shown(key)}"
        )
    if isinstance(key, str) and key not in codec.parameters:
        raise InvalidDefinition(f"job {name}: key must name a parameter of the function, got {key!r}")
    if key is None and (limits.key_max_running is not None or limits.key_rate is not None):
        raise InvalidDefinition(f"job {name}: key_max_running and key_rate require key=…")
    if isolation is not None and isolation != "process":
        raise InvalidDefinition(f"job {name}: isolation must be 'process' or omitted, got {isolation!r}")
    return Definition(
        name=name,
        function=function,
        codec=codec,
        isolation=isolation or ("loop" if inspect.iscoroutinefunction(function) else "thread"),
        queue=queue,
        priority=priority,
        max_attempts=5 if retries is None else retries + 1,
        retries=retries,
        timeout_s=timeout_s,
        backoff=backoff or Backoff(),
        limits=limits,
        limit_key=key,
        children=Children(
            mode=child_mode,
            on_failure=on_child_failure,
            allow_nested=allow_nested,
            cancel_on_parent_failure=cancel_on_parent_failure,
        ),
        search_keys=_checked_keys(name, codec, search_keys),
        sensitive=_checked_fields(name, sensitive),
        cancel_grace_s=cancel_grace_s,
        deadline_s=deadline_s,
        schema=_checked_schema(name, schema),
    )


def _checked_schema(name: str, given: Any) -> Mapping[str, Any] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidDefinition(f"job {name}: schema must be a JSON Schema as a mapping, got {shown(given)}")
    try:
        check_schema(given)
    except InvalidSchema as error:
        raise InvalidDefinition(f"job {name}: {error}") from None
    return dict(given)


def _checked_fields(name: str, given: Sequence[Any] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if (
        not isinstance(given, list | tuple)
        or len(given) > 50
        or not all(isinstance(one, str) and 1 <= len(one) <= 200 for one in given)
    ):
        raise InvalidDefinition(
            f"job {name}: sensitive must be a list of at most 50 field names or paths, got {shown(given)}"
        )
    return tuple(given)


def _checked_keys(name: str, codec: Codec, keys: Sequence[str] | None) -> tuple[str, ...] | None:
    if keys is None:
        return None
    if (
        not isinstance(keys, list | tuple | set | frozenset)
        or not all(isinstance(key, str) for key in keys)
        or len(keys) > 10
        or len(repr(keys).encode()) > 1000
    ):
        raise InvalidDefinition(
            f"job {name}: search_keys must be a list of at most ten parameter names, or paths in them, got {shown(keys)}"
        )
    for key in keys:
        if key.split(".")[0] not in codec.parameters:
            raise InvalidDefinition(
                f"job {name}: each search key must begin with the name of a parameter, got {shown(key)}"
            )
    return tuple(keys)
