/**
 * Whether the server can be reached. Every request reports its outcome here (client.ts). After a failure the server is probed. If the probe fails
 * too, an outage begins, and probes continue with exponential backoff. The outage ends with the next response to a probe or any other request.
 */

import { useSyncExternalStore } from "react";
import { noteBuild } from "./build";
import { credentials } from "./embed";

export interface Outage {
  /** The first failed request. */
  since: number;
  /** The last response or event before the outage. Data on screen is as of this time. */
  lastContact: number;
  /** `unreachable`: the server did not respond. `unavailable`: it responded that it can't serve requests, for example without its database. */
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

/** HTTP statuses of a server, or of a proxy in front of it, that is temporarily unavailable. */
export const isUnavailable = (status: number) => status === 502 || status === 503 || status === 504;

/** Record that the server responded or sent an event. */
export function contact(): void {
  lastContact = Date.now();
  if (!outage) return;
  clearTimeout(timer);
  outage = null;
  pause = FIRST_MS;
  tell();
  for (const handler of returns) handler();
}

/** Probe the server, because a request failed or is slow. Returns whether the server responds. Concurrent calls share one probe. */
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
    // No response within the timeout.
  }
  if (outage?.cause !== cause) {
    outage = { since: outage?.since ?? since, lastContact: outage?.lastContact ?? lastContact, cause };
    tell();
  }
  timer = setTimeout(() => void doubt(), pause);
  pause = Math.min(2 * pause, LONGEST_MS);
  return false;
}

/** Call `handler` whenever the server responds again after an outage. */
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

/** The current outage, or null while the server responds. */
export function useOutage(): Outage | null {
  return useSyncExternalStore(watch, () => outage);
}

addEventListener("offline", () => void doubt());
addEventListener("online", () => void doubt());
