/** Hooks to read and change data. Every request includes the tenant that a super-admin has selected. */

import { keepPreviousData, replaceEqualDeep, useMutation, useQuery, useQueryClient, type QueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useRef } from "react";
import { toast } from "../shell/toasts";
import { call, ApiError, type Answer, type Given, type Reads, type Route } from "./client";
import { useLive, useLiveState, type LiveEvent, type LiveKind } from "./live";

const POLL_MS = 4000;

export interface ReadOptions {
  /** Refetch on events of these kinds, at most once per `every` ms. While the event stream is interrupted, refetch every few seconds. */
  live?: readonly LiveKind[];
  /** Refetch only on events for which this returns true. */
  when?: (event: LiveEvent) => boolean;
  every?: number;
  /** Also refetch at this interval in ms, for data without events. */
  poll?: number | false;
  enabled?: boolean;
}

/** The tenant that a super-admin has selected, from the address. Null: all tenants, or the user's own. */
export function useTenant(): string | null {
  return useSearch({ strict: false, select: (search: Record<string, unknown>) => (search["tenant"] as string | undefined) ?? null });
}

export function keyOf<R extends Reads>(route: R, tenant: string | null, given?: Given<R>): unknown[] {
  return [route, tenant, given ?? {}];
}

/** Read a route. The previous data stays visible while new data is loading. */
export function useRead<R extends Reads>(route: R, given?: Given<R>, options: ReadOptions = {}): UseQueryResult<Answer<R>, Error> {
  const tenant = useTenant();
  const client = useQueryClient();
  const stream = useLiveState();
  const key = keyOf(route, tenant, given);
  const asking = useRef<{ timer?: ReturnType<typeof setTimeout>; at: number }>({ at: 0 });
  const { live, when, every = 700, poll = false, enabled = true } = options;

  useLive((events) => {
    if (!live || !enabled) return;
    if (!events.some((event) => event.kind === "reset" || (live.includes(event.kind) && (!when || when(event))))) return;
    if (asking.current.timer) return;
    const ask = () => {
      // The first request may still be in flight and may predate the event. A second request would not be sent in parallel, so refetch after the first.
      const state = client.getQueryState(key);
      if (state?.fetchStatus === "fetching" && state.data === undefined) {
        asking.current.timer = setTimeout(ask, 200);
        return;
      }
      asking.current = { at: Date.now() };
      void client.invalidateQueries({ queryKey: key, exact: true });
    };
    asking.current.timer = setTimeout(ask, Math.max(0, asking.current.at + every - Date.now()));
  });

  return useQuery<Answer<R>, Error>({
    queryKey: key,
    queryFn: ({ signal }) => call(route, given, tenant, signal),
    enabled,
    placeholderData: keepPreviousData,
    structuralSharing: (before, now) => (hasProto(now) ? now : replaceEqualDeep(before, now)),
    refetchInterval: live && stream === "polling" ? POLL_MS : poll,
  });
}

/** Whether JSON data contains a key `__proto__`. Copying it key by key would lose that key. */
function hasProto(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasProto);
}

/**
 * A mutation: `change.mutate({ path, body })`. On success, all data is refetched and `success` is shown. On failure, the error message is shown.
 */
export function useChange<R extends Route>(
  route: R,
  { success, then }: { success?: string | ((answer: Answer<R>) => string); then?: (answer: Answer<R>) => void } = {},
) {
  const tenant = useTenant();
  const client = useQueryClient();
  return useMutation<Answer<R>, Error, Given<R>>({
    mutationFn: (given) => call(route, given, tenant),
    onSuccess: (answer) => {
      if (success) toast.good(typeof success === "string" ? success : success(answer));
      refresh(client);
      then?.(answer);
    },
    onError: (error) => toast.bad(error.message),
  });
}

/** Refetch all visible data, except paged lists, which are updated in place. */
export function refresh(client: QueryClient): void {
  void client.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" && query.queryKey[1] !== "pages" });
}

export function isRefusal(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}
