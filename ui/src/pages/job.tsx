/** One job: its status and the reason for it, payload and result, attempts, logs, steps, sub-jobs and actions. */

import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useRead } from "../api/hooks";
import { oneOf, searchOf } from "../api/search";
import type { JobPage } from "../api/types";
import { Badge, isFinal, Tag } from "../parts/Badge";
import { Copy, Id } from "../parts/Code";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";
import { Facts, Page, Panel } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Tabs } from "../parts/Tabs";
import { Duration, Since, Time } from "../parts/Time";
import { JobActions } from "./job-actions";
import { Attempts, Output } from "./job-attempts";
import { FanOuts, SubJobs } from "./job-children";
import { Compared } from "./job-compared";
import { jobsWith } from "./job-filter";
import { Logs } from "./job-logs";
import { Reasons } from "./job-reasons";
import { Steps } from "./job-steps";
import { useTenantNames } from "./tenant-names";
import "./job.css";

/** Without a tab in the URL, a failed job opens on its attempts, and any other job on its payload. */
const params = searchOf({ tab: oneOf("", "data", "attempts", "logs", "steps", "sub-jobs") });

export default function Job() {
  const { jobId } = useParams({ strict: false }) as { jobId: string };
  const job = useRead(
    "GET /jobs/{job_id}",
    { path: { job_id: jobId } },
    {
      live: ["job", "fan_out", "log"],
      when: (event) => event.id === jobId || event.parent_id === jobId,
      every: 500,
    },
  );
  return (
    <Loaded query={job} what="job">
      {(found) => <Shown key={found.id} job={found} />}
    </Loaded>
  );
}

function Shown({ job }: { job: JobPage }) {
  const [{ tab: wanted }, setSearch] = params.use();
  // Set when the page opens: the tab does not change if the job fails while the user reads its payload.
  const [first] = useState<"attempts" | "data">(job.status === "failed" || job.status === "dead_letter" ? "attempts" : "data");
  const tab = wanted || first;
  const fanOuts = job.fan_outs.filter(({ total }) => total > 0);
  const tree = job.root_id !== null || job.fan_outs.length > 0;
  return (
    <Page
      above={<Above job={job} />}
      title={
        <>
          {job.definition_key}
          <Badge status={job.status} />
          {job.cancel_requested_at && !isFinal(job.status) && <Tag tone="warn">cancel requested</Tag>}
        </>
      }
      actions={<JobActions job={job} tree={tree} />}
    >
      {!isFinal(job.status) && job.status !== "running" && <Reasons job={job} />}
      {isFinal(job.status) && job.last_error && <LastError job={job} />}
      <Panel>
        <div className="body">
          <JobFacts job={job} />
        </div>
      </Panel>
      {fanOuts.length > 0 && <FanOuts fanOuts={fanOuts} />}
      <Tabs
        label="Job details"
        chosen={tab}
        onChoose={(key) => setSearch({ tab: key }, { replace: true })}
        tabs={[
          { key: "data", label: "Payload and result" },
          { key: "attempts", label: `Attempts (${job.attempt_count} of ${job.max_attempts})` },
          { key: "logs", label: "Logs" },
          { key: "steps", label: `Steps (${job.steps.length})`, hidden: !job.steps.length },
          { key: "sub-jobs", label: "Sub-jobs", hidden: !fanOuts.length },
        ]}
      >
        {tab === "data" && <Data job={job} />}
        {tab === "attempts" && <Attempts job={job} />}
        {tab === "logs" && <Logs job={job} />}
        {tab === "steps" && <Steps steps={job.steps} />}
        {tab === "sub-jobs" && <SubJobs job={job} />}
      </Tabs>
    </Page>
  );
}

function Above({ job }: { job: JobPage }) {
  return (
    <>
      <Link to="/jobs">Jobs</Link>
      {job.root_id && job.root_id !== job.id && (
        <>
          <Icon name="right" size={12} />
          <Link to="/workflows/$jobId" params={{ jobId: job.root_id }}>
            workflow <Id id={job.root_id} />
          </Link>
        </>
      )}
      {job.parent && (
        <>
          <Icon name="right" size={12} />
          <Link to="/jobs/$jobId" params={{ jobId: job.parent.id }}>
            {job.parent.definition_key}
          </Link>
        </>
      )}
      <Icon name="right" size={12} />
      <code>{job.id}</code>
      <Copy text={job.id} label="Copy id" />
    </>
  );
}

