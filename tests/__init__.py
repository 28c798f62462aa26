"""plait's own tests, in folders by subject.

- A folder named after a package of `plait` tests that package: api, cli, connectors, embedded, leader, runtime, sdk, store, telemetry,
  testing, worker.
- A folder named after a folder of `plait/sql/functions` tests those functions, and the Python code of the same subject: access, claim,
  connectors, doctor, enqueue, foundation, leader, nodes, nurseries, operate, read, retention, settings, settle, signals, streams,
  triggers, workers, workflows.
- Infrastructure failures and setups: connection_modes (PgBouncer, polling), outages, replication, transactions (a user's open transaction).
- Everything else: bench, clients, commands, docs, migrations, project (rules about the source tree), ui.

Shared by all: `harness.py` (the `harness` fixture), `fake_worker.py`, `invariants.py`, `restarting_workers.py`, `waiting.py` and
`proxy.py`. A file called `…_main.py` is the main module of a process that tests start.
"""
