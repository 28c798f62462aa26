"""The keeper: the process that starts one embedded Postgres, watches who uses it, and stops it.

It runs in a session of its own, so that Ctrl-C in a terminal reaches neither it nor Postgres. Nobody gives it
orders: it reads lock files in `run/`, which the kernel releases even after SIGKILL.

    users.lock    shared by every using process. The keeper that gets it exclusively is alone, and keeps it
                  until Postgres has stopped: no newcomer slips in between the decision and the end
    keeper.lock   exclusive: taken by whoever starts a keeper and inherited by it, so there is one at most
    ready.lock    exclusive while Postgres takes connections and server.json is true
    server.lock   exclusive: inherited by Postgres and all its children, so it is free only once they are gone
    wake          no lock but a pipe: a byte in it says "look now, and don't linger"

If the keeper is killed, the kernel sends Postgres SIGINT, a fast and clean shutdown. A system without such a
death signal (macOS) lets Postgres go on, and the next keeper adopts it: serves its address, never stops it.

**It signals only its own children, never a pid read from a file.** It imports only the standard library and its own modules. It is run by the path
of `plait/embedded`, so that neither the rest of the package nor the environment's site-packages are loaded.
"""
