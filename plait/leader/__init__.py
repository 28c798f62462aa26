"""The leader: one process that does what must be done once for all, so that the others need not.

    leader.py   the lease, and the loop of each duty while it is held
    promote.py  scheduled jobs that are due become queued
    resume.py   sleeps, signals and fan-outs whose time has come; children that a decided fan-out left open
    rescue.py   what lost workers ran comes back; what was asked to stop and did not is ended
    fire.py     schedules whose instants are due make jobs
    dispatch.py events make jobs, one for each trigger that they match
    prune.py    old final jobs are forgotten
    announce.py endpoints are told how jobs ended

Each duty is one SQL function that is safe to run anywhere, at once, with or without the lease: the lease only saves work.
"""
