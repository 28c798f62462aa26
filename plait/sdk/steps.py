"""Steps that run in the worker: `call`, `transaction`, `version`."""

import asyncio
import functools
import hashlib
import inspect
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, NoReturn, TypeVar, overload

from plait.model.errors import DeterminismError, InvalidArguments, NotSerializable, PermanentError, TooLarge
from plait.model.policies import Backoff
from plait.model.texts import is_storable, message_of, shown
from plait.sdk.active_step import Step
from plait.sdk.argument_checks import check_change_id
from plait.sdk.artifacts import is_reference
from plait.sdk.codec import Codec, ResultCodec, encode
from plait.sdk.definition import Definition
from plait.sdk.durable import Durable, durable
from plait.sdk.retrying import RetryOn, StepRetries, refuse_ambiguous
from plait.sdk.step_errors import MAX_ERROR, encode_error, rebuild_error
from plait.sdk.sub_jobs import Duration, Target
from plait.store.workflows import SAVE_STEPS, Checkpoint, step_columns
from plait.telemetry.tracing import span

R = TypeVar("R")

_codecs: "weakref.WeakKeyDictionary[Callable[..., Any], ResultCodec]" = weakref.WeakKeyDictionary()
_coroutines: "weakref.WeakKeyDictionary[Callable[..., Any], bool]" = weakref.WeakKeyDictionary()


@overload
async def call(
    function: Callable[..., Awaitable[R]],
    /,
    *args: Any,
    name: str | None = None,
    retries: int | None = None,
    backoff: Backoff | None = None,
    timeout: Duration | None = None,
    retry_on: RetryOn | None = None,
    **kwargs: Any,
) -> R: ...
@overload
async def call(
    function: Callable[..., R],
    /,
    *args: Any,
    name: str | None = None,
    retries: int | None = None,
    backoff: Backoff | None = None,
    timeout: Duration | None = None,
    retry_on: RetryOn | None = None,
    **kwargs: Any,
) -> R: ...
@overload
async def call(
    function: Target | str,
    /,
    *args: Any,
    name: str | None = None,
    retries: int | None = None,
    backoff: Backoff | None = None,
    timeout: Duration | None = None,
    retry_on: RetryOn | None = None,
    **kwargs: Any,
) -> Any: ...
async def call(
    function: Any,
    /,
    *args: Any,
    name: str | None = None,
    retries: int | None = None,
    backoff: Backoff | None = None,
    timeout: Duration | None = None,
    retry_on: RetryOn | None = None,
    **kwargs: Any,
) -> Any:
    """Run a function, or the handler of a job that is given itself or by its name, in this process. Checkpoint the result: on a replay it does not run again.

    An error that the handler catches is checkpointed too, and so is every PermanentError: a replay raises it again, with its type, message and
    arguments. After any other error, the step runs again in the job's next attempt. The result is decoded by its annotation, so the first run and a
    replay return the same value. `def` functions run in a thread.

    With `retries`, the step is retried within this attempt of the job when it raises one of `retry_on` (default: any Exception except outcomes such
    as PermanentError). `backoff` sets the delays. With `timeout`, a run that takes longer raises TimeoutError. If the function has a parameter with
    one of these names, pass it with `functools.partial(function, timeout=…)`.
    """
    owner, partial = durable(), isinstance(function, functools.partial)
    function, args, kwargs = _unwrapped(function, args, kwargs)
    run, definition = _resolve(owner, function)
    what = _name(name, definition.name if definition else getattr(run, "__name__", ""))
    codec = definition.codec if definition else _codec(run)
    asked = _Asked(owner, run, definition, codec, what, args, kwargs)
    if retries is None and backoff is None and timeout is None and retry_on is None:
        return await _once(asked, None)
    options: dict[str, Any] = {"retries": retries, "backoff": backoff, "timeout": timeout, "retry_on": retry_on}
    if not partial:
        refuse_ambiguous(run, what, options)
    step_retries = StepRetries(what, **options)
    return await step_retries.run(owner, lambda: _once(asked, step_retries))


class _Asked(NamedTuple):
    owner: Durable
    run: Callable[..., Any]
    definition: Definition | None
    codec: Codec | ResultCodec
    what: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


