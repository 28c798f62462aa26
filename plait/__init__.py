"""plait: a durable, multi-tenant job system for Python on Postgres.

    from plait import Plait

    app = Plait()

    @app.job
    async def resize(path: str, width: int) -> str: ...

The names exported here are the public API. Everything else may change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.model.errors import (
        Busy,
        DatabaseUnreachable,
        DeterminismError,
        ErrorInfo,
        FanOutError,
        IdempotencyConflict,
        InvalidArguments,
        InvalidJob,
        JobCanceled,
        JobDeadLettered,
        JobFailed,
        JobSkipped,
        LeaseLost,
        NotDurable,
        NotFound,
        NotLeader,
        NotSerializable,
        PermanentError,
        PlaitError,
        QuotaExceeded,
        RetryLater,
        SignalTimeout,
        Skip,
        Snooze,
        StateNotReached,
        StepFailed,
        StreamClosed,
        StreamFull,
        SubJobFailure,
        UnknownTenant,
        UpdateRejected,
    )
    from plait.model.policies import (
        Backoff,
        Rate,
    )
    from plait.model.states import (
        Status,
    )
    from plait.model.strategies import (
        Strategy,
        collect_all,
        fail_fast,
        quorum,
        threshold,
    )
    from plait.sdk.app import (
        Plait,
    )
    from plait.sdk.approvals import (
        approval_url,
    )
    from plait.sdk.context import (
        Current,
        current,
    )
    from plait.sdk.continuing import (
        continue_as_new,
    )
    from plait.sdk.dependencies import (
        dependencies,
        dependencies_sync,
    )
    from plait.sdk.fan_out import (
        fan_out,
        fan_out_stream,
    )
    from plait.sdk.first import First, first
    from plait.sdk.handle import (
        Handle,
    )
    from plait.sdk.job import (
        Job,
    )
    from plait.sdk.node_jobs import (
        NodeResult,
        Nodes,
    )
    from plait.sdk.results import (
        Result,
        all_succeeded,
        partition,
        values,
    )
    from plait.sdk.spawn import (
        Nursery,
        Spawned,
        after,
        after_sync,
        has_failed_siblings,
        has_failed_siblings_sync,
        has_pending_children,
        has_pending_children_sync,
        nursery,
        spawn,
        spawn_many,
        spawn_many_sync,
        spawn_sibling,
        spawn_sibling_sync,
        spawn_sync,
    )
    from plait.sdk.steps import (
        call,
        transaction,
        version,
    )
    from plait.sdk.sub_jobs import (
        Sub,
        sub,
    )
    from plait.sdk.updates import (
        Update,
        wait_for_update,
    )
    from plait.sdk.waits import (
        signal,
        sleep,
        sleep_until,
        wait_for_event,
        wait_for_signal,
    )

__version__ = "0.1.0"

_HOME = {
    "Backoff": "plait.model.policies",
    "Busy": "plait.model.errors",
    "Current": "plait.sdk.context",
    "DatabaseUnreachable": "plait.model.errors",
    "DeterminismError": "plait.model.errors",
    "StepFailed": "plait.model.errors",
    "ErrorInfo": "plait.model.errors",
    "FanOutError": "plait.model.errors",
    "First": "plait.sdk.first",
    "Handle": "plait.sdk.handle",
    "IdempotencyConflict": "plait.model.errors",
    "InvalidArguments": "plait.model.errors",
    "InvalidJob": "plait.model.errors",
    "Job": "plait.sdk.job",
    "JobCanceled": "plait.model.errors",
    "JobDeadLettered": "plait.model.errors",
    "JobFailed": "plait.model.errors",
    "JobSkipped": "plait.model.errors",
    "LeaseLost": "plait.model.errors",
    "NodeResult": "plait.sdk.node_jobs",
    "Nodes": "plait.sdk.node_jobs",
    "NotDurable": "plait.model.errors",
    "NotFound": "plait.model.errors",
    "NotLeader": "plait.model.errors",
    "NotSerializable": "plait.model.errors",
    "Nursery": "plait.sdk.spawn",
    "PermanentError": "plait.model.errors",
    "Plait": "plait.sdk.app",
    "PlaitError": "plait.model.errors",
    "QuotaExceeded": "plait.model.errors",
    "Rate": "plait.model.policies",
    "Result": "plait.sdk.results",
    "RetryLater": "plait.model.errors",
    "SignalTimeout": "plait.model.errors",
    "Skip": "plait.model.errors",
    "Snooze": "plait.model.errors",
    "Spawned": "plait.sdk.spawn",
    "Status": "plait.model.states",
    "Strategy": "plait.model.strategies",
    "Sub": "plait.sdk.sub_jobs",
    "StateNotReached": "plait.model.errors",
    "StreamClosed": "plait.model.errors",
    "StreamFull": "plait.model.errors",
    "SubJobFailure": "plait.model.errors",
    "UnknownTenant": "plait.model.errors",
    "Update": "plait.sdk.updates",
    "UpdateRejected": "plait.model.errors",
    "after": "plait.sdk.spawn",
    "after_sync": "plait.sdk.spawn",
    "all_succeeded": "plait.sdk.results",
    "approval_url": "plait.sdk.approvals",
    "call": "plait.sdk.steps",
    "collect_all": "plait.model.strategies",
    "continue_as_new": "plait.sdk.continuing",
    "current": "plait.sdk.context",
    "dependencies": "plait.sdk.dependencies",
    "dependencies_sync": "plait.sdk.dependencies",
    "fail_fast": "plait.model.strategies",
    "fan_out": "plait.sdk.fan_out",
    "fan_out_stream": "plait.sdk.fan_out",
    "first": "plait.sdk.first",
    "has_failed_siblings": "plait.sdk.spawn",
    "has_failed_siblings_sync": "plait.sdk.spawn",
    "has_pending_children": "plait.sdk.spawn",
    "has_pending_children_sync": "plait.sdk.spawn",
    "nursery": "plait.sdk.spawn",
    "partition": "plait.sdk.results",
    "quorum": "plait.model.strategies",
    "signal": "plait.sdk.waits",
    "sleep": "plait.sdk.waits",
    "sleep_until": "plait.sdk.waits",
    "spawn": "plait.sdk.spawn",
    "spawn_sync": "plait.sdk.spawn",
    "spawn_many": "plait.sdk.spawn",
    "spawn_many_sync": "plait.sdk.spawn",
    "spawn_sibling": "plait.sdk.spawn",
    "spawn_sibling_sync": "plait.sdk.spawn",
    "sub": "plait.sdk.sub_jobs",
    "threshold": "plait.model.strategies",
    "transaction": "plait.sdk.steps",
    "values": "plait.sdk.results",
    "version": "plait.sdk.steps",
    "wait_for_event": "plait.sdk.waits",
    "wait_for_signal": "plait.sdk.waits",
    "wait_for_update": "plait.sdk.updates",
}

__all__ = [
    "Backoff",
    "Busy",
    "Current",
    "DatabaseUnreachable",
    "DeterminismError",
    "ErrorInfo",
    "FanOutError",
    "First",
    "Handle",
    "IdempotencyConflict",
    "InvalidArguments",
    "InvalidJob",
    "Job",
    "JobCanceled",
    "JobDeadLettered",
    "JobFailed",
    "JobSkipped",
    "LeaseLost",
    "NodeResult",
    "Nodes",
    "NotDurable",
    "NotFound",
    "NotLeader",
    "NotSerializable",
    "Nursery",
    "PermanentError",
    "Plait",
    "PlaitError",
    "QuotaExceeded",
    "Rate",
    "Result",
    "RetryLater",
    "SignalTimeout",
    "Skip",
    "Snooze",
    "Spawned",
    "StateNotReached",
    "Status",
    "StepFailed",
    "Strategy",
    "StreamClosed",
    "StreamFull",
    "Sub",
    "SubJobFailure",
    "UnknownTenant",
    "Update",
    "UpdateRejected",
    "after",
    "after_sync",
    "all_succeeded",
    "approval_url",
    "call",
    "collect_all",
    "continue_as_new",
    "current",
    "dependencies",
    "dependencies_sync",
    "fail_fast",
    "fan_out",
    "fan_out_stream",
    "first",
    "has_failed_siblings",
    "has_failed_siblings_sync",
    "has_pending_children",
    "has_pending_children_sync",
    "nursery",
    "partition",
    "quorum",
    "signal",
    "sleep",
    "sleep_until",
    "spawn",
    "spawn_many",
    "spawn_many_sync",
    "spawn_sibling",
    "spawn_sibling_sync",
    "spawn_sync",
    "sub",
    "threshold",
    "transaction",
    "values",
    "version",
    "wait_for_event",
    "wait_for_signal",
    "wait_for_update",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the keeper of embedded Postgres imports this package too, and must stay small.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'plait' has no attribute {name!r}")
