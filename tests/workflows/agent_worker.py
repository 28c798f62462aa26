"""A worker process that runs an agent with two tools, and that tests kill: `python -m tests.workflows.agent_worker URL DIRECTORY`.

Each run of a tool appends a line to a file, which survives a kill.
"""

import asyncio
import sys
from pathlib import Path

from plait import Plait, call, wait_for_signal
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.worker import worker as worker_module
from plait.worker.worker import Worker

from ..restarting_workers import SETTINGS
from .program_worker import StoppedClock


def agent_app(target: str, directory: Path) -> Plait:
    app = Plait(target, settings=SETTINGS.model_copy(update={"lease": 3600}))

    async def look_up(question: str) -> str:
        _note(directory, "look_up")
        return f"{question}: found"

    async def ask(question: str) -> str:
        _note(directory, "ask")
        return f"asked: {question}"

    async def act(answer: str) -> str:
        _note(directory, "act")
        return f"acted on {answer}"

    @app.job(retries=0)
    async def agent(question: str) -> list[str]:
        async def person() -> str:
            asked = await call(ask, question)
            async with asyncio.timeout(7 * 86_400):
                answer = await wait_for_signal("answer", type=str)
            return f"{asked}, {await call(act, answer)}"

        async with asyncio.TaskGroup() as group:
            tools = [group.create_task(call(look_up, question)), group.create_task(person())]
        return [tool.result() for tool in tools]

    return app


def _note(directory: Path, tool: str) -> None:
    with (directory / "tools").open("a") as file:
        file.write(f"{tool}\n")


async def serve() -> int:
    configure(form="json")
    worker_module.Durables = StoppedClock  # type: ignore[attr-defined]
    app = agent_app(sys.argv[1], Path(sys.argv[2]))
    stop = Stop()
    with Signals(stop) as signals:
        await run_services([Worker(app, concurrency=10)], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
