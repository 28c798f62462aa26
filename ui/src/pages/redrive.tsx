/** The dialog that starts a redrive: the number of jobs, the rate and a reason. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/client";
import { refresh, useTenant } from "../api/hooks";
import type { BulkFilter } from "../api/types";
import { Confirm } from "../parts/Dialog";
import { NumberField } from "../parts/Fields";
import { duration } from "../parts/Time";
import { toast } from "../shell/toasts";

export interface Group {
  what: string;
  filter: BulkFilter;
  jobs: number;
}

/** The default rate, slow enough to see whether the jobs fail again. */
const DEFAULT_RATE = 10;

export function RedriveDialog({ group, title = "Redrive dead letters?", onBegun, onClose }: { group: Group; title?: string; onBegun: (job: string) => void; onClose: () => void }) {
  const tenant = useTenant();
  const client = useQueryClient();
  const [rate, setRate] = useState<number | null>(DEFAULT_RATE);
  const [reason, setReason] = useState("");
  const dry = useQuery({
    queryKey: ["POST /jobs/bulk", tenant, "retry", group.filter],
    queryFn: () => call("POST /jobs/bulk", { body: { action: "retry", filter: group.filter, dry_run: true } }, tenant),
    staleTime: 0,
    gcTime: 0,
  });
  const run = useMutation({
    mutationFn: () => call("POST /jobs/bulk", { body: { action: "retry", filter: group.filter, dry_run: false, rate, reason: reason || null } }, tenant),
    onSuccess: (answer) => {
      refresh(client);
      onClose();
      if (answer.job_id) onBegun(answer.job_id);
    },
    onError: (error) => toast.bad(error.message),
  });
  const matched = dry.data?.matched ?? 0;
  const counted = dry.data && `${matched.toLocaleString()}${dry.data.more ? " or more" : ""} ${matched === 1 ? "job" : "jobs"}`;
  const wrong = rate !== null && !(rate >= 0.01 && rate <= 10_000);
  return (
    <Confirm title={title} action={`${title.split(" ")[0]} ${counted ?? "…"}`} busy={run.isPending} disabled={!matched || wrong} onConfirm={() => run.mutate()} onClose={onClose}>
      <p className="redrive-what">{group.what}</p>
      {dry.error && <p className="bad">{dry.error.message}</p>}
      <p aria-live="polite">{counted ? `${counted} will be queued again. The number of attempts used is reset to 0.` : !dry.error && "Counting…"}</p>
      <NumberField label="Rate limit (jobs per second)" value={rate} least={0.01} most={10_000} onChange={setRate} about={lasting(matched, rate, dry.data?.more ?? false)} />
      <label className="field">
        Reason (recorded in the audit log)
        <input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
      </label>
      <p className="quiet">The redrive continues even if you leave this page. If you stop the redrive, the remaining jobs are not changed.</p>
    </Confirm>
  );
}

function lasting(jobs: number, rate: number | null, more: boolean): string {
  if (rate === null) return "No limit: the jobs are queued as fast as possible.";
  return rate > 0 && jobs > 0 ? `This takes about ${duration(jobs / rate, true)}${more ? " or longer" : ""}.` : "";
}
