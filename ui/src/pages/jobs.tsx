/** All jobs, newest first, with a filter and bulk actions. Scrolling loads older jobs. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { call } from "../api/client";
import { useRead, useTenant } from "../api/hooks";
import { useLive } from "../api/live";
import { useSession } from "../api/session";
import type { JobBrief } from "../api/types";
import { Button } from "../parts/Button";
import { Menu } from "../parts/Menu";
import { Page } from "../parts/Page";
import { Empty, Failed, Loading } from "../parts/States";
import { Table } from "../parts/Table";
import { Tokens } from "../parts/Tokens";
import { useKeys } from "../shell/keys";
import { BulkActions } from "./jobs-bulk";
import { SavedViews } from "./jobs-views";
import { jobColumns, type JobColumn } from "./job-columns";
import { useFresh } from "./jobs-fresh";
import { fieldsOf, isFiltered, jobParams, queryOf, searchOfTokens, tokensOf, type JobQuery } from "./job-filter";

const FIRST = 100;
const NEXT = 500;

export default function Jobs() {
  const [search, setSearch] = jobParams.use();
  const filter = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const session = useSession();
  // "1h" is relative to the time at which the filter was set: with the current time, each render would send a new query.
  const { query, wrong } = useMemo(() => queryOf(search, Date.now()), [search]);
  const jobs = useJobs(query);
  const fields = useFields();
  const columns = useColumns(search.cols);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const acts = session.can("POST /jobs/bulk");
  const change = useCallback(
    (wanted: Parameters<typeof setSearch>[0]) => {
      setSelected(new Set());
      setSearch(wanted);
    },
    [setSearch],
  );
  useKeys("Jobs", { "/": ["Filter", () => filter.current?.focus()] });

  return (
    <Page
      fill
      title="Jobs"
      actions={
        <>
          <Count query={query} />
          <SavedViews />
          <ColumnMenu columns={columns.all} chosen={columns.shown} onChange={(cols) => setSearch({ cols }, { replace: true })} />
          {session.can("POST /jobs") && (
            <Button icon="play" onClick={() => void navigate({ to: "/jobs/new" })}>
              Run job
            </Button>
          )}
        </>
      }
    >
      <div className="tools">
        <Tokens
          inputRef={filter}
          fields={fields}
          tokens={tokensOf(search)}
          textField="q"
          placeholder="Filter: status:failed, queue:mail, payload:order.id=42, or text"
          onChange={(tokens) => change(searchOfTokens(tokens))}
        />
      </div>
      {wrong.length > 0 && (
        <p role="alert" className="warn">
          {`Ignored invalid filters: ${wrong.join(", ")}`}
        </p>
      )}
      {acts && <BulkActions query={query} rows={jobs.rows} selected={selected} onSelect={setSelected} hasMore={jobs.hasMore} />}
      {(jobs.fresh > 0 || jobs.missed) && (
        <div className="bar-of-actions" role="status">
          {jobs.missed && "Changes were missed while the server was unreachable. "}
          {jobs.fresh > 0 && `${jobs.fresh}${jobs.fresh === FIRST ? " or more" : ""} new ${isFiltered(query) ? "matching " : ""}${jobs.fresh === 1 ? "job" : "jobs"}`}
          <Button onClick={jobs.reload}>Reload list</Button>
        </div>
      )}
      <List jobs={jobs} columns={columns.shown} filtered={isFiltered(query)} selected={acts ? selected : undefined} onSelect={acts ? setSelected : undefined} onOpen={(job) => void navigate({ to: "/jobs/$jobId", params: { jobId: job.id } })} onClear={() => change(searchOfTokens([]))} />
    </Page>
  );
}

interface ListProps {
  jobs: ReturnType<typeof useJobs>;
  columns: JobColumn[];
  filtered: boolean;
  selected: Set<string> | undefined;
  onSelect: ((selected: Set<string>) => void) | undefined;
  onOpen: (job: JobBrief) => void;
  onClear: () => void;
}

function List({ jobs, columns, filtered, selected, onSelect, onOpen, onClear }: ListProps) {
  if (jobs.error && !jobs.rows.length) return <Failed error={jobs.error} again={jobs.reload} />;
  if (jobs.loading) return <Loading />;
  if (!jobs.rows.length && !jobs.hasMore)
    return (
      <Empty title={filtered ? "No matching jobs" : "No jobs yet"} icon="jobs">
        {filtered ? <Button onClick={onClear}>Clear filters</Button> : <p className="quiet">Enqueued jobs appear here immediately.</p>}
      </Empty>
    );
  const foot = jobs.more ? "Loading…" : jobs.hasMore ? <Button onClick={jobs.next}>Search further back</Button> : null;
  return (
    <Table
      label="Jobs"
      columns={columns}
      rows={jobs.rows}
      keyOf={idOf}
      onOpen={onOpen}
      onEnd={jobs.stopped ? undefined : jobs.next}
      selected={selected}
      onSelect={onSelect}
      foot={foot}
    />
  );
}

const idOf = (job: JobBrief) => job.id;

/**
 * The loaded pages as one list, updated live. A list of one page is refetched. In a longer list, rows are updated in place, and new jobs are
 * only counted, because inserting them would move the rows that the user is reading.
 */
