/** Workers and nodes: their state and last heartbeat, workers that were lost, and the leader. */

import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRead } from "../api/hooks";
import { flag, number, searchOf } from "../api/search";
import type { Cluster, ClusterNode, Worker } from "../api/types";
import { Tag } from "../parts/Badge";
import { Bar } from "../parts/Bar";
import { Icon } from "../parts/Icon";
import { Page, Panel } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Since, Time } from "../parts/Time";
import { useCommands } from "../shell/Palette";
import { WorkerDialog } from "./worker-dialog";
import { ENDED_COLUMNS, isBlocked, WorkerState } from "./worker-words";
import "./queues.css";
import "./workers.css";

const params = searchOf({ worker: number, left: flag });

export default function Workers() {
  const [{ worker, left }, setSearch] = params.use();
  const workers = useRead("GET /workers", undefined, { live: ["worker"], every: 500, poll: 3000 });
  const cluster = useRead("GET /cluster", undefined, { live: ["worker"], every: 1000, poll: 5000 });
  const all = workers.data?.items ?? [];
  const rows = useMemo(() => (workers.data?.items ?? []).filter((one) => one.state === "alive" || (left && one.state === "gone")).sort(order), [workers.data, left]);
  const lost = useMemo(() => (workers.data?.items ?? []).filter(({ state }) => state === "lost").sort((a, b) => Date.parse(b.ended_at!) - Date.parse(a.ended_at!) || b.worker_id - a.worker_id), [workers.data]);
  const gone = all.filter(({ state }) => state === "gone").length;
  const open = (one: Worker) => setSearch({ worker: one.worker_id === worker ? null : one.worker_id });
  const isOpen = (one: Worker) => one.worker_id === worker;
  useCommands([{ label: left ? "Hide stopped workers" : "Show stopped workers", icon: "workers", act: () => setSearch({ left: !left }) }]);
  return (
    <Page
      title="Workers and nodes"
      actions={
        <Link className="button normal" to="/workers/history">
          Worker history
        </Link>
      }
    >
      <Loaded query={cluster}>{(found) => <ClusterPanel cluster={found} />}</Loaded>
      <Loaded query={workers}>
        {() => (
          <>
            <Blocked workers={all} />
            <Stale workers={all} />
            {lost.length > 0 && (
              <Panel
                title={`Lost workers (${lost.length} in the last hour)`}
                actions={
                  <Link to="/workers/history" search={{ state: "lost" } as never}>
                    Show older ones
                  </Link>
                }
              >
                <Table label="Lost workers" columns={ENDED_COLUMNS} rows={lost} keyOf={keyOf} rowHeight={44} maxHeight={280} onOpen={open} isActive={isOpen} />
              </Panel>
            )}
            <Panel
              title={`Workers (${counted(all)})`}
              actions={
                <>
                  <Versions workers={all} />
                  {gone > 0 && (
                    <label className="check">
                      <input type="checkbox" checked={left} onChange={(event) => setSearch({ left: event.target.checked }, { replace: true })} />
                      {`Show ${gone} stopped in the last hour`}
                    </label>
                  )}
                </>
              }
            >
              {rows.length ? (
                <Table label="Workers" columns={COLUMNS} rows={rows} keyOf={keyOf} rowHeight={44} maxHeight={480} onOpen={open} isActive={isOpen} />
              ) : (
                <Empty title="No workers" icon="workers">
                  <p className="quiet">
                    Start one with <code>plait worker app.py</code>. Until then, jobs stay queued.
                  </p>
                </Empty>
              )}
            </Panel>
          </>
        )}
      </Loaded>
      {worker !== null && <WorkerDialog id={worker} onClose={() => setSearch({ worker: null })} />}
    </Page>
  );
}

const keyOf = (worker: Worker) => String(worker.worker_id);
/** Problems first, stopped workers last. */
const order = (a: Worker, b: Worker) =>
  Number(isBlocked(b)) - Number(isBlocked(a)) || Number(b.stale) - Number(a.stale) || Number(b.state === "alive") - Number(a.state === "alive") || b.worker_id - a.worker_id;

/** For example "3 alive, 1 stale". A stale worker does not count as alive. */
function counted(workers: readonly Worker[]): string {
  const stale = workers.filter((one) => one.stale).length;
  const alive = workers.filter((one) => one.state === "alive").length - stale;
  return stale ? `${alive.toLocaleString()} alive, ${stale.toLocaleString()} stale` : `${alive.toLocaleString()} alive`;
}

function Blocked({ workers }: { workers: readonly Worker[] }) {
  const blocked = workers.filter(isBlocked);
  if (!blocked.length) return null;
  return (
    <p className="notice bad" role="alert">
      <Icon name="alert" />
      <span>
        {"A handler is blocking the event loop of "}
        {blocked.slice(0, 5).map((one, index) => (
          <span key={one.worker_id}>
            {index > 0 && ", "}
            <strong>{`worker ${one.worker_id} on ${one.hostname}`}</strong> for <Since from={one.blocked_since!} />
            {one.blocked_job_id && (
              <>
                {" ("}
                <Link to="/jobs/$jobId" params={{ jobId: one.blocked_job_id }}>
                  show job
                </Link>
                {")"}
              </>
            )}
          </span>
        ))}
        {blocked.length > 5 && " …"}
        {". Other jobs of the worker can't make progress. If the event loop stays blocked for longer than PLAIT_LOOP_TIMEOUT, the worker exits, and its jobs are requeued."}
      </span>
    </p>
  );
}

