/** Dark, light, or as the system is: by a data attribute on the document's root, which the style sheet reads. */

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
    // Storage may be forbidden; then the choice holds for this page.
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
