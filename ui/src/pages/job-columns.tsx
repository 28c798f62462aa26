/** The columns of a list of jobs. */

import type { JobBrief } from "../api/types";
import { Badge } from "../parts/Badge";
import { Id } from "../parts/Code";
import { RowLink } from "../parts/RowLink";
import type { Column } from "../parts/Table";
import { Since, Time } from "../parts/Time";

export interface JobColumn extends Column<JobBrief> {
  /** The name in the column menu. */
  name: string;
  usual: boolean;
}

export function jobColumns(tenantOf: ((id: string) => string) | null): JobColumn[] {
  const columns: (JobColumn | false)[] = [
    {
      key: "id", name: "Id", title: "Id", width: "124px", usual: true,
      cell: (job) => (
        <RowLink to={`/jobs/${job.id}`}>
          <Id id={job.id} />
        </RowLink>
      ),
    },
    {
      key: "definition", name: "Definition", title: "Definition", width: "minmax(140px, 2fr)", usual: true,
      cell: (job) => (
        <RowLink to={`/jobs/${job.id}`} title={job.definition_key}>
          {job.definition_key}
        </RowLink>
      ),
    },
    tenantOf !== null && {
      key: "tenant", name: "Tenant", title: "Tenant", width: "minmax(76px, 0.7fr)", usual: true,
      cell: (job) => <span>{tenantOf(job.tenant_id)}</span>,
    },
    { key: "status", name: "Status", title: "Status", width: "116px", usual: true, cell: (job) => <Badge status={job.status} /> },
    {
      key: "attempts", name: "Attempts", title: "Attempts", width: "80px", usual: true, align: "right",
      cell: (job) => (
        <span title={`${job.attempt_count} of ${job.max_attempts} attempts used`}>
          {job.attempt_count}
          <span className="quiet">{` of ${job.max_attempts}`}</span>
        </span>
      ),
    },
    { key: "source", name: "Source", title: "Source", width: "82px", usual: true, cell: (job) => <span className="quiet">{job.source}</span> },
    { key: "queue", name: "Queue", title: "Queue", width: "minmax(90px, 0.7fr)", usual: false, cell: (job) => <span>{job.queue}</span> },
    { key: "enqueued", name: "Enqueued", title: "Enqueued", width: "96px", usual: true, cell: (job) => <Time at={job.created_at} /> },
    { key: "started", name: "Started", title: "Started", width: "96px", usual: true, cell: (job) => <Time at={job.started_at} /> },
    { key: "finished", name: "Finished", title: "Finished", width: "96px", usual: true, cell: (job) => <Time at={job.finished_at} /> },
    {
      key: "ran", name: "Run time", title: "Run time", width: "96px", usual: false, align: "right",
      cell: (job) => <Since from={job.started_at} to={job.finished_at} />,
    },
    {
      key: "worker", name: "Worker", title: "Worker", width: "68px", usual: true, align: "right",
      cell: (job) => <span className="mono">{job.last_worker ?? "–"}</span>,
    },
    { key: "priority", name: "Priority", title: "Priority", width: "76px", usual: false, align: "right", cell: (job) => <span>{job.priority}</span> },
    {
      key: "correlation", name: "Correlation id", title: "Correlation id", width: "minmax(120px, 1fr)", usual: false,
      cell: (job) => <span title={job.correlation_id ?? ""}>{job.correlation_id ?? "–"}</span>,
    },
    {
      key: "error", name: "Last error", title: "Last error", width: "minmax(200px, 2fr)", usual: false,
      cell: (job) => <span className="mono quiet" title={job.last_error ?? ""}>{job.last_error?.split("\n")[0] ?? "–"}</span>,
    },
  ];
  return columns.filter((column) => column !== false);
}
