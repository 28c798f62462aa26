"""The public API for applications: `Plait`, jobs, handles, and the functions that handlers call.

An application
    app.py, job.py, definition.py, options.py   `Plait`, its jobs, their definitions, the options of an enqueue
    codec.py, annotations.py, artifacts.py      arguments and results as JSON; large ones as artifacts
    payload_schemas.py, pydantic_schemas.py     the JSON Schema of a payload, from annotations
    enqueuer.py, handle.py, waiter.py           enqueues that share a statement; handles; waiting for results
    target.py, portal.py                        the app's database; the event loop for sync code
    triggers.py, events.py, node_jobs.py        schedules, events, jobs that run on every node
    commands.py, command_groups.py              programs as jobs: plait.runtime.warden runs them
    exports.py                                  every name that `plait` exports

Durable functions (plait/sql/functions/workflows/README.md has the whole path)
    durable.py                                  one attempt: its recorded steps, its new steps, its waits. Start here
    steps.py, retrying.py, step_errors.py       steps that run in the worker, their retries, timeouts and recorded errors
    fan_out.py, sub_jobs.py, results.py         fan-out and fan-in
    waits.py, first.py, timers.py               sleeps, signals, events, timeouts
    branches.py, blocked.py                     concurrent tasks of a handler; detects when all of them are blocked
    step_delivery.py, history.py, unrecorded.py replay: delivers step results in the recorded order
    checkpoints.py, batches.py                  writes of a worker's handlers, batched into shared statements
    continue_as_new.py                          a new run of the same job, without its history

Between jobs
    spawn.py, chain.py, dependencies.py         nurseries, follow-ups, chains, results of dependencies
    streams.py, follower.py, live_handle.py     output and state of a running job, and their readers
    updates.py, approvals.py                    requests to a running job, approval links
"""
