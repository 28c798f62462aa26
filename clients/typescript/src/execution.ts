// One claimed job in this worker: running its handler, stopping it, and its outcome.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { SchemaMismatch } from "./errors.js";
import type { Logger } from "./logs.js";
import { failedFor, outcomeOf, Stopped, type Outcome } from "./outcomes.js";
import { checked, type Definition } from "./schema.js";
import type { ClaimedJob } from "./types.js";

export interface Context {
  readonly jobId: string;
  readonly attempt: number;
  /** Attempts used, including this one. At most `maxAttempts`. */
  readonly failed_attempts: number;
  readonly maxAttempts: number;
  readonly tenantId: string;
  readonly definition: string;
  readonly queue: string;
  readonly correlationId: string | null;
  /** The trace id of this attempt, 32 hexadecimal digits. It equals the correlation id if that has this form. */
  readonly traceId: string;
  /** The value of the `traceparent` header for outgoing requests. */
  readonly traceparent: string;
  /** Aborted when the job must stop. Its reason is a `Stopped`. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Report progress, which is shown with the job. */
  progress(value: Record<string, unknown>): Promise<void>;
  /** Append output to the attempt, which keeps the last 64 KiB. */
  output(text: string): Promise<void>;
}

export type Handler<Payload = Record<string, unknown>, Result = unknown> = (
  payload: Payload,
  context: Context,
) => Result | Promise<Result>;

export interface Registered {
  readonly definition: Definition<unknown, unknown, unknown>;
  readonly handler: Handler<never>;
  readonly timeoutSeconds: number;
}

/** The time that a handler has to finish after it was asked to stop. Then its slot is freed, even if the handler is still running (T43, T103). */
const PATIENCE_MS = 2000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Execution {
  readonly traceId: string;
  readonly traceparent: string;
  readonly #stop = new AbortController();
  readonly #lost = new AbortController();

  constructor(readonly job: ClaimedJob) {
    const correlation = job.correlation_id ?? "";
    this.traceId = /^(?!0{32})[0-9a-f]{32}$/.test(correlation) ? correlation : randomBytes(16).toString("hex");
    this.traceparent = `00-${this.traceId}-${randomBytes(8).toString("hex")}-01`;
  }

  /** Aborted when the lease is lost. After that, nothing more is reported about the job. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(why: Stopped["why"]): void {
    if (why === "lost") {
      this.#lost.abort(new Stopped(why));
    }
    this.#stop.abort(new Stopped(why));
  }

  /** The handler's context. `report` sends progress and output to the server. */
  context(log: Logger, report: (said: { stdout?: string; progress?: Record<string, unknown> }) => Promise<void>): Context {
    const { job, traceId, traceparent, signal } = this;
    return {
      jobId: job.id,
      attempt: job.attempt,
      failed_attempts: job.failed_attempts,
      maxAttempts: job.max_attempts,
      tenantId: job.tenant_id,
      definition: job.definition_key,
      queue: job.queue,
      correlationId: job.correlation_id,
      traceId,
      traceparent,
      signal,
      log,
      progress: (progress) => report({ progress }),
      output: (stdout) => report({ stdout }),
    };
  }

  logTo(log: Logger): Logger {
    const { job, traceId } = this;
    return log.with({
      job_id: job.id,
      attempt: job.attempt,
      tenant_id: job.tenant_id,
      definition: job.definition_key,
      trace_id: traceId,
      ...(job.correlation_id === null ? {} : { correlation_id: job.correlation_id }),
    });
  }

  /** Run the handler. Always returns an outcome and never throws. */
  async run(registered: Registered, context: Context): Promise<Outcome> {
    const { definition, handler, timeoutSeconds } = registered;
    const limit = (this.job.timeout_seconds ?? timeoutSeconds) * 1000;
    const timer = limit <= LONGEST_TIMER_MS ? setTimeout(() => this.stop("timeout"), limit) : undefined;
    try {
      const payload = await checked(`the payload of ${definition.key}`, definition.payload, this.job.payload);
      const result = await this.#unlessAbandoned(async () => await handler(payload as never, context));
      await checked(`the result of ${definition.key}`, definition.result, result);
      return completed(result);
    } catch (error) {
      const stopped: unknown = this.signal.reason;
      return error instanceof SchemaMismatch
        ? failedFor("schema_mismatch", error.message)
        : outcomeOf(error, stopped instanceof Stopped ? stopped : undefined);
    } finally {
      clearTimeout(timer);
    }
  }

  async #unlessAbandoned<T>(work: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    const done = new AbortController();
    const abandoned = new Promise<never>((_, reject) => {
      const abandon = (): void => {
        sleep(PATIENCE_MS, undefined, { signal: done.signal, ref: true }).then(
          () => reject(this.signal.reason as Error),
          () => undefined,
        );
      };
      this.signal.addEventListener("abort", abandon, { once: true, signal: done.signal });
    });
    try {
      return await Promise.race([work(), abandoned]);
    } finally {
      done.abort();
    }
  }
}

/** The outcome for a returned result. A result that is not serializable fails the job, not the worker (T65). */
function completed(result: unknown): Outcome {
  try {
    JSON.stringify(result);
  } catch (error) {
    return failedFor("not_serializable", `result is not serializable as JSON: ${String(error)}`);
  }
  return { verb: "complete", body: { result: result ?? null } };
}
