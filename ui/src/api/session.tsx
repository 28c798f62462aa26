/** The signed-in user and their permissions, loaded once for all pages. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useMemo, type ReactNode } from "react";
import { Failed } from "../parts/States";
import { EMBEDDED, keepToken, takeLink } from "./embed";
import { call, ApiError, rememberCsrf, type Route } from "./client";
import { onRefused } from "./live";
import { LEAST_ROLE } from "./roles";
import type { Role, Session } from "./types";

const LADDER: readonly Role[] = ["viewer", "operator", "admin", "super-admin"];

export interface Signed extends Session {
  /** Whether this role may call a route. Pages hide actions that the server would refuse. */
  can(route: Route): boolean;
  isSuper: boolean;
}

const Context = createContext<Signed | null>(null);

export function useSession(): Signed {
  const session = useContext(Context);
  if (!session) throw new Error("useSession must be used inside WithSession");
  return session;
}

/** Renders `children` with the session, or `otherwise` if nobody is signed in. */
export function WithSession({ children, otherwise, waiting }: { children: ReactNode; otherwise: ReactNode; waiting: ReactNode }) {
  const asked = useQuery({
    queryKey: ["session"],
    queryFn: () => (EMBEDDED ? enter() : call("GET /session")),
    staleTime: Infinity,
    retry: (count, error) => !(error instanceof ApiError) && count < 1,
  });
  const session = useMemo(() => asked.data && signed(asked.data), [asked.data]);
  useEffect(() => onRefused(() => void asked.refetch()), [asked.refetch]);
  if (asked.error instanceof ApiError && asked.error.status === 401) return otherwise;
  if (!session) return asked.error ? <Failed error={asked.error} again={() => void asked.refetch()} /> : waiting;
  return <Context value={session}>{children}</Context>;
}

/** Exchange the link of an embedded view for a session. After that, the session is checked like any other. */
async function enter(): Promise<Session> {
  const link = takeLink();
  if (!link) return call("GET /session");
  const { token, ...session } = await call("POST /embeds/session", { body: { link } });
  keepToken(token);
  return session;
}

function signed(session: Session): Signed {
  rememberCsrf(session.csrf);
  const rank = LADDER.indexOf(session.role);
  return {
    ...session,
    isSuper: session.role === "super-admin",
    can(route) {
      const least = LEAST_ROLE[route];
      return least === "anybody" || (least === "worker" ? session.role === "super-admin" : rank >= LADDER.indexOf(least));
    },
  };
}

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await call("DELETE /session").catch(() => undefined);
    rememberCsrf(null);
    client.clear();
    location.assign("/login");
  };
}
