"""Commands as jobs: a definition whose handler starts a program and forwards its output while it runs."""

import asyncio
import contextlib
import inspect
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from plait.model.commands import Argument, Command
from plait.model.errors import CommandFailed, InvalidArguments, InvalidDefinition, InvalidPayload, PermanentError
from plait.model.parameters import Parameter
from plait.model.redaction import hide
from plait.model.schemas import check_schema, faults
from plait.model.texts import MARGIN, clean, message_of
from plait.runtime import warden
from plait.sdk.artifacts import is_reference
from plait.sdk.codec import Codec, encode
from plait.sdk.context import NoCurrentJob, current

TAIL: Final = 65_536
TELL_S: Final = 0.5
PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_SAMPLE: Final = {"job": {"id": "x", "attempt": 1}, "tenant": {"id": "x"}}


def command_of(
    key: str,
    executable: str | Path,
    argv: Sequence[Argument],
    schema: Mapping[str, Any] | None,
    env: Sequence[str],
    description: str,
) -> Command:
    """A command, validated where it is defined."""
    if isinstance(argv, str):
        raise InvalidDefinition(f"command {key}: argv must be a list of arguments, got a string")
    wanted = dict(schema or {"type": "object", "additionalProperties": False})
    check_schema(wanted)
    parts = tuple(part if isinstance(part, str | Parameter) else tuple(part) for part in argv)
    return Command(
        key=key, executable=str(executable), argv=parts, schema=wanted, env=tuple(env), description=description
    )


def commands_in(path: Path) -> list[dict[str, Any]]:
    """The commands of a TOML file: one table per command, named by the command's key."""
    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InvalidDefinition(f"{path}: {error}") from None
    allowed = {"executable", "argv", "schema", "env", "description", "queue", "timeout", "retries"}
    for key, table in tables.items():
        if not isinstance(table, dict) or "executable" not in table:
            raise InvalidDefinition(f"{path}: [{key}] has no executable")
        if unknown := table.keys() - allowed:
            raise InvalidDefinition(f"{path}: [{key}] has the unknown setting {min(unknown)!r}")
    return [{"key": key, **table} for key, table in tables.items()]


class CommandCodec(Codec):
    """A command's payload is any JSON object that fits its schema and can be rendered to arguments."""

    def __init__(self, command: Command, function: Callable[..., Any]) -> None:
        self._command = command
        self._function = function
        self._name = command.key
        self._signature = inspect.Signature()
        self._required: set[str] = set(command.schema.get("required", ()))

    def check(self, *, early: bool = False) -> None:
        pass

    @property
    def parameters(self) -> list[str]:
        return list(self._command.schema.get("properties", {}))

    def encode_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        text = self.payload(args, kwargs)
        self._check(json.loads(text))
        return text

    def payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if args:
            raise InvalidArguments(f"{self._name}: the arguments of a command must be given by name")
        return encode(kwargs, what=f"{self._name}: the arguments")

    def decode_call(self, payload: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(payload)
        self._check(found)
        return found

    def decode_payload(self, payload: str) -> dict[str, Any]:
        if is_reference(payload):  # a reference would fit many schemas
            raise InvalidPayload(f"{self._name}: the payload refers to an artifact that this job does not have")
        try:
            return {"payload": self.decode_call(payload)}
        except (InvalidArguments, ValueError, RecursionError) as error:
            raise InvalidPayload(message_of(error)) from None

    def encode_result(self, value: Any) -> str | None:
        return encode(value, what="the result")

    def decode_result(self, text: str | None) -> Any:
        return None if text is None else json.loads(text)

    def _check(self, payload: Any) -> None:
        if wrong := faults(self._command.schema, payload):
            raise InvalidArguments(f"{self._name}: {wrong}")
        self._command.arguments({"payload": payload, **_SAMPLE})


def handler_of(command: Command) -> Callable[..., Any]:
    async def run(payload: dict[str, Any]) -> dict[str, Any]:
        return await _Execution(command, payload).run()

    run.__name__ = run.__qualname__ = command.key
    run.__doc__ = command.description or None
    return run


class _Execution:
    """One run of a command, under a warden process."""

    def __init__(self, command: Command, payload: Mapping[str, Any]) -> None:
        self._job = current()
        job = {"id": str(self._job.job_id), "attempt": self._job.attempt}
        scope = {"payload": payload, "job": job, "tenant": {"id": str(self._job.tenant_id)}}
        try:
            self._argv = command.arguments(scope)
        except InvalidArguments as error:
            raise PermanentError(str(error)) from None
        self._env = {
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "PLAIT_JOB_ID": job["id"],
            "PLAIT_ATTEMPT": str(job["attempt"]),
            "PLAIT_TENANT_ID": str(self._job.tenant_id),
            **{name: os.environ[name] for name in command.env if name in os.environ},
        }
        self._tails = {"stdout": bytearray(), "stderr": bytearray()}
        self._news = False

    async def run(self) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", warden.__file__,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        ending = asyncio.ensure_future(self._follow(process))
        try:
            process.stdin.write(json.dumps({"argv": self._argv, "env": self._env}).encode() + b"\n")
            code = await asyncio.shield(ending)
        finally:
            process.stdin.close()  # the warden ends the remaining processes, and waits for them
            await asyncio.shield(ending)
        self._report()
        if code != 0:
            said = self._text("stderr").strip()[-1000:]
            raise CommandFailed(
                f"the command exited with code {code}" + (f": {said}" if said else ""), pid=process.pid, exit_code=code
            )
        return {"exit_code": 0, "stdout": self._text("stdout"), "stderr": self._text("stderr")}

    async def _follow(self, process: asyncio.subprocess.Process) -> int:
        """Read the output to its end; returns the exit code."""
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.TaskGroup() as group:
            telling = group.create_task(self._tell())
            reading = [
                group.create_task(self._read(process.stdout, "stdout")),
                group.create_task(self._read(process.stderr, "stderr")),
            ]
            await asyncio.wait(reading)
            code = await process.wait()
            telling.cancel()
        return code if code >= 0 else 128 - code  # the warden itself was killed

    async def _read(self, stream: asyncio.StreamReader, name: str) -> None:
        tail = self._tails[name]
        while chunk := await stream.read(TAIL):
            tail += chunk
            del tail[: -TAIL - MARGIN]
            self._news = True

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TELL_S)
            if self._news:
                self._report()

    def _report(self) -> None:
        self._news = False
        with contextlib.suppress(NoCurrentJob):  # the attempt was abandoned: remaining processes end anyway
            self._job.report({name: self._text(name) for name in self._tails})

    def _text(self, name: str) -> str:
        return clean(hide(self._tails[name].decode(errors="replace"))[-TAIL:], TAIL)
