"""plait: a durable, multi-tenant job system for Python on Postgres.

    from plait import Plait

    app = Plait()

    @app.job
    async def resize(path: str, width: int) -> str: ...

What is exported here is the interface; everything else may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.model.errors import (
        JobCanceled,
        JobDeadLettered,
        JobFailed,
        JobSkipped,
        PermanentError,
        PlaitError,
        RetryLater,
        Skip,
        Snooze,
    )
    from plait.model.policies import Backoff, Rate
    from plait.model.states import Status
    from plait.sdk.app import Plait
    from plait.sdk.context import Current, current
    from plait.sdk.handle import Handle
    from plait.sdk.job import Job

__version__ = "0.1.0"

_HOME = {
    "Backoff": "plait.model.policies",
    "Current": "plait.sdk.context",
    "Handle": "plait.sdk.handle",
    "Job": "plait.sdk.job",
    "JobCanceled": "plait.model.errors",
    "JobDeadLettered": "plait.model.errors",
    "JobFailed": "plait.model.errors",
    "JobSkipped": "plait.model.errors",
    "PermanentError": "plait.model.errors",
    "Plait": "plait.sdk.app",
    "PlaitError": "plait.model.errors",
    "Rate": "plait.model.policies",
    "RetryLater": "plait.model.errors",
    "Skip": "plait.model.errors",
    "Snooze": "plait.model.errors",
    "Status": "plait.model.states",
    "current": "plait.sdk.context",
}

__all__ = [
    "Backoff",
    "Current",
    "Handle",
    "Job",
    "JobCanceled",
    "JobDeadLettered",
    "JobFailed",
    "JobSkipped",
    "PermanentError",
    "Plait",
    "PlaitError",
    "Rate",
    "RetryLater",
    "Skip",
    "Snooze",
    "Status",
    "current",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the keeper of embedded Postgres imports this package too, and must stay small.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'plait' has no attribute {name!r}")
