/** The pages, in the order of the navigation, and who sees them. */

import type { IconName } from "../parts/Icon";
import type { Route } from "../api/client";

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  /** Shown to who may call this. */
  needs: Route;
  /** Pressed after `g`. */
  key: string;
}

export const PLACES: readonly { group: string; places: readonly Place[] }[] = [
  {
    group: "Work",
    places: [
      { to: "/", label: "Overview", icon: "overview", needs: "GET /jobs/summary", key: "o" },
      { to: "/jobs", label: "Jobs", icon: "jobs", needs: "GET /jobs", key: "j" },
      { to: "/dead-letters", label: "Dead letters", icon: "dead", needs: "GET /jobs", key: "d" },
    ],
  },
  {
    group: "What makes jobs",
    places: [
      { to: "/triggers", label: "Triggers", icon: "triggers", needs: "GET /jobs/triggers", key: "t" },
      { to: "/events", label: "Events", icon: "events", needs: "GET /events", key: "e" },
      { to: "/definitions", label: "Definitions", icon: "definitions", needs: "GET /admin/jobs/definitions", key: "f" },
    ],
  },
  {
    group: "What runs them",
    places: [
      { to: "/queues", label: "Queues", icon: "queues", needs: "GET /queues", key: "q" },
      { to: "/workers", label: "Workers and nodes", icon: "workers", needs: "GET /workers", key: "w" },
    ],
  },
  {
    group: "Administration",
    places: [
      { to: "/tenants", label: "Tenants", icon: "tenants", needs: "GET /tenants", key: "n" },
      { to: "/keys", label: "Keys", icon: "keys", needs: "GET /keys", key: "k" },
      { to: "/audit", label: "Audit", icon: "audit", needs: "GET /audit", key: "a" },
    ],
  },
];
