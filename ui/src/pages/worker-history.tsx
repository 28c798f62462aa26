/** Workers that were lost or left, the last first. Scrolling loads older ones. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { call } from "../api/client";
import { useTenant } from "../api/hooks";
import { number, oneOf, searchOf, text } from "../api/search";
import type { Worker } from "../api/types";
import { Button } from "../parts/Button";
import { Page } from "../parts/Page";
import { Empty, Failed, Loading } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Since, Time } from "../parts/Time";
import { Tokens, type Field, type Token } from "../parts/Tokens";
import { useKeys } from "../shell/keys";
import { WorkerDialog } from "./worker-dialog";
import { ENDED_COLUMNS } from "./worker-words";
import "./workers.css";

const params = searchOf({ state: oneOf("all", "lost", "gone"), host: text, worker: number });
/** The UI calls workers that are gone "stopped", as their tag does. */
const WORDS = { lost: "lost", gone: "stopped" } as const;
const FIELDS: Field[] = [
  { key: "state", about: "how they ended", values: Object.values(WORDS) },
  { key: "host", about: "name of their host" },
];

export default function WorkerHistory() {
  const [{ state, host, worker }, setSearch] = params.use();
  const filter = useRef<HTMLInputElement>(null);
  const workers = useHistory(state, host);
  const tokens: Token[] = [...(state === "all" ? [] : [["state", WORDS[state]] as Token]), ...(host ? [["host", host] as Token] : [])];
  const change = (next: Token[]) => {
    const last = (key: string) => next.findLast(([own]) => own === key)?.[1] ?? "";
    const wanted = last("state");
    setSearch({ state: wanted === "lost" ? "lost" : wanted === "stopped" || wanted === "gone" ? "gone" : "all", host: last("host") });
  };
  useKeys("Worker history", { "/": ["Filter", () => filter.current?.focus()] });
  return (
    <Page fill title="Worker history" above={<Link to="/workers">Workers and nodes</Link>}>
      <div className="tools">
        <Tokens inputRef={filter} fields={FIELDS} tokens={tokens} textField="host" placeholder="Filter: state:lost, or the name of a host" onChange={change} />
      </div>
      {workers.error && !workers.rows.length ? (
        <Failed error={workers.error} again={workers.again} />
      ) : workers.loading ? (
        <Loading />
      ) : workers.rows.length ? (
        <Table
          label="Worker history"
          columns={COLUMNS}
          rows={workers.rows}
          keyOf={(one) => String(one.worker_id)}
          rowHeight={44}
          onOpen={(one) => setSearch({ worker: one.worker_id })}
          isActive={(one) => one.worker_id === worker}
          onEnd={workers.next}
          foot={workers.more ? "Loading…" : workers.hasMore ? <Button onClick={workers.next}>Show older workers</Button> : "A worker is deleted 30 days after it ended."}
        />
      ) : (
        <Empty title={tokens.length ? "No matching workers" : "No worker has ended"} icon="workers">
          {tokens.length ? <Button onClick={() => change([])}>Clear filters</Button> : <p className="quiet">Workers that were lost or stopped are listed here for 30 days.</p>}
        </Empty>
      )}
      {worker !== null && <WorkerDialog id={worker} onClose={() => setSearch({ worker: null })} />}
    </Page>
  );
}

function useHistory(state: "all" | "lost" | "gone", host: string) {
  const tenant = useTenant();
  const found = useInfiniteQuery({
    queryKey: ["GET /workers/history", "pages", tenant, state, host],
    queryFn: ({ pageParam, signal }) =>
      call("GET /workers/history", { query: { state: state === "all" ? undefined : state, host: host || undefined, limit: 100, cursor: pageParam } }, tenant, signal),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => (page.next === null || page.next === undefined ? undefined : Number(page.next)),
    // Only the first page: refetching a longer list would move rows that the user is reading.
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) <= 1 ? 5000 : false),
  });
  return {
    rows: useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]),
    error: found.error,
    loading: found.isPending,
    more: found.isFetchingNextPage,
    hasMore: found.hasNextPage,
    next: useCallback(() => void (found.hasNextPage && !found.isFetchingNextPage && found.fetchNextPage()), [found]),
    again: () => void found.refetch(),
  };
}

const COLUMNS: Column<Worker>[] = [
  ...ENDED_COLUMNS,
  { key: "build", title: "Build", width: "minmax(80px, 0.6fr)", cell: (worker) => <span className="quiet" title={worker.build ?? ""}>{worker.build ?? "–"}</span> },
  { key: "started", title: "Started", width: "104px", align: "right", cell: (worker) => <Time at={worker.started_at} /> },
  { key: "ran", title: "Ran for", width: "96px", align: "right", cell: (worker) => <Since from={worker.started_at} to={worker.ended_at} /> },
];