function LastError({ job }: { job: JobPage }) {
  return (
    <section className="notice bad-notice" aria-label="Error">
      <Icon name="alert" />
      <div>
        <h2>{job.reason ? `Reason: ${job.reason.replaceAll("_", " ")}` : "Error"}</h2>
        <pre>{job.last_error}</pre>
      </div>
    </section>
  );
}

function JobFacts({ job }: { job: JobPage }) {
  const tenant = useTenantNames()(job.tenant_id);
  return (
    <Facts
      facts={[
        ["Tenant", tenant && <Link to="/jobs" search={{ tenant } as never}>{tenant}</Link>],
        ["Queue", <Link to="/jobs" search={jobsWith({ queue: job.queue }) as never}>{job.queue}</Link>],
        ["Priority", job.priority],
        ["Source", <>{job.source}{job.source_ref && <> <code className="quiet">{job.source_ref}</code></>}</>],
        ["Enqueued", <Time at={job.created_at} />],
        ["Scheduled for", job.scheduled_for && <Time at={job.scheduled_for} />],
        ["Due", job.status === "scheduled" && <Time at={job.run_at} />],
        ["Queued for", job.status === "queued" && <Since from={job.run_at} />],
        ["Wakes up", job.wake_at && <Time at={job.wake_at} />],
        ["Waiting for", job.wait_on && <code>{job.wait_on}</code>],
        ["Started", job.started_at && <Time at={job.started_at} />],
        ["Finished", job.finished_at && <Time at={job.finished_at} />],
        ["Run time", job.started_at && <Since from={job.started_at} to={job.finished_at} />],
        ["Compared with earlier runs", job.started_at && <Compared job={job} />],
        ["Handler time", job.own_s !== null && <Duration seconds={job.own_s} />],
        ["Waiting time", job.waiting_s !== null && <Duration seconds={job.waiting_s} />],
        ["Attempts", `${job.attempt_count} of ${job.max_attempts} used`],
        ["Runs", job.runs > 1 && job.runs],
        ["Unread signals", job.unread_signals.length > 0 && job.unread_signals.map(({ name, signals }) => `${signals} ${name}`).join(", ")],
        ["Timeout", job.timeout_seconds !== null && <Duration seconds={job.timeout_seconds} />],
        ["Worker", job.last_worker !== null && <Link to="/jobs" search={jobsWith({ worker: String(job.last_worker) }) as never}>{job.last_worker}</Link>],
        ["Lease expires", job.lease_expires_at && <Time at={job.lease_expires_at} />],
        ["Correlation id", job.correlation_id && <Link to="/jobs" search={jobsWith({ correlation: job.correlation_id }) as never}>{job.correlation_id}</Link>],
        ["Dedupe key", job.dedupe_key],
        ["Idempotency key", job.idempotency_key],
        ["Limit key", job.limit_key],
        ["Retry of workflow", job.forked_from && <Link to="/jobs/$jobId" params={{ jobId: job.forked_from }}><Id id={job.forked_from} /></Link>],
      ]}
    />
  );
}

function Data({ job }: { job: JobPage }) {
  const progress = job.progress as Record<string, unknown> | null;
  return (
    <div className="columns">
      <Panel title="Payload">
        <div className="body">
          <Json value={job.payload} label="payload" />
        </div>
      </Panel>
      <Panel title="Result">
        <div className="body">
          {job.status === "succeeded" ? (
            <Json value={job.result} label="result" />
          ) : (
            <Empty title={isFinal(job.status) ? "No result" : "No result yet"} icon="clock" />
          )}
        </div>
      </Panel>
      {progress !== null && (
        <Panel title={job.status === "running" ? "Live output" : "Output"} className="both">
          <div className="body">
            <Output progress={progress} />
          </div>
        </Panel>
      )}
    </div>
  );
}
