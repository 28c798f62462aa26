import { setTimeout as sleep } from "node:timers/promises";

import { JobFailed, TimedOut } from "./errors.js";
import { newId } from "./ids.js";
import { checked, type Definition } from "./schema.js";
import { clientSettings, type ClientOptions } from "./settings.js";
import { streamed, type StreamOptions } from "./streams.js";
import { Transport, type Request, type Route } from "./transport.js";
import type {
  Cancel,
  EventPage,
  Event,
  Explanation,
  JobBrief,
  JobPage,
  Moved,
  Attempt,
  Retry,
  Routes,
  Reschedule,
  Status,
  Summary,
} from "./types.js";

export interface EnqueueOptions {
  queue?: string;
  /** Lower runs first. */
  priority?: number;
  maxAttempts?: number;
  scheduledFor?: Date | string;
  delaySeconds?: number;
  timeoutSeconds?: number;
  /** At most one unfinished job per key. A second enqueue returns the existing job, marked `deduplicated`. */
  dedupeKey?: string;
  /** For as long as the job is kept, an enqueue with the same payload returns it. A different payload throws Conflict. */
  idempotencyKey?: string;
  limitKey?: string;
  correlationId?: string;
  /** The tenant of the job. Only for super-admins. */
  tenant?: string;
  signal?: AbortSignal;
}

export interface WaitOptions {
  /** Timeout in seconds. Default: none. */
  timeoutSeconds?: number;
  signal?: AbortSignal;
}

type Tenanted = { tenant?: string };
type Listing = Routes["GET /jobs"]["query"];
const FINAL: ReadonlySet<Status> = new Set(["succeeded", "failed", "dead_letter", "canceled", "skipped"]);
const POLL_PAUSES_S = [0.1, 0.2, 0.4, 0.8, 1.5, 2];
/** Long polling: seconds that the server may wait before it responds. */
const WAIT_S = 20;

/** A client of plait's HTTP API. One instance per process is enough: its only state is its settings. */
export class Plait {
  readonly #transport: Transport;
  readonly #timeoutSeconds: number;

  constructor(options: ClientOptions = {}) {
    const settings = clientSettings(options);
    this.#transport = new Transport(settings);
    this.#timeoutSeconds = settings.timeoutSeconds;
  }

  /** Call any route of the API. The types come from its OpenAPI document. */
  async call<R extends Route>(route: R, request: Request<R>): Promise<Routes[R]["answer"]> {
    return await this.#transport.call(route, request);
  }

