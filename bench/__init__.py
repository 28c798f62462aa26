"""The benchmark: plait and its peers on one machine, against one Postgres server, in one run.

    run.py            the command: which systems, which measures, how often; writes bench/results/
    measures.py       what is measured, and how
    contest.py        one system on a fresh database: its client, its workers, and the look into the database
    systems.py        every system: how it is installed, its settings with their source, how it shows that all is done
    environments.py   an environment for each peer, in bench/.envs
    server.py         the one Postgres; redis.py the Redis of celery and dramatiq
    drivers/          what runs inside a peer's own environment, one small file each
    limits.py         what the machine could do at best: pgbench, and the bare loop
    report.py         rows to JSON and Markdown

A driver is a process of its own that imports the peer and nothing of plait, so every system pays for its own client and worker.
"""
