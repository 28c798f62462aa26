/** The routes and the file of each page. Pages are loaded on first use. To add a page, add a line here and in shell/nav.ts. */

import { createRootRoute, createRoute, createRouter, retainSearchParams } from "@tanstack/react-router";
import { BASE, EMBEDDED } from "./api/embed";
import { parseSearch, stringifySearch, type Raw } from "./api/search";
import { WithSession } from "./api/session";
import { Loading } from "./parts/States";
import { EmbedShell, SessionEnded } from "./shell/EmbedShell";
import { lazyPage } from "./shell/lazyPage";
import { PageError } from "./shell/PageError";
import { Shell } from "./shell/Shell";
import { Toasts } from "./shell/toasts";
import Login, { ToLogin } from "./pages/login";
import PageNotFound from "./pages/not-found";

const root = createRootRoute({
  // Each page reads its own parameters (api/search.ts). The tenant is kept when navigating.
  validateSearch: (raw: Record<string, unknown>) => raw as Raw,
  search: { middlewares: [retainSearchParams(["tenant"] as never)] },
});

const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: () => (
    <WithSession otherwise={EMBEDDED ? <SessionEnded /> : <ToLogin />} waiting={<Loading />}>
      {EMBEDDED ? <EmbedShell /> : <Shell />}
      <Toasts />
    </WithSession>
  ),
});

const page = <const P extends string>(path: P, load: () => Promise<{ default: () => React.ReactNode }>) =>
  createRoute({ getParentRoute: () => signedIn, path, component: lazyPage(load) });

const routeTree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: "/login", component: Login }),
  signedIn.addChildren([
    page("/", () => import("./pages/overview")),
    page("/jobs", () => import("./pages/jobs")),
    page("/jobs/new", () => import("./pages/run-job")),
    page("/jobs/$jobId", () => import("./pages/job")),
    page("/workflows/$jobId", () => import("./pages/workflow")),
    page("/triggers", () => import("./pages/triggers")),
    page("/triggers/$triggerId", () => import("./pages/trigger")),
    page("/events", () => import("./pages/events")),
    page("/events/$eventId", () => import("./pages/event")),
    page("/definitions", () => import("./pages/definitions")),
    page("/definitions/$definitionKey", () => import("./pages/definition")),
    page("/queues", () => import("./pages/queues")),
    page("/workers", () => import("./pages/workers")),
    page("/workers/history", () => import("./pages/worker-history")),
    page("/dead-letters", () => import("./pages/dead-letters")),
    page("/errors/$definitionKey/$fingerprint", () => import("./pages/error")),
    page("/tenants", () => import("./pages/tenants")),
    page("/audit", () => import("./pages/audit")),
    page("/keys", () => import("./pages/keys")),
    // Unknown URLs are shown inside the shell, so that the navigation stays.
    createRoute({ getParentRoute: () => signedIn, path: "$", component: PageNotFound }),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: EMBEDDED ? BASE : "/",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
