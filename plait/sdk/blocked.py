"""Whether a task waits only for other tasks of its handler: with `gather`, `wait`, `TaskGroup`, `as_completed`, `wait_for`, `shield`, or directly.

asyncio exposes only the future that a task awaits. Its combinators are recognised by the type of that future, by its callbacks, or by the asyncio coroutine
that awaits it. Anything else, such as a socket, a queue, an event or a timer, may wake the task at any time, so the task is not blocked.
"""

import asyncio
from asyncio import tasks as asyncio_tasks
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, Final

Mine = Callable[[Any], bool]
"""Whether an object is a task of the same handler."""


def _codes(*functions: Any) -> frozenset[CodeType]:
    return frozenset(function.__code__ for function in functions if function is not None)


_WAIT: Final = _codes(asyncio_tasks._wait)  # type: ignore[attr-defined]  # noqa: SLF001 - see above
_WAIT_FOR: Final = _codes(asyncio.wait_for)
_GROUP: Final = _codes(asyncio.TaskGroup.__aexit__, getattr(asyncio.TaskGroup, "_aexit", None))
_GATHERING: Final = asyncio_tasks._GatheringFuture  # type: ignore[attr-defined]  # noqa: SLF001 - see above
_SHIELD: Final = "shield.<locals>._outer_done_callback"


def is_blocked_by(task: "asyncio.Task[Any]", mine: Mine) -> bool:
    """Whether only other tasks of the handler can wake this one."""
    waits_for = task._fut_waiter  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no public API for this
    if waits_for is None or waits_for.done():
        return False
    if _stands_for(waits_for, mine):
        return True
    stack = [coroutine for coroutine in _stack(task.get_coro()) if hasattr(coroutine, "cr_code")]
    innermost = stack[-1] if stack else None
    if innermost is None or innermost.cr_frame is None:
        return False
    if innermost.cr_code in _GROUP:
        return True  # its tasks were created by this handler
    if innermost.cr_code in _WAIT:
        members = innermost.cr_frame.f_locals["fs"]
        return bool(members) and all(member.done() or _stands_for(member, mine) for member in members)
    if innermost.cr_code in _WAIT_FOR:  # up to Python 3.11; later versions await in the task itself
        return _stands_for(innermost.cr_frame.f_locals.get("fut"), mine)
    return len(stack) > 1 and _is_as_completed(stack[-2].cr_code)  # its members are tasks: it wraps coroutines


def _is_as_completed(code: CodeType) -> bool:
    return code.co_name == "_wait_for_one" and code.co_filename == asyncio_tasks.__file__


def _stands_for(future: Any, mine: Mine) -> bool:
    """Whether a future is a task of the handler, or wraps such tasks."""
    if mine(future):
        return True
    if isinstance(future, _GATHERING):
        return all(child.done() or _stands_for(child, mine) for child in future._children)  # noqa: SLF001 - see above
    return any(_stands_for(inner, mine) for inner in _shielded(future))


def _shielded(outer: Any) -> Iterator[Any]:
    for callback, *_ in getattr(outer, "_callbacks", None) or ():
        if getattr(callback, "__qualname__", "") == _SHIELD:
            names = callback.__code__.co_freevars
            for name, cell in zip(names, callback.__closure__ or (), strict=True):
                if name == "inner":
                    yield cell.cell_contents


def _stack(coroutine: Any) -> Iterator[Any]:
    """The coroutines that await each other, outermost first."""
    while coroutine is not None:
        yield coroutine
        coroutine = (
            getattr(coroutine, "cr_await", None)
            or getattr(coroutine, "ag_await", None)
            or getattr(coroutine, "gi_yieldfrom", None)
        )
