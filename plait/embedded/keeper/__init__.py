"""The keeper: the process that starts one embedded Postgres, watches which processes use it, and stops it.

It runs in a separate session, so that Ctrl-C in a terminal reaches neither it nor Postgres. It receives no commands:
it checks locks on files in `run/`, which the kernel releases even after SIGKILL.

    users.lock    shared by every using process. If the keeper can lock it exclusively, no process uses the server. It
                  keeps the lock until Postgres has stopped, so no process can begin to use a server that is stopping
    keeper.lock   exclusive: locked by the process that starts a keeper and inherited by the keeper, so at most one keeper runs
    ready.lock    exclusive while Postgres accepts connections and server.json is correct
    server.lock   exclusive: inherited by Postgres and all its children, so it is free only once they are gone
    wake          not a lock but a pipe: a byte in it tells the keeper to check now, without lingering

If the keeper is killed, the kernel sends Postgres SIGINT, a fast and clean shutdown. On a system without death
signals (macOS), Postgres keeps running, and the next keeper adopts it: it publishes the server's address but never stops
it.

**It signals only its own children, never a pid read from a file.** It imports only the standard library and its own modules. It is run by the path
of `plait/embedded`, so that neither other parts of plait nor the environment's site-packages are loaded.
"""
