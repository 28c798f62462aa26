/** A job's run time compared with that of earlier jobs of its definition. */

import { useRead } from "../api/hooks";
import type { JobPage } from "../api/types";
import { isFinal } from "../parts/Badge";
import { Duration, Time } from "../parts/Time";

export function Compared({ job }: { job: JobPage }) {
  const { data } = useRead("GET /jobs/{job_id}/earlier-runs", { path: { job_id: job.id } });
  if (!data || job.total_s === null) return <span className="quiet">–</span>;
  if (!data.runs || data.mean_s === null)
    return <span className="quiet">{data.complete ? "no earlier run has succeeded" : "no earlier run has succeeded among the newest 10,000"}</span>;
  return (
    <span data-runs={data.runs}>
      <strong>{words(job.total_s, data.mean_s)}</strong>
      {isFinal(job.status) ? " " : " so far, "}
      <span className="quiet">
        average <Duration seconds={data.mean_s} />, p95 <Duration seconds={data.p95_s} />
        {` of the last ${data.runs === 1 ? "run" : `${data.runs} runs`} that succeeded, since `}
        <Time at={data.since} />
        {!data.complete && "; older ones were not searched"}
      </span>
    </span>
  );
}

function words(took: number, mean: number): string {
  if (mean <= 0) return "longer";
  const ratio = took / mean;
  if (ratio >= 0.95 && ratio < 1.05) return "as usual";
  return `${ratio >= 10 ? Math.round(ratio).toLocaleString() : ratio.toFixed(ratio < 0.1 ? 2 : 1)} × the average`;
}
