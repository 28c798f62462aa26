"""The change feed's poll: one query for all watchers.

The database sends no notifications about changes to jobs, because a NOTIFY for each change would serialise all commits (T109). While there are
watchers, one task polls every `EVERY_S` for changes to the watched tenants' jobs, and passes them to the watchers of each tenant. Without
watchers there is no query. Within one poll a job is reported once, with its current state. Polls overlap, so that late commits are not
missed; changes that were already reported are dropped. An event's id is the time of its poll by the database's clock. With it, a watcher that
reconnects to any process gets the changes that it missed, or a reset: it must read everything again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from plait.api.problems import Refused
from plait.api.redaction import Redaction
from plait.runtime.outage import Retry
from plait.store import Store
from plait.store.changes import Change

EVERY_S: Final = 0.4
OVERLAP: Final = timedelta(seconds=2)
REPLAYED: Final = timedelta(minutes=1)
"""A watcher that was disconnected for longer must read everything again."""
QUEUED: Final = 1_000
WATCHERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Event:
    id: str
    kind: str
    tenant_id: UUID | None
    """None: an event of the whole installation."""
    text: str
    everybody: bool = False

    def encoded(self, redaction: Redaction | None = None) -> bytes:
        """Encode as a server-sent event. Output of running attempts is redacted if the watcher's role requires it."""
        text = redaction.json(self.text) if redaction is not None and self.kind == "log" else self.text
        return f"id: {self.id}\nevent: {self.kind}\ndata: {text}\n\n".encode()


@dataclass(eq=False, slots=True)
class Watcher:
    tenant_id: UUID | None
    """None: a super-admin, who sees all tenants."""
    events: "asyncio.Queue[Event]" = field(default_factory=lambda: asyncio.Queue(QUEUED))

    def sees(self, event: Event) -> bool:
        return event.everybody or self.tenant_id is None or event.tenant_id == self.tenant_id

    def give(self, event: Event) -> None:
        """Queue an event. A watcher that reads too slowly gets a reset instead, and does not delay others."""
        if self.events.full():
            while not self.events.empty():
                self.events.get_nowait()
            self.events.put_nowait(reset(event.id))
        self.events.put_nowait(event)


def reset(event_id: str) -> Event:
    return Event(event_id, "reset", None, "{}", everybody=True)


