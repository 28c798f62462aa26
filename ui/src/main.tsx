import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client";
import { onReturn } from "./api/connection";
import { reset } from "./api/live";
import { router } from "./router";
import { Boundary } from "./shell/PageError";
import "./styles/tokens.css";
import "./styles/elements.css";
import "./styles/shell.css";
import "./styles/parts.css";

const client: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      refetchOnWindowFocus: true,
      // A request with a client error (4xx) would fail again, so it is not retried.
      retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < 2,
      // Send requests even if the browser reports that it is offline: the server may run on the same machine (api/connection.ts).
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

// Any 401 means that the session has ended: show the sign-in page.
client.getQueryCache().subscribe((event) => {
  if (event.type !== "updated" || event.action.type !== "error" || event.query.queryKey[0] === "session") return;
  if (event.action.error instanceof ApiError && event.action.error.status === 401) void client.resetQueries({ queryKey: ["session"] });
});

// After an outage, refetch visible data, except lists of several pages. They show a reload button (pages/jobs.tsx).
onReturn(() => {
  void client.invalidateQueries({ predicate: ({ state }) => ((state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) <= 1 });
  reset();
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Boundary>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </Boundary>
  </StrictMode>,
);
