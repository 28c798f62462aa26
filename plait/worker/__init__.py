"""The worker: claims jobs, runs their handlers, and settles their outcomes.

    worker.py     the service: starts everything, drains (draining.py), deregisters
    pump.py       the database pump, the only caller of `plait.cycle`: sends outcomes, claims jobs, two round trips at most
    slots.py      running and prefetched jobs, and which may start next
    execute.py    one handler: on the loop, in a thread (threads.py), in a process (processes.py, handler_process.py, channel.py)
    leftovers.py  processes that a handler left behind, and forked copies of this one
    cached_handlers.py  suspended handlers that stay in memory, so that they resume without a replay
    outcomes.py   turns any result or error of a handler into an outcome that can be stored
    unsettled.py  outcomes that the database rejected; busy_outcomes.py: those whose rows a user's transaction holds
    heartbeat.py  renews the lease, from a separate thread; registration.py: registers the worker, again if the lease was lost
    log_capture.py  text that handlers print or log; attempt_log.py: as lines of one attempt; job_logs.py: stores them in batches
    progress.py   sends progress; finished_jobs.py: log lines about finished jobs
    metrics.py    the worker's metrics; tracing.py: a span for each attempt
    watchdog.py   detects a blocked event loop: logs it, then gives up the lease and ends the process

Two things must never happen. An outcome must not get lost when a reply does: the pump sends it again, and the database recognises it.
An attempt that has lost its lease must not write anything: the database fences it, and the worker stops its handler.
"""