class Watch:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._watchers: set[Watcher] = set()
        self._looking: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()
        self._reset_at: datetime | None = None
        self._told: dict[tuple[str, UUID], str] = {}
        self._since: datetime | None = None
        self._settings: dict[tuple[str, str], str] = {}

    @property
    def looking(self) -> bool:
        return self._looking is not None

    def check_room(self) -> None:
        if len(self._watchers) >= WATCHERS:
            raise Refused(429, "too-many", "too many streams", headers={"Retry-After": "10"})

    @asynccontextmanager
    async def watching(self, tenant_id: UUID | None, last: str | None) -> AsyncIterator[Watcher]:
        """Start watching. With the id of the last received event, continue after it."""
        watcher = Watcher(tenant_id)
        self._watchers.add(watcher)
        try:
            async with self._beginning:
                if self._looking is None:
                    await self._begin()
            if last is not None:
                await self._replay(watcher, last)
            yield watcher
        finally:
            self._watchers.discard(watcher)
            if not self._watchers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _begin(self) -> None:
        """Run the first poll, which reports nothing: watchers read the current state themselves and get only later changes."""
        self._told.clear()
        self._since = None
        await self._once()
        self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        retry = Retry("stream", self._store.database.outage, failing="change poll failed, retrying")
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self._once()
                retry.succeeded()
            except Exception as error:  # noqa: BLE001 - after any error, watchers wait for the next poll
                await asyncio.sleep(retry.failed(error))

    async def _once(self) -> None:
        now = await self._store.health.now()
        first, since = self._since is None, (self._since or now) - OVERLAP
        changes = await self._store.changes.changes(self._tenants(), since)
        self._since = now
        fresh = [change for change in changes if self._is_new(change)]
        for number, change in enumerate([] if first else fresh):  # watchers have read earlier changes themselves
            self._tell(_event(change, now, number))
        settings = await self._installation(workers=any(watcher.tenant_id is None for watcher in self._watchers))
        for number, ((kind, name), text) in enumerate(settings.items()):
            if not first and self._settings.get((kind, name)) != text:
                self._tell(_setting(kind, text, now, len(fresh) + number))
        self._settings = settings

    def _tenants(self) -> list[UUID] | None:
        tenants = {watcher.tenant_id for watcher in self._watchers}
        return None if None in tenants else [tenant for tenant in tenants if tenant is not None]

    def _is_new(self, change: Change) -> bool:
        if change.id is None:  # while there are too many changes, send a reset every few seconds, not after each poll
            if self._since is not None and self._reset_at is not None and self._since - self._reset_at < OVERLAP:
                return False
            self._reset_at = self._since
            return True
        key = (change.kind, change.id)
        if self._told.get(key) == change.detail:
            return False
        if len(self._told) > 50_000:
            self._told.clear()  # some changes may be reported twice, which is harmless
        self._told[key] = change.detail
        return True

    async def _installation(self, *, workers: bool) -> dict[tuple[str, str], str]:
        """The settings of queues and, for super-admins, the state of workers: whether each is alive, whether its heartbeat is overdue, whether
        its event loop is blocked, and whether the jobs of an ended one are still being moved."""
        found: dict[tuple[str, str], str] = {}
        for worker in await self._store.workers.list_workers() if workers else ():
            shown = {"worker_id": worker.id, "state": worker.state, "stale": worker.stale, "hostname": worker.host}
            if worker.blocked_since is not None:
                shown["blocked"] = True
            if worker.clearing:
                shown["clearing"] = True
            found["worker", str(worker.id)] = msgspec.json.encode(shown).decode()
        for queue in await self._store.queues.list_settings():
            found["queue", queue.name] = msgspec.json.encode(queue).decode()
        return found

    def _tell(self, event: Event) -> None:
        for watcher in self._watchers:
            if watcher.sees(event):
                watcher.give(event)

    async def _replay(self, watcher: Watcher, last: str) -> None:
        """Send the changes since the event `last`, or a reset if it is too old. Changes are read from the database, so the watcher may have been
        connected to another process before."""
        at = _moment(last)
        now = await self._store.health.now()
        if at is None or now - at > REPLAYED or at > now + OVERLAP:
            watcher.give(reset(_id(now, 0)))
            return
        tenants = None if watcher.tenant_id is None else [watcher.tenant_id]
        missed = [
            _event(change, now, number)
            for number, change in enumerate(await self._store.changes.changes(tenants, at - OVERLAP, limit=QUEUED // 2))
        ]
        settings = await self._installation(workers=watcher.tenant_id is None)
        missed += [_setting(kind, text, now, number) for number, ((kind, _), text) in enumerate(settings.items())]
        for event in missed[: QUEUED - 1]:
            watcher.give(event)


def _event(change: Change, now: datetime, number: int) -> Event:
    if change.kind == "more":
        return reset(_id(now, number))
    text = f'{{"id":"{change.id}","tenant_id":"{change.tenant_id}",{change.detail[1:]}'
    return Event(_id(now, number), change.kind, change.tenant_id, text.replace("\n", " "))


def _setting(kind: str, text: str, now: datetime, number: int) -> Event:
    """Everyone sees queues; only super-admins see workers."""
    return Event(_id(now, number), kind, None, text, everybody=kind == "queue")


def _id(now: datetime, number: int) -> str:
    return f"{int(now.timestamp() * 1_000_000)}.{number}"


def _order(event_id: str) -> tuple[int, int]:
    at, _, number = event_id.partition(".")
    return (int(at), int(number or 0)) if at.isdigit() and (number.isdigit() or not number) else (0, 0)


def _moment(event_id: str) -> datetime | None:
    micros, _ = _order(event_id[:40])
    try:
        return datetime.fromtimestamp(micros / 1_000_000, UTC) if micros else None
    except (ValueError, OverflowError, OSError):
        return None
