/** Queues: their depth, the age of the oldest job, workers and limits. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { useChange, useRead } from "../api/hooks";
import { searchOf, text } from "../api/search";
import { useSession } from "../api/session";
import type { Queue } from "../api/types";
import { Tag } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Id } from "../parts/Code";
import { Confirm, useDialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { Paused } from "../parts/Paused";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { duration, Duration } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { useCommands } from "../shell/Palette";
import { jobsWith } from "./job-filter";
import { QueueLimits } from "./queue-limits";
import "./queues.css";

const params = searchOf({ q: text });

/** The age in seconds above which the oldest queued job is highlighted. */
const LONG_S = 60;

/** The prefix of plait's internal queues. */
const OWN = "plait.";

type Asked = { what: "pause" | "limits"; queue: Queue };

export default function Queues() {
  const [{ q }, setSearch] = params.use();
  const filter = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const session = useSession();
  const queues = useRead("GET /queues", undefined, { live: ["job", "queue"], every: 1000, poll: 5000 });
  const dialog = useDialog<Asked>();
  const resume = useChange("POST /queues/{name}/resume", { success: "Queue resumed." });
  const manages = session.can("PATCH /queues/{name}");
  const rows = useMemo(() => queues.data?.items.filter(({ name }) => name.includes(q.trim())) ?? [], [queues.data, q]);
  const columns = useMemo(
    () => columnsFor(manages ? (queue) => <Actions queue={queue} onAsk={dialog.open} onResume={() => resume.mutate({ path: { name: queue.name } })} /> : null),
    [manages], // eslint-disable-line
  );
  useKeys("Queues", { "/": ["Search queues", () => filter.current?.focus()] });
  useCommands(
    manages
      ? rows.slice(0, 100).flatMap((queue) => [
          queue.paused
            ? { label: `Resume queue ${queue.name}`, icon: "play" as const, act: () => resume.mutate({ path: { name: queue.name } }) }
            : { label: `Pause queue ${queue.name}`, icon: "pause" as const, act: () => dialog.open({ what: "pause", queue }) },
          { label: `Limits of queue ${queue.name}`, icon: "edit" as const, act: () => dialog.open({ what: "limits", queue }) },
        ])
      : [],
  );
  return (
    <Page
      fill
      title="Queues"
      actions={
        <label className="finding">
          <span className="hidden">Search queues</span>
          <Icon name="search" />
          <input ref={filter} type="search" placeholder="Search queues" maxLength={100} value={q} onChange={(event) => setSearch({ q: event.target.value }, { replace: true })} />
        </label>
      }
    >
      <Loaded query={queues}>
        {(found) => (
          <>
            <Warnings queues={found.items} />
            <Paused items={found.items.filter(({ paused }) => paused)} />
            {rows.length ? (
              <Table label="Queues" columns={columns} rows={rows} keyOf={nameOf} rowHeight={44} onOpen={(queue) => void navigate({ to: "/jobs", search: jobsWith({ queue: queue.name }) as never })} />
            ) : (
              <Empty title={q ? "No matching queues" : "No queues yet"} icon="queues">
                <p className="quiet">A queue exists as soon as a job, a worker or a setting names it.</p>
              </Empty>
            )}
          </>
        )}
      </Loaded>
      {dialog.about?.what === "pause" && <PauseDialog queue={dialog.about.queue} onClose={dialog.close} />}
      {dialog.about?.what === "limits" && <QueueLimits queue={dialog.about.queue} onClose={dialog.close} />}
    </Page>
  );
}

const nameOf = (queue: Queue) => queue.name;

/** A warning about queues that have queued jobs but no worker. */
function Warnings({ queues }: { queues: readonly Queue[] }) {
  const unserved = queues.filter((queue) => queue.queued > 0 && queue.workers === 0 && !queue.paused);
  if (!unserved.length) return null;
  return (
    <p className="notice warn" role="status">
      <Icon name="alert" />
      {`Jobs are queued, but no worker serves these queues: ${unserved.map(nameOf).join(", ")}.`}
    </p>
  );
}

