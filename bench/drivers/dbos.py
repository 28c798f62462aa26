"""DBOS Transact: workflows on a queue, enqueued by its client."""

import os
import threading
import time
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient, run_dbos_database_migrations

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive_sync

OPTIONS: Any = {"queue_name": "bench", "workflow_name": "noop", "app_version": "bench"}
SQLALCHEMY_URL = URL.replace("postgresql://", "postgresql+psycopg://")

tally = Tally(every=50)


def noop(payload: Payload) -> dict[str, int]:
    result = tally.job(payload)
    if seconds := payload.get("seconds"):
        time.sleep(seconds)
    return result


def gather(n: int) -> int:
    handles = [DBOS.enqueue_workflow("bench", DBOS_NOOP[0], {"n": i}) for i in range(n)]
    return len([handle.get_result() for handle in handles])


def step(n: int) -> int:
    return n


def walk(n: int) -> int:
    return sum(1 for i in range(n) if DBOS.run_step({"name": "step"}, step, i) == i)


def passed(at: int) -> float:
    return (time.monotonic_ns() - at) / 1e6


def hear(steps: int, n: int) -> list[float]:
    for i in range(steps):
        DBOS.run_step({"name": "step"}, step, i)
    return [DBOS.run_step({"name": "passed"}, passed, DBOS.recv("go", timeout_seconds=300)) for _ in range(n)]


DBOS_NOOP: list[Any] = []
"""The workflow, once it is registered."""


class DbosDriver:
    def setup(self) -> None:
        run_dbos_database_migrations(URL)

    def open(self) -> None:
        self._client = DBOSClient(system_database_url=URL, system_database_pool_size=SETTINGS["client_pool"])
        self._engine = sqlalchemy.create_engine(SQLALCHEMY_URL)

    def enqueue(self, payload: Payload) -> None:
        self._client.enqueue(OPTIONS, payload)

    def enqueue_many(self, payloads: list[Payload]) -> None:
        """There is no bulk call: jobs are enqueued one by one, with one commit for all of them."""
        with self._engine.begin() as connection:
            for payload in payloads:
                self._client.enqueue_in_transaction(connection, OPTIONS, payload)

    def fan_out(self, n: int) -> int:
        return int(self._client.enqueue({**OPTIONS, "workflow_name": "gather"}, n).get_result())

    def steps(self, jobs: int, n: int) -> int:
        handles = [self._client.enqueue({**OPTIONS, "workflow_name": "walk"}, n) for _ in range(jobs)]
        return sum(int(handle.get_result()) for handle in handles)

    def resume(self, steps: int, n: int) -> list[float]:
        handle = self._client.enqueue({**OPTIONS, "workflow_name": "hear"}, steps, n)
        time.sleep(0.5 + steps * 0.005)
        for _ in range(n):
            self._client.send(handle.get_workflow_id(), time.monotonic_ns(), "go")
            time.sleep(0.3)
        return list(handle.get_result())

    def close(self) -> None:
        self._client.destroy()
        self._engine.dispose()

    def work(self, stop: threading.Event) -> None:
        config: Any = {
            "name": "bench",
            "system_database_url": URL,
            "application_version": "bench",
            "executor_id": str(os.getpid()),
            "sys_db_pool_size": SETTINGS["worker_pool"],
            "max_executor_threads": SETTINGS["threads"],
            "run_migrations": False,
            "log_level": "ERROR",
        }
        DBOS(config=config)
        DBOS_NOOP.append(DBOS.workflow(name="noop")(noop))
        DBOS.workflow(name="gather")(gather)
        DBOS.workflow(name="walk")(walk)
        DBOS.workflow(name="hear")(hear)
        DBOS.launch()
        DBOS.register_queue(
            "bench",
            worker_concurrency=SETTINGS["worker_concurrency"],
            polling_interval_sec=SETTINGS["polling_interval_sec"],
        )
        stop.wait()
        DBOS.destroy()


if __name__ == "__main__":
    drive_sync(DbosDriver())
