// HTTP requests with the types of the OpenAPI document, retried where that is safe.
//
// Changes are safe to retry because they carry an Idempotency-Key, an id, or (worker, attempt). A claim has none of these and is sent once.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { PlaitError, refusal, Refused, TimedOut, TooMany, Unreachable } from "./errors.js";
import type { ClientSettings } from "./settings.js";
import type { Routes } from "./types.js";

export type Route = keyof Routes;
type Needed<Name extends string, Value> = {} extends Value ? { [name in Name]?: Value } : { [name in Name]: Value };

export type Request<R extends Route> = Needed<"path", Routes[R]["path"]> & {
  query?: Routes[R]["query"];
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  timeoutSeconds?: number;
  retries?: number;
} & (undefined extends Routes[R]["body"] ? { body?: Routes[R]["body"] } : { body: Routes[R]["body"] });

interface Loose {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  timeoutSeconds?: number;
  retries?: number;
}

const PREFIX = "/api/v1";
const LONGEST_PAUSE_S = 30;
const LATE = Symbol("late");

export class Transport {
  readonly #settings: ClientSettings;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
  }

  async call<R extends Route>(route: R, request: Request<R>): Promise<Routes[R]["answer"]> {
    const given = request as Loose;
    const [method = "", template = ""] = route.split(" ");
    const target = PREFIX + filled(template, given.path ?? {}) + queried(given.query ?? {});
    let base = this.#settings.url;
    const body = given.body === undefined ? undefined : JSON.stringify(given.body);
    const headers: Record<string, string> = {
      authorization: `Bearer ${this.#settings.key}`,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(method === "GET" || NOT_REPLAYED.test(template) ? {} : { "idempotency-key": randomUUID() }),
      ...given.headers,
    };
    const retries = given.retries ?? this.#settings.retries;
    for (let tried = 0; ; tried++) {
      try {
        return (await this.#send(base + target, method, headers, body, given)) as Routes[R]["answer"];
      } catch (error) {
        const leader = base === this.#settings.url ? leaderOf(error, base) : undefined;
        if (leader !== undefined) {
          base = leader;
          continue;
        }
        if (tried >= retries || given.signal?.aborted || !passing(error)) {
          throw error;
        }
        await pause(error, tried, given.signal);
      }
    }
  }

  get retries(): number {
    return this.#settings.retries;
  }

  /** Yield the lines of a streaming response. Throws Unreachable on a timeout, and when the connection closes: a stream ends with an
   * explicit event. A response without content means that the stream has ended. */
  async *lines(
    template: string,
    path: Record<string, string>,
    headers: Record<string, string>,
    outer?: AbortSignal,
  ): AsyncGenerator<string, void, void> {
    const ending = new AbortController();
    const stop = (): void => ending.abort();
    outer?.throwIfAborted();
    outer?.addEventListener("abort", stop, { once: true });
    let late: NodeJS.Timeout | undefined;
    const heard = (): void => {
      clearTimeout(late);
      late = setTimeout(() => ending.abort(LATE), this.#settings.timeoutSeconds * 1000);
    };
    try {
      heard();
      const answer = await this.#settings.fetch(this.#settings.url + PREFIX + filled(template, path), {
        headers: { authorization: `Bearer ${this.#settings.key}`, accept: "text/event-stream", ...headers },
        signal: ending.signal,
        redirect: "manual",
      });
      if (answer.status >= 300) {
        throw refusal(answer.status, await answer.text(), seconds(answer.headers.get("retry-after")));
      }
      if (answer.status === 204 || answer.body === null) {
        yield* ["event: end", "data: {}", ""];
        return;
      }
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
        heard();
        const pieces = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
        rest = pieces.pop()!;
        clearTimeout(late); // the timeout must not include the time that the caller spends on the lines
        yield* pieces;
        heard();
      }
      throw new Unreachable("the stream was interrupted");
    } catch (error) {
      outer?.throwIfAborted();
      throw error instanceof PlaitError ? error : new Unreachable(why(error), { cause: error });
    } finally {
      clearTimeout(late);
      outer?.removeEventListener("abort", stop);
      ending.abort();
    }
  }

  async #send(
    url: string,
    method: string,
    headers: Record<string, string>,
    body: string | undefined,
    given: Loose,
  ): Promise<unknown> {
    // Not AbortSignal.any: with a signal that lives as long as the process, it would leak memory for each request.
    const ending = new AbortController();
    const { signal } = ending;
    const stop = (): void => ending.abort();
    given.signal?.throwIfAborted();
    const late = setTimeout(() => ending.abort(LATE), (given.timeoutSeconds ?? this.#settings.timeoutSeconds) * 1000);
    given.signal?.addEventListener("abort", stop, { once: true });
    let answer: Response;
    let text: string;
    try {
      // Redirects are not followed: they could send the API key to another host.
      answer = await this.#settings.fetch(url, {
        method,
        headers,
        signal,
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
      });
      text = await answer.text();
    } catch (error) {
      given.signal?.throwIfAborted();
      throw signal.reason === LATE
        ? new TimedOut(`${method} ${new URL(url).pathname} timed out`)
        : new Unreachable(why(error), { cause: error });
    } finally {
      clearTimeout(late);
      given.signal?.removeEventListener("abort", stop);
    }
    if (answer.status >= 300) {
      throw refusal(answer.status, text, seconds(answer.headers.get("retry-after")));
    }
    if (text === "") {
      return undefined;
    }
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw new Unreachable(`${method} ${new URL(url).pathname} returned a response that is not JSON`, { cause: error });
    }
  }
}

