/** The theme: dark, light or system. It is set as a data attribute on the root element, which the style sheet reads. */

import { useSyncExternalStore } from "react";

export type Theme = "system" | "dark" | "light";

const KEY = "plait.theme";
const watchers = new Set<() => void>();

export function theme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "dark" || chosen === "light" ? chosen : "system";
}

export function setTheme(chosen: Theme): void {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // If storage is blocked, the choice lasts until the page is closed.
  }
  for (const watcher of watchers) watcher();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    theme,
  );
}
