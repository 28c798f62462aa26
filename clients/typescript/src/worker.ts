// A worker over HTTP: it claims jobs, runs their handlers and reports outcomes. It has no connection to the database.
//
// Three activities run concurrently: one claim at a time, which waits at the server for jobs; a heartbeat, which renews the worker's lease
// and returns the jobs that must stop; and the handlers. A claimed job stays in `#held` until the server has acknowledged its outcome, so that a
// heartbeat that lists the held jobs never releases a job that is being settled (T33). Such a heartbeat would also release the jobs in
// the response to a claim, so it is sent only while no claim is in progress.

import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

import { LeaseLost, Refused } from "./errors.js";
import { Execution, type Handler, type Registered } from "./execution.js";
import { Logger, toStderr } from "./logs.js";
import { failedFor, type Outcome } from "./outcomes.js";
import { Protocol } from "./protocol.js";
import type { Definition } from "./schema.js";
import { clientSettings, workerSettings, type WorkerOptions, type WorkerSettings } from "./settings.js";
import { passing, pause, Transport } from "./transport.js";
import type { ClaimedJob } from "./types.js";

export interface HandlerOptions {
  /** Timeout in seconds for jobs that have no timeout. Default: 3600. */
  timeoutSeconds?: number;
}

/** The reason recorded for a job whose outcome the server rejected, for example because it is too large. */
const REFUSED = "outcome_refused";
const VERSION = "plait-client/0.1.0 (node)";

export class Worker {
  readonly #transport: Transport;
  readonly #work: WorkerSettings;
  #log: Logger;

  readonly #handlers = new Map<string, Registered>();
  readonly #held = new Map<string, Execution>();
  readonly #ready: Execution[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #hurry = new AbortController();
  #protocol: Protocol | undefined;
  #claiming = false;
  #reconciling: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  #beats = 0;
  /** When this worker's lease expires, measured by this process. After that, other workers may claim its jobs (T31). */
  #leaseUntil = 0;
  /** Until this time the server may still claim jobs for this worker without its knowledge, because the response to a claim was lost. */
  #doubtUntil = 0;

  constructor(options: WorkerOptions = {}) {
    this.#transport = new Transport(clientSettings(options));
    this.#work = workerSettings(options);
    this.#log = new Logger(options.log ?? toStderr, { component: "worker" });
  }

  /** Register the handler of a job definition. */
  handle<Payload, Parsed, Result>(
    definition: Definition<Payload, Parsed, Result>,
    handler: Handler<Parsed, Result>,
    options?: HandlerOptions,
  ): this;
  handle(definition: string, handler: Handler, options?: HandlerOptions): this;
  handle(definition: string | Definition<unknown, unknown, unknown>, handler: Handler<never>, options: HandlerOptions = {}): this {
    const declared = typeof definition === "string" ? { key: definition } : definition;
    if (this.#handlers.has(declared.key)) {
      throw new TypeError(`${declared.key} already has a handler`);
    }
    this.#handlers.set(declared.key, { definition: declared, handler, timeoutSeconds: options.timeoutSeconds ?? 3600 });
    return this;
  }

  /** Graceful shutdown: finish running handlers, release jobs that have not started, and exit. A second call skips the grace period. */
  stop(): void {
    if (this.#stopping.signal.aborted) {
      this.#hurry.abort();
    }
    this.#stopping.abort();
    this.#notify();
  }

