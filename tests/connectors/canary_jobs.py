"""Handlers that leak the worker's secret in many ways."""

import os
import subprocess
import sys

from plait import PermanentError, Plait, RetryLater, Skip, Snooze, current
from plait.model.errors import PlaitError
from plait.runtime.logging import get_logger

app = Plait()


def secret() -> str:
    return os.environ["PLAIT_SECRET_CANARY"]


@app.job(retries=0)
async def leak(how: str) -> object:
    value = secret()
    match how:
        case "result":
            return {"a": [value, f"prefix {value} suffix"], value: 1}
        case "error":
            raise ValueError(f"login with {value} failed")
        case "permanent":
            raise PermanentError(value)
        case "later":
            raise RetryLater(1, value)
        case "snooze":
            raise Snooze(1, value)
        case "skip":
            raise Skip(value)
        case "ours":
            raise PlaitError(value)
        case "cause":
            raise ValueError("outer") from KeyError(value)
        case "long":
            raise ValueError("x" * 1_990 + value + "y" * 100_000)
        case "progress":
            current().progress(1, 2, f"using {value}")
            current().info(key=value)
            return None
        case "log":
            get_logger("test").warning("secret", value=value, nested={"a": [value]}, event_text=f"{value}")
            current().logger.error(f"with {value}", error=ValueError(value))
            return None
        case "command":
            await_output = subprocess.run([sys.executable, "-c", f"print({value!r})"], capture_output=True, text=True)
            raise RuntimeError(await_output.stdout)
        case _:
            raise AssertionError(how)


@app.job(isolation="process", retries=0)
def leak_in_process(how: str) -> str:
    if how == "error":
        raise ValueError(secret())
    current().progress(message=secret())
    return secret()


@app.job(retries=0)
def leak_in_thread() -> str:
    raise ValueError(secret())


HOWS = (
    "result",
    "error",
    "permanent",
    "later",
    "snooze",
    "skip",
    "ours",
    "cause",
    "long",
    "progress",
    "log",
    "command",
)
