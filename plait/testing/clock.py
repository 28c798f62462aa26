"""A fake clock for queues, backoff, leases and schedules, which stands still until a test moves it. All decisions use
`plait.now()`, so replacing that function is enough. The time is stored in a table, so every connection sees the same time. The
table and the function exist in test databases only; no setting can move a real clock.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

import asyncpg

START: Final = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)

INSTALL: Final = """
create schema plait_test authorization plait_owner;
set role plait_owner;
create table plait_test.clock (one boolean primary key default true check (one), at timestamptz not null);
create or replace function plait.now() returns timestamptz
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $$ select at from plait_test.clock $$;
reset role;
"""


class FakeClock:
    """The clock of one test database."""

    def __init__(self, admin_url: str) -> None:
        self._url = admin_url

    @staticmethod
    async def install(connection: asyncpg.Connection) -> None:
        await connection.execute(INSTALL)
        await connection.execute("insert into plait_test.clock (at) values ($1)", START)

    async def now(self) -> datetime:
        return await self._fetchval("select at from plait_test.clock")

    async def advance(
        self,
        delta: timedelta | None = None,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move the clock forward, and return the new time."""
        step = (delta or timedelta()) + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return await self._fetchval("update plait_test.clock set at = at + $1 returning at", step)

    async def set(self, at: datetime) -> None:
        await self._fetchval("update plait_test.clock set at = $1 returning at", at)

    async def _fetchval(self, sql: str, *args: object) -> datetime:
        connection = await asyncpg.connect(self._url)
        try:
            value = await connection.fetchval(sql, *args)
            assert isinstance(value, datetime)
            return value
        finally:
            await connection.close()
