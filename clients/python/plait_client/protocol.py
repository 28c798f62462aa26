"""The requests of a worker. Each request names the worker and the attempt, so the server rejects outdated attempts and recognizes
repeated requests. All methods block and are called from threads.
"""

import os
import socket
import threading
from collections.abc import Sequence
from typing import Any, Final, cast

from plait_client.errors import LeaseLost, PlaitError, Refused
from plait_client.outcomes import Outcome
from plait_client.settings import Settings, WorkerSettings
from plait_client.transport import Transport, passing, pause
from plait_client.types import Beat, ClaimedJob, Held, Route

VERSION: Final = "plait-client/0.1.0 (python)"
SETTLE: Final[dict[str, Route]] = {
    "complete": "POST /worker/jobs/{job_id}/complete",
    "fail": "POST /worker/jobs/{job_id}/fail",
    "release": "POST /worker/jobs/{job_id}/release",
    "skip": "POST /worker/jobs/{job_id}/skip",
}


class Protocol:
    def __init__(self, settings: Settings, work: WorkerSettings, definitions: Sequence[str]) -> None:
        self._transport = Transport(settings)
        self._claims = Transport(settings)
        self._work = work
        self._about = {
            "queues": list(work.queues),
            "definitions": list(definitions),
            "lease_seconds": work.lease,
            "hostname": socket.gethostname()[:200],
            "pid": os.getpid(),
            "version": VERSION,
        }
        self.worker: int | None = None
        """The worker's id. None until the first claim, and after the lease was lost."""

    def claim(self, limit: int, running: int) -> list[ClaimedJob]:
        """Claim jobs. Sent only once: if the response is lost, the server may have claimed jobs for this worker, and a retry would claim more."""
        wait = self._work.wait
        body = {**self._about, "worker": self.worker, "limit": limit, "running": running, "wait_seconds": wait}
        answer = self._claims.call("POST /worker/jobs/claim", body=body, retries=0, timeout=wait + 15)
        self.worker = answer["worker"]
        return cast("list[ClaimedJob]", answer["jobs"])

    def end_claim(self) -> None:
        """Abort a claim that waits for jobs."""
        self._claims.close()

    def beat(self, one: Held | None, held: Sequence[Held] | None) -> Beat:
        """Renew the lease. `held`: all claimed jobs, if no claim is in progress. The server releases claimed jobs that are not listed.
        Without `held`, only the job `one` is checked."""
        if held is not None or one is None:
            body = {"worker": self._number(), "held": held if held is None else list(held)}
            return cast("Beat", self._send("POST /worker/heartbeat", None, body))
        body = {"worker": self._number(), "attempt": one["attempt"]}
        return cast("Beat", self._send("POST /worker/jobs/{job_id}/heartbeat", one["id"], body))

    def settle(self, job: ClaimedJob, outcome: Outcome, lost: threading.Event) -> None:
        """Report the outcome of an attempt. Retries until the server has received it or the lease is lost."""
        body = {"worker": self._number(), "attempt": job["attempt"], **outcome.body}
        tried = 0
        while True:
            try:
                self._send(SETTLE[outcome.verb], job["id"], body)
            except PlaitError as error:
                broken = isinstance(error, Refused) and error.status >= 500
                if not (passing(error) or broken) or lost.wait(pause(error, tried)):
                    raise
                tried += 1
            else:
                return

    def report(self, job: ClaimedJob, **body: Any) -> None:
        said = {"worker": self._number(), "attempt": job["attempt"], **body}
        self._transport.call("POST /worker/jobs/{job_id}/logs", path={"job_id": job["id"]}, body=said)

    def leave(self) -> None:
        """Deregister the worker. The server releases its jobs immediately."""
        worker, self.worker = self.worker, None
        if worker is not None:
            self._transport.call("POST /worker/leave", body={"worker": worker}, retries=1, timeout=5)

    def close(self) -> None:
        self._claims.close()
        self._transport.close()

    def _send(self, route: Route, job_id: str | None, body: Any) -> Any:
        path = {} if job_id is None else {"job_id": job_id}
        return self._transport.call(route, path=path, body=body, retries=0, timeout=self._work.lease / 3)

    def _number(self) -> int:
        if self.worker is None:
            raise LeaseLost(409, "worker-lost", "the worker has lost its lease", None, None)
        return self.worker