function columnsFor(actions: ((queue: Queue) => ReactNode) | null): Column<Queue>[] {
  const number = (key: "queued" | "scheduled" | "waiting", title: string): Column<Queue> => ({
    key,
    title,
    width: "88px",
    align: "right",
    cell: (queue) => (
      <Link className="plainly" to="/jobs" search={jobsWith({ queue: queue.name, status: [key] }) as never} aria-label={`${queue[key]} ${key} in ${queue.name}`} data-count={key}>
        <Count value={queue[key]} />
      </Link>
    ),
  });
  return [
    {
      key: "name",
      title: "Queue",
      width: "minmax(170px, 1.6fr)",
      cell: (queue) => (
        <>
          <Link to="/jobs" search={jobsWith({ queue: queue.name }) as never}>
            {queue.name}
          </Link>
          {queue.paused && <Tag tone="warn">paused</Tag>}
          {queue.mode === "serial" && <Tag title="Runs one workflow at a time">serial</Tag>}
          {queue.name.startsWith(OWN) && <Tag title="Used by plait itself">internal</Tag>}
        </>
      ),
    },
    number("queued", "Queued"),
    {
      key: "oldest",
      title: "Oldest job",
      width: "100px",
      align: "right",
      cell: (queue) => (
        <span className={(queue.oldest_queued_age_seconds ?? 0) > LONG_S ? "warn" : ""}>
          <Duration seconds={queue.oldest_queued_age_seconds} />
        </span>
      ),
    },
    { key: "running", title: "Running", width: "104px", align: "right", cell: (queue) => <Running queue={queue} /> },
    number("scheduled", "Scheduled"),
    number("waiting", "Waiting"),
    {
      key: "workers",
      title: "Workers",
      width: "84px",
      align: "right",
      cell: (queue) => (queue.workers === 0 && queue.queued > 0 ? <Tag tone="warn">none</Tag> : <Count value={queue.workers} />),
    },
    { key: "limits", title: "Rate limit", width: "minmax(120px, 1fr)", cell: (queue) => <Limits queue={queue} /> },
    ...(actions ? [{ key: "actions", title: <span className="hidden">Actions</span>, width: "92px", align: "right" as const, cell: actions }] : []),
  ];
}

const Count = ({ value }: { value: number }) => <span className={value ? "" : "quiet"}>{value.toLocaleString()}</span>;

function Running({ queue }: { queue: Queue }) {
  const full = queue.max_running !== null && queue.running >= queue.max_running;
  return (
    <Link className={`plainly ${full ? "warn" : ""}`} to="/jobs" search={jobsWith({ queue: queue.name, status: ["running"] }) as never} title={full ? "At the concurrency limit" : undefined} data-count="running">
      <Count value={queue.running} />
      {queue.max_running !== null && <span className="quiet">{` / ${queue.max_running.toLocaleString()}`}</span>}
    </Link>
  );
}

function Limits({ queue }: { queue: Queue }) {
  const rate = queue.rate_count !== null && queue.rate_period_seconds !== null && `${queue.rate_count.toLocaleString()} per ${duration(queue.rate_period_seconds)}`;
  return (
    <span className="quiet">
      {rate || (!queue.root_id && "–")}
      {queue.root_id && (
        <>
          {rate ? ", " : ""}runs <Link to="/workflows/$jobId" params={{ jobId: queue.root_id }}><Id id={queue.root_id} /></Link>
        </>
      )}
    </span>
  );
}

function Actions({ queue, onAsk, onResume }: { queue: Queue; onAsk: (asked: Asked) => void; onResume: () => void }) {
  return (
    <>
      <Button kind="plain" icon="edit" aria-label={`Limits of ${queue.name}`} title="Limits and mode" onClick={() => onAsk({ what: "limits", queue })} />
      {queue.paused ? (
        <Button kind="plain" icon="play" aria-label={`Resume ${queue.name}`} title="Resume" onClick={onResume} />
      ) : (
        <Button kind="plain" icon="pause" aria-label={`Pause ${queue.name}`} title="Pause" onClick={() => onAsk({ what: "pause", queue })} />
      )}
    </>
  );
}

function PauseDialog({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const pause = useChange("POST /queues/{name}/pause", { success: `Queue ${queue.name} paused.`, then: onClose });
  return (
    <Confirm title={`Pause ${queue.name}?`} action="Pause queue" danger busy={pause.isPending} onConfirm={() => pause.mutate({ path: { name: queue.name }, body: { reason: reason.trim() || null } })} onClose={onClose}>
      <p>Until the queue is resumed, none of its jobs will start, for any tenant. Running jobs will finish, and new jobs can still be enqueued.</p>
      <label className="field">
        Reason (shown to everyone who can see the queue)
        <input maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}