function Stale({ workers }: { workers: readonly Worker[] }) {
  const stale = workers.filter((one) => one.stale);
  if (!stale.length) return null;
  return (
    <p className="notice bad" role="alert">
      <Icon name="alert" />
      <span>
        {`${stale.length === 1 ? "A worker has" : `${stale.length} workers have`} missed heartbeats: worker `}
        {stale.slice(0, 5).map((one, index) => (
          <span key={one.worker_id}>
            {index > 0 && ", "}
            <strong>{`${one.worker_id} on ${one.hostname}`}</strong>, last seen <Time at={one.last_seen_at} />
          </span>
        ))}
        {stale.length > 5 && " …"}
        {". When its lease has expired, a worker serves no queue, and the leader declares it lost and requeues its jobs."}
      </span>
    </p>
  );
}

/** Workers of several versions may run together, for example during a deployment. */
function Versions({ workers }: { workers: readonly Worker[] }) {
  const versions = new Set(workers.filter(({ state, version }) => state === "alive" && version).map(({ version }) => version));
  return versions.size > 1 ? <Tag tone="warn" title={[...versions].join(", ")}>{`${versions.size} versions`}</Tag> : null;
}

/** The concurrency that the worker reports. */
function slotsOf(worker: Worker): number | null {
  const reported = (worker.metadata as { concurrency?: unknown } | null)?.concurrency;
  return typeof reported === "number" && reported > 0 ? reported : null;
}

const COLUMNS: Column<Worker>[] = [
  {
    key: "worker",
    title: "Worker",
    width: "minmax(220px, 1.6fr)",
    cell: (worker) => (
      <>
        <strong>{worker.worker_id}</strong>
        <span className="quiet">{`${worker.hostname}:${worker.pid}`}</span>
        {worker.leads && <Tag tone="good">leader</Tag>}
      </>
    ),
  },
  {
    key: "state",
    title: "State",
    width: "100px",
    cell: (worker) => <WorkerState worker={worker} />,
  },
  {
    key: "seen",
    title: "Heartbeat",
    width: "104px",
    align: "right",
    cell: (worker) => (
      <span className={worker.stale ? "bad" : ""}>
        <Time at={worker.last_seen_at} />
      </span>
    ),
  },
  { key: "slots", title: "Slots", width: "160px", cell: (worker) => <Slots worker={worker} /> },
  { key: "queues", title: "Queues", width: "minmax(130px, 1fr)", cell: (worker) => <span title={worker.queues.join(", ")}>{worker.queues.join(", ")}</span> },
  { key: "node", title: "Node", width: "minmax(90px, 0.6fr)", cell: (worker) => worker.node ?? <span className="quiet">–</span> },
  { key: "version", title: "Version", width: "84px", cell: (worker) => <span className="quiet">{worker.version || "–"}</span> },
  { key: "started", title: "Uptime", width: "96px", align: "right", cell: (worker) => (worker.state === "alive" ? <Time at={worker.started_at} short /> : <span className="quiet">–</span>) },
];

function Slots({ worker }: { worker: Worker }) {
  const slots = slotsOf(worker);
  const running = worker.state === "alive" ? worker.running_count : 0;
  const prefetched = worker.state === "alive" ? worker.prefetched_count : 0;
  return (
    <>
      {slots !== null && <Bar label={`Slots of worker ${worker.worker_id}`} shares={[{ status: "running", count: Math.min(running, slots), label: "running" }]} total={slots} />}
      <span className="slots">{slots === null ? running.toLocaleString() : `${running.toLocaleString()} / ${slots.toLocaleString()}`}</span>
      {prefetched > 0 && <span className="quiet" title="Jobs that were claimed but had not started at the last heartbeat">+{prefetched.toLocaleString()} prefetched</span>}
    </>
  );
}

const NODE_TONES: Record<string, "good" | "warn" | "bad"> = { active: "good", draining: "warn", lost: "bad" };

const NODE_COLUMNS: Column<ClusterNode>[] = [
  {
    key: "name",
    title: "Node",
    width: "minmax(160px, 1.4fr)",
    cell: (node) => (
      <>
        <strong>{node.name}</strong>
        {node.leads && <Tag tone="good">leader</Tag>}
      </>
    ),
  },
  { key: "state", title: "State", width: "100px", cell: (node) => <Tag tone={NODE_TONES[node.state]}>{node.state}</Tag> },
  { key: "seen", title: "Heartbeat", width: "104px", align: "right", cell: (node) => <Time at={node.last_seen_at} /> },
  { key: "workers", title: "Workers", width: "90px", align: "right", cell: (node) => node.workers.toLocaleString() },
  { key: "running", title: "Running", width: "90px", align: "right", cell: (node) => node.running_count.toLocaleString() },
  { key: "open", title: "Open node jobs", width: "140px", align: "right", cell: (node) => node.open_count.toLocaleString() },
  { key: "version", title: "Version", width: "90px", cell: (node) => <span className="quiet">{node.version || "–"}</span> },
  { key: "url", title: "Address", width: "minmax(120px, 1fr)", cell: (node) => <span className="quiet">{node.url ?? "–"}</span> },
];

function ClusterPanel({ cluster }: { cluster: Cluster }) {
  const { leader, nodes } = cluster;
  return (
    <Panel
      title="Cluster"
      actions={
        leader ? (
          <span className="quiet" data-term={leader.term}>
            Leader: <strong className="leader">{leader.node ?? leader.holder}</strong>, elected <Time at={leader.since} />, term {leader.term.toLocaleString()}
          </span>
        ) : (
          <Tag tone="bad" title="Scheduling, retries and rescue wait until a process is elected leader">
            no leader
          </Tag>
        )
      }
    >
      {nodes.length ? (
        <Table label="Nodes" columns={NODE_COLUMNS} rows={nodes} keyOf={(node) => node.name} rowHeight={40} maxHeight={280} />
      ) : (
        <p className="body quiet">No nodes yet. A worker registers its node when it starts.</p>
      )}
    </Panel>
  );
}