  /** Enqueue a job. Returns after commit. If the response is lost, the retried request finds the same job. */
  async enqueue<Payload extends object, Result = unknown>(
    definition: string | Definition<Payload, unknown, Result>,
    payload: Payload,
    options: EnqueueOptions = {},
  ): Promise<Handle<Result>> {
    const declared = typeof definition === "string" ? { key: definition } : definition;
    // Validate the payload, but send the original: the worker parses it with the schema.
    await checked(`the payload of ${declared.key}`, declared.payload, payload);
    const { queue, priority, maxAttempts, delaySeconds, timeoutSeconds, dedupeKey, limitKey, correlationId } = options;
    const made = await this.call("POST /jobs", {
      query: { tenant: options.tenant ?? null },
      headers: options.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey },
      signal: options.signal,
      body: {
        id: newId(),
        definition_key: declared.key,
        payload: payload as Record<string, unknown>,
        queue: queue ?? null,
        priority: priority ?? null,
        max_attempts: maxAttempts ?? null,
        scheduled_for: iso(options.scheduledFor),
        delay_seconds: delaySeconds ?? null,
        timeout_seconds: timeoutSeconds ?? null,
        dedupe_key: dedupeKey ?? null,
        limit_key: limitKey ?? null,
        correlation_id: correlationId ?? null,
      },
    });
    return new Handle<Result>(this, made.id, made.deduplicated, declared as Definition<unknown, unknown, Result>);
  }

  /** A handle on an existing job. */
  job<Result = unknown>(id: string, definition?: Definition<unknown, unknown, Result>): Handle<Result> {
    return new Handle<Result>(this, id, false, definition);
  }

  async get(id: string, query: Tenanted = {}): Promise<JobPage> {
    return await this.call("GET /jobs/{job_id}", { path: { job_id: id }, query });
  }

  /** Iterate over jobs, newest first. Pages are loaded as needed. */
  async *list(filter: Omit<Listing, "cursor" | "offset"> = {}): AsyncGenerator<JobBrief, void, void> {
    let cursor: string | null = null;
    do {
      const page: Routes["GET /jobs"]["answer"] = await this.call("GET /jobs", { query: { ...filter, cursor } });
      yield* page.items;
      cursor = page.next ?? null;
    } while (cursor !== null);
  }

  async attempts(id: string): Promise<Attempt[]> {
    return (await this.call("GET /jobs/{job_id}/attempts", { path: { job_id: id } })).items;
  }

  /** Cancel a job. A running job is asked to stop; a final job is not changed. */
  async cancel(id: string, body: Cancel = {}): Promise<Moved> {
    return await this.call("POST /jobs/{job_id}/cancel", { path: { job_id: id }, body });
  }

  /** Run a final job again, unless it succeeded. */
  async retry(id: string, body: Retry = {}): Promise<Moved> {
    return await this.call("POST /jobs/{job_id}/retry", { path: { job_id: id }, body });
  }

  async reschedule(id: string, body: Reschedule): Promise<Moved> {
    return await this.call("POST /jobs/{job_id}/reschedule", { path: { job_id: id }, body });
  }

  async signal(id: string, name: string, payload: unknown = null): Promise<Moved> {
    return await this.call("POST /jobs/{job_id}/signal", { path: { job_id: id }, body: { name, payload } });
  }

  /** The items that a job writes to a stream, as they are written, until the stream is closed or the job is final. */
  stream<Item = unknown>(id: string, name: string, options: StreamOptions = {}): AsyncGenerator<Item, void, void> {
    return streamed<Item>(this.#transport, id, name, options);
  }

  /** Explain why a job is not running, and what to do. */
  async explain(id: string): Promise<Explanation> {
    return await this.call("GET /jobs/{job_id}/explain", { path: { job_id: id } });
  }

  async summary(query: Tenanted = {}): Promise<Summary> {
    return await this.call("GET /jobs/summary", { query });
  }

  /** Send an event. Each matching trigger creates a job. Returns the event's id. */
  async emit(name: string, data: Record<string, unknown> = {}, options: { correlationId?: string } = {}): Promise<string> {
    const body = { id: newId(), name, data, correlation_id: options.correlationId ?? null };
    const { ids } = await this.call("POST /events", { body });
    return ids[0]!;
  }

  async *events(filter: { name?: string; failed?: boolean; limit?: number } & Tenanted = {}): AsyncGenerator<Event, void, void> {
    let cursor: string | null = null;
    do {
      const page: Routes["GET /events"]["answer"] = await this.call("GET /events", { query: { ...filter, cursor } });
      yield* page.items;
      cursor = page.next ?? null;
    } while (cursor !== null);
  }

  async event(id: string): Promise<EventPage> {
    return await this.call("GET /events/{event_id}", { path: { event_id: id } });
  }

  /** Wait until the job is final, and return it. Uses long polling. */
  async wait(id: string, { timeoutSeconds = Infinity, signal }: WaitOptions = {}): Promise<JobPage> {
    const until = performance.now() + timeoutSeconds * 1000;
    for (let polls = 0; ; polls++) {
      const asked = performance.now();
      const most = Math.max(0, Math.min(WAIT_S, (until - asked) / 1000));
      const job = await this.call("GET /jobs/{job_id}", {
        path: { job_id: id },
        query: { wait_seconds: most },
        timeoutSeconds: this.#timeoutSeconds + most,
        signal,
      });
      if (FINAL.has(job.status)) {
        return job;
      }
      const left = until - performance.now();
      if (left <= 0) {
        throw new TimedOut(`job ${id} is still ${job.status} after ${timeoutSeconds} s`);
      }
      if (performance.now() - asked < (most * 1000) / 2) {
        // A server that is shutting down responds immediately.
        const pause = (POLL_PAUSES_S[polls] ?? POLL_PAUSES_S.at(-1)!) * 1000;
        await sleep(Math.min(pause, left), undefined, signal ? { signal } : {});
      }
    }
  }
}

/** A handle on a job. */
export class Handle<Result = unknown> {
  readonly #plait: Plait;
  readonly #definition: Definition<unknown, unknown, Result> | undefined;

  constructor(
    plait: Plait,
    readonly id: string,
    /** Whether the dedupe key matched an existing job, which this handle refers to. */
    readonly deduplicated: boolean,
    definition: Definition<unknown, unknown, Result> | undefined,
  ) {
    this.#plait = plait;
    this.#definition = definition;
  }

  async get(): Promise<JobPage> {
    return await this.#plait.get(this.id);
  }

  async status(): Promise<Status> {
    return (await this.get()).status;
  }

  /** Wait for the job and return its result. Throws JobFailed if it did not succeed. */
  async result(options: WaitOptions = {}): Promise<Result> {
    const { status, reason, last_error: error, result } = await this.#plait.wait(this.id, options);
    if (status !== "succeeded") {
      throw new JobFailed(this.id, status, reason, error);
    }
    return await checked(`the result of job ${this.id}`, this.#definition?.result, result);
  }

  /** `for await (const token of job.stream<string>("tokens"))`. */
  stream<Item = unknown>(name: string, options: StreamOptions = {}): AsyncGenerator<Item, void, void> {
    return this.#plait.stream<Item>(this.id, name, options);
  }

  async cancel(body: Cancel = {}): Promise<Moved> {
    return await this.#plait.cancel(this.id, body);
  }

  async retry(body: Retry = {}): Promise<Moved> {
    return await this.#plait.retry(this.id, body);
  }
}

function iso(at: Date | string | undefined): string | null {
  return at instanceof Date ? at.toISOString() : (at ?? null);
}