function useJobs(query: JobQuery) {
  const tenant = useTenant();
  const client = useQueryClient();
  const key = useMemo(() => ["GET /jobs", "pages", tenant, query], [tenant, query]);
  const found = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      call("GET /jobs", { query: { ...query, limit: pageParam ? NEXT : FIRST, cursor: pageParam } }, tenant, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? undefined,
    // Comparing 100,000 rows with their previous values costs more than rendering the thirty visible ones.
    structuralSharing: false,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
    gcTime: 30_000,
  });
  const pages = found.data?.pages;
  const [moved, setMoved] = useState<ReadonlyMap<string, Partial<JobBrief>>>(new Map());
  const fresh = useFresh(query, tenant, FIRST);
  /** The stream was interrupted, so the rows of a long list may be out of date. */
  const [missed, setMissed] = useState(false);
  useEffect(() => setMissed(false), [key]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const known = useRef<{ of: readonly JobBrief[]; ids: ReadonlySet<string> }>({ of: [], ids: new Set() });
  const loaded = useMemo(() => pages?.flatMap((page) => page.items) ?? [], [pages]);
  const rows = useMemo(() => (moved.size ? loaded.map((job) => (moved.has(job.id) ? { ...job, ...moved.get(job.id) } : job)) : loaded), [loaded, moved]);
  const reload = useCallback(() => {
    setMoved(new Map());
    setMissed(false);
    fresh.clear();
    // Keep only the first page: the others are loaded again on scrolling.
    client.setQueryData(key, (old: typeof found.data) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) });
    void client.invalidateQueries({ queryKey: key, exact: true });
  }, [client, key, fresh.clear]);

  useLive((events) => {
    const jobs = events.filter((event) => event.kind === "job" || event.kind === "reset");
    if (!jobs.length || !pages) return;
    if (pages.length === 1 && document.visibilityState === "visible") {
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        reload();
      }, 800);
      return;
    }
    if (known.current.of !== loaded) known.current = { of: loaded, ids: new Set(loaded.map(idOf)) };
    const { ids } = known.current;
    const changed = jobs.filter((event) => event.id && ids.has(event.id));
    if (changed.length)
      setMoved((old) => new Map([...old, ...changed.map((event) => [event.id!, { status: event.status, attempt_count: event.attempt_count } as Partial<JobBrief>] as const)]));
    if (jobs.some(({ kind }) => kind === "reset")) setMissed(true);
    if (changed.length < jobs.length) fresh.count((id) => known.current.ids.has(id));
  });

  return {
    rows,
    error: found.error,
    loading: found.isPending,
    more: found.isFetchingNextPage,
    hasMore: found.hasNextPage,
    /** The search stopped at its scan limit. The user decides whether to continue. */
    stopped: pages?.at(-1)?.complete === false && (pages.at(-1)?.items.length ?? 0) === 0,
    next: useCallback(() => void (found.hasNextPage && !found.isFetching && found.fetchNextPage()), [found]),
    fresh: fresh.fresh,
    missed,
    reload,
  };
}

function useFields() {
  const queues = useRead("GET /queues");
  const definitions = useRead("GET /jobs/definitions");
  return useMemo(
    () =>
      fieldsOf({
        queues: queues.data?.items.map(({ name }) => name) ?? [],
        definitions: definitions.data?.items.map(({ key }) => key) ?? [],
      }),
    [queues.data, definitions.data],
  );
}

function useColumns(chosen: string): { all: JobColumn[]; shown: JobColumn[] } {
  const session = useSession();
  const tenant = useTenant();
  const across = session.isSuper && tenant === null;
  const tenants = useRead("GET /tenants", undefined, { enabled: across });
  return useMemo(() => {
    const names = new Map(tenants.data?.items.map(({ id, slug }) => [id, slug]));
    const all = jobColumns(across ? (id) => names.get(id) ?? id : null);
    const wanted = chosen.split(",");
    return { all, shown: all.filter(({ key, usual }) => (chosen ? wanted.includes(key) : usual)) };
  }, [chosen, across, tenants.data]);
}

function ColumnMenu({ columns, chosen, onChange }: { columns: JobColumn[]; chosen: JobColumn[]; onChange: (cols: string) => void }) {
  const toggle = (key: string) => {
    const next = columns.filter((column) => chosen.includes(column) !== (column.key === key));
    const usual = next.length === columns.filter((column) => column.usual).length && next.every((column) => column.usual);
    if (next.length) onChange(usual ? "" : next.map((column) => column.key).join(","));
  };
  return (
    <Menu label="Columns" icon="columns">
      {() =>
        columns.map((column) => (
          <label key={column.key} className="check">
            <input type="checkbox" checked={chosen.includes(column)} onChange={() => toggle(column.key)} />
            {column.name}
          </label>
        ))
      }
    </Menu>
  );
}

/** The number of matching jobs, capped at the count limit. */
function Count({ query }: { query: JobQuery }) {
  const count = useRead("GET /jobs/count", { query }, { live: ["job"], every: 3000 });
  if (!count.data) return null;
  const words = count.data.count.toLocaleString() + (count.data.more ? "+" : "");
  return (
    <span className="quiet" data-count={words}>
      {`${words} ${count.data.count === 1 && !count.data.more ? "job" : "jobs"}`}
    </span>
  );
}