async def _once(asked: _Asked, retries: StepRetries | None) -> Any:
    owner, codec = asked.owner, asked.codec
    with await owner.begin(asked.what, "call") as step:
        step.check(_hash(asked.definition, asked.args, asked.kwargs))
        if step.row is not None:
            return await _replayed(owner, step, codec, retries)
        step.began = owner.loop.time()
        try:
            with span(f"step {asked.what}"):
                value = await (_run(asked) if retries is None else _run_within(asked, retries.timeout_s))
        except PermanentError as error:
            await _fail(owner, step, error)
        except Exception as error:  # noqa: BLE001 - any error reaches the handler in its turn
            if retries is not None:
                retries.failed(step, error)
            await owner.fail(step, error)
        try:
            text = stored = codec.encode_result(value)
        except TooLarge as large:
            text, stored = large.text, await _kept(owner, large)
        await owner.save(step, stored)
        return codec.decode_result(text)


async def _run(asked: _Asked) -> Any:
    if _is_coroutine_function(asked.run):
        return await asked.run(*asked.args, **asked.kwargs)
    value = await asyncio.to_thread(asked.run, *asked.args, **asked.kwargs)
    return await value if inspect.isawaitable(value) else value


async def _run_within(asked: _Asked, timeout_s: float | None) -> Any:
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            return await _run(asked)
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(f"step {asked.what!r} took longer than {timeout_s:g} s") from None
        raise


async def transaction(
    function: Callable[..., Awaitable[R]], /, *args: Any, name: str | None = None, **kwargs: Any
) -> R:
    """Run `await function(conn, …)` in a transaction of plait's own database. Its writes and the checkpoint commit together, so its effects happen
    exactly once, even after a crash. `conn` is an asyncpg connection."""
    inside, all_args, all_kwargs = _unwrapped(function, args, kwargs)
    if not callable(inside):
        raise InvalidArguments(f"function must be an `async def` function that takes a connection, got {shown(inside)}")
    owner = durable()
    codec = _codec(inside)
    with await owner.begin(_name(name, getattr(inside, "__name__", "")), "transaction") as step:
        step.check(_hash(None, all_args, all_kwargs))
        if step.row is not None:
            replayed: R = await _replayed(owner, step, codec)
            return replayed
        step.began = owner.loop.time()
        try:
            with span(f"step {step.key.name}"):
                text = await _run_in_transaction(owner, step, lambda conn: function(conn, *args, **kwargs), codec)
            await owner.delivery.delivered(step)
        except PermanentError as error:
            owner.delivery.withdraw(step)
            await _fail(owner, step, error)
        except Exception as error:  # noqa: BLE001 - as in `call`
            owner.delivery.withdraw(step)
            await owner.fail(step, error)
        except BaseException:
            owner.delivery.withdraw(step)
            raise
        decoded: R = codec.decode_result(text)
        return decoded


async def _run_in_transaction(
    owner: Durable, step: Step, function: Callable[[Any], Awaitable[Any]], codec: ResultCodec
) -> str | None:
    async with owner.store.database.lend() as conn:
        value = await function(conn)
        try:
            text = stored = codec.encode_result(value)
        except TooLarge as large:
            text, stored = large.text, await _kept(owner, large)
        step.ended(owner.loop.time())
        number = owner.delivery.reserve(step)
        checkpoint = Checkpoint(owner.lease, step.key, step.kind, number, step.hash, stored, None, step.took_s)
        # The fence is checked last, just before the commit: an attempt that has lost its lease writes nothing.
        within = owner.store.database.statement_s
        arguments = step_columns([checkpoint]).values()
        if await conn.fetchval(SAVE_STEPS, owner.lease.worker, *arguments, timeout=within):
            await owner.stop_for("stale")
    return text


