"""Random programs of steps, waits and asyncio's combinators, and their results in plain asyncio as the oracle.

A program is JSON, so that it can be a job's payload. The waits of a program last different powers of two seconds, so no two sums of them are equal: two waits
never end at the same time by chance, and programs that start together share few event times. Signals are the exception: several can exist when their waits
begin. They reach the handler one at a time. If a signal cancels another wait, the signal of that wait is left for a later wait.
"""

import asyncio
import random
import selectors
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

Program = list[Any]
"""The name of a combinator or an operation, and its parts."""


class Operations(Protocol):
    async def step(self, name: str) -> str: ...
    async def fails(self, name: str) -> str: ...
    async def sleep(self, seconds: float) -> None: ...
    async def signal(self, name: str) -> Any: ...
    async def fan_out(self, values: list[int]) -> list[int]: ...


class Maker:
    """Generates one program from a seed."""

    def __init__(self, seed: int, waits: int = 6) -> None:
        self._random = random.Random(seed)
        self._waits = [2**n for n in range(waits)]
        self._random.shuffle(self._waits)
        self._names = 0
        self.signals: list[tuple[str, int]] = []
        """The name of each signal, and when it is sent, in seconds after the start. Its payload is `payload_of`."""
        self.program = self._then() if self._random.random() < 0.2 else self._node(4)

    def _then(self) -> Program:
        """Two runs of one job: the first ends with `continue_as_new`."""
        return ["then", self._node(3), self._node(3)]

    def _name(self) -> str:
        self._names += 1
        return f"n{self._names}"

    def _node(self, depth: int) -> Program:
        leaf = [
            *(self._step, self._step, self._sleep, self._signal, self._fan_out, self._fails),
            *(self._either, self._patient, self._twice),
        ]
        inner = [
            self._seq,
            self._seq,
            self._gather,
            self._group,
            self._race,
            self._as_completed,
            self._timeout,
            self._shield,
            self._finally,
            self._left,
        ]
        return self._random.choice(inner if depth > 2 or (depth and self._random.random() < 0.6) else leaf)(depth - 1)

    def _some(self, depth: int, least: int = 1) -> list[Program]:
        return [self._node(depth) for _ in range(self._random.randint(least, 3))]

    def _step(self, _: int) -> Program:
        return ["step", self._name()]

    def _fails(self, _: int) -> Program:
        return ["caught", self._name()]

    def _sleep(self, _: int) -> Program:
        return ["sleep", self._waits.pop()] if self._waits else self._step(0)

    def _signal(self, _: int) -> Program:
        if not self._waits:
            return self._step(0)
        return ["signal", self._sent(1)]

    def _sent(self, times: int) -> str:
        """The name of a signal that is sent this many times."""
        name = self._name()
        self.signals += [(name, self._waits.pop()) for _ in range(times)]
        return name

    def _either(self, _: int) -> Program:
        """The first of two signals, then the other one."""
        return ["either", self._sent(1), self._sent(1)] if len(self._waits) > 1 else self._step(0)

    def _patient(self, _: int) -> Program:
        """Wait for a signal with a time limit, then without."""
        return ["patient", self._waits.pop(), self._sent(1)] if len(self._waits) > 1 else self._step(0)

    def _twice(self, _: int) -> Program:
        return ["twice", self._sent(2)] if len(self._waits) > 1 else self._step(0)

    def _fan_out(self, _: int) -> Program:
        return ["fan_out", [self._random.randint(0, 9) for _ in range(self._random.randint(1, 3))]]

    def _seq(self, depth: int) -> Program:
        return ["seq", *self._some(depth, 2)]

    def _gather(self, depth: int) -> Program:
        return ["gather", *self._some(depth, 2)]

    def _group(self, depth: int) -> Program:
        return ["group", *self._some(depth, 2)]

    def _racing(self, depth: int) -> list[Program]:
        """Programs that each begin with a different sleep, so that the winner does not depend on speed."""
        first = [self._waits.pop() for _ in range(min(len(self._waits), self._random.randint(2, 3)))]
        return [["seq", ["sleep", seconds], self._node(depth)] for seconds in first]

    def _race(self, depth: int) -> Program:
        racing = self._racing(depth)
        return ["race", *racing] if len(racing) > 1 else self._step(0)

    def _as_completed(self, depth: int) -> Program:
        racing = self._racing(depth)
        return ["as_completed", *racing] if len(racing) > 1 else self._step(0)

    def _timeout(self, depth: int) -> Program:
        if not self._waits:
            return self._step(0)
        return [self._random.choice(["timeout", "wait_for"]), self._waits.pop(), self._node(depth)]

    def _shield(self, depth: int) -> Program:
        return ["shield", self._node(depth)]

    def _finally(self, depth: int) -> Program:
        return ["finally", self._node(depth), ["step", self._name()]]

    def _left(self, depth: int) -> Program:
        """A task that is started, and ends or is abandoned."""
        if not self._waits:
            return self._step(0)
        first = ["sleep", self._waits.pop()]
        return ["left", self._node(depth), ["seq", first, self._node(depth)]]


def payload_of(name: str, at: int) -> str:
    return f"{name} at {at}"


