/** Short notifications: `toast.good("Job canceled")`, `toast.bad(error.message)`. */

import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { Icon } from "../parts/Icon";

interface Toast {
  id: number;
  kind: "good" | "bad";
  text: string;
  link?: { to: string; label: string };
}

let shown: Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function show(kind: Toast["kind"], text: string, link?: Toast["link"]): void {
  const id = next++;
  shown = [...shown.slice(-3), { id, kind, text, link }];
  for (const watcher of watchers) watcher();
  setTimeout(() => hide(id), kind === "bad" ? 10_000 : 5000);
}

function hide(id: number): void {
  shown = shown.filter((one) => one.id !== id);
  for (const watcher of watchers) watcher();
}

export const toast = {
  good: (text: string, link?: Toast["link"]) => show("good", text, link),
  bad: (text: string) => show("bad", text),
};

export function Toasts() {
  const toasts = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => shown,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map((one) => (
        <div key={one.id} className={`toast toast-${one.kind}`}>
          <Icon name={one.kind === "good" ? "check" : "alert"} />
          <span>{one.text}</span>
          {one.link && <Link to={one.link.to}>{one.link.label}</Link>}
          <button type="button" className="plain" aria-label="Dismiss" onClick={() => hide(one.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
