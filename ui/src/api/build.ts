/**
 * Detects that the server has a newer build of the UI than this page. The server writes its build into the page and sends it with every
 * response. After a deployment the builds differ. Files that this page has not loaded yet may no longer exist, so it must be reloaded.
 *
 * The page reloads automatically at most once for each build, so that servers of two builds behind one URL can't cause a reload loop.
 */

import { useSyncExternalStore } from "react";
import { EMBEDDED } from "./embed";

const HEADER = "Plait-Build";
const RELOADED = "plait.reloaded";
/** Empty in development. */
const OWN = document.querySelector<HTMLMetaElement>("meta[name=plait-build]")?.content ?? "";

const watchers = new Set<() => void>();
let other: string | null = null;

export function noteBuild(answer: Response): void {
  const theirs = answer.headers.get(HEADER);
  if (!OWN || !theirs || theirs === OWN || theirs === other) return;
  other = theirs;
  for (const watcher of watchers) watcher();
}

/** Whether the server runs a different build than this page. */
export const isOutdated = () => other !== null;

export function useOutdated(): boolean {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, isOutdated);
}

/**
 * Reload the page, unless it was already reloaded for this build. Returns whether it is reloading. An embedded view is not reloaded, because
 * it would need a new link.
 */
export function reloadOnce(): boolean {
  const build = other ?? OWN;
  if (EMBEDDED || !build) return false;
  try {
    const before = sessionStorage.getItem(RELOADED)?.split(" ") ?? [];
    if (before.includes(build)) return false;
    sessionStorage.setItem(RELOADED, [...before.slice(-9), build].join(" "));
  } catch {
    return false; // without storage, a reload loop can't be detected
  }
  location.reload();
  return true;
}