/** Routes without a generated Idempotency-Key. On `/jobs` the header sets the job's idempotency key, and the job's id makes a retry safe.
 * Requests of workers are fenced by the attempt. */
const NOT_REPLAYED = /^\/(jobs|worker\/.*)$/;

/** The leader's URL, if a follower redirects a node job there. The operator configures the URL. Never redirects from https to http. */
function leaderOf(error: unknown, base: string): string | undefined {
  const url = error instanceof Refused && error.status === 421 ? error.problem.leader_url : undefined;
  return url && ["https:", new URL(base).protocol].includes(new URL(url).protocol) ? url.replace(/\/+$/, "") : undefined;
}

/** Whether the error is temporary and the request may be retried. */
export function passing(error: unknown): boolean {
  if (error instanceof Refused) {
    return error instanceof TooMany || [502, 503, 504].includes(error.status) || error.code === "under-way";
  }
  return error instanceof Unreachable || error instanceof TimedOut;
}

/** Wait before the next retry: the server's Retry-After, or exponential backoff with jitter. */
export async function pause(error: unknown, tried: number, signal?: AbortSignal): Promise<void> {
  const said = error instanceof Refused ? error.retryAfter : undefined;
  const backoff = 0.2 * 2 ** Math.min(tried, 6) * (0.8 + 0.4 * Math.random());
  await sleep(Math.min(said ?? backoff, LONGEST_PAUSE_S) * 1000, undefined, signal ? { signal } : {});
}

function filled(template: string, path: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name];
    // URL would resolve "." and ".." as relative path segments.
    if (value === undefined || value === "" || value === "." || value === "..") {
      throw new TypeError(`${template}: path parameter ${name} must not be empty, "." or "..", got ${JSON.stringify(value)}`);
    }
    return encodeURIComponent(value);
  });
}

function queried(query: Record<string, unknown>): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) {
        made.append(name, String(one));
      }
    }
  }
  return made.size > 0 ? `?${made}` : "";
}

function seconds(header: string | null): number | undefined {
  if (header === null) {
    return undefined;
  }
  const number = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(number) ? undefined : Math.max(0, number);
}

function why(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return `server unreachable: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`;
}
