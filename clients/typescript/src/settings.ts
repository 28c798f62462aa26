import { BrowserRefused, InvalidSettings } from "./errors.js";
import type { Sink } from "./logs.js";

export interface ClientOptions {
  /** URL of the API. Default: PLAIT_URL. */
  url?: string;
  /** API key. Default: PLAIT_KEY. */
  key?: string;
  /** Timeout of one request, in seconds. Default: 30. */
  timeoutSeconds?: number;
  /** Maximum number of retries of a request after no response, or after status 429, 502, 503 or 504. Default: 4. */
  retries?: number;
  /** Default: the global fetch. */
  fetch?: typeof fetch;
}

export interface ClientSettings {
  readonly url: string;
  readonly key: string;
  readonly timeoutSeconds: number;
  readonly retries: number;
  readonly fetch: typeof fetch;
}

export function clientSettings(options: ClientOptions): ClientSettings {
  refuseBrowsers();
  const check = new Checks();
  const settings = {
    url: check.url(options.url ?? process.env["PLAIT_URL"]),
    key: check.key(options.key ?? process.env["PLAIT_KEY"]),
    timeoutSeconds: check.number("timeoutSeconds", options.timeoutSeconds ?? 30, 0.001, 3600),
    retries: check.integer("retries", options.retries ?? 4, 0, 100),
    fetch: options.fetch ?? globalThis.fetch,
  };
  check.done();
  return settings;
}

export interface WorkerOptions extends ClientOptions {
  /** Default: ["default"]. */
  queues?: string[];
  /** Maximum number of handlers that run concurrently. Default: 10. */
  concurrency?: number;
  /** Maximum number of claimed jobs, including prefetched jobs. Default: `concurrency`. */
  claimLimit?: number;
  /** Seconds without a heartbeat after which the worker is lost and its jobs are requeued. Default: 30. */
  leaseSeconds?: number;
  /** Seconds between heartbeats, and therefore the longest delay before a cancellation takes effect. Default: a third of the lease. */
  heartbeatSeconds?: number;
  /** Long polling: seconds that a claim waits at the server for jobs. Default: 20. */
  waitSeconds?: number;
  /** Graceful shutdown: seconds that running handlers have to finish. Default: 30. */
  graceSeconds?: number;
  log?: Sink;
}

export interface WorkerSettings {
  readonly queues: string[];
  readonly concurrency: number;
  readonly claimLimit: number;
  readonly leaseSeconds: number;
  readonly heartbeatSeconds: number;
  readonly waitSeconds: number;
  readonly graceSeconds: number;
}

export function workerSettings(options: WorkerOptions): WorkerSettings {
  const check = new Checks();
  const concurrency = check.integer("concurrency", options.concurrency ?? 10, 1, 1000);
  const lease = check.number("leaseSeconds", options.leaseSeconds ?? 30, 5, 3600);
  const settings = {
    queues: options.queues ?? ["default"],
    concurrency,
    claimLimit: check.integer("claimLimit", options.claimLimit ?? concurrency, concurrency, 1000),
    leaseSeconds: lease,
    heartbeatSeconds: check.number("heartbeatSeconds", options.heartbeatSeconds ?? lease / 3, 0.05, lease / 2),
    waitSeconds: check.number("waitSeconds", options.waitSeconds ?? 20, 0, 30),
    graceSeconds: check.number("graceSeconds", options.graceSeconds ?? 30, 0, 86_400),
  };
  check.done();
  return settings;
}

function refuseBrowsers(): void {
  const scope = globalThis as { window?: unknown; document?: unknown; importScripts?: unknown };
  const server = typeof process !== "undefined" && typeof process.versions?.node === "string";
  if (!server || (scope.window !== undefined && scope.document !== undefined) || scope.importScripts !== undefined) {
    throw new BrowserRefused();
  }
}

/** Collects all faults, so that one error can report them. */
export class Checks {
  readonly #faults: string[] = [];

  url(given: string | undefined): string {
    if (!given) {
      return this.#fault("url: missing; pass it, or set PLAIT_URL", "");
    }
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.search || url.hash) {
      return this.#fault("url: must be a URL like https://plait.example, without a query or a password", "");
    }
    return url.href.replace(/\/+$/, "");
  }

  key(given: string | undefined): string {
    if (!given) {
      return this.#fault("key: missing; pass it, or set PLAIT_KEY", "");
    }
    // Never include the value: messages are logged.
    return /^[\x21-\x7e]+$/.test(given) ? given : this.#fault("key: not a valid API key", "");
  }

  number(name: string, value: number, least: number, most: number): number {
    return value >= least && value <= most ? value : this.#fault(`${name}: must be from ${least} to ${most}, got ${value}`, least);
  }

  integer(name: string, value: number, least: number, most: number): number {
    return Number.isInteger(value) ? this.number(name, value, least, most) : this.#fault(`${name}: must be an integer, got ${value}`, least);
  }

  done(): void {
    if (this.#faults.length > 0) {
      throw new InvalidSettings(this.#faults.join("; "));
    }
  }

  #fault<T>(text: string, instead: T): T {
    this.#faults.push(text);
    return instead;
  }
}
