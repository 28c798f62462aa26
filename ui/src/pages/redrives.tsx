/** Bulk jobs in progress, and the bulk job that was started on this page until the user dismisses it. */

import { Link } from "@tanstack/react-router";
import { useChange, useRead } from "../api/hooks";
import { useSession } from "../api/session";
import type { JobPage } from "../api/types";
import { Badge, isFinal } from "../parts/Badge";
import { Bar } from "../parts/Bar";
import { Button } from "../parts/Button";
import { Panel } from "../parts/Page";
import { duration } from "../parts/Time";
import { useTenantNames } from "./tenant-names";

const DEFINITION = "plait.bulk";

/** The progress of a bulk job, as plait/api/bulk.py writes it. */
interface Progress {
  done: number;
  left: number;
  total: number | null;
  rate: number | null;
}

export function Redrives({ begun, onForget }: { begun: string; onForget: () => void }) {
  const live = useRead("GET /jobs", { query: { definition_key: DEFINITION, status: ["scheduled", "queued", "running"], limit: 20 } }, { live: ["job"], every: 500, poll: 10_000 });
  const ids = new Set([...(begun ? [begun] : []), ...(live.data?.items.map(({ id }) => id) ?? [])]);
  if (!ids.size) return null;
  return (
    <Panel title="In progress" className="redrives">
      <ul>
        {[...ids].map((id) => (
          <Redrive key={id} id={id} onForget={id === begun ? onForget : null} />
        ))}
      </ul>
    </Panel>
  );
}

function Redrive({ id, onForget }: { id: string; onForget: (() => void) | null }) {
  const session = useSession();
  const tenantOf = useTenantNames();
  const job = useRead("GET /jobs/{job_id}", { path: { job_id: id } }, { live: ["job", "log"], when: (event) => event.kind === "log" || event.id === id, every: 300, poll: 1000 });
  const stop = useChange("POST /jobs/{job_id}/cancel", { success: "Stopping. The remaining jobs will not be changed." });
  if (!job.data) return job.error ? <li className="quiet">{job.error.message}</li> : null;
  const { action, reason } = (job.data.payload ?? {}) as { action?: string; reason?: string | null };
  const progress = progressOf(job.data);
  const ended = isFinal(job.data.status);
  return (
    <li className="redrive" data-redrive={id} data-status={job.data.status}>
      <div className="row">
        <Badge status={job.data.status} />
        <Link to="/jobs/$jobId" params={{ jobId: id }}>
          {action === "cancel" ? "Bulk cancel" : "Redrive"}
        </Link>
        <span className="quiet cut">{[tenantOf(job.data.tenant_id), reason].filter(Boolean).join(", ")}</span>
      </div>
      {progress && progress.total !== null && (
        <Bar
          label="Progress"
          total={Math.max(progress.total, progress.done + progress.left)}
          shares={[
            { status: "succeeded", count: progress.done, label: action === "cancel" ? "canceled" : "queued again" },
            { status: "skipped", count: progress.left, label: "skipped" },
          ]}
        />
      )}
      <div className="row">
        <span className="quiet" data-done={progress?.done ?? 0}>
          {words(progress, ended, action === "cancel")}
        </span>
        {!ended && session.can("POST /jobs/{job_id}/cancel") && (
          <Button icon="cancel" busy={stop.isPending || job.data.cancel_requested_at !== null} onClick={() => stop.mutate({ path: { job_id: id }, body: { reason: null } })}>
            {action === "cancel" ? "Stop canceling" : "Stop redrive"}
          </Button>
        )}
        {ended && onForget && <Button kind="plain" icon="close" aria-label={action === "cancel" ? "Dismiss bulk cancel" : "Dismiss redrive"} onClick={onForget} />}
      </div>
    </li>
  );
}

function progressOf(job: JobPage): Progress | null {
  const reported = (job.result ?? job.progress) as Partial<Progress> | null;
  return reported && typeof reported.done === "number" ? { done: reported.done, left: reported.left ?? 0, total: reported.total ?? null, rate: reported.rate ?? null } : null;
}

function words(progress: Progress | null, ended: boolean, cancels: boolean): string {
  if (!progress) return ended ? "" : "Starting…";
  const { done, left, total, rate } = progress;
  const parts = [`${done.toLocaleString()}${total === null ? "" : ` of ${total.toLocaleString()}`} ${cancels ? "canceled" : "queued again"}`];
  if (left) parts.push(`${left.toLocaleString()} skipped`);
  if (!ended && rate) parts.push(`${rate.toLocaleString()} per second`);
  if (!ended && rate && total !== null && total > done + left) parts.push(`about ${duration((total - done - left) / rate, true)} left`);
  return parts.join(", ");
}