async def run_job(program: Program, ops: Operations, restart: Callable[[Program], Awaitable[Any]]) -> Any:
    """Run a program. If it has two runs, execute the first and pass the second to `restart`."""
    if program[0] != "then":
        return await run(program, ops)
    await run(program[1], ops)
    return await restart(program[2])


async def run(program: Program, ops: Operations) -> Any:
    kind, *parts = program
    match kind:
        case "step":
            return await ops.step(parts[0])
        case "caught":
            try:
                return await ops.fails(parts[0])
            except LookupError as error:
                return f"caught {error.args[0]}"
        case "sleep":
            await ops.sleep(parts[0])
            return None
        case "signal":
            return await ops.signal(parts[0])
        case "either":
            waiting = {asyncio.create_task(ops.signal(name)): name for name in parts}
            done, losers = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in losers:
                task.cancel()
            await asyncio.gather(*losers, return_exceptions=True)
            return [task.result() for task in done] + [await ops.signal(waiting[task]) for task in losers]
        case "patient":
            try:
                async with asyncio.timeout(parts[0]):
                    return await ops.signal(parts[1])
            except TimeoutError:
                return ["late", await ops.signal(parts[1])]
        case "twice":
            return list(await asyncio.gather(ops.signal(parts[0]), ops.signal(parts[0])))
        case "fan_out":
            return await ops.fan_out(parts[0])
        case "seq":
            return [await run(part, ops) for part in parts]
        case "gather":
            return list(await asyncio.gather(*(run(part, ops) for part in parts)))
        case "group":
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(run(part, ops)) for part in parts]
            return [task.result() for task in tasks]
        case "race":
            tasks = [asyncio.create_task(run(part, ops)) for part in parts]
            done, losers = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in losers:
                task.cancel()
            ends = await asyncio.gather(*losers, return_exceptions=True)
            return [[tasks.index(task), task.result()] for task in done] + [
                sum(isinstance(end, asyncio.CancelledError) for end in ends)
            ]
        case "as_completed":
            return [await one for one in asyncio.as_completed([run(part, ops) for part in parts])]
        case "timeout":
            try:
                async with asyncio.timeout(parts[0]):
                    return await run(parts[1], ops)
            except TimeoutError:
                return "timed out"
        case "wait_for":
            try:
                return await asyncio.wait_for(run(parts[1], ops), parts[0])
            except TimeoutError:
                return "timed out"
        case "shield":
            return await asyncio.shield(run(parts[0], ops))
        case "finally":
            try:
                return await run(parts[0], ops)
            finally:
                await run(parts[1], ops)
        case "left":
            task = asyncio.create_task(run(parts[0], ops))
            result = await run(parts[1], ops)
            return [result, await task if task.done() else "left"]
        case _:
            raise AssertionError(kind)


class _Selector(selectors.DefaultSelector):
    """Advances the clock instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0)


class _Fakes:
    """The operations without durability."""

    def __init__(self, signals: list[tuple[str, int]]) -> None:
        self._loop = asyncio.get_running_loop()
        self.ran: Counter[str] = Counter()
        self._unread: list[tuple[str, str]] = []
        self._waiting: list[tuple[str, asyncio.Future[str]]] = []
        for name, at in signals:
            self._loop.call_later(at, self._send, name, payload_of(name, at))
        self._handing_out = False
        self.over = False

    def _send(self, name: str, payload: str) -> None:
        self._unread.append((name, payload))
        self._hand_out_later()

    def _hand_out_later(self) -> None:
        if not self._handing_out:
            self._handing_out = True
            self._loop.call_later(1e-6, self._hand_out)

    def _hand_out(self) -> None:
        """Deliver one signal to its first waiter. Deliver the next signal after all effects of this one."""
        self._handing_out = False
        self._waiting = [(name, future) for name, future in self._waiting if not future.done()]
        for name, future in self._waiting:
            for signal in self._unread:
                if signal[0] == name:
                    self._unread.remove(signal)
                    future.set_result(signal[1])
                    self._hand_out_later()
                    return

    async def _now(self, name: str) -> None:
        if self.over:
            raise asyncio.CancelledError
        self.ran[name] += 1
        await asyncio.sleep(0)

    async def step(self, name: str) -> str:
        await self._now(name)
        return name

    async def fails(self, name: str) -> str:
        await self._now(name)
        raise LookupError(name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def signal(self, name: str) -> Any:
        future: asyncio.Future[str] = self._loop.create_future()
        self._waiting.append((name, future))
        self._hand_out_later()
        return await future

    async def fan_out(self, values: list[int]) -> list[int]:
        await asyncio.sleep(1e-6)
        return values


def by_asyncio(program: Program, signals: list[tuple[str, int]]) -> tuple[Any, Counter[str]]:
    """The program's result, and how often each step ran."""
    selector = _Selector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    made: list[_Fakes] = []

    async def main() -> Any:
        made.append(fakes := _Fakes(signals))

        async def restart(rest: Program) -> Any:
            fakes.over = True
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            fakes.over = False
            return await run(rest, fakes)

        try:
            return await run_job(program, fakes, restart)
        finally:
            fakes.over = True

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        result = runner.run(main())
    return result, made[0].ran


Handler = Callable[[Program], Awaitable[Any]]
