"""The audit log. An entry is written by the same statement as the change, so both are committed or neither is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NoReturn
from uuid import UUID

from plait.store.database import Database, Row

_RECORD: Final = (
    "plait.record_audit(p_tenant => {}::uuid, p_actor => {}::text, p_action => {}::text, p_object => {}::text, "
    "p_request_id => {}::text, p_detail => {}::text::json)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An audit log entry to write."""

    tenant_id: UUID | None
    """None: a change to the installation."""
    actor: str
    action: str
    object: str | None = None
    request_id: str | None = None
    detail: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    id: UUID
    tenant_id: UUID | None
    at: datetime
    actor: str
    action: str
    object: str | None
    request_id: str | None
    detail: str


class Audit:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def record(self, entry: Entry) -> None:
        """Record an attempted change that was rejected. A successful change is recorded by `Store.auditing`."""
        await self._db.fetchval(f"select {_record(1)}", *_values(entry))

    async def list_audit(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        actor: str | None = None,
        action: str | None = None,
        object: str | None = None,  # noqa: A002 - named like the column
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[AuditRow]:
        sql = (
            "select * from plait.list_audit(p_tenant => $1, p_all => $2, p_actor => $3, p_action => $4, "
            "p_object => $5, p_before => $6, p_limit => $7)"
        )
        rows = await self._db.fetch(sql, tenant_id, all_tenants, actor, action, object, before, limit)
        return [AuditRow(**row) for row in rows]


class AuditedDatabase(Database):
    """A database whose statements also write an audit log entry, in the same transaction."""

    def __init__(self, database: Database, entry: Entry) -> None:
        self._database = database
        self._entry = entry

    @property
    def unaudited(self) -> Database:
        return self._database

    async def fetch(self, sql: str, *args: Any, timeout: float | None = None) -> list[Row]:
        return await self._database.fetch(_recorded(sql, len(args)), *args, *_values(self._entry), timeout=timeout)

    async def fetchrow(self, sql: str, *args: Any, timeout: float | None = None) -> Row:
        return await self._database.fetchrow(_recorded(sql, len(args)), *args, *_values(self._entry), timeout=timeout)

    async def fetchval(self, sql: str, *args: Any, timeout: float | None = None) -> Any:
        return await self._database.fetchval(_recorded(sql, len(args)), *args, *_values(self._entry), timeout=timeout)

    def transaction(self) -> NoReturn:
        raise TypeError("an audited change must be one statement, got a transaction")


def _recorded(sql: str, arguments: int) -> str:
    """Combine the statement and its entry into one statement. If the original statement returns no rows, the result is one row of nulls."""
    return (
        f"with done as materialized ({sql}), recorded as materialized (select {_record(arguments + 1)})"
        " select done.* from recorded left join done on true"
    )


def _record(first: int) -> str:
    return _RECORD.format(*(f"${number}" for number in range(first, first + 6)))


def _values(entry: Entry) -> list[Any]:
    return [entry.tenant_id, entry.actor, entry.action, entry.object, entry.request_id, entry.detail]
