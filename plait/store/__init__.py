"""The only package that sends SQL: one thin method for each SQL function. The SQL functions make all decisions.

A `Store` is a pool of connections to one database, with methods grouped by resource. Every method is one statement in autocommit
mode, so that it works behind PgBouncer in transaction mode, and raises the errors of `plait.model.errors`.

    database.py, sockets.py  connections, statement timeouts, and the translation of SQLSTATEs into errors
    caller_connections.py    enqueue on the caller's own connection and transaction
    listener.py              LISTEN/NOTIFY
    migrate.py, migration_locks.py  migrations, and the locks that they take
    drift.py, connection_checks.py  checks of the schema and the connection, for `plait doctor`

Every other module is named after its resource.
"""

from plait.store.approvals import Approvals
from plait.store.artifacts import Artifacts
from plait.store.audit import Audit, AuditedDatabase, Entry
from plait.store.changes import Changes
from plait.store.connectors import Connectors
from plait.store.database import STATEMENT_S, Database
from plait.store.definitions import Definitions
from plait.store.endpoints import Endpoints
from plait.store.events import Events
from plait.store.failures import Failures
from plait.store.health import Health
from plait.store.http_replies import HttpReplies
from plait.store.jobs import Jobs
from plait.store.keys import Keys
from plait.store.leader import Leader
from plait.store.logs import Logs
from plait.store.metrics import Metrics
from plait.store.nodes import Nodes
from plait.store.nurseries import Nurseries
from plait.store.queues import Queues
from plait.store.signals import Signals
from plait.store.statistics import Statistics
from plait.store.streams import Streams
from plait.store.tenants import Tenants
from plait.store.triggers import Triggers
from plait.store.workers import Workers
from plait.store.workflows import Workflows

__all__ = ["Database", "Store"]


class Store:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.artifacts = Artifacts(database)
        self.audit = Audit(database)
        self.connectors = Connectors(database)
        self.definitions = Definitions(database)
        self.endpoints = Endpoints(database)
        self.events = Events(database)
        self.failures = Failures(database)
        self.health = Health(database)
        self.jobs = Jobs(database)
        self.keys = Keys(database)
        self.leader = Leader(database)
        self.approvals = Approvals(database)
        self.logs = Logs(database)
        self.metrics = Metrics(database)
        self.nodes = Nodes(database)
        self.nurseries = Nurseries(database)
        self.queues = Queues(database)
        self.http_replies = HttpReplies(database)
        self.statistics = Statistics(database)
        self.signals = Signals(database)
        self.streams = Streams(database)
        self.tenants = Tenants(database)
        self.workflows = Workflows(database)
        self.triggers = Triggers(database)
        self.changes = Changes(database)
        self.workers = Workers(database)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        session_user: str | None = None,
        max_connections: int = 10,
        pooler: bool = False,
        statement_s: float = STATEMENT_S,
    ) -> "Store":
        """Connect. Rejects an incompatible schema and an unsafe role."""
        store = cls(
            Database(
                url,
                session_user=session_user,
                max_connections=max_connections,
                pooler=pooler,
                statement_s=statement_s,
            )
        )
        try:
            await store.health.check()
        except BaseException:
            await store.close()
            raise
        return store

    def auditing(self, entry: Entry) -> "Store":
        """Return a store whose calls also write this audit log entry, in the same transaction as the change."""
        return Store(AuditedDatabase(self.database, entry))

    async def close(self) -> None:
        await self.database.close()
