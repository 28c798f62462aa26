/**
 * Typed calls to the HTTP API. All requests of the UI are made here, except the event stream (live.ts) and the probe after a failure
 * (connection.ts).
 */

import { noteBuild } from "./build";
import { contact, doubt, isUnavailable } from "./connection";
import { credentials } from "./embed";
import { parse, stringify } from "./json";
import type { Problem, Routes } from "./types";

export type Route = keyof Routes;
export type Reads = Extract<Route, `GET ${string}`>;
export type Answer<R extends Route> = Routes[R]["answer"];

/** `path` has the route's path parameters; a `query` value may be a list; `raw` is a body that is already JSON text, so that numbers stay exact. */
export interface Given<R extends Route> {
  path?: Routes[R]["path"];
  query?: Omit<Routes[R]["query"], "tenant">;
  body?: Routes[R]["body"];
  raw?: string;
  headers?: Record<string, string>;
}

/** An error response (an RFC 9457 problem). The message is its `detail`, for display. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
  }
}

/** The server did not respond, or a proxy in front of it responded that the server is unavailable. */
export class Unreachable extends Error {
  constructor(method: string) {
    super(method === "GET" ? "The server did not respond." : "The server did not respond. Check whether the change was made before you repeat it.");
  }
}

const PREFIX = "/api/v1";
/** Probe the server if a request takes longer. The request continues. */
const SLOW_MS = 8000;
/** The timeout of a read. */
const READ_MS = 30_000;
let csrf: string | null = null;
const tags = new Map<string, string>();

export function rememberCsrf(token: string | null): void {
  csrf = token;
}

export async function call<R extends Route>(route: R, given: Given<R> = {}, tenant?: string | null, signal?: AbortSignal): Promise<Answer<R>> {
  try {
    return await send(route, given, tenant, signal);
  } catch (error) {
    // The user signed in again in another tab: the cookie now belongs to a session with another CSRF token.
    if (!(error instanceof ApiError) || !error.problem.type?.endsWith("csrf")) throw error;
    rememberCsrf((await send("GET /session")).csrf);
    return send(route, given, tenant, signal);
  }
}

async function send<R extends Route>(route: R, given: Given<R> = {}, tenant?: string | null, signal?: AbortSignal): Promise<Answer<R>> {
  const [method = "GET"] = route.split(" ");
  const who = credentials();
  const headers: Record<string, string> = { Accept: "application/json", ...who.headers, ...given.headers };
  const body = given.raw ?? (given.body === undefined ? undefined : stringify(given.body));
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-CSRF-Token"] = csrf;
  const [answer, text] = await exchange(address(route, given, tenant), { method, headers, body, credentials: who.credentials }, signal);
  const tag = answer.headers.get("ETag");
  if (tag && answer.ok) tags.set(new URL(answer.url).pathname, tag);
  if (!answer.ok) throw new ApiError(answer.status, problemOf(text));
  return (text ? parse(text) : undefined) as Answer<R>;
}

/** Send a request and read the response. Report to connection.ts whether the server responded. */
async function exchange(url: string, init: RequestInit & { method: string }, signal?: AbortSignal): Promise<[Response, string]> {
  const slow = setTimeout(() => void doubt(), SLOW_MS);
  const bounds = [...(signal ? [signal] : []), ...(init.method === "GET" ? [AbortSignal.timeout(READ_MS)] : [])];
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.any(bounds) });
    const text = await answer.text();
    noteBuild(answer);
    if (!isUnavailable(answer.status)) contact();
    else void doubt();
    if (isUnavailable(answer.status) && !answer.headers.get("Content-Type")?.includes("json")) throw new Unreachable(init.method);
    return [answer, text];
  } catch (error) {
    if (signal?.aborted || error instanceof Unreachable) throw error;
    void doubt();
    throw new Unreachable(init.method);
  } finally {
    clearTimeout(slow);
  }
}

/** The ETag of the last read. Sent as `If-Match`, it makes a change fail if the resource was changed since. */
export function etagOf<R extends Route>(route: R, given: Given<R>): string | undefined {
  return tags.get(address(route, given));
}

export const matching = (tag: string | undefined): Record<string, string> => (tag ? { "If-Match": tag } : {});

export function address<R extends Route>(route: R, given: Given<R> = {}, tenant?: string | null): string {
  const [, template = ""] = route.split(" ");
  const names = (given.path ?? {}) as Record<string, string>;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])));
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...given.query, tenant }))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null && one !== "") query.append(key, String(one));
  const asked = query.toString();
  return PREFIX + path + (asked ? `?${asked}` : "");
}

function problemOf(text: string): Partial<Problem> {
  try {
    return parse(text) as Partial<Problem>;
  } catch {
    return { title: text.slice(0, 200) || "The server sent an empty error response" };
  }
}
