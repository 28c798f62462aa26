"""Statements that send signals, on plait's connection or the caller's. Ids and tenants are passed as text, which every driver can send."""

from typing import Any, Final
from uuid import UUID

from plait.store.database import Database
from plait.store.named_arguments import named
from plait.store.new_jobs import MAX_WAIT_MS, NewJob, defaults_of
from plait.store.tenants import OWN_TENANT

_STARTED: Final = {
    "definition": "p_definition::text",
    "payload": "p_payload::text",
    "dedupe_key": "p_dedupe_key::text",
    "queue": "p_queue::text",
    "priority": "p_priority::int",
    "max_attempts": "p_max_attempts::int",
    "scheduled_for": "p_scheduled_for::timestamptz",
    "delay_s": "p_delay_s::float8",
    "timeout_s": "p_timeout_s::float8",
    "limit_key": "p_limit_key::text",
    "correlation_id": "p_correlation_id::text",
}
"""The fields of a new job that `plait.signal_or_start` accepts, with the parameter for each."""
_OTHERS: Final = (
    "p_id::uuid",
    "p_signal::text",
    "p_signal_payload::text::json",
    "p_signal_id::uuid",
    "p_in_transaction::boolean",
    "p_wait_ms::int",
    "p_defaults::text::json",
)


def _tenant(number: int) -> str:
    """SQL for the tenant's id, from a slug or id in this parameter. Default: the session's tenant."""
    return f"case when ${number}::text is null then {OWN_TENANT} else plait.tenant_id(${number}::text) end"


SIGNAL: Final = f"select plait.signal($1::uuid, $2::text, $3::text::json, {_tenant(4)}, $5::uuid)"
SIGNAL_OR_START: Final = (
    f"select o_job, o_started, tenant.id from (select {_tenant(len(_STARTED) + len(_OTHERS) + 1)} as id) tenant "
    f"cross join lateral plait.signal_or_start({named((*_STARTED.values(), *_OTHERS))}, p_tenant => tenant.id)"
)


def start_arguments(
    job: NewJob,
    signal: str,
    payload: str,
    *,
    signal_id: UUID,
    tenant: str | None,
    in_transaction: bool,
    wait_ms: int = MAX_WAIT_MS,
) -> list[Any]:
    """The arguments of `SIGNAL_OR_START`."""
    defaults = defaults_of([job], [job.definition])
    others = [str(job.id), signal, payload, str(signal_id), in_transaction, wait_ms, defaults]
    return [*(getattr(job, field) for field in _STARTED), *others, tenant]


class Signals:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def signal_or_start(self, arguments: list[Any]) -> UUID:
        """Signal the job with this dedupe key, or start a job and signal it. Returns its id. Pass the result of `start_arguments`."""
        row = await self._db.fetchrow(SIGNAL_OR_START, *arguments)
        return UUID(bytes=row["o_job"].bytes)

    async def reply_update(
        self, worker: int, job_id: UUID, attempt: int, update_id: UUID, *, value: str | None, error: str | None
    ) -> bool:
        """Reply to an update. Returns False if the lease is lost."""
        sql = (
            "select plait.reply_update(p_worker => $1, p_job => $2, p_attempt => $3, p_id => $4, "
            "p_value => $5::json, p_error => $6)"
        )
        return bool(await self._db.fetchval(sql, worker, job_id, attempt, update_id, value, error))
