/** A workflow: a root job and its descendants as a tree, a timeline and a graph, which share one selection. */

import { useQueryClient } from "@tanstack/react-query";
import { Link, Navigate, useParams } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { call } from "../api/client";
import { keyOf, useRead, useTenant } from "../api/hooks";
import type { JobPage } from "../api/types";
import { Badge } from "../parts/Badge";
import { Copy } from "../parts/Code";
import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Tabs } from "../parts/Tabs";
import { useKeys } from "../shell/keys";
import { lazyPage } from "../shell/lazyPage";
import { WorkflowActions } from "./workflow-actions";
import type { Order } from "./workflow-order";
import { workflowParams } from "./workflow-params";
import { fanOutOf, isOpen, keyOfChild, NOTHING, outlineOf, PAGE, placeOf, useBranches, type Known, type Outline, type Wanted } from "./workflow-rows";
import { Selected } from "./workflow-side";
import { Lane, TIMELINE_TRACKS, TimelineHead, TimelineTools, useRange } from "./workflow-timeline";
import { FanOutBar, Rows, TREE_TRACKS, TreeCells, TreeHeads } from "./workflow-tree";
import "./workflow.css";

const Graph = lazyPage(() => import("./workflow-graph"));

export default function Workflow() {
  const { jobId } = useParams({ strict: false }) as { jobId: string };
  const job = useRead("GET /jobs/{job_id}", { path: { job_id: jobId } }, { live: ["job", "fan_out"], when: (event) => event.id === jobId || event.parent_id === jobId, every: 600, poll: 10_000 });
  return (
    <Loaded query={job} what="workflow">
      {(found) =>
        found.root_id && found.root_id !== found.id ? (
          <Navigate to="/workflows/$jobId" params={{ jobId: found.root_id }} search={workflowParams.link({ at: found.id }) as never} replace />
        ) : (
          <Shown key={found.id} root={found} />
        )
      }
    </Loaded>
  );
}

function Shown({ root }: { root: JobPage }) {
  const [{ view, at, turned: list, zoom, sort }, setSearch] = workflowParams.use();
  const turned = useMemo(() => new Set(list), [list]);
  const turn = useCallback((key: string) => setSearch({ turned: turned.has(key) ? list.filter((one) => one !== key) : [...list, key] }, { replace: true }), [list, turned, setSearch]);
  const select = useCallback((id: string) => setSearch({ at: id }, { replace: true }), [setSearch]);
  const setZoom = useCallback((zoom: string) => setSearch({ zoom }, { replace: true }), [setSearch]);
  const sorting = { chosen: sort, onChoose: useCallback((sort: Order) => setSearch({ sort }, { replace: true }), [setSearch]) };
  const { outline, onSeen, branches } = useOutline(root, turned, sort);
  const [fanOut] = [root, ...branches.values()].flatMap((job) => job.fan_outs.filter(({ id }) => id === fanOutOf(at)).map((one) => ({ ...one, parent: job.id })));
  const sought = useSought(root, at, turned, (keys) => setSearch({ turned: [...list, ...keys] }, { replace: true }));
  const ranging = useRange(root, zoom, setZoom);
  useKeys("Workflow", {
    "1": ["Tree", () => setSearch({ view: "tree" })],
    "2": ["Timeline", () => setSearch({ view: "timeline" })],
    "3": ["Graph", () => setSearch({ view: "graph" })],
  });
  const rows = { outline, turned, selected: at, sought, onSelect: select, onTurn: turn, onSeen };
  return (
    <Page
      fill
      above={
        <>
          <Link to="/jobs">Jobs</Link>
          <Icon name="right" size={12} />
          <Link to="/jobs/$jobId" params={{ jobId: root.id }}>
            <code>{root.id}</code>
          </Link>
          <Copy text={root.id} label="Copy id" />
        </>
      }
      title={
        <>
          {root.definition_key}
          <Badge status={root.status} />
        </>
      }
      actions={<WorkflowActions root={root} />}
    >
      <WorkflowProgress root={root} />
      <div className="workflow">
        <Tabs
          label="Views"
          chosen={view}
          onChoose={(key) => setSearch({ view: key }, { replace: true })}
          tabs={[
            { key: "tree", label: "Tree" },
            { key: "timeline", label: "Timeline" },
            { key: "graph", label: "Graph" },
          ]}
        >
          {view === "tree" && <Rows label="Tree" {...rows} tracks={TREE_TRACKS} heads={<TreeHeads {...sorting} />} cells={(row) => <TreeCells row={row} />} />}
          {view === "timeline" && (
            <>
              <TimelineTools ranging={ranging} sorting={sorting} />
              <Rows label="Timeline" {...rows} className="timeline" rowHeight={26} tracks={TIMELINE_TRACKS} heads={<TimelineHead ranging={ranging} />} cells={(row) => <Lane row={row} ranging={ranging} root={root} />} />
            </>
          )}
          {view === "graph" && <Graph root={root} selected={at} onSelect={select} />}
        </Tabs>
        <Selected root={root} id={at} fanOut={fanOut} onSelect={select} />
      </div>
    </Page>
  );
}

/** The maximum number of fan-outs that the API lists for a job. */
const MOST = 100;

