"""The worker: claims jobs, runs their handlers, and records what became of them.

    worker.py     the service: starts everything, drains, leaves
    pump.py       the one loop that talks to `plait.cycle`: outcomes out, jobs in, two round trips at most
    slots.py      what runs, what waits to run, and who may still start
    execute.py    one handler: on the loop, in a thread (threads.py), in a process (processes.py, child.py, channel.py)
    leftovers.py  processes that a handler leaves behind, and forked copies of this one
    outcomes.py   whatever a handler did, as an outcome that can be stored
    heartbeat.py  the lease, renewed from a thread of its own
    watchdog.py   a loop that a handler blocks: told at first, then the lease is given up and the process ends

What must never happen: an outcome lost because a reply was (the pump sends it again, and the database knows it), or a word
written by who has lost the lease (the fence is in the database; here, the handlers are stopped).
"""
