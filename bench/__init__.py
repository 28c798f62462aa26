"""The benchmark: plait and its peers on one machine, against one Postgres server, in one run.

    run.py            the command: selects systems, measures and rounds; writes bench/results/
    measures/         the measures by subject; catalogue.py: their order, and the systems that each applies to
        throughput.py       enqueue, process, pick-up latency, memory, idle cost
        scale.py            many jobs, many tenants, limits, long runs, an old snapshot
        workflows.py        durable functions: fan-out and fan-in, steps, resumed waits
        machine_limits.py   upper bounds of the machine: pgbench, and a bare loop
    session.py        one system in one measurement: its client and its workers
    job_storage.py    the storage of a system's jobs: the number of stored and finished jobs, and their cost
    systems.py        every system: its packages, its settings with their source, and how to query whether all jobs are done
    environments.py   an environment for each peer, in bench/.envs
    server.py         the Postgres server; redis.py: the Redis server of celery and dramatiq
    drivers/          code that runs in a peer's environment, one file for each peer; protocol.py: the protocol between a driver and a session
    rows.py           figures and their medians; report.py: JSON and Markdown
    api.py, failures.py, retention.py, noisy_neighbour.py    separate commands (README.md)

A driver is a separate process that imports the peer and nothing from plait, so the cost of each system includes its own client and worker.
"""
