"""The benchmark: plait and its peers on one machine, against one Postgres server, in one run.

    run.py            the command: which systems, which measures, how often; writes bench/results/
    agenda.py         the measures in their order, and whom each concerns
    measures.py       enqueue, process, pick-up, memory, idleness; hardships.py: crowds, tenants, limits, long runs
    limits.py         what the machine could do at best: pgbench, and the bare loop
    contest.py        one system in one measurement: its client and its workers
    ledgers.py        where it keeps its jobs: what is stored, what is done, what that cost
    systems.py        every system: how it is installed, its settings with their source, how it shows that all is done
    environments.py   an environment for each peer, in bench/.envs
    server.py         the one Postgres; redis.py the Redis of celery and dramatiq
    drivers/          what runs inside a peer's own environment, one small file each
    rows.py           figures and their medians; report.py: JSON and Markdown

A driver is a process of its own that imports the peer and nothing of plait, so every system pays for its own client and worker.
"""