  /** Run jobs until `stop` is called or, unless `signals` is false, until SIGTERM or SIGINT. Throws if the server rejects the worker permanently. */
  async run({ signals = true }: { signals?: boolean } = {}): Promise<void> {
    if (this.#protocol) {
      throw new TypeError("a worker can run only once: create another worker");
    }
    if (this.#handlers.size === 0) {
      throw new TypeError("the worker has no handlers: register one with handle()");
    }
    const protocol = new Protocol(this.#transport, {
      queues: this.#work.queues,
      definitions: [...this.#handlers.keys()],
      lease_seconds: this.#work.leaseSeconds,
      hostname: hostname().slice(0, 200),
      pid: process.pid,
      version: VERSION,
    });
    this.#protocol = protocol;
    const onSignal = (): void => this.stop();
    const names = signals ? (["SIGTERM", "SIGINT"] as const) : [];
    names.forEach((name) => process.on(name, onSignal));
    const drained = new AbortController();
    const beating = this.#keepBeating(protocol, drained.signal);
    try {
      await this.#pump(protocol);
    } finally {
      this.#stopping.abort();
      try {
        await this.#drain(protocol);
      } finally {
        drained.abort();
        await beating;
        await protocol.leave().catch((error: unknown) => this.#log.warning("deregistration failed", { error: String(error) }));
        names.forEach((name) => process.off(name, onSignal));
        this.#log.info("worker stopped");
      }
    }
  }

  async #pump(protocol: Protocol): Promise<void> {
    for (let failed = 0; !this.#stopping.signal.aborted;) {
      const limit = this.#claimLimit();
      if (limit === 0) {
        await this.#change();
        continue;
      }
      try {
        if (protocol.worker !== null && performance.now() < this.#doubtUntil) {
          await this.#beat(protocol);
        }
        while (this.#reconciling) {
          await this.#reconciling;
        }
        await this.#claim(protocol, limit);
        failed = 0;
      } catch (error) {
        if (this.#stopping.signal.aborted) {
          return;
        }
        if (error instanceof LeaseLost) {
          this.#loseAll(protocol);
        } else if (passing(error) || (error instanceof Refused && error.status >= 500)) {
          this.#log.warning("claim failed", { error: String(error) });
          await pause(error, failed++, this.#stopping.signal).catch(() => undefined);
        } else {
          throw error;
        }
      }
    }
  }

  /** The number of jobs to claim. Jobs are claimed whenever a slot is free, and prefetched when at most half of the limit is held. */
  #claimLimit(): number {
    const held = this.#held.size;
    const idle = this.#ready.length === 0 && this.#running.size < this.#work.concurrency;
    return idle || held <= this.#work.claimLimit / 2 ? Math.max(0, this.#work.claimLimit - held) : 0;
  }

  async #claim(protocol: Protocol, limit: number): Promise<void> {
    const asked = performance.now();
    const before = protocol.worker;
    let jobs: ClaimedJob[];
    this.#claiming = true;
    try {
      jobs = await protocol.claim(limit, this.#running.size, this.#work.waitSeconds, this.#stopping.signal);
    } catch (error) {
      if (!(error instanceof LeaseLost)) {
        this.#doubt();
      }
      throw error;
    } finally {
      this.#claiming = false;
    }
    this.#renewed(asked);
    if (before !== protocol.worker) {
      this.#log = this.#log.with({ worker_id: protocol.worker });
      this.#log.info("worker registered", { queues: this.#work.queues, definitions: [...this.#handlers.keys()] });
    }
    for (const job of jobs) {
      const execution = new Execution(job);
      this.#held.set(job.id, execution);
      this.#ready.push(execution);
    }
    this.#start(protocol);
  }

