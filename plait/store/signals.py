"""Statements that send signals, on plait's or the caller's connection. Ids and tenants are text: every driver can send it."""

from typing import Any, Final
from uuid import UUID

from plait.store.database import Database
from plait.store.new_jobs import MAX_WAIT_MS, NewJob, defaults_of
from plait.store.tenants import OWN_TENANT


def _tenant(number: int) -> str:
    """The tenant by its name or id. Default: the session's own."""
    return f"case when ${number}::text is null then {OWN_TENANT} else plait.tenant_id(${number}::text) end"


SIGNAL: Final = f"select plait.signal($1::uuid, $2::text, $3::text::json, {_tenant(4)}, $5::uuid)"
SIGNAL_OR_START: Final = (
    "select o_job, o_started, tenant.id from (select "
    + _tenant(8)
    + " as id) tenant cross join lateral plait.signal_or_start($1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text::json, $7::uuid, tenant.id,"
    " $9::text, $10::int, $11::int, $12::timestamptz, $13::float8, $14::float8, $15::text, $16::text, $17::boolean, $18::int, $19::text::json)"
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
    return [
        str(job.id), job.definition, job.payload, job.dedupe_key, signal, payload, str(signal_id), tenant,
        job.queue, job.priority, job.max_attempts, job.scheduled_for, job.delay_s, job.timeout_s, job.limit_key, job.correlation_id,
        in_transaction, wait_ms, defaults_of([job], [job.definition]),
    ]  # fmt: skip


class Signals:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def signal_or_start(self, arguments: list[Any]) -> UUID:
        """Signal the job with a dedupe key, or start it and signal it; returns its id. The arguments are `start_arguments`."""
        row = await self._db.fetchrow(SIGNAL_OR_START, *arguments)
        return UUID(bytes=row["o_job"].bytes)

    async def reply_update(
        self, worker: int, job_id: UUID, attempt: int, update_id: UUID, *, value: str | None, error: str | None
    ) -> bool:
        """Reply to an update; False if the lease is lost."""
        sql = "select plait.reply_update($1, $2, $3, $4, $5::json, $6)"
        return bool(await self._db.fetchval(sql, worker, job_id, attempt, update_id, value, error))
