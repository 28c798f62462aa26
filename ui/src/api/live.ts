/**
 * Live updates. All tabs of a browser share one stream of server-sent events: the tab that holds a lock reads it and forwards the events to
 * the others, because a browser opens at most six connections to a server. Where locks are not available (no secure context), each tab has its
 * own stream.
 *
 * Events are delivered in batches, so that a thousand of them cause one render. While the stream is interrupted, pages poll every few seconds.
 */

import { contact, doubt } from "./connection";
import { credentials, EMBEDDED } from "./embed";
import { useEffect, useRef, useSyncExternalStore } from "react";

export type LiveKind = "job" | "fan_out" | "log" | "log_line" | "queue" | "worker" | "reset";

/** `reset`: refetch everything. The other fields are those of the API's event stream. */
export interface LiveEvent {
  kind: LiveKind;
  id?: string;
  tenant_id?: string;
  status?: string;
  attempt?: number;
  attempt_count?: number;
  definition_key?: string;
  queue?: string;
  parent_id?: string | null;
  root_id?: string | null;
  fan_out_id?: string | null;
  [more: string]: unknown;
}

export type LiveState = "connecting" | "live" | "polling";

const KINDS: readonly LiveKind[] = ["job", "fan_out", "log", "log_line", "queue", "worker", "reset"];
const BATCH_MS = 150;
const AGAIN_MS = 4000;

type Handler = (events: LiveEvent[]) => void;

const handlers = new Set<Handler>();
const watchers = new Set<() => void>();
const refused = new Set<() => void>();
let state: LiveState = "connecting";
let waiting: LiveEvent[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** Call `handler` with each batch of events while the component is mounted. */
export function useLive(handler: Handler): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const own: Handler = (events) => latest.current(events);
    handlers.add(own);
    return () => void handlers.delete(own);
  }, []);
}

/** Call `handler` when the server refuses the stream: the session may have ended. */
export function onRefused(handler: () => void): () => void {
  refused.add(handler);
  return () => void refused.delete(handler);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => state,
  );
}

function become(next: LiveState): void {
  if (state === next) return;
  const back = next === "live" && state === "polling";
  state = next;
  if (next === "live") contact();
  if (next === "polling") void doubt();
  if (back) {
    // An EventSource does not expose response headers. Probe the server to learn its build: a deployment may have caused the interruption.
    void doubt();
    reset();
  }
  for (const watcher of watchers) watcher();
}

/** Make all pages refetch their data. */
export function reset(): void {
  take({ kind: "reset" });
}

function take(event: LiveEvent): void {
  contact();
  waiting.push(event);
  timer ??= setTimeout(() => {
    const events = waiting;
    waiting = [];
    timer = undefined;
    for (const handler of handlers) handler(events);
  }, BATCH_MS);
}

/** Watch the jobs of a tenant, or of all tenants (null). Returns a function that stops watching. */
export function watch(tenant: string | null): () => void {
  const ending = new AbortController();
  if (EMBEDDED) {
    // An embedded view has its own session, so it does not share the stream of other tabs.
    become("connecting");
    void readWithToken(ending.signal);
    return () => ending.abort();
  }
  const name = `plait.stream.${tenant ?? ""}`;
  const others = new BroadcastChannel(name);
  let own: LiveState | undefined; // state of the stream that this tab reads; undefined if another tab reads it
  others.onmessage = (message: MessageEvent<{ state?: LiveState; event?: LiveEvent; asked?: true }>) => {
    if (message.data.asked && own) others.postMessage({ state: own });
    if (message.data.state) become(message.data.state);
    if (message.data.event) take(message.data.event);
  };
  const publish = (message: { state?: LiveState; event?: LiveEvent }) => {
    if (ending.signal.aborted) return;
    if (message.state) become((own = message.state));
    if (message.event) take(message.event);
    others.postMessage(message);
  };
  become("connecting");
  if (navigator.locks) {
    // Until this tab gets the lock, ask the tab that has it for its state: holding the lock does not mean that its stream is open.
    void navigator.locks.request(name, { signal: ending.signal }, () => read(tenant, publish, ending.signal)).catch(() => undefined);
    others.postMessage({ asked: true });
  } else {
    void read(tenant, publish, ending.signal);
  }
  return () => {
    ending.abort();
    others.close();
  };
}

/** Read the stream with a token in place of a cookie. An EventSource can't send headers, so this parses the events itself. */
async function readWithToken(ending: AbortSignal): Promise<void> {
  let last = "";
  while (!ending.aborted) {
    try {
      const answer = await fetch(`/api/v1/stream${last ? `?after=${encodeURIComponent(last)}` : ""}`, { ...credentials(), signal: ending });
      if (answer.status === 401) for (const handler of refused) handler();
      if (!answer.ok || !answer.body) throw new Error(answer.statusText);
      become("live");
      let text = "";
      for await (const part of texts(answer.body)) {
        const events = (text + part).split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) {
          const fields = new Map(event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
          last = fields.get("id") ?? last;
          const kind = KINDS.find((one) => one === fields.get("event"));
          if (kind) take({ ...(JSON.parse(fields.get("data") ?? "{}") as object), kind });
        }
      }
    } catch {
      // Interrupted: retry after a pause.
    }
    become("polling");
    await new Promise((again) => setTimeout(again, AGAIN_MS));
  }
}

async function* texts(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

/** Read the stream until `ending` is aborted. The browser reconnects automatically, except after an error response; then this function reconnects. */
function read(
  tenant: string | null,
  publish: (message: { state?: LiveState; event?: LiveEvent }) => void,
  ending: AbortSignal,
): Promise<void> {
  return new Promise((done) => {
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let last = "";
    const open = () => {
      const query = new URLSearchParams({ ...(tenant ? { tenant } : {}), ...(last ? { after: last } : {}) });
      source = new EventSource(`/api/v1/stream?${query}`);
      source.onopen = () => publish({ state: "live" });
      source.onerror = () => {
        publish({ state: "polling" });
        if (source?.readyState !== EventSource.CLOSED) return;
        again = setTimeout(open, AGAIN_MS);
        for (const handler of refused) handler();
      };
      for (const kind of KINDS)
        source.addEventListener(kind, (message: MessageEvent<string>) => {
          last = message.lastEventId;
          publish({ event: { ...(JSON.parse(message.data) as object), kind } });
        });
    };
    ending.addEventListener("abort", () => {
      clearTimeout(again);
      source?.close();
      done();
    });
    if (!ending.aborted) open();
  });
}
