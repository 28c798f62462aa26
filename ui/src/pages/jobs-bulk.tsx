/**
 * Bulk cancel and retry. Selected jobs are changed one by one. To change all jobs that match the filter, a bulk job is created. Both dialogs
 * first show how many jobs would change.
 */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call } from "../api/client";
import { refresh, useTenant } from "../api/hooks";
import type { JobBrief, Status } from "../api/types";
import { LIVE, STATUSES, wordOf } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Confirm, useDialog } from "../parts/Dialog";
import { toast } from "../shell/toasts";
import { bulkFilterOf, isFiltered, type JobQuery } from "./job-filter";

type Action = "cancel" | "retry";

const FITTING: Record<Action, readonly Status[]> = {
  cancel: LIVE,
  retry: STATUSES.filter((status) => !LIVE.includes(status) && status !== "succeeded"),
};
const WORDS: Record<Action, { title: string; done: string }> = {
  cancel: { title: "Cancel", done: "canceled" },
  retry: { title: "Retry", done: "retried" },
};
const AT_ONCE = 8;

interface Props {
  query: JobQuery;
  rows: readonly JobBrief[];
  selected: ReadonlySet<string>;
  onSelect: (selected: Set<string>) => void;
  hasMore: boolean;
}

export function BulkActions({ query, rows, selected, onSelect, hasMore }: Props) {
  const [all, setAll] = useState(false);
  const dialog = useDialog<Action>();
  useEffect(() => {
    if (!selected.size) setAll(false);
  }, [selected.size]);
  if (!selected.size) return null;
  const chosen = rows.filter((job) => selected.has(job.id));
  const clear = () => {
    setAll(false);
    onSelect(new Set());
  };
  return (
    <div className="bar-of-actions" role="region" aria-label="Actions for the selected jobs">
      <strong>{all ? "All matching jobs selected" : `${selected.size.toLocaleString()} selected`}</strong>
      {!all && hasMore && selected.size >= rows.length && (
        <Button kind="plain" className="link" onClick={() => setAll(true)}>
          {isFiltered(query) ? "Select all matching jobs" : "Select all jobs"}
        </Button>
      )}
      <Button icon="cancel" onClick={() => dialog.open("cancel")}>
        Cancel jobs
      </Button>
      <Button icon="retry" onClick={() => dialog.open("retry")}>
        Retry jobs
      </Button>
      <Button kind="plain" onClick={clear}>
        Clear selection
      </Button>
      {dialog.about && all && <BulkDialog action={dialog.about} query={query} onClose={dialog.close} onDone={clear} />}
      {dialog.about && !all && <SelectedDialog action={dialog.about} jobs={chosen} onClose={dialog.close} onDone={clear} />}
    </div>
  );
}

interface AskProps {
  action: Action;
  onClose: () => void;
  onDone: () => void;
}

/** All jobs that match the filter. The server counts them first. */
export function BulkDialog({ action, query, onClose, onDone }: AskProps & { query: JobQuery }) {
  const tenant = useTenant();
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const filter = isFiltered(query) ? bulkFilterOf(query) : { status: [...FITTING[action]] };
  const dry = useQuery({
    queryKey: ["POST /jobs/bulk", tenant, action, filter],
    queryFn: () => call("POST /jobs/bulk", { body: { action, filter, dry_run: true } }, tenant),
    staleTime: 0,
    gcTime: 0,
  });
  const run = useMutation({
    mutationFn: () => call("POST /jobs/bulk", { body: { action, filter, dry_run: false, reason: reason || null } }, tenant),
    onSuccess: (answer) => {
      toast.good(`Bulk ${action} of ${answer.matched.toLocaleString()}${answer.more ? " or more" : ""} jobs started.`, {
        to: `/jobs/${answer.job_id}`,
        label: "Show progress",
      });
      refresh(client);
      onClose();
      onDone();
    },
    onError: (error) => toast.bad(error.message),
  });
  return (
    <Confirm
      title={`${WORDS[action].title} all matching jobs?`}
      action={`${WORDS[action].title} ${dry.data ? counted(dry.data.matched, dry.data.more) : "…"}`}
      danger={action === "cancel"}
      busy={run.isPending}
      disabled={!dry.data?.matched}
      onConfirm={() => run.mutate()}
      onClose={onClose}
    >
      {dry.error && <p className="bad">{dry.error.message}</p>}
      <p aria-live="polite">
        {dry.data
          ? `${counted(dry.data.matched, dry.data.more)} will be ${WORDS[action].done}: all matching jobs with one of the statuses ${FITTING[action].map(wordOf).join(", ")}.`
          : !dry.error && "Counting…"}
      </p>
      <Reason reason={reason} onChange={setReason} />
      <p className="quiet">This creates a bulk job, whose page shows its progress. Every change to a job is recorded in the audit log.</p>
    </Confirm>
  );
}

/** The selected jobs. Jobs whose status does not allow the action are excluded, and their number is shown. */
function SelectedDialog({ action, jobs, onClose, onDone }: AskProps & { jobs: readonly JobBrief[] }) {
  const tenant = useTenant();
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const fitting = jobs.filter((job) => FITTING[action].includes(job.status));
  const run = useMutation({
    mutationFn: () => each(fitting, (job) => act(action, job.id, reason, tenant)),
    onSuccess: ({ done, refused }) => {
      toast.good(`${counted(done, false)} ${WORDS[action].done}.`);
      if (refused) toast.bad(`${counted(refused, false)} could not be ${WORDS[action].done}, because the status changed in the meantime.`);
      refresh(client);
      void client.invalidateQueries({ queryKey: ["GET /jobs", "pages"] });
      onClose();
      onDone();
    },
  });
  const left = jobs.length - fitting.length;
  return (
    <Confirm
      title={`${WORDS[action].title} selected jobs?`}
      action={`${WORDS[action].title} ${counted(fitting.length, false)}`}
      danger={action === "cancel"}
      busy={run.isPending}
      disabled={!fitting.length}
      onConfirm={() => run.mutate()}
      onClose={onClose}
    >
      <p>
        {`${counted(fitting.length, false)} will be ${WORDS[action].done}.`}
        {left > 0 && ` ${counted(left, false)} excluded, because the status is not one of ${FITTING[action].map(wordOf).join(", ")}.`}
      </p>
      {action === "cancel" && <Reason reason={reason} onChange={setReason} />}
    </Confirm>
  );
}

function Reason({ reason, onChange }: { reason: string; onChange: (reason: string) => void }) {
  return (
    <label className="field">
      Reason (recorded in the audit log)
      <input value={reason} maxLength={500} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

const counted = (count: number, more: boolean) => `${count.toLocaleString()}${more ? "+" : ""} ${count === 1 ? "job" : "jobs"}`;

function act(action: Action, job_id: string, reason: string, tenant: string | null): Promise<unknown> {
  return action === "cancel"
    ? call("POST /jobs/{job_id}/cancel", { path: { job_id }, body: { reason: reason || null } }, tenant)
    : call("POST /jobs/{job_id}/retry", { path: { job_id } }, tenant);
}

/** Run with limited concurrency. */
async function each(jobs: readonly JobBrief[], run: (job: JobBrief) => Promise<unknown>): Promise<{ done: number; refused: number }> {
  const left = [...jobs];
  const told = { done: 0, refused: 0 };
  const worker = async () => {
    for (let job = left.shift(); job; job = left.shift())
      await run(job).then(
        () => told.done++,
        () => told.refused++,
      );
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return told;
}
