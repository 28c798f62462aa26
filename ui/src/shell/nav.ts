/** The pages in the order of the navigation. A role sees a page if it may call the page's route (`needs`). */

import type { IconName } from "../parts/Icon";
import type { Route } from "../api/client";

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  /** Shown to roles that may call this route. */
  needs: Route;
  /** The shortcut, after `g`. */
  key: string;
}

export const PLACES: readonly { group: string; places: readonly Place[] }[] = [
  {
    group: "Jobs",
    places: [
      { to: "/", label: "Overview", icon: "overview", needs: "GET /jobs/summary", key: "o" },
      { to: "/jobs", label: "Jobs", icon: "jobs", needs: "GET /jobs", key: "j" },
      { to: "/dead-letters", label: "Dead letters", icon: "dead", needs: "GET /jobs", key: "d" },
      { to: "/definitions", label: "Definitions", icon: "definitions", needs: "GET /admin/jobs/definitions", key: "f" },
    ],
  },
  {
    group: "Triggers",
    places: [
      { to: "/triggers", label: "Triggers", icon: "triggers", needs: "GET /jobs/triggers", key: "t" },
      { to: "/events", label: "Events", icon: "events", needs: "GET /events", key: "e" },
    ],
  },
  {
    group: "Infrastructure",
    places: [
      { to: "/queues", label: "Queues", icon: "queues", needs: "GET /queues", key: "q" },
      { to: "/workers", label: "Workers and nodes", icon: "workers", needs: "GET /workers", key: "w" },
    ],
  },
  {
    group: "Administration",
    places: [
      { to: "/tenants", label: "Tenants", icon: "tenants", needs: "GET /tenants", key: "n" },
      { to: "/keys", label: "API keys", icon: "keys", needs: "GET /keys", key: "k" },
      { to: "/audit", label: "Audit log", icon: "audit", needs: "GET /audit", key: "a" },
    ],
  },
];