async def version(change_id: str, latest: int = 1, *, earliest: int = 0) -> int:
    """The version of the code that a job uses, for code that has changed while jobs are running.

    A job that reaches this for the first time gets `latest`, and keeps it. A job that had passed this place before the change gets `earliest`:
    run the old code for it. Increase `earliest` when no such job is left.
    """
    check_change_id(change_id)
    if type(earliest) is not int or type(latest) is not int or not 0 <= earliest <= latest:
        raise InvalidArguments(
            "versions must be whole numbers of at least 0, and earliest must not be greater than latest, "
            f"got earliest {shown(earliest)}, latest {shown(latest)}"
        )
    owner = durable()
    if change_id not in owner.versions:
        name = f"version {change_id}"
        history, branch = await owner.load(), owner.branches.here().path
        if not history.has(branch, name) and history.left(branch):
            owner.versions[change_id] = earliest  # it passed this place in an earlier run, with the old code
        else:
            with await owner.begin(name, "version") as step:
                if step.row is None:
                    await owner.save(step, str(latest))
                owner.versions[change_id] = latest if step.row is None else int(step.row.value or 0)
    found = owner.versions[change_id]
    if not earliest <= found <= latest:
        raise DeterminismError(
            f"this job uses version {found} of {change_id!r}, but the code supports the versions {earliest} to {latest}. Run it with code"
            " that supports its version, or restart it without its checkpoints: plait jobs retry --drop-steps"
        )
    return found


def _unwrapped(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function inside a `functools.partial`, which has a name and annotations, and all its arguments."""
    while isinstance(function, functools.partial):
        function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
    return function, args, kwargs


def _resolve(owner: Durable, function: Any) -> tuple[Callable[..., Any], Definition | None]:
    if isinstance(function, str):
        definition = owner.definitions.get(function)
        if definition is None:
            raise InvalidArguments(
                f"this app has no job called {shown(function)}: call runs a job in this worker; use fan_out for jobs of other apps"
            )
        return definition.function, definition
    definition = getattr(function, "definition", None)
    if isinstance(definition, Definition):
        return definition.function, definition
    if not callable(function):
        raise InvalidArguments(f"call requires a function, a job or a job's name, got {shown(function)}")
    return function, None


def _name(given: object, own: str) -> str:
    name = own if given is None else given
    if name in ("", "<lambda>"):
        raise InvalidArguments("the step has no name: set one with name=…")
    if not (isinstance(name, str) and len(name) <= 200 and is_storable(name)):
        raise InvalidArguments(f"a step's name must be text of 1 to 200 characters, got {shown(name)}")
    return name


def _hash(definition: Definition | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """A hash of the arguments; None if they have no JSON form, such as a connection."""
    try:
        text = definition.codec.encode_call(args, kwargs) if definition else encode([args, kwargs], what="arguments")
    except NotSerializable:
        return None
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _codec(function: Callable[..., Any]) -> ResultCodec:
    try:
        found = _codecs.get(function)
        if found is None:
            found = _codecs[function] = ResultCodec(function, getattr(function, "__name__", "a step"))
    except TypeError:  # not weakly referenceable, or not hashable
        return ResultCodec(function, "a step")
    return found


def _is_coroutine_function(function: Callable[..., Any]) -> bool:
    try:
        found = _coroutines.get(function)
        if found is None:
            found = _coroutines[function] = inspect.iscoroutinefunction(function)
    except TypeError:  # as above
        return inspect.iscoroutinefunction(function)
    return found


async def _kept(owner: Durable, large: TooLarge) -> str:
    """Store a step's result that is too large for a row; returns the reference."""
    return await owner.artifacts.keep(large, job_id=owner.lease.job_id, tenant_id=owner.tenant_id, kind="step")


async def _replayed(owner: Durable, step: Step, codec: Codec | ResultCodec, retries: StepRetries | None = None) -> Any:
    assert step.row is not None
    text = step.row.value
    if step.row.error is not None:
        error = rebuild_error(text, step.row.error)
        if retries is not None:
            retries.failed(step, error)
        raise error
    if is_reference(text):
        text = await owner.artifacts.resolve(text, job_id=owner.lease.job_id, tenant_id=owner.tenant_id, kind="step")
    return codec.decode_result(text)


async def _fail(owner: Durable, step: Step, error: PermanentError) -> NoReturn:
    """Checkpoint a permanent error, and raise it as a replay does: with its type, message and arguments, without its other attributes."""
    text, message = encode_error(error), message_of(error, MAX_ERROR)
    await owner.save(step, text, message)
    rebuilt = rebuild_error(text, message)
    if type(rebuilt) is not type(error):
        raise rebuilt from error
    raise rebuilt.with_traceback(error.__traceback__) from error.__cause__
