/** How a worker is doing, or how it ended. */

import type { Worker } from "../api/types";
import { Tag } from "../parts/Badge";
import type { Column } from "../parts/Table";
import { Time } from "../parts/Time";

export const isBlocked = (worker: Worker) => worker.state === "alive" && worker.blocked_since !== null;

export function stateOf(worker: Worker): { word: string; tone?: "good" | "warn" | "bad"; title?: string } {
  if (worker.state === "lost") return { word: "lost", tone: "bad", title: "Its lease expired: it was killed, hung, or lost its connection" };
  if (worker.state === "gone") return { word: "stopped", title: "It left, or its lease was ended when a backup was restored" };
  if (worker.lease_expired) return { word: "expired", tone: "bad", title: "Its lease has expired. It serves no queue, and the leader declares it lost" };
  if (isBlocked(worker)) return { word: "blocked", tone: "bad" };
  if (worker.stale) return { word: "stale", tone: "bad", title: "Its heartbeat is overdue" };
  return worker.draining ? { word: "draining", tone: "warn" } : { word: "alive", tone: "good" };
}

export function WorkerState({ worker }: { worker: Worker }) {
  const { word, tone, title } = stateOf(worker);
  return (
    <Tag tone={tone} title={title}>
      {word}
    </Tag>
  );
}

const REASONS: Record<string, string> = {
  lease_expired: "lease expired",
  blocked_loop: "event loop blocked",
  left: "graceful shutdown",
  restored: "backup restored",
};
export const reasonOf = (worker: Worker) => (worker.end_reason === null ? null : (REASONS[worker.end_reason] ?? worker.end_reason));

/** How the jobs of a worker that ended were moved, for example "3 held: 2 requeued, 1 dead letter". */
export function movedOf(worker: Worker): string {
  const parts = [
    count(worker.requeued_count, "requeued"),
    count(worker.dead_lettered_count, worker.dead_lettered_count === 1 ? "dead letter" : "dead letters"),
    count(worker.canceled_count, "canceled"),
    count(worker.released_count, "released"),
    worker.clearing && "not all moved yet",
  ].filter(Boolean);
  if (!worker.held_count && !parts.length) return "none";
  if (!worker.held_count) return parts.join(", ");
  return parts.length ? `${worker.held_count.toLocaleString()} held: ${parts.join(", ")}` : `${worker.held_count.toLocaleString()} held`;
}
const count = (n: number, words: string) => n > 0 && `${n.toLocaleString()} ${words}`;

/** Columns of workers that ended. */
export const ENDED_COLUMNS: Column<Worker>[] = [
  {
    key: "worker",
    title: "Worker",
    width: "minmax(200px, 1.4fr)",
    cell: (worker) => (
      <>
        <strong>{worker.worker_id}</strong>
        <span className="quiet" title={worker.hostname}>{`${worker.hostname}:${worker.pid}`}</span>
      </>
    ),
  },
  { key: "state", title: "State", width: "92px", cell: (worker) => <WorkerState worker={worker} /> },
  { key: "ended", title: "Ended", width: "104px", align: "right", cell: (worker) => <Time at={worker.ended_at} /> },
  { key: "reason", title: "Reason", width: "150px", cell: (worker) => reasonOf(worker) },
  { key: "jobs", title: "Jobs", width: "minmax(190px, 1.4fr)", cell: (worker) => <Moved worker={worker} /> },
  { key: "version", title: "Version", width: "84px", cell: (worker) => <span className="quiet">{worker.version || "–"}</span> },
];

function Moved({ worker }: { worker: Worker }) {
  const words = movedOf(worker);
  return (
    <span className={words === "none" ? "quiet" : ""} title={words}>
      {words}
    </span>
  );
}
