/**
 * Keyboard shortcuts. Each page registers its own shortcuts. The key `?` lists all active shortcuts.
 *
 *     useKeys("Jobs", { "/": ["Filter", focus], "g j": ["Go to jobs", go] });
 *
 * Two keys separated by a space are pressed one after the other. Shortcuts are ignored while the focus is in a text field.
 */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { Dialog } from "../parts/Dialog";

export type KeyMap = Record<string, readonly [label: string, act: () => void]>;

interface Entry {
  group: string;
  map: KeyMap;
}

const entries = new Set<Entry>();
const watchers = new Set<() => void>();
let version = 0;
let before = "";
let beforeAt = 0;

export function useKeys(group: string, map: KeyMap): void {
  const entry = useRef<Entry>({ group, map });
  entry.current.map = map;
  useEffect(() => {
    const own = entry.current;
    entries.add(own);
    changed();
    return () => {
      entries.delete(own);
      changed();
    };
  }, []);
}

function changed(): void {
  version++;
  for (const watcher of watchers) watcher();
}

export function listenToKeys(): () => void {
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    const pair = Date.now() - beforeAt < 1000 ? `${before} ${event.key}` : "";
    before = event.key;
    beforeAt = Date.now();
    if ((event.key === "Enter" || event.key === " ") && presses(event.target)) return;
    for (const wanted of [pair, event.key])
      for (const { map } of [...entries].reverse()) {
        const found = wanted && map[wanted];
        if (!found) continue;
        event.preventDefault();
        before = "";
        found[1]();
        return;
      }
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}

/** Whether the browser activates the focused element with this key. */
function presses(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, summary, [role=option]") !== null;
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function KeyHelp({ onClose }: { onClose: () => void }) {
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => version,
  );
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {[...entries].map(({ group, map }) => (
        <section key={group} className="keys">
          <h3>{group}</h3>
          <dl>
            {Object.entries(map).map(([keys, [label]]) => (
              <div key={keys}>
                <dt>
                  {keys.split(" ").map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
