/**
 * Whether the server can be reached. Every request reports here (client.ts). After a failure the server is probed: if the probe fails too, the
 * page is disconnected, and probes continue with exponential backoff until one is answered. Any other answer ends the outage as well.
 */

import { useSyncExternalStore } from "react";
import { noteBuild } from "./build";
import { credentials } from "./embed";

export interface Outage {
  /** The first failed request. */
  since: number;
  /** The last answer or event before it. Data that was on screen then is as of this time. */
  lastContact: number;
  /** The server did not answer, or it answered that it is not available, for example without its database. */
  cause: "unreachable" | "unavailable";
}

const PROBE = "/api/v1/session";
const PROBE_MS = 5000;
const FIRST_MS = 500;
const LONGEST_MS = 4000;

const watchers = new Set<() => void>();
const returns = new Set<() => void>();
let outage: Outage | null = null;
let lastContact = Date.now();
let probing: Promise<boolean> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let pause = FIRST_MS;

/** Statuses of a server, or of a proxy in front of it, that can't serve anything at the moment. */
export const isUnavailable = (status: number) => status === 502 || status === 503 || status === 504;

/** The server answered, or sent an event. */
export function contact(): void {
  lastContact = Date.now();
  if (!outage) return;
  clearTimeout(timer);
  outage = null;
  pause = FIRST_MS;
  tell();
  for (const handler of returns) handler();
}

/** A request failed or is slow. Returns whether the server answers. Calls at the same time share one probe. */
export function doubt(): Promise<boolean> {
  probing ??= probe(Date.now()).finally(() => {
    probing = undefined;
  });
  return probing;
}

async function probe(since: number): Promise<boolean> {
  clearTimeout(timer);
  let cause: Outage["cause"] = "unreachable";
  try {
    const answer = await fetch(PROBE, { ...credentials(), cache: "no-store", signal: AbortSignal.timeout(PROBE_MS) });
    if (!isUnavailable(answer.status)) {
      noteBuild(answer);
      contact();
      return true;
    }
    cause = "unavailable";
  } catch {
    // No answer within the timeout.
  }
  if (outage?.cause !== cause) {
    outage = { since: outage?.since ?? since, lastContact: outage?.lastContact ?? lastContact, cause };
    tell();
  }
  timer = setTimeout(() => void doubt(), pause);
  pause = Math.min(2 * pause, LONGEST_MS);
  return false;
}

/** Call `handler` whenever the server answers again after an outage. */
export function onReturn(handler: () => void): () => void {
  returns.add(handler);
  return () => void returns.delete(handler);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function tell(): void {
  for (const watcher of watchers) watcher();
}

/** The current outage, or null while the server answers. */
export function useOutage(): Outage | null {
  return useSyncExternalStore(watch, () => outage);
}

addEventListener("offline", () => void doubt());
addEventListener("online", () => void doubt());
