"""The process that runs handlers with isolation="process": `python -m plait.worker.child FD PARENT`.

It has no connection to the database and reports to its worker alone, over one socket. Messages are JSON behind a length.
"""

import asyncio
import ctypes
import importlib
import importlib.util
import os
import signal
import struct
import sys
import threading
import time
from types import ModuleType
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from plait.model.errors import InvalidDefinition, NotDurable, TooLarge
from plait.model.states import Ending
from plait.runtime.logging import get_logger
from plait.sdk.context import Current, set_attempt
from plait.sdk.definition import Definition
from plait.sdk.job import Job
from plait.worker import outcomes
from plait.worker.outcomes import Finished

_PR_SET_PDEATHSIG = 1
_sending = threading.Lock()  # a handler may report progress from threads of its own


async def read_message(reader: asyncio.StreamReader) -> dict[str, Any]:
    try:
        (length,) = struct.unpack("!I", await reader.readexactly(4))
        message: dict[str, Any] = msgspec.json.decode(await reader.readexactly(length))
    except asyncio.IncompleteReadError:
        raise EOFError from None
    return message


async def write_message(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    body = msgspec.json.encode(message)
    writer.write(struct.pack("!I", len(body)) + body)
    await writer.drain()


def main() -> None:
    fd, parent = int(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    with os.fdopen(fd, "r+b", buffering=0) as channel:
        while True:
            head = _read_exactly(channel, 4)
            if head is None:
                return
            (length,) = struct.unpack("!I", head)
            body = _read_exactly(channel, length)
            if body is None:
                return
            finished = _handle(msgspec.json.decode(body), channel)
            _send(channel, {"ending": finished.ending, "result": finished.result, "detail": finished.detail})


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)  # it died before the death signal was set


def _read_exactly(channel: Any, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        part = channel.read(count - len(data))
        if not part:
            return None
        data += part
    return data


def _send(channel: Any, message: dict[str, Any]) -> None:
    body = msgspec.json.encode(message)
    data = memoryview(struct.pack("!I", len(body)) + body)
    with _sending:
        while data:
            data = data[channel.write(data) :]


def _handle(request: dict[str, Any], channel: Any) -> Finished:
    try:
        definition = _find(request)
        arguments = definition.codec.decode_payload(request["payload"])
        set_attempt(_Attempt(request, channel))
        _send(channel, {"started": True})
        value = definition.function(**arguments)
        if asyncio.iscoroutine(value):
            value = asyncio.run(value)
        try:
            return outcomes.succeeded(value, definition.codec)
        except TooLarge as large:
            return Finished(Ending.SUCCEEDED, large.text)  # the worker keeps it elsewhere
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the handler's outcome
        return outcomes.raised(error)


def _find(request: dict[str, Any]) -> Definition:
    target: Any = _module(request["module"], request["file"])
    for name in request["qualname"].split("."):
        target = getattr(target, name, None)
    if not isinstance(target, Job):
        raise InvalidDefinition(
            f"{request['module']}.{request['qualname']} is not a job in a new process: define it at the top of its module"
        )
    return target.definition


def _module(name: str, file: str | None) -> ModuleType:
    if name != "__main__":
        return importlib.import_module(name)
    # The worker was started by a script: load its file under another name, so that its main part does not run again.
    alias = "__plait_main__"
    if alias not in sys.modules:
        spec = importlib.util.spec_from_file_location(alias, file or "")
        if spec is None or spec.loader is None:
            raise InvalidDefinition("isolation='process' needs a job whose module is a file")
        sys.modules[alias] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[alias])
    return sys.modules[alias]


class _Attempt:
    def __init__(self, request: dict[str, Any], channel: Any) -> None:
        self._request = request
        self._channel = channel
        self._deadline = time.monotonic() + request["timeout_s"]

    def durable(self) -> NoReturn:
        raise NotDurable("a job with isolation='process' has no steps: call it from an `async def` job, by fan_out")

    def current(self) -> Current:
        request = self._request
        return Current(
            job_id=UUID(request["job_id"]),
            attempt=request["attempt"],
            tries=request["tries"],
            max_attempts=request["max_attempts"],
            tenant_id=UUID(request["tenant_id"]),
            definition=request["definition"],
            queue=request["queue"],
            correlation_id=request["correlation_id"],
            deadline=self._deadline,
            logger=get_logger("job").bind(
                job_id=request["job_id"], definition=request["definition"], attempt=request["attempt"]
            ),
            report=lambda progress: _send(self._channel, {"progress": progress}),
        )


if __name__ == "__main__":
    main()
