"""Job definitions and their settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionRow:
    name: str
    kind: str
    active: bool
    queue: str
    priority: int
    max_attempts: int
    timeout_s: float
    max_running: int | None
    rate_count: int | None
    rate_period_s: float | None
    key_max_running: int | None
    key_rate_count: int | None
    key_rate_period_s: float | None
    schema: str | None
    description: str
    search_keys: list[str] | None
    sensitive: list[str] | None
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideRow:
    """A setting of a definition that an operator has overridden."""

    definition: str
    setting: str
    value: str
    """JSON."""
    code_value: str | None
    """The value in code, as JSON; None if no code has defined the job."""
    author: str
    set_at: datetime


class Definitions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def define(
        self, definitions: Sequence[Mapping[str, Any]], *, new: bool = False, author: str | None = None
    ) -> int:
        """Register definitions. Returns how many were new or changed. `new`: raise an error if a definition exists. `author`: the person who
        registers them; None for code."""
        text = msgspec.json.encode(list(definitions)).decode()
        return int(await self._db.fetchval("select plait.define($1::json, $2, $3)", text, new, author))

    async def define_unknown(self, key_id: UUID, names: Sequence[str]) -> int:
        """Register unknown definitions with defaults. Raises `QuotaExceeded` if the key has created too many."""
        return int(await self._db.fetchval("select plait.define_unknown($1, $2)", key_id, list(names)))

    async def set_definition(
        self,
        name: str,
        settings: Mapping[str, Any],
        *,
        unchanged_since: datetime | None = None,
        author: str | None = None,
    ) -> None:
        """Override settings. Overrides take precedence over the code until they are cleared."""
        text = msgspec.json.encode(dict(settings)).decode()
        sql = "select plait.set_definition($1, $2::json, $3, $4)"
        await self._db.fetchval(sql, name, text, unchanged_since, author)

    async def clear_overrides(
        self, name: str, settings: Sequence[str] | None = None, *, unchanged_since: datetime | None = None
    ) -> int:
        """Clear the overrides of these settings, or all overrides. Returns how many were cleared."""
        given = None if settings is None else list(settings)
        sql = "select plait.clear_overrides($1, $2, $3)"
        return int(await self._db.fetchval(sql, name, given, unchanged_since))

    async def list_overrides(self, name: str | None = None) -> list[OverrideRow]:
        """List the overrides of one definition, or of all definitions."""
        rows = await self._db.fetch("select * from plait.list_overrides($1)", name)
        return [OverrideRow(**row) for row in rows]

    async def list_definitions(self) -> list[DefinitionRow]:
        rows = await self._db.fetch("select * from plait.list_definitions()")
        return [DefinitionRow(**{name: row[name] for name in DefinitionRow.__slots__}) for row in rows]

    async def definition_queues(self, names: Sequence[str]) -> list[str]:
        """The queues that new jobs of these definitions go to, with operators' overrides applied."""
        return list(await self._db.fetchval("select plait.definition_queues($1)", list(names)))

    async def list_schemas(self, names: Sequence[str], *, overridden: bool = False) -> dict[str, str]:
        """The JSON Schemas of those that have one, by name. `overridden`: only those that an operator has set."""
        rows = await self._db.fetch("select * from plait.list_schemas($1, $2)", list(names), overridden)
        return {row["name"]: row["schema"] for row in rows}
