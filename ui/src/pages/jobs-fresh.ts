import { useCallback, useEffect, useRef, useState } from "react";
import { call } from "../api/client";
import type { JobQuery } from "./job-filter";

const PAUSE_MS = 800;

/** The number of jobs that match the filter and are not in the list yet, counted up to `limit`. */
export function useFresh(query: JobQuery, tenant: string | null, limit: number) {
  const [fresh, setFresh] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asked = useRef(0);
  const clear = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
    asked.current++;
    setFresh(0);
  }, []);
  useEffect(() => clear, [clear, query, tenant]);

  /** Count again after a short delay: events arrive in batches, and only the server can apply the filter. */
  const count = useCallback(
    (isListed: (id: string) => boolean) => {
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        const own = ++asked.current;
        call("GET /jobs", { query: { ...query, limit } }, tenant).then(
          (page) => own === asked.current && setFresh(page.items.filter(({ id }) => !isListed(id)).length),
          () => undefined, // the next event counts again
        );
      }, PAUSE_MS);
    },
    [query, tenant, limit],
  );
  return { fresh, count, clear };
}
