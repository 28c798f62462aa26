"""The database of an app: a server by URL, or an embedded Postgres that is started, migrated and given a restricted login."""

import asyncio
import threading
from pathlib import Path

from plait.embedded.postgres import EmbeddedPostgres
from plait.embedded.postgres_place import choose_data_dir
from plait.model.errors import InvalidConfiguration
from plait.runtime.object_storage import Objects, open_objects
from plait.runtime.settings import check_database_url
from plait.store import Store
from plait.store.database import STATEMENT_S
from plait.store.dev_login import DEV_LOGIN, ensure_dev_login
from plait.store.migrate import migrate


class Target:
    def __init__(self, url: str | None, *, data_dir: Path | None = None, pooler: bool = False) -> None:
        if url:
            try:
                check_database_url(url)
            except ValueError as error:
                raise InvalidConfiguration(f"url {error}") from None
        self._url = url
        self._session_user: str | None = None
        self._pooler = pooler
        self._embedded = EmbeddedPostgres(data_dir) if url is None else None
        self._data_dir = data_dir
        self._open_stores = 0
        self._counting = threading.Lock()  # loops of several threads share one app

    @property
    def embedded(self) -> bool:
        return self._embedded is not None

    def objects(self, place: str | None) -> Objects | None:
        """The configured artifact store. Default with embedded Postgres: a directory beside its data."""
        if place is None and self._embedded is not None:
            place = str(choose_data_dir(self._data_dir) / "artifacts")
        return None if place is None else open_objects(place)

    async def open(self, *, max_connections: int = 10, statement_s: float = STATEMENT_S) -> Store:
        """Connect. The embedded Postgres is started if it is not running, and migrated."""
        url = self._url if self._embedded is None else await self._start_embedded(self._embedded)
        assert url is not None
        store = await Store.open(
            url,
            session_user=self._session_user,
            max_connections=max_connections,
            pooler=self._pooler,
            statement_s=statement_s,
        )
        with self._counting:
            self._open_stores += 1
        return store

    async def close(self) -> None:
        """Report that a store was closed. After the last one, the embedded Postgres is released."""
        with self._counting:
            self._open_stores -= 1
            last = self._open_stores <= 0
        if self._embedded is not None and last:
            await asyncio.to_thread(self._embedded.stop, wait=False)

    async def admin_url(self) -> str:
        """The URL for migrations: the superuser's URL of the embedded Postgres, or the given URL."""
        if self._embedded is not None:
            return (await asyncio.to_thread(self._embedded.start)).url()
        assert self._url is not None
        return self._url

    async def prepare_development(self) -> None:
        """`plait dev` with a superuser's URL: migrate, create the restricted roles, and use one of them from now on."""
        if self._embedded is None:
            url = await self.admin_url()
            await migrate(url)
            if await ensure_dev_login(url):
                self._session_user = DEV_LOGIN

    def act_as(self, login: str) -> None:
        """Use this login on every connection, in place of the superuser in the URL."""
        self._session_user = login

    async def _start_embedded(self, embedded: EmbeddedPostgres) -> str:
        server = await asyncio.to_thread(embedded.start)
        await migrate(server.url(), allow_blocking=True)  # no other process uses it
        await ensure_dev_login(server.url())
        return server.url(user=DEV_LOGIN)
