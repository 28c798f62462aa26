"""Celery on Redis: messages in database 0, results in database 1."""

import os
import threading
import time

from celery import Celery, group
from celery.worker import state

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive_sync

app = Celery("bench", broker=f"{URL}?virtual_host=0", backend=f"{URL}?virtual_host=1")
app.conf.update(
    worker_prefetch_multiplier=SETTINGS.get("worker_prefetch_multiplier", 1),
    task_serializer="json",
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)
tally = Tally(every=50)


def noop(payload: Payload) -> dict[str, int]:
    result = tally.job(payload)
    if seconds := payload.get("seconds"):
        time.sleep(seconds)
    return result


job = app.task(name="noop")(noop)


class CeleryDriver:
    def setup(self) -> None:
        """Redis needs no setup. The harness starts each measurement with an empty Redis."""

    def open(self) -> None:
        job.app.finalize()

    def enqueue(self, payload: Payload) -> None:
        job.apply_async((payload,))

    def enqueue_many(self, payloads: list[Payload]) -> None:
        """There is no bulk call: jobs are enqueued one by one, on one connection."""
        with app.producer_pool.acquire(block=True) as producer:
            for payload in payloads:
                job.apply_async((payload,), producer=producer)

    def fan_out(self, n: int) -> int:
        """Use a Celery group. The caller itself gathers the results."""
        return len(group(job.s({"n": i}) for i in range(n)).apply_async().get(timeout=300))

    def close(self) -> None:
        app.close()

    def work(self, stop: threading.Event) -> None:
        def wait_for_the_end() -> None:
            stop.wait()
            state.should_stop = 0

        threading.Thread(target=wait_for_the_end, daemon=True).start()
        app.worker_main(
            [
                "worker",
                "--loglevel=ERROR",
                f"--pool={SETTINGS['pool']}",
                f"--concurrency={SETTINGS['concurrency']}",
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                f"--hostname=bench-{os.getpid()}@localhost",
            ]
        )


if __name__ == "__main__":
    drive_sync(CeleryDriver())
