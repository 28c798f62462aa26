"""The worker: claims jobs, runs their handlers, and settles their outcomes.

    worker.py     the service: starts everything, drains (draining.py), deregisters
    pump.py       the database pump, the only caller of `plait.cycle`: sends outcomes, claims jobs, at most two round trips at once
    slots.py      running and prefetched jobs; chooses the next job to start
    execute.py    one handler: on the loop, in a thread (threads.py), in a process (processes.py, handler_process.py, channel.py)
    leftovers.py  processes that a handler left behind, and forked copies of the worker
    cached_handlers.py  suspended handlers that stay in memory, so that they resume without a replay
    outcomes.py   turns any result or error of a handler into an outcome that can be stored
    unsettled.py  outcomes that the database rejected; busy_outcomes.py: outcomes whose rows a user's transaction locks
    heartbeat.py  renews the lease, from a separate thread; registration.py: registers the worker, again if the lease was lost
    log_capture.py  text that handlers print or log; attempt_log.py: as lines of one attempt; job_logs.py: stores them in batches
    progress.py   sends progress; finished_jobs.py: log lines about finished jobs
    metrics.py    the worker's metrics; tracing.py: a span for each attempt
    watchdog.py   detects a blocked event loop: logs it, then gives up the lease and ends the process

Two rules always hold. An outcome must not be lost when a reply is lost: the pump sends it again, and the database recognises it.
An attempt that has lost its lease must not write anything: the database fences it, and the worker stops its handler.
"""
