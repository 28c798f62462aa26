"""The leader: one elected process that runs maintenance for the whole installation.

    leader.py   leader election, and the loop of each duty while this process leads
    promote.py  moves due scheduled jobs to their queues
    resume.py   resumes jobs whose sleep, signal or fan-out timeout is due; cancels open children of decided fan-outs
    rescue.py   requeues jobs of lost workers; cancels jobs that did not stop in time
    fire.py     enqueues jobs for due schedules
    dispatch.py enqueues jobs for events, one for each matching trigger
    prune.py    retention: deletes old final jobs; archive.py: writes them to files first
    sweep.py    deletes artifacts whose job was deleted or never stored
    count.py    counts live jobs and outcomes, for metrics and pages
    announce.py enqueues webhooks about outcomes

Each duty is one SQL function that is safe to run in any process, concurrently, with or without the leader's lease: the lease only avoids duplicate work.
To add a duty, write a class with `run` and list it in leader.py.
"""
