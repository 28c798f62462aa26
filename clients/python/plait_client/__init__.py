"""Client and worker for plait, over its HTTP API. Pure Python, nothing but the standard library.

client.py, aio.py   Plait and AsyncPlait: the same verbs, blocking and for asyncio
worker.py           Worker: claims jobs, runs handlers, reports
settings.py         what comes from the environment, checked
errors.py           what goes wrong, as types
outcomes.py         what a handler raises to decide what becomes of its job
types.py            made from the server's OpenAPI document
"""

from plait_client.aio import AsyncHandle, AsyncPlait
from plait_client.client import Handle, Plait
from plait_client.errors import (
    ChangedMeanwhile,
    Conflict,
    InvalidSettings,
    JobFailed,
    LeaseLost,
    NotAllowed,
    NotAvailable,
    NotFound,
    NotSignedIn,
    NotValid,
    PlaitError,
    Refused,
    TimedOut,
    TooLarge,
    TooMany,
    Unreachable,
)
from plait_client.execution import Context
from plait_client.ids import new_id
from plait_client.outcomes import PermanentError, RetryLater, Skip, Snooze, Stopped
from plait_client.settings import Settings, WorkerSettings
from plait_client.worker import Worker

__all__ = [
    "AsyncHandle", "AsyncPlait", "ChangedMeanwhile", "Conflict", "Context", "Handle", "InvalidSettings", "JobFailed", "LeaseLost",
    "NotAllowed", "NotAvailable", "NotFound", "NotSignedIn", "NotValid", "PermanentError", "Plait", "PlaitError", "Refused", "RetryLater",
    "Settings", "Skip", "Snooze", "Stopped", "TimedOut", "TooLarge", "TooMany", "Unreachable", "Worker", "WorkerSettings", "new_id",
]  # fmt: skip