  /** The response to a claim was lost. The server may still execute the claim for as long as it was asked to wait. */
  #doubt(): void {
    this.#doubtUntil = performance.now() + (this.#work.waitSeconds + 5) * 1000;
  }

  #start(protocol: Protocol): void {
    while (!this.#stopping.signal.aborted && this.#running.size < this.#work.concurrency) {
      const execution = this.#ready.shift();
      if (!execution) {
        return;
      }
      const running = this.#execute(protocol, execution).finally(() => {
        this.#running.delete(running);
        this.#start(protocol);
        this.#notify();
      });
      this.#running.add(running);
    }
  }

  async #execute(protocol: Protocol, execution: Execution): Promise<void> {
    const { job } = execution;
    const log = execution.logTo(this.#log);
    const registered = this.#handlers.get(job.definition_key);
    const began = performance.now();
    const outcome: Outcome = registered
      ? await execution.run(registered, execution.context(log, (said) => this.#report(protocol, execution, said)))
      : { verb: "release", body: { delay_seconds: 60 } };
    await this.#settle(protocol, execution, outcome, log.with({ duration_ms: Math.round(performance.now() - began) }));
  }

  /** Report the outcome, unless the lease is lost. Never throws. */
  async #settle(protocol: Protocol, execution: Execution, outcome: Outcome, log: Logger): Promise<void> {
    try {
      if (execution.lost.aborted) {
        log.warning("lease lost");
        return;
      }
      const error = outcome.verb === "fail" ? { error: outcome.body.error } : {};
      await protocol.settle(execution.job, outcome, execution.lost);
      log.info(`job ${PAST[outcome.verb]}`, error);
    } catch (error) {
      if (execution.lost.aborted || error instanceof LeaseLost) {
        log.warning("lease lost");
      } else if (outcome.verb === "fail" && outcome.body.reason === REFUSED) {
        log.error("outcome refused", { error: String(error) });
        this.#doubt(); // the next heartbeat that lists the held jobs releases the job
      } else {
        const message = error instanceof Error ? error.message : String(error);
        await this.#settle(
          protocol,
          execution,
          failedFor(REFUSED, `the server rejected the outcome (${outcome.verb}): ${message}`),
          log,
        );
      }
    } finally {
      this.#drop(execution);
    }
  }

  /** Remove the job from `#held`, unless it was lost and this worker has claimed it again. */
  #drop(execution: Execution): void {
    if (this.#held.get(execution.job.id) === execution) {
      this.#held.delete(execution.job.id);
    }
  }

  /** Renew the lease while jobs are held. If renewal fails, stop the handlers before the lease expires and other workers run the jobs. */
  async #keepBeating(protocol: Protocol, drained: AbortSignal): Promise<void> {
    let next = this.#work.heartbeatSeconds;
    while (await sleep(next * 1000, true, { signal: drained }).catch(() => false)) {
      next = this.#work.heartbeatSeconds;
      if (protocol.worker === null || (this.#held.size === 0 && performance.now() >= this.#doubtUntil)) {
        continue;
      }
      try {
        await this.#beat(protocol);
      } catch (error) {
        this.#log.warning("heartbeat failed", { error: String(error) });
        if (performance.now() >= this.#leaseUntil) {
          this.#loseAll(protocol);
        }
        next = passing(error) ? Math.min(1, this.#work.heartbeatSeconds) : this.#work.heartbeatSeconds;
      }
    }
  }

  async #beat(protocol: Protocol): Promise<void> {
    const all = [...this.#held.values()].map(({ job: { id, attempt } }) => ({ id, attempt }));
    const one = all[this.#beats++ % Math.max(1, all.length)];
    const sent = performance.now();
    const reply = protocol.beat(one, this.#claiming ? null : all);
    if (!this.#claiming) {
      // A claim waits for this heartbeat, and for an earlier heartbeat that is still in progress.
      const ended = Promise.allSettled([this.#reconciling, reply]).then(() => {
        if (this.#reconciling === ended) {
          this.#reconciling = undefined;
        }
      });
      this.#reconciling = ended;
    }
    try {
      const { cancel, gone } = await reply;
      this.#renewed(sent);
      cancel.forEach((id) => this.#held.get(id)?.stop("canceled"));
      gone.forEach((id) => this.#lose(id, all));
    } catch (error) {
      if (!(error instanceof LeaseLost)) {
        throw error;
      }
      this.#loseAll(protocol);
    }
  }

  /** Stop only this attempt: the worker may have claimed the job again in the meantime. */
  #lose(id: string, asked: readonly { id: string; attempt: number }[]): void {
    const execution = this.#held.get(id);
    if (execution && asked.some((one) => one.id === id && one.attempt === execution.job.attempt)) {
      execution.stop("lost");
      this.#drop(execution);
    }
  }

  #loseAll(protocol: Protocol): void {
    this.#log.warning("worker lost", { held: this.#held.size });
    protocol.forget();
    this.#doubt(); // a claim in progress may still be answered for the old worker id
    this.#log = new Logger(this.#log.sink, { component: "worker" });
    for (const execution of this.#held.values()) {
      execution.stop("lost");
    }
    this.#held.clear();
    this.#ready.length = 0;
    this.#notify();
  }

  async #drain(protocol: Protocol): Promise<void> {
    const waiting = this.#ready.splice(0);
    if (this.#held.size > 0) {
      this.#log.info("draining", { running: this.#running.size, released: waiting.length });
    }
    // Release jobs that have not started. Jobs of a claim in progress are released by the next heartbeat, or by leave (T42).
    const released = waiting.map((execution) =>
      this.#settle(protocol, execution, { verb: "release", body: {} }, execution.logTo(this.#log)),
    );
    const ended = Promise.all([...this.#running, ...released]);
    const over = new AbortController();
    const patience = sleep(this.#work.graceSeconds * 1000, undefined, { signal: AbortSignal.any([this.#hurry.signal, over.signal]) });
    await Promise.race([ended, patience.catch(() => undefined)]);
    over.abort();
    this.#held.forEach((execution) => execution.stop("shutdown"));
    await ended;
  }

  #renewed(asked: number): void {
    this.#leaseUntil = Math.max(this.#leaseUntil, asked + this.#work.leaseSeconds * 1000 * 0.9);
  }

  /** Send a handler's progress or output to the server. If the lease is lost, the handler is stopped. */
  async #report(protocol: Protocol, execution: Execution, body: Parameters<Protocol["report"]>[1]): Promise<void> {
    try {
      await protocol.report(execution.job, body);
    } catch (error) {
      if (error instanceof LeaseLost) {
        execution.stop("lost");
      }
      throw error;
    }
  }

  #notify(): void {
    this.#wake();
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}

const PAST = { complete: "succeeded", fail: "failed", release: "released", skip: "skipped" } as const;
