"""The benchmark: plait and its peers on one machine, against one Postgres server, in one run.

    run.py            the command: selects systems, measures and rounds; writes bench/results/
    agenda.py         the measures in their order, and the systems each applies to
    measures.py       enqueue, process, pick-up, memory, idleness; hardships.py: many jobs, many tenants, limits, long runs
    limits.py         upper bounds of the machine: pgbench, and a bare loop
    contest.py        one system in one measurement: its client and its workers
    ledgers.py        the storage of a system's jobs: stored and finished jobs, and their cost
    systems.py        every system: its packages, its settings with their source, and how to query whether all jobs are done
    environments.py   an environment for each peer, in bench/.envs
    server.py         the one Postgres; redis.py the Redis of celery and dramatiq
    drivers/          code that runs inside a peer's own environment, one small file each
    rows.py           figures and their medians; report.py: JSON and Markdown

A driver is a separate process that imports the peer and nothing of plait, so every system pays for its own client and worker.
"""