/** The progress of the workflow: all fan-outs of the root. */
function WorkflowProgress({ root }: { root: JobPage }) {
  const sum = (count: (fanOut: JobPage["fan_outs"][number]) => number) => root.fan_outs.reduce((all, one) => all + count(one), 0);
  const all = {
    total: sum(({ total }) => total),
    needed: root.fan_outs.length === 1 ? root.fan_outs[0]!.needed : 0,
    succeeded: sum(({ succeeded }) => succeeded),
    failed: sum(({ failed }) => failed),
    canceled: sum(({ canceled }) => canceled),
    running: sum(({ running }) => running),
  };
  if (!all.total) return <Empty title="No sub-jobs yet" icon="tree" />;
  const ended = all.succeeded + all.failed + all.canceled;
  return (
    <div className="whole">
      <FanOutBar fanOut={all} label="Workflow progress" />
      <span>
        <strong>{`${Math.floor((100 * ended) / all.total)} %`}</strong>
        <span className="quiet">{` ${ended.toLocaleString()} of ${all.total.toLocaleString()} sub-jobs finished`}</span>
        {root.fan_outs.length >= MOST && <span className="quiet">{` in the first ${MOST} fan-outs`}</span>}
        {all.failed > 0 && <span className="bad">{`, ${all.failed.toLocaleString()} failed`}</span>}
        {all.canceled > 0 && <span className="quiet">{`, ${all.canceled.toLocaleString()} canceled`}</span>}
      </span>
    </div>
  );
}

/** The rows with the data loaded so far. `onSeen` reports the visible rows, whose data is then loaded. */
function useOutline(root: JobPage, turned: ReadonlySet<string>, order: Order) {
  const [known, setKnown] = useState(NOTHING);
  const [seen, setSeen] = useState<readonly [number, number]>([0, 60]);
  const outline = useMemo(() => outlineOf(root, known, turned, order), [root, known, turned, order]);
  const asked = stable(wantedOf(root, known, turned, order, outline, seen));
  const wanted = useMemo(() => JSON.parse(asked) as Wanted[], [asked]);
  const openJobs = stable([...turned].flatMap((key) => known.byIndex.get(key)?.child.id ?? []));
  const jobs = useMemo(() => JSON.parse(openJobs) as string[], [openJobs]);
  const found = useBranches(root.id, root.finished_at === null, wanted, jobs, order);
  useEffect(() => setKnown(found), [found]);
  const onSeen = useCallback((first: number, last: number) => setSeen((old) => (old[0] === first && old[1] === last ? old : [first, last])), []);
  return { outline, onSeen, branches: known.branches };
}

const stable = (value: unknown) => JSON.stringify(value);

/** The pages of children to load: visible ones, and those of expanded rows. */
function wantedOf(root: JobPage, known: Known, turned: ReadonlySet<string>, order: Order, outline: Outline, [first, last]: readonly [number, number]): Wanted[] {
  const pages = new Map<string, Wanted>();
  const want = (parent: string, fanOut: string, place: number) => {
    if (place < 0) return;
    const page = Math.floor(place / PAGE);
    pages.set(`${fanOut} ${page}`, { parent, fanOut, page });
  };
  for (let position = first; position <= Math.min(last, outline.count - 1); position++) {
    const row = outline.row(position);
    if (row.kind === "child") want(row.parent, row.fanOut, row.place);
  }
  for (const job of [root, ...known.branches.values()])
    for (const { id } of job.fan_outs)
      for (const key of turned) if (key.startsWith(`${id}.`) && isOpen(key, 2, turned)) want(job.id, id, placeOf(known, order, id, Number(key.slice(id.length + 1))));
  return [...pages.values()].sort((a, b) => (a.fanOut < b.fanOut ? -1 : a.fanOut > b.fanOut ? 1 : a.page - b.page));
}

/** The row of the selection. Collapsed rows above it are expanded. */
function useSought(root: JobPage, at: string, turned: ReadonlySet<string>, open: (keys: string[]) => void): string | null {
  const client = useQueryClient();
  const tenant = useTenant();
  const [sought, setSought] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    const read = (id: string) =>
      client.fetchQuery({ queryKey: keyOf("GET /jobs/{job_id}", tenant, { path: { job_id: id } }), queryFn: () => call("GET /jobs/{job_id}", { path: { job_id: id } }, tenant), staleTime: 60_000 });
    const seek = async () => {
      if (!at || at === root.id || fanOutOf(at)) return at === root.id ? "root" : fanOutOf(at);
      let job = await read(at);
      const own = keyOfChild(job.fan_out_id!, job.fan_out_index!);
      const keys: string[] = [];
      for (let depth = 0; job.parent_id && depth < 50; depth++) {
        const below = job.parent_id === root.id;
        if (isOpen(job.fan_out_id!, below ? 1 : 3, turned) === false) keys.push(job.fan_out_id!);
        if (below) break;
        job = await read(job.parent_id);
        const key = keyOfChild(job.fan_out_id!, job.fan_out_index!);
        if (!turned.has(key)) keys.push(key);
      }
      if (keys.length && !gone) open(keys);
      return own;
    };
    seek().then(
      (key) => !gone && setSought(key),
      () => undefined, // not part of this workflow; the details panel says so
    );
    return () => {
      gone = true;
    };
  }, [at, root.id]); // eslint-disable-line
  return sought;
}
