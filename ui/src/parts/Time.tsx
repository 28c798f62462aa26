/** Times and durations. One timer per page updates relative times. */

import { useSyncExternalStore } from "react";
import { now as current } from "../api/clock";

const TICK_MS = 1000;
const watchers = new Set<() => void>();
let now = current();
let ticking: ReturnType<typeof setInterval> | undefined;

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  ticking ??= setInterval(() => {
    now = current();
    for (const one of watchers) one();
  }, TICK_MS);
  return () => {
    watchers.delete(watcher);
    if (!watchers.size) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

/** Text that depends on the current time in ms. It is computed once a second and rendered only if it has changed. */
function useMoving(shown: (now: number) => string): string {
  return useSyncExternalStore(watch, () => {
    if (ticking === undefined) now = current();
    return shown(now);
  });
}

const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const absolute = (at: string) => `${ABSOLUTE.format(new Date(at))} (${at})`;

/** A relative time, with the absolute time in the title. */
export function Time({ at, short }: { at: string | null | undefined; short?: boolean }) {
  const shown = useMoving((now) => (at ? relative(at, now, short) : ""));
  if (!at) return <span className="quiet">–</span>;
  return (
    <time dateTime={at} title={absolute(at)}>
      {shown}
    </time>
  );
}

/** The duration since a time, or between two times. */
export function Since({ from, to }: { from: string | null | undefined; to?: string | null }) {
  const shown = useMoving((now) => (from ? duration(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000) : ""));
  if (!from) return <span className="quiet">–</span>;
  return <span title={`from ${absolute(from)}${to ? ` to ${absolute(to)}` : ""}`}>{shown}</span>;
}

export function Duration({ seconds }: { seconds: number | null | undefined }) {
  if (seconds === null || seconds === undefined) return <span className="quiet">–</span>;
  return <span title={`${seconds} s`}>{duration(seconds)}</span>;
}

export function relative(at: string, from = current(), short = false): string {
  const seconds = (Date.parse(at) - from) / 1000;
  const size = Math.abs(seconds);
  if (size < 1.5) return "now";
  const words = duration(size, true);
  return seconds > 0 ? `in ${words}` : short ? words : `${words} ago`;
}

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** 0.012 is "12 ms", 75 is "1 min 15 s". `rough`: only the largest unit. */
export function duration(seconds: number, rough = false): string {
  if (seconds < 0) return "0 s";
  if (seconds < 0.0005) return "0 ms";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10 && !rough) return `${seconds.toFixed(1)} s`;
  let left = Math.round(seconds);
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    if (!count && !parts.length && unit !== "s") continue;
    if (count) parts.push(`${count} ${unit}`);
    left -= count * size;
    if (parts.length === (rough ? 1 : 2)) break;
  }
  return parts.join(" ") || "0 s";
}
