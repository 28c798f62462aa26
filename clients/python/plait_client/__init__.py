"""Client and worker for plait, over its HTTP API. Pure Python, standard library only.

client.py, aio.py   Plait and AsyncPlait: the same methods, for blocking code and for asyncio
worker.py           Worker: claims jobs, runs handlers, reports outcomes
settings.py         settings from arguments and the environment
errors.py           exceptions
outcomes.py         exceptions that a handler raises to retry, snooze, skip or fail its job
types.py            generated from the server's OpenAPI document
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
