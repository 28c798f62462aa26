// The requests of a worker. Each request names the worker and the attempt, so the server rejects outdated attempts and recognizes
// repeated requests.

import { LeaseLost, Refused } from "./errors.js";
import type { Outcome } from "./outcomes.js";
import { passing, pause, type Transport } from "./transport.js";
import type { Beat, Claim, ClaimedJob, Held } from "./types.js";

export class Protocol {
  readonly #transport: Transport;
  readonly #leaseSeconds: number;
  readonly #about: Omit<Claim, "worker" | "limit" | "running" | "wait_seconds">;
  #worker: number | null = null;

  constructor(
    transport: Transport,
    about: Omit<Claim, "worker" | "limit" | "running" | "wait_seconds"> & { lease_seconds: number },
  ) {
    this.#transport = transport;
    this.#about = about;
    this.#leaseSeconds = about.lease_seconds;
  }

  /** The worker's id. Null until the first claim, and after the lease was lost. */
  get worker(): number | null {
    return this.#worker;
  }

  /** Claim jobs. Sent only once: if the response is lost, the server may have claimed jobs for this worker, and a retry would claim more. */
  async claim(limit: number, running: number, waitSeconds: number, signal: AbortSignal): Promise<ClaimedJob[]> {
    const { worker, jobs } = await this.#transport.call("POST /worker/jobs/claim", {
      body: { ...this.#about, worker: this.#worker, limit, running, wait_seconds: waitSeconds },
      retries: 0,
      timeoutSeconds: waitSeconds + 15,
      signal,
    });
    this.#worker = worker;
    return jobs;
  }

  /**
   * Renew the lease. `held`: all claimed jobs, if no claim is in progress. The server releases claimed jobs that are not listed. Without
   * `held`, only the job `one` is checked.
   */
  async beat(one: Held | undefined, held: Held[] | null): Promise<Beat> {
    const request = { retries: 0, timeoutSeconds: this.#leaseSeconds / 3 };
    const worker = this.#number();
    if (held !== null || one === undefined) {
      return await this.#transport.call("POST /worker/heartbeat", { ...request, body: { worker, held } });
    }
    return await this.#transport.call("POST /worker/jobs/{job_id}/heartbeat", {
      ...request,
      path: { job_id: one.id },
      body: { worker, attempt: one.attempt },
    });
  }

  /**
   * Report the outcome of an attempt. Retries until the server has received it or the lease is lost. A request in flight is not aborted:
   * the server may have accepted it just before a heartbeat reports that the job is gone.
   */
  async settle(job: ClaimedJob, { verb, body }: Outcome, lost: AbortSignal): Promise<void> {
    const request = { path: { job_id: job.id }, retries: 0, timeoutSeconds: this.#leaseSeconds / 3 };
    const said = { worker: this.#number(), attempt: job.attempt };
    for (let tried = 0; ; tried++) {
      try {
        await this.#transport.call(`POST /worker/jobs/{job_id}/${verb}`, { ...request, body: { ...said, ...body } });
        return;
      } catch (error) {
        const broken = error instanceof Refused && error.status >= 500;
        if (lost.aborted || !(passing(error) || broken)) {
          throw error;
        }
        await pause(error, tried, lost);
      }
    }
  }

  async report(job: ClaimedJob, body: { stdout?: string; stderr?: string; progress?: Record<string, unknown> }): Promise<void> {
    await this.#transport.call("POST /worker/jobs/{job_id}/logs", {
      path: { job_id: job.id },
      body: { worker: this.#number(), attempt: job.attempt, ...body },
    });
  }

  /** Deregister the worker. The server releases its jobs immediately. */
  async leave(): Promise<void> {
    if (this.#worker !== null) {
      const worker = this.#worker;
      this.#worker = null;
      await this.#transport.call("POST /worker/leave", { body: { worker }, retries: 1, timeoutSeconds: 5 });
    }
  }

  /** Forget the worker's id, because its lease is lost. The next claim registers a new worker. */
  forget(): void {
    this.#worker = null;
  }

  #number(): number {
    if (this.#worker === null) {
      throw new LeaseLost(409, "worker-lost", "the worker has lost its lease", {}, undefined);
    }
    return this.#worker;
  }
}
