"""Dramatiq on Redis: messages in database 0, results in database 1."""

import os
import threading
import time
from typing import Any

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive_sync

# dramatiq reads this variable when it is imported. Its name is in lower case.
os.environ["dramatiq_queue_prefetch"] = str(SETTINGS.get("dramatiq_queue_prefetch", 0))  # noqa: SIM112

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

tally = Tally(every=50)


def noop(payload: Payload) -> dict[str, int]:
    result = tally.job(payload)
    if seconds := payload.get("seconds"):
        time.sleep(seconds)
    return result


class DramatiqDriver:
    def __init__(self) -> None:
        path = URL.removeprefix("redis+socket://")
        self._broker: Any = RedisBroker(client=redis.Redis(unix_socket_path=path, db=0))
        self._broker.add_middleware(Results(backend=RedisBackend(client=redis.Redis(unix_socket_path=path, db=1))))
        dramatiq.set_broker(self._broker)
        self._actor = dramatiq.actor(noop, store_results=True)

    def setup(self) -> None:
        """Redis needs no setup. The harness starts each measurement with an empty Redis."""

    def open(self) -> None:
        pass

    def enqueue(self, payload: Payload) -> None:
        self._actor.send(payload)

    def enqueue_many(self, payloads: list[Payload]) -> None:
        """There is no bulk call: jobs are enqueued one by one."""
        for payload in payloads:
            self._actor.send(payload)

    def close(self) -> None:
        self._broker.close()

    def work(self, stop: threading.Event) -> None:
        worker = dramatiq.Worker(self._broker, worker_threads=SETTINGS["threads"])
        worker.start()
        stop.wait()
        worker.stop(timeout=2000)


if __name__ == "__main__":
    drive_sync(DramatiqDriver())
