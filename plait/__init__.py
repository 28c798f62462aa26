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
        DatabaseUnreachable,
        IdempotencyConflict,
        InvalidArguments,
        InvalidJob,
        JobCanceled,
        JobDeadLettered,
        JobFailed,
        JobSkipped,
        NotFound,
        NotSerializable,
        PermanentError,
        PlaitError,
        QuotaExceeded,
        RetryLater,
        Skip,
        Snooze,
        UnknownTenant,
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
    "DatabaseUnreachable": "plait.model.errors",
    "Handle": "plait.sdk.handle",
    "IdempotencyConflict": "plait.model.errors",
    "InvalidArguments": "plait.model.errors",
    "InvalidJob": "plait.model.errors",
    "Job": "plait.sdk.job",
    "JobCanceled": "plait.model.errors",
    "JobDeadLettered": "plait.model.errors",
    "JobFailed": "plait.model.errors",
    "JobSkipped": "plait.model.errors",
    "NotFound": "plait.model.errors",
    "NotSerializable": "plait.model.errors",
    "PermanentError": "plait.model.errors",
    "Plait": "plait.sdk.app",
    "PlaitError": "plait.model.errors",
    "QuotaExceeded": "plait.model.errors",
    "Rate": "plait.model.policies",
    "RetryLater": "plait.model.errors",
    "Skip": "plait.model.errors",
    "Snooze": "plait.model.errors",
    "Status": "plait.model.states",
    "UnknownTenant": "plait.model.errors",
    "current": "plait.sdk.context",
}

__all__ = [
    "Backoff",
    "Current",
    "DatabaseUnreachable",
    "Handle",
    "IdempotencyConflict",
    "InvalidArguments",
    "InvalidJob",
    "Job",
    "JobCanceled",
    "JobDeadLettered",
    "JobFailed",
    "JobSkipped",
    "NotFound",
    "NotSerializable",
    "PermanentError",
    "Plait",
    "PlaitError",
    "QuotaExceeded",
    "Rate",
    "RetryLater",
    "Skip",
    "Snooze",
    "Status",
    "UnknownTenant",
    "current",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the keeper of embedded Postgres imports this package too, and must stay small.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'plait' has no attribute {name!r}")
